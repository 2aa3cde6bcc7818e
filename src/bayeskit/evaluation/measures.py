"""Measures: the value of every score of an evaluation, and how far it may be off."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from bayeskit.arrays import Float, Int
from bayeskit.data.rows import Rows
from bayeskit.evaluation.areas import Areas
from bayeskit.evaluation.calibration import debiased_square, square_interval
from bayeskit.evaluation.confusion import Confusion
from bayeskit.evaluation.intervals import by_folds, by_rows, known_mean, no_interval
from bayeskit.evaluation.out_of_fold import OutOfFold, Repeat
from bayeskit.evaluation.score_histogram import ScoreHistogram
from bayeskit.evaluation.scores import MEANS, DecisionCosts, Scores
from bayeskit.numerics.proportion import Interval, effective, wilson
from bayeskit.numerics.reliability import BINS, FIELDS, gap

OF_CONFUSION = ("accuracy", "error_rate", "balanced_accuracy", "mcc", "kappa")
SUMS = (*OF_CONFUSION, "log_loss", "brier", "ece", "ece_debiased", "ece_classwise")
RANKED = ("ece_mass", "ece_l2", "auc", "auc_by_fold")
COSTS = ("expected_cost", "realised_cost", "coverage", "covered_accuracy")
LIMITS = {"mcc": (-1.0, 1.0), "kappa": (-1.0, 1.0), "log_loss": (0.0, np.inf), "brier": (0.0, 2.0)}
LARGER_IS_BETTER = (*OF_CONFUSION[:1], *OF_CONFUSION[2:], "auc", "auc_by_fold", "coverage", "covered_accuracy")
UNLIMITED = ("expected_cost", "realised_cost")


@dataclass(frozen=True)
class Measures:
    """Of folds (groups of ``scores``), over all repeats of a division.

    What needs all rows at once is exact while they are kept; otherwise it comes from bins of scores, ``ranks``.
    """

    scores: Scores  # a group for each tested fold of each repeat
    repeats: int  # how often the rows were divided
    ratio: float  # rows tested to rows learned from, in a fold; 0 where groups are parts of one fold
    kept: OutOfFold | None = None
    ranks: ScoreHistogram | None = None
    decision_costs: DecisionCosts | None = None
    grouped: bool = False  # whether rows come in groups, and say less than as many rows
    left_out: bool = False  # whether each row met a model of its own

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
        """Of log-probabilities of all rows at once, (n, K); ``action`` is what the model did, as in ``Scores.of``."""
        proba = np.exp(logs)
        kept = OutOfFold(rows, (Repeat(proba, np.zeros(len(rows), dtype=np.int64), action, logs),))
        scores = Scores.of(rows.codes, proba, rows.weights, decision_costs=decision_costs, action=action)
        return cls(scores, 1, ratio, kept, decision_costs=decision_costs, left_out=left_out)

    @property
    def names(self) -> tuple[str, ...]:
        if self.decision_costs is None:
            return (*SUMS, *RANKED)
        costs, undecided = (
            COSTS[:2] if self.decision_costs.priced else (),
            COSTS[2:] if self.decision_costs.abstains else (),
        )
        return (*SUMS, *RANKED, *costs, *undecided)

    @cached_property
    def total(self) -> Scores:
        """Of all folds together, a repeat counting its share."""
        return self.scores.total(np.full(len(self.scores.loss), 1 / self.repeats))

    @property
    def confusion(self) -> Float:
        """Weights by true class and what was done: (K, actions)."""
        table: Float = self.total.confusion[0]
        return table

    @property
    def squared(self) -> Float:
        """Squared weights, likewise."""
        table: Float = self.total.squared[0]
        return table

    def value(self, name: str) -> float:
        """The measure over all rows; where rows were divided more than once, over all repeats, each by its share."""
        return self._ranked(name) if name in RANKED else float(getattr(self.total, name)[0])

    def interval(self, name: str) -> Interval:
        """Where it lies with 95 % confidence."""
        found = self._interval(name)
        if name != "auc" or self.ranks is None:
            return found
        return replace(found, how=f"{found.how}; from bins, off by {self.area_bound:.1g} at most")

    def _interval(self, name: str) -> Interval:
        if name.startswith("ece") and name != "ece_l2":
            return no_interval("none is honest; see ece_l2")
        if self.grouped:
            if not self._divided:
                return no_interval("rows come in groups")
            return _within(name, by_folds(self.value(name), self.by_fold(name), self.ratio))
        if name == "ece_l2":
            return square_interval(self._mass_tables[0])
        if name in RANKED:
            return self._area_interval(name)
        value, rows = self.value(name), float(self.total.rows[0])
        if name in OF_CONFUSION:
            return self.table.interval(name)
        if name in MEANS:
            second, third = (float(moment[0]) for moment in self.total.moments(name))
            return _within(name, by_rows(value, second, third, rows))
        decided = 1.0 if name == "coverage" else float(self.total.cost[0, 3] / self.total.weight[0])
        return wilson(value, rows * decided)

    def _area_interval(self, name: str) -> Interval:
        """Of the mean area of the models of the folds; within folds, so that pooling does not move it."""
        if name == "auc_by_fold" and self.left_out:
            return no_interval("no two rows met the same model")
        found = self._areas
        if found is None:
            return no_interval("no rows")
        if not self._divided or not len(self._fold_areas):
            return found.interval()
        interval = found.interval(_known_means(self._fold_areas), len(self._fold_areas) // self.repeats)
        value = self.value(name)
        return replace(interval, low=min(interval.low, value), high=max(interval.high, value))

    @property
    def _divided(self) -> bool:
        """Whether groups of scores are folds, each with a model of its own."""
        return self.ratio > 0 and len(self.scores.loss) > 1

    @cached_property
    def table(self) -> Confusion:
        """The confusion by number of class and action."""
        classes, actions = self.confusion.shape
        return Confusion(self.confusion, range(classes), others=range(classes, actions), squared=self.squared)

    @cached_property
    def _areas(self) -> Areas | None:
        """With what their interval needs."""
        if self.kept is not None:
            return self.kept.first_areas
        if self.ranks is None:
            return None
        each = np.stack([table[0].sum(axis=1) for table in (self.total.confusion, self.total.squared)])
        rest = each.sum(axis=1, keepdims=True) - each
        return self.ranks.areas(np.stack([effective(*each), effective(*rest)], axis=1))

    @cached_property
    def _fold_areas(self) -> Float:
        """Areas of each class in every fold: (folds, K); none where they were not binned apart."""
        if self.kept is not None:
            return self.kept.fold_areas
        classes = self.scores.confusion.shape[1]
        if self.ranks is None or len(self.ranks.table) == 1:
            return np.empty((0, classes))
        return np.array([_binned_areas(ScoreHistogram(table[None])) for table in self.ranks.table])

    def by_fold(self, name: str) -> Float:
        """The measure in every fold: (G,)."""
        if name not in RANKED:
            found: Float = getattr(self.scores, name)
            return found
        if name in ("auc", "auc_by_fold"):
            return np.array([known_mean(areas) for areas in self._fold_areas])
        return np.array([_of_mass(name, table) for table in self._fold_mass_tables])

    @cached_property
    def areas(self) -> Float:
        """The area under the curve of each class against the rest, NaN where one of the two has no rows: (K,)."""
        if self.kept is not None:
            return self.kept.areas()
        return np.full(self.scores.confusion.shape[1], np.nan) if self.ranks is None else _binned_areas(self.ranks)

    @property
    def area_bound(self) -> float:
        """How far binning of scores may have moved an area at most; 0 where it is exact."""
        if self.ranks is None:
            return 0.0
        bounds = [self.ranks.area(k)[1] for k in range(self.scores.confusion.shape[1])]
        return max((bound for bound in bounds if bound == bound), default=0.0)

    def _ranked(self, name: str) -> float:
        if name == "auc":
            return known_mean(self.areas)
        if name == "auc_by_fold":
            by_fold = known_mean(_known_means(self._fold_areas)) if self._divided else known_mean(self.areas)
            return float("nan") if self.left_out else by_fold
        return float(np.mean([_of_mass(name, table) for table in self._mass_tables]))

    @property
    def _mass_tables(self) -> Float:
        """Reliability over cells of equal mass, of each repeat: (repeats, FIELDS, BINS)."""
        if self.kept is not None:
            return self.kept.mass_tables
        return np.empty((0, FIELDS, BINS)) if self.ranks is None else self.ranks.mass_table(self._mean_weight)[None]

    @property
    def _fold_mass_tables(self) -> Float:
        """The same of every fold: (folds, FIELDS, BINS)."""
        if self.kept is not None:
            return self.kept.fold_mass_tables
        tables = () if self.ranks is None else self.ranks.table
        return np.array([ScoreHistogram(table[None]).mass_table(self._mean_weight) for table in tables])

    @property
    def _mean_weight(self) -> float:
        """Σw² / Σw, which bins of scores take for the weight of each row."""
        return float(self.total.squared.sum()) / max(float(self.total.weight[0]), 1e-300)


def _within(name: str, found: Interval) -> Interval:
    """The interval cut to the values a measure can have."""
    low, high = (-np.inf, np.inf) if name in UNLIMITED else LIMITS.get(name, (0.0, 1.0))
    return replace(found, low=float(np.maximum(low, found.low)), high=float(np.minimum(high, found.high)))


def _known_means(areas: Float) -> Float:
    """Mean over the folds that have an area of the class: (folds, K) to (K,)."""
    return np.array([known_mean(column) for column in areas.T])


def _binned_areas(ranks: ScoreHistogram) -> Float:
    return np.array([ranks.area(k)[0] for k in range(ranks.table.shape[1] - 1)])


def _of_mass(name: str, table: Float) -> float:
    """Plain, or squared and without what chance adds."""
    return gap(table) if name == "ece_mass" else float(np.sqrt(max(debiased_square(table), 0.0)))
