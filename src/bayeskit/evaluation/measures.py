"""Measures: the value of every score of an evaluation, and how far it may be off."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from bayeskit.arrays import Float, Int
from bayeskit.evaluation.intervals import by_folds, by_values, known_mean
from bayeskit.evaluation.kept import Kept, Trial
from bayeskit.evaluation.methods import Rows
from bayeskit.evaluation.ranking import Ranks
from bayeskit.evaluation.scores import Scores, Stakes
from bayeskit.proportion import Interval, wilson

SUMS = ("accuracy", "error_rate", "balanced_accuracy", "mcc", "kappa", "log_loss", "brier", "ece", "ece_classwise")
RANKED = ("ece_mass", "auc")
COSTS = ("expected_cost", "realised_cost", "coverage", "covered_accuracy")
PROPORTIONS = ("accuracy", "error_rate", "coverage")
LIMITS = {"mcc": (-1.0, 1.0), "kappa": (-1.0, 1.0), "log_loss": (0.0, np.inf), "brier": (0.0, 2.0)}
UNLIMITED = ("expected_cost", "realised_cost")


@dataclass(frozen=True)
class Measures:
    """Of folds (groups of ``scores``), over all repeats of a division.

    What needs all rows at once is exact while they are kept; otherwise it comes from bins of scores, ``ranks``.
    """

    scores: Scores  # a group for each tested fold of each repeat
    repeats: int  # how often the rows were divided
    ratio: float  # rows tested to rows learned from, in a fold; 0 where groups are parts of one fold
    kept: Kept | None = None
    ranks: Ranks | None = None
    stakes: Stakes | None = None

    @classmethod
    def of(
        cls, rows: Rows, proba: Float, ratio: float, stakes: Stakes | None = None, action: Int | None = None
    ) -> Measures:
        """Of all rows foretold at once, (n, K); ``action`` is what the model did with each, as in ``Scores.of``."""
        kept = Kept(rows, (Trial(proba, np.zeros(len(rows), dtype=np.int64), action),))
        scores = Scores.of(rows.codes, proba, rows.weights, stakes=stakes, action=action)
        return cls(scores, 1, ratio, kept, stakes=stakes)

    @property
    def names(self) -> tuple[str, ...]:
        if self.stakes is None:
            return (*SUMS, *RANKED)
        costs, undecided = COSTS[:2] if self.stakes.priced else (), COSTS[2:] if self.stakes.abstains else ()
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
        value = self.value(name)
        if name in PROPORTIONS:
            return wilson(value, float(self.total.weight[0]))
        if len(self.scores.loss) > 1:
            how = "folds, corrected t" if self.ratio else f"{len(self.scores.loss)} random parts, t"
            return _within(name, by_folds(value, self.by_fold(name), self.ratio, how))
        if self.kept is None:
            return _NONE
        return self.kept.interval(name, value, self.stakes)

    def by_fold(self, name: str) -> Float:
        """The measure in every fold: (G,)."""
        if name not in RANKED:
            found: Float = getattr(self.scores, name)
            return found
        if self.kept is not None:
            return self.kept.by_fold(name)
        tables = () if self.ranks is None else self.ranks.table
        return np.array([_of(Ranks(table[None]), name) for table in tables])

    @cached_property
    def areas(self) -> Float:
        """The area under the curve of each class against the rest, NaN where one of the two has no rows: (K,)."""
        if self.kept is not None:
            return self.kept.areas()
        return np.full(self.scores.confusion.shape[1], np.nan) if self.ranks is None else _areas(self.ranks)

    @property
    def area_bound(self) -> float:
        """How far binning of scores may have moved an area at most; 0 where it is exact."""
        if self.ranks is None:
            return 0.0
        bounds = [self.ranks.area(k)[1] for k in range(self.scores.confusion.shape[1])]
        return max((bound for bound in bounds if bound == bound), default=0.0)

    def _ranked(self, name: str) -> float:
        if self.kept is not None:
            return known_mean(self.areas) if name == "auc" else self.kept.value(name)
        return float("nan") if self.ranks is None else _of(self.ranks, name)


@dataclass(frozen=True)
class Bootstrapped:
    """Measures of a bootstrap: of models on the rows they did not draw, and on those they did."""

    out: Measures  # a group for each repeat: rows not drawn
    drawn: Scores  # a group for each repeat: rows drawn, as often as they were
    chance: Scores  # one group: every row's probabilities against every row's class
    plus: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        return self.out.names

    @property
    def areas(self) -> Float:
        return self.out.areas

    @property
    def total(self) -> Scores:
        return self.out.total

    @property
    def confusion(self) -> Float:
        """Blended as the accuracy is, which it therefore has, in the weight of the rows not drawn: (K, actions)."""
        test, train = (_shares(scores) for scores in (self.out.scores, self.drawn))
        weight = self._weight("accuracy", self.out.scores.accuracy, self.drawn.accuracy)
        width = max(test.shape[1], train.shape[1])
        test, train = (np.pad(share, ((0, 0), (0, width - share.shape[1]))) for share in (test, train))
        blend: Float = (weight * test + (1 - weight) * train) * self.total.weight[0]
        return blend

    def value(self, name: str) -> float:
        """The mean over repeats of 0.632 test + 0.368 train; areas and equal-mass calibration of rows not drawn."""
        if name in RANKED:
            return self.out.value(name)
        return known_mean(self.by_fold(name))

    def by_fold(self, name: str) -> Float:
        """In every repeat: (repeats,)."""
        if name in RANKED:
            return np.array([self.out.value(name)])
        test, train = getattr(self.out.scores, name), getattr(self.drawn, name)
        weight = self._weight(name, test, train)
        blend: Float = weight * test + (1 - weight) * train
        return blend

    def _weight(self, name: str, test: Float, train: Float) -> float:
        """0.632, or more where the model does worse on new rows, compared with doing as well as by chance."""
        if not self.plus:
            return 0.632
        gamma, err, new = float(getattr(self.chance, name)[0]), known_mean(train), known_mean(test)
        apart = gamma - err
        rate = min(max((new - err) / apart, 0.0), 1.0) if apart else 0.0
        return 0.632 / (1 - 0.368 * rate)

    def interval(self, name: str) -> Interval:
        if name in RANKED:
            return self.out.kept.interval(name, self.value(name), None) if self.out.kept else _NONE
        return by_values(self.by_fold(name), f"percentiles of {len(self.drawn.loss)} bootstraps")


def _shares(scores: Scores) -> Float:
    """The mean over groups of the shares of a confusion: (K, actions)."""
    there = scores.weight > 0
    mean: Float = (scores.confusion[there] / scores.weight[there, None, None]).mean(axis=0)
    return mean


def _within(name: str, found: Interval) -> Interval:
    """The interval cut to the values a measure can have."""
    low, high = (-np.inf, np.inf) if name in UNLIMITED else LIMITS.get(name, (0.0, 1.0))
    return replace(found, low=float(np.maximum(low, found.low)), high=float(np.minimum(high, found.high)))


_NONE = Interval(float("nan"), float("nan"), "rows were not kept")


def _areas(ranks: Ranks) -> Float:
    return np.array([ranks.area(k)[0] for k in range(ranks.table.shape[1] - 1)])


def _of(ranks: Ranks, name: str) -> float:
    return known_mean(_areas(ranks)) if name == "auc" else ranks.ece_mass()
