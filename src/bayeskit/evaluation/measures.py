"""Measures: the value of every score of an evaluation, and how far it may be off."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bayeskit.arrays import Float, Int
from bayeskit.evaluation.areas import RANKED, Areas, ScoreHistogram
from bayeskit.evaluation.confusion import Confusion
from bayeskit.evaluation.decisions import DecisionCosts
from bayeskit.evaluation.intervals import known_mean
from bayeskit.evaluation.out_of_fold import OutOfFold, Repeat
from bayeskit.evaluation.score import PredictedRows
from bayeskit.evaluation.score_sums import ScoreSums
from bayeskit.evaluation.scores import SCORES
from bayeskit.model.labelled_table import Rows
from bayeskit.numerics.rates import BINS, FIELDS, Interval, effective

MANY = 100_000  # kept rows beyond which ranks come from bins


@dataclass(frozen=True)
class Measures:
    """Of folds (groups of ``sums``), over all repeats of a division.

    What needs all rows at once is exact while they are kept, or else comes from bins of scores, ``ranks``, as ranks of
    more than ``MANY`` rows always do.
    """

    sums: ScoreSums  # a group for each tested fold of each repeat
    repeats: int  # how often the rows were divided
    ratio: float  # rows tested to rows learned from, in a fold; 0 where groups are parts of one fold
    kept: OutOfFold | None = None
    ranks: ScoreHistogram | None = None
    decision_costs: DecisionCosts | None = None
    grouped: bool = False  # whether rows come in groups, and say less than as many rows
    left_out: bool = False  # whether each row met a model of its own
    overlap: Callable[[], float] | None = None  # the design effect of rows that made models of other folds; None: 1

    @classmethod
    def of(
        cls,
        rows: Rows,
        logs: Float,
        ratio: float,
        decision_costs: DecisionCosts | None = None,
        action: Int | None = None,
        left_out: bool = False,
    ) -> Measures:
        """Of log-probabilities of all rows at once, (n, K); ``action`` is what the model did."""
        proba = np.exp(logs)
        kept = OutOfFold(rows, (Repeat(proba, np.zeros(len(rows), dtype=np.int64), action, logs),))
        sums = ScoreSums.of(PredictedRows(rows.codes, proba, rows.weights, action, decision_costs))
        return cls(sums, 1, ratio, kept, bin_ranks(kept), decision_costs, left_out=left_out)

    @property
    def names(self) -> tuple[str, ...]:
        """Of the scores that are known, in the order they are shown."""
        costs = self.decision_costs
        known = {
            "",
            *(("costs",) if costs and costs.priced else ()),
            *(("reject",) if costs and costs.abstains else ()),
        }
        return tuple(score.name for score in SCORES.values() if score.needs in known)

    def value(self, name: str) -> float:
        """The score over all rows; where rows were divided more than once, over all repeats, each by its share."""
        return SCORES[name].value(self)

    def by_fold(self, name: str) -> Float:
        """The score in every fold: (G,)."""
        return SCORES[name].by_fold(self)

    def interval(self, name: str) -> Interval:
        """Where it lies with 95 % confidence."""
        return SCORES[name].interval(self)

    @cached_property
    def total(self) -> ScoreSums:
        """Of all folds together, a repeat counting its share."""
        return self.sums.total(np.full(len(self.sums.confusion), 1 / self.repeats))

    @property
    def confusion(self) -> Float:
        """Weights by true class and what was done: (K, actions)."""
        table: Float = self.total.confusion[0]
        return table

    @property
    def squared(self) -> Float:
        """Squared weights, likewise, times the design effect: so many rows less are what intervals count."""
        table: Float = self.design_effect * self.total.squared[0]
        return table

    @cached_property
    def design_effect(self) -> float:
        """By how much the variance of a score exceeds that of as many rows that made no model of another fold."""
        return 1.0 if self.overlap is None else self.overlap()

    @property
    def rows(self) -> float:
        """How many rows of equal weight that made no model would say as much."""
        return float(self.total.rows[0]) / self.design_effect

    @cached_property
    def table(self) -> Confusion:
        """The confusion by number of class and action."""
        classes, actions = self.confusion.shape
        return Confusion(self.confusion, range(classes), others=range(classes, actions), squared=self.squared)

    @property
    def divided(self) -> bool:
        """Whether groups of sums are folds, each with a model of its own."""
        return self.ratio > 0 and len(self.sums.confusion) > 1

    @cached_property
    def whole_areas(self) -> Areas | None:
        """Areas under the curves over all rows, with what their interval needs."""
        if self.ranks is None:
            return None if self.kept is None else self.kept.first_areas
        each = np.stack([table[0].sum(axis=1) for table in (self.total.confusion, self.total.squared)])
        rest = each.sum(axis=1, keepdims=True) - each
        return self.ranks.areas(np.stack([effective(*each), effective(*rest)], axis=1))

    @cached_property
    def areas(self) -> Float:
        """The area under the curve of each class against the rest, NaN where one of the two has no rows: (K,)."""
        if self.ranks is not None:
            return _areas_of_bins(self.ranks)
        return np.full(self.sums.confusion.shape[1], np.nan) if self.kept is None else self.kept.areas()

    @cached_property
    def fold_areas(self) -> Float:
        """Areas of each class in every fold: (folds, K); none where they were not binned apart."""
        if self.ranks is None and self.kept is not None:
            return self.kept.fold_areas
        if self.ranks is None or (len(self.ranks.table) == 1 and self.kept is None):
            return np.empty((0, self.sums.confusion.shape[1]))
        return np.array([_areas_of_bins(ScoreHistogram(table[None])) for table in self.ranks.table])

    @property
    def mean_fold_areas(self) -> Float:
        """Mean over the folds that have an area of the class: (K,)."""
        return np.array([known_mean(column) for column in self.fold_areas.T])

    @property
    def area_bound(self) -> float:
        """How far binning of scores may have moved an area at most; 0 where it is exact."""
        if self.ranks is None:
            return 0.0
        bounds = [self.ranks.area(k)[1] for k in range(self.sums.confusion.shape[1])]
        return max((bound for bound in bounds if bound == bound), default=0.0)

    @property
    def mass_tables(self) -> Float:
        """Reliability over cells of equal mass, of each repeat: (repeats, FIELDS, BINS)."""
        if self.ranks is not None:
            return self.ranks.mass_table(self._mean_weight)[None]
        return np.empty((0, FIELDS, BINS)) if self.kept is None else self.kept.mass_tables

    @property
    def fold_mass_tables(self) -> Float:
        """The same of every fold: (folds, FIELDS, BINS)."""
        if self.ranks is None and self.kept is not None:
            return self.kept.fold_mass_tables
        tables = () if self.ranks is None else self.ranks.table
        return np.array([ScoreHistogram(table[None]).mass_table(self._mean_weight) for table in tables])

    @property
    def _mean_weight(self) -> float:
        """Σw² / Σw, which bins of scores take for the weight of each row."""
        return float(self.total.squared.sum()) / max(float(self.total.weight[0]), 1e-300)


def _areas_of_bins(ranks: ScoreHistogram) -> Float:
    return np.array([ranks.area(k)[0] for k in range(ranks.table.shape[1] - 1)])


def bin_ranks(kept: OutOfFold) -> ScoreHistogram | None:
    """Log-odds of the rows by bins and folds, where there are many rows of one division; None: ranks are exact."""
    first, rows = kept.repeats[0], kept.rows
    groups, classes = int(first.fold.max(initial=0)) + 1, first.proba.shape[1]
    if len(kept.repeats) > 1 or len(rows) <= MANY or groups * classes > RANKED:
        return None
    used = (first.fold >= 0) & rows.counted
    at = slice(None) if used.all() else used
    ranks = ScoreHistogram.empty(groups, classes)
    return ranks.add(rows.codes[at], first.odds[at], first.best[at], rows.weights[at], first.fold[at])
