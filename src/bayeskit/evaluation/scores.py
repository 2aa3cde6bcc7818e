"""Scores: sums over rows from which every measure of a classifier follows, by group; they merge by adding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from bayeskit.arrays import Bool, Float, Int
from bayeskit.errors import InputError
from bayeskit.evaluation.actions import Actions
from bayeskit.evaluation.calibration import debiased_gap
from bayeskit.evaluation.confusion import Confusion
from bayeskit.numerics.proportion import effective
from bayeskit.numerics.reliability import BINS, FIELDS, gap, width_bins

CLIP = 1e-15
MEANS = ("log_loss", "brier", "expected_cost", "realised_cost")  # over rows, each of which has a value
BY_ROW = ("error_rate", *MEANS)  # measures that are means over rows
COST = 5  # expected, realised, weight that was decided, weight of it that was given a class, and rightly


@dataclass(frozen=True)
class DecisionCosts:
    """What actions cost, with rejection as one action more if it has a price.

    A model that decides by itself has ``own`` actions, which are priced; for any other the action of least expected
    cost is taken.
    """

    table: Float  # (K, actions) rows are true classes
    reject: float | None = None
    actions: tuple[Any, ...] = ()  # their names
    own: Actions | None = None
    priced: bool = True  # whether there are costs, not only reasons to abstain
    given: bool = True  # to evaluate; else they are the model's

    @property
    def abstains(self) -> bool:
        """Whether rows may be left undecided."""
        return self.reject is not None if self.own is None else self.own.abstain is not None

    @cached_property
    def _column(self) -> Int:
        """Of each action of the model its column in the table, -1 if it abstains, -2 if there is none: (codes,)."""
        assert self.own is not None
        place = {name: j for j, name in enumerate(self.actions)}
        found = [place.get(name, -2) for name in self.own.names]
        if self.own.abstain is not None:
            found[self.own.abstain] = -1
        return np.array(found, dtype=np.int64)

    def _taken(self, expected: Float, action: Int) -> Int:
        """The column of the table each row's action is in, -1 if it is left undecided: (n,)."""
        if self.own is not None:
            column = self._column[action]
            if (column == -2).any():
                name = self.own.names[int(action[np.argmax(column == -2)])]
                raise InputError(
                    f"the model's action {name!r} has no cost (priced are {', '.join(map(str, self.actions))}); add it "
                    f"to the costs"
                )
            return column
        best = np.argmin(expected, axis=1)
        least = expected[np.arange(len(best)), best]
        return best if self.reject is None else np.where(least <= self.reject, best, -1)

    def tallied(self, codes: Int, proba: Float, action: Int) -> Float:
        """By row what the action was expected to cost and turned out to, whether it was decided, by naming a class,
        and rightly: (COST, n). ``action`` is what the model does."""
        expected, row = proba @ self.table, np.arange(len(codes))
        column = self._taken(expected, action)
        decided, undecided = column >= 0, 0.0 if self.reject is None else self.reject
        least = np.where(decided, expected[row, column], undecided)
        realised = np.where(decided, self.table[codes, column], undecided)
        named = decided & (action < len(self.table))
        return np.stack([least, realised, *(x.astype(np.float64) for x in (decided, named, named & (action == codes)))])


@dataclass(frozen=True)
class Scores:
    """Axis 0 of every array is the group, a fold for instance.

    >>> rows = Scores.of(np.array([0, 1]), np.array([[0.8, 0.2], [0.6, 0.4]]))
    >>> float(rows.accuracy[0]), round(float(rows.log_loss[0]), 4), round(float(rows.brier[0]), 2)
    (0.5, 0.5697, 0.4)
    """

    confusion: Float  # (G, K, actions) weight by true class and what the model did: named a class, or another action
    loss: Float  # (G,) sum of weight times -log of the probability of the true class, at least 1e-15
    squares: Float  # (G,) sum of weight times the squared distance of the probabilities from the truth
    top: Float  # (G, FIELDS, BINS) reliability of the top probability
    each: Float  # (G, K, FIELDS, BINS) reliability of the probability of each class
    cost: Float  # (G, COST); all zero without stakes
    squared: Float  # (G, K, actions) squared weight, by which intervals know how many rows there are
    powers: Float  # (G, MEANS, 2) sum of weight times the square and the cube of what MEANS are means of

    @classmethod
    def empty(cls, groups: int, classes: int) -> Scores:
        zeros = np.zeros
        return cls(
            zeros((groups, classes, classes)),
            zeros(groups),
            zeros(groups),
            zeros((groups, FIELDS, BINS)),
            zeros((groups, classes, FIELDS, BINS)),
            zeros((groups, COST)),
            zeros((groups, classes, classes)),
            zeros((groups, len(MEANS), 2)),
        )

    @classmethod
    def of(
        cls,
        codes: Int,
        proba: Float,
        weights: Float | None = None,
        group: Int | None = None,
        groups: int = 1,
        decision_costs: DecisionCosts | None = None,
        action: Int | None = None,
    ) -> Scores:
        """From the true classes (n,) and their probabilities (n, K); rows of group or class -1 do not count.

        ``action`` is what the model did with each row: the most probable class unless given, from K on other actions.
        """
        n, k = proba.shape
        w = np.ones(n) if weights is None else weights
        g = np.zeros(n, dtype=np.int64) if group is None else group
        used = (codes >= 0) & (g >= 0)
        if not used.all():
            codes, proba, w, g = codes[used], proba[used], w[used], g[used]
            action = None if action is None else action[used]
        codes = codes.astype(np.int64, copy=False)
        row, best = np.arange(len(codes)), np.argmax(proba, axis=1)
        mine, top = proba[row, codes], proba[row, best]
        done = best if action is None else action
        wide = max(k, int(done.max(initial=0)) + 1)
        square = np.einsum("ij,ij->i", proba, proba) - 2 * mine + 1

        def summed(cell: Int, cells: int, value: Float) -> Float:
            sums = np.bincount(g * cells + cell, value, minlength=groups * cells)
            return sums.astype(np.float64, copy=False).reshape(groups, cells)

        nothing = np.zeros(len(codes), dtype=np.int64)
        each = np.empty((groups, k, FIELDS, BINS))
        for c in range(k):
            each[:, c] = _reliability(proba[:, c], codes == c, w, summed)
        tallied = np.zeros((COST, len(codes))) if decision_costs is None else decision_costs.tallied(codes, proba, done)
        loss = -np.log(np.clip(mine, CLIP, 1.0))
        powers = [[summed(nothing, 1, w * x**p)[:, 0] for p in (2, 3)] for x in (loss, square, *tallied[:2])]
        return cls(
            summed(codes * wide + done, k * wide, w).reshape(groups, k, wide),
            summed(nothing, 1, w * loss)[:, 0],
            summed(nothing, 1, w * square)[:, 0],
            _reliability(top, best == codes, w, summed),
            each,
            np.concatenate([summed(nothing, 1, w * t) for t in tallied], axis=1),
            summed(codes * wide + done, k * wide, w * w).reshape(groups, k, wide),
            np.moveaxis(np.array(powers), 2, 0),
        )

    def merge(self, other: Scores) -> Scores:
        """The scores of both sets of rows, group by group."""
        mine, theirs = self.aligned(other)
        return Scores(*(getattr(mine, f.name) + getattr(theirs, f.name) for f in fields(self)))

    def total(self, times: Float) -> Scores:
        """All groups as one, each counted so many times."""
        return Scores(*(np.tensordot(times, getattr(self, f.name), 1)[None] for f in fields(self)))

    def beside(self, other: Scores) -> Scores:
        """The groups of both, one after the other."""
        mine, theirs = self.aligned(other)
        return Scores(*(np.concatenate([getattr(mine, f.name), getattr(theirs, f.name)]) for f in fields(self)))

    def aligned(self, other: Scores) -> tuple[Scores, Scores]:
        """Both with a column for every action either knows."""
        return self._as_wide(other), other._as_wide(self)

    def _as_wide(self, other: Scores) -> Scores:
        """With a column for every action the other knows."""
        more = other.confusion.shape[2] - self.confusion.shape[2]
        if more <= 0:
            return self
        both = (np.pad(table, ((0, 0), (0, 0), (0, more))) for table in (self.confusion, self.squared))
        return replace(self, **dict(zip(("confusion", "squared"), both, strict=True)))

    # -- by group: (G,) each ---------------------------------------------------------------------

    @property
    def weight(self) -> Float:
        weight: Float = self.confusion.sum(axis=(1, 2))
        return weight

    @property
    def accuracy(self) -> Float:
        return self._of_confusion("accuracy")

    @property
    def error_rate(self) -> Float:
        return 1 - self.accuracy

    @property
    def balanced_accuracy(self) -> Float:
        return self._of_confusion("balanced_accuracy")

    @property
    def mcc(self) -> Float:
        return self._of_confusion("mcc")

    @property
    def kappa(self) -> Float:
        return self._of_confusion("kappa")

    @property
    def log_loss(self) -> Float:
        """Mean of -log P(true class), probabilities of at least 1e-15."""
        return self._mean(self.loss)

    @property
    def brier(self) -> Float:
        """Mean squared distance of the probabilities from the truth, summed over classes: 0 to 2."""
        return self._mean(self.squares)

    @property
    def ece(self) -> Float:
        """Calibration error of the top probability, 15 cells of equal width."""
        return np.array([gap(table) for table in self.top])

    @property
    def ece_classwise(self) -> Float:
        """Calibration error of the probability of each class, 15 cells of equal width, averaged over classes."""
        return np.array([np.mean([gap(table) for table in group]) for group in self.each])

    @property
    def ece_debiased(self) -> Float:
        """The calibration error of the top probability without what chance adds to it."""
        return np.array([debiased_gap(table) for table in self.top])

    @property
    def expected_cost(self) -> Float:
        """Mean over rows of what the action was expected to cost: the model's own, or that of least expected cost."""
        return self._mean(self.cost[:, 0])

    @property
    def realised_cost(self) -> Float:
        """Mean over rows of what it did cost."""
        return self._mean(self.cost[:, 1])

    @property
    def coverage(self) -> Float:
        """Share of rows that were decided, not rejected."""
        return self._mean(self.cost[:, 2])

    @property
    def covered_accuracy(self) -> Float:
        """Accuracy among the rows that were decided by naming a class."""
        return _over(self.cost[:, 4], self.cost[:, 3])

    # -- for intervals ---------------------------------------------------------------------------

    @property
    def rows(self) -> Float:
        """How many rows of equal weight there would be."""
        return effective(self.weight, self.squared.sum(axis=(1, 2)))

    def moments(self, name: str) -> tuple[Float, Float]:
        """Second and third central moment over rows of what a mean is of.

        They are differences of sums: good to 1e-16 of the mean's square, which is below what matters to an interval.
        """
        mean, powers = getattr(self, name), self.powers[:, MEANS.index(name)] / self.weight[:, None]
        second, third = powers.T
        return second - mean**2, third - 3 * mean * second + 2 * mean**3

    def _of_confusion(self, rate: str) -> Float:
        _, classes, actions = self.confusion.shape
        named = range(classes), "pyarrow", range(classes, actions)
        return np.array([getattr(Confusion(matrix, *named), rate) for matrix in self.confusion])

    def _mean(self, sums: Float) -> Float:
        return _over(sums, self.weight)


def by_row(codes: Int, proba: Float, decision_costs: DecisionCosts | None = None, action: Int | None = None) -> Float:
    """What each row adds to the means BY_ROW, for rows of known classes: (BY_ROW, n)."""
    row = np.arange(len(codes))
    done = np.argmax(proba, axis=1) if action is None else action
    mine = proba[row, codes]
    square = np.einsum("ij,ij->i", proba, proba) - 2 * mine + 1
    costs = np.zeros((2, len(codes))) if decision_costs is None else decision_costs.tallied(codes, proba, done)[:2]
    return np.stack([done != codes, -np.log(np.clip(mine, CLIP, 1.0)), square, *costs])


def _reliability(p: Float, true: Bool, w: Float, summed: Callable[[Int, int, Float], Float]) -> Float:
    """As ``tallied``, by group and cell of equal width: (G, FIELDS, BINS)."""
    cell = width_bins(p)
    return np.stack([summed(cell, BINS, value) for value in (w, w * p, w * true, w * w)], axis=1)


def _over(sums: Float, weight: Float) -> Float:
    """Means, NaN without weight."""
    means: Float = np.divide(sums, weight, out=np.full(len(sums), np.nan), where=weight > 0)
    return means
