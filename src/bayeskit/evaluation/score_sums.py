"""ScoreSums: sums over rows from which scores of a classifier follow, by group; they merge by adding."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import reduce

import numpy as np

from bayeskit import _core
from bayeskit.arrays import Float, Int
from bayeskit.evaluation.score import PredictedRows
from bayeskit.evaluation.scores import ROW_SCORES
from bayeskit.memory import check_memory
from bayeskit.numerics.rates import BINS, FIELDS, effective, ratio

PLACE = {score.name: i for i, score in enumerate(ROW_SCORES)}
POWERS = 3  # of what a row adds to a mean: the mean, its error, and how skew that is


def confusion_bytes(groups: int, classes: int) -> int:
    """What confusions and their squared weights take, with as much for what is made of them."""
    return 4 * 8 * groups * classes**2


def _check_size(groups: int, classes: int) -> None:
    """Refuse confusions, and their sums, that do not fit into memory."""
    what = f"confusions of {classes:,} classes in {groups:,} folds"
    check_memory(confusion_bytes(groups, classes), what, "join classes, or take fewer folds (Holdout)")


def _add_at(table: Float, cell: Int, value: Float) -> None:
    """Add values to their cells; where these are few the others are not touched, and take no memory."""
    flat = table.reshape(-1)
    if flat.size <= 8 * len(cell):
        flat += np.bincount(cell, value, minlength=flat.size)
    else:
        occupied, place = np.unique(cell, return_inverse=True)
        flat[occupied] += np.bincount(place, value, minlength=len(occupied))


@dataclass(frozen=True)
class ScoreSums:
    """Axis 0 of every array is the group, a fold for instance.

    >>> sums = ScoreSums.of(PredictedRows(np.array([0, 1]), np.array([[0.8, 0.2], [0.6, 0.4]])))
    >>> round(float(sums.mean("log_loss")[0]), 4), round(float(sums.mean("brier")[0]), 2)
    (0.5697, 0.4)
    """

    confusion: Float  # (G, K, actions) weight by true class and what the model did: named a class, or another action
    squared: Float  # (G, K, actions) squared weight, by which intervals know how many rows there are
    powers: Float  # (G, ROW_SCORES, POWERS) weight times what a row adds to a mean, its square and its cube
    top: Float  # (G, FIELDS, BINS) reliability of the top probability
    each: Float  # (G, K, FIELDS, BINS) reliability of the probability of each class
    decided: Float  # (G, 3) weight that was decided, of that given a class, and rightly; zero without costs

    @classmethod
    def empty(cls, groups: int, classes: int) -> ScoreSums:
        _check_size(groups, classes)
        square, cells = (classes, classes), (FIELDS, BINS)
        shapes = (square, square, (len(PLACE), POWERS), cells, (classes, *cells), (3,))
        return cls(*(np.zeros((groups, *shape)) for shape in shapes))

    @classmethod
    def of(cls, rows: PredictedRows, group: Int | None = None, groups: int = 1) -> ScoreSums:
        """The sums of rows; those of group or class -1 do not count."""
        return cls.empty(groups, rows.proba.shape[1]).add(rows, group)

    def add(self, rows: PredictedRows, group: Int | None = None) -> ScoreSums:
        """With the sums of more rows; those of group or class -1 do not count.

        Tables of confusion are written into: of many classes they are large, and few rows fill few of their cells.
        """
        groups, k, known = self.confusion.shape
        g = np.zeros(len(rows.codes), dtype=np.int64) if group is None else group
        used = (rows.codes >= 0) & (g >= 0)
        if not used.all():
            rows, g = rows.take(used), g[used]
        codes, done = rows.codes.astype(np.int64, copy=False), rows.done
        w = np.ones(len(codes)) if rows.weights is None else rows.weights
        wide = max(known, int(done.max(initial=0)) + 1)
        mine = self._wide(wide)
        # As ``sum_cells``, by group, class and cell of equal width, the top probability last: (G, K + 1, FIELDS, BINS).
        proba = np.ascontiguousarray(rows.proba)
        cells = _core.reliability_sums(proba, rows.best, codes, rows.weights, g, groups, BINS)

        cell = (g * k + codes) * wide + done
        _add_at(mine.confusion, cell, w)
        _add_at(mine.squared, cell, w * w)
        powers, paid = np.zeros((groups, len(PLACE), POWERS)), np.zeros((groups, 3))
        for j, score in enumerate(ROW_SCORES):
            if rows.costs is not None or not score.needs:  # without costs it is 0 by row
                powers[:, j] = _core.power_sums(score.of_rows(rows), rows.weights, g, groups)
        for j, share in enumerate(() if rows.costs is None else rows.paid[2:]):
            paid[:, j] = np.bincount(g, w * share, minlength=groups)
        return replace(
            mine,
            powers=self.powers + powers,
            top=self.top + cells[:, -1],
            each=self.each + cells[:, :-1],
            decided=self.decided + paid,
        )

    def merge(self, other: ScoreSums) -> ScoreSums:
        """The sums of both sets of rows, group by group."""
        mine, theirs = self.align(other)
        return ScoreSums(*(getattr(mine, f.name) + getattr(theirs, f.name) for f in fields(self)))

    def total(self, times: Float) -> ScoreSums:
        """All groups as one, each counted so many times."""
        return ScoreSums(*(np.tensordot(times, getattr(self, f.name), 1)[None] for f in fields(self)))

    def beside(self, other: ScoreSums) -> ScoreSums:
        """The groups of both, one after the other."""
        mine, theirs = self.align(other)
        return ScoreSums(*(np.concatenate([getattr(mine, f.name), getattr(theirs, f.name)]) for f in fields(self)))

    def align(self, other: ScoreSums) -> tuple[ScoreSums, ScoreSums]:
        """Both with a column for every action either knows."""
        wide = max(sums.confusion.shape[2] for sums in (self, other))
        return self._wide(wide), other._wide(wide)

    def _wide(self, actions: int) -> ScoreSums:
        """With a column for each of so many actions."""
        more = actions - self.confusion.shape[2]
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
    def rows(self) -> Float:
        """How many rows of equal weight there would be."""
        return effective(self.weight, self.squared.sum(axis=(1, 2)))

    def mean(self, name: str) -> Float:
        """Of what a score is the mean of over rows, NaN without weight."""
        return ratio(self.powers[:, PLACE[name], 0], self.weight)

    def moments(self, name: str) -> tuple[Float, Float]:
        """Second and third central moment over rows of what a mean is of.

        They are differences of sums: good to 1e-16 of the mean's square, which is below what matters to an interval.
        """
        mean, powers = self.mean(name), self.powers[:, PLACE[name], 1:] / self.weight[:, None]
        second, third = powers.T
        return second - mean**2, third - 3 * mean * second + 2 * mean**3


def by_chance(rows: PredictedRows, share: Float) -> ScoreSums:
    """Sums if the classes had nothing to do with the rows: every row counts in every class, by its share."""
    assert rows.weights is not None
    each = (
        ScoreSums.of(replace(rows, codes=np.full(len(rows.codes), k), weights=rows.weights * p))
        for k, p in enumerate(share.tolist())
    )
    return reduce(ScoreSums.merge, each)
