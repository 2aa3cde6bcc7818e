"""Score: what a figure of an evaluation is called, where it can lie and how it follows; one file of ``scores`` each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, wraps
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeVar, runtime_checkable

import numpy as np

from bayeskit.arrays import Bool, Float, Int
from bayeskit.evaluation.decisions import COST, DecisionCosts
from bayeskit.evaluation.intervals import by_folds, by_rows, no_interval
from bayeskit.numerics.rates import Interval, best_class, pick

if TYPE_CHECKING:
    from bayeskit.evaluation.confusion import Confusion
    from bayeskit.evaluation.measures import Measures
    from bayeskit.evaluation.out_of_fold import OutOfFold, Repeat
    from bayeskit.evaluation.score_sums import ScoreSums
    from bayeskit.model.labelled_table import Rows

TOPICS: tuple[str, ...] = ("decisions", "probabilities", "calibration", "ranking", "costs")  # as they are shown
S = TypeVar("S", bound="Score")


class Score(ABC):
    """A figure of an evaluation; tables, text, report and comparisons show every one there is."""

    name: ClassVar[str]
    title: ClassVar[str]
    meaning: ClassVar[str]  # in one line
    topic: ClassVar[str]  # one of TOPICS
    larger_is_better: ClassVar[bool]
    ideal: ClassVar[float | None] = None  # the best value, where values on both sides of it are worse
    limits: ClassVar[tuple[float, float]] = (0.0, 1.0)
    percent: ClassVar[bool] = False  # whether it is a share, to be read in percent
    headline: ClassVar[bool] = False  # whether it is in short tables and on the first cards of a report
    no_interval: ClassVar[str] = "none was shown to hold the truth"  # why, where ``interval`` is not overridden
    chance_adds: ClassVar[bool] = False  # so that it may lie above its interval, and more so in fewer rows
    needs: ClassVar[str] = ""  # the argument of evaluate it is known after, "costs" or "reject"
    needs_folds: ClassVar[bool] = False  # whether it compares rows that met the same model

    @abstractmethod
    def value(self, found: Measures) -> float:
        """Over all rows; where rows were divided more than once, over all repeats, each by its share."""

    @abstractmethod
    def by_fold(self, found: Measures) -> Float:
        """In every fold: (G,)."""

    def interval(self, found: Measures) -> Interval:
        """Where it lies with 95 % confidence; none is better than a false one."""
        return no_interval(self.no_interval)

    def loss(self, value: float) -> float:
        """What orders values from the best on."""
        if self.ideal is not None:
            return abs(value - self.ideal)
        return -value if self.larger_is_better else value

    def within(self, found: Interval) -> Interval:
        """The interval cut to the values the score can have."""
        low, high = self.limits
        return replace(found, low=float(np.maximum(low, found.low)), high=float(np.minimum(high, found.high)))


@runtime_checkable
class ByRow(Protocol):
    """A score that is a mean over rows: models are compared row by row, a bootstrap finds its error."""

    name: ClassVar[str]

    def of_rows(self, rows: PredictedRows) -> Float:
        """What each row adds to the mean: (n,)."""


def unless_grouped(rows_interval: Callable[[S, Measures], Interval]) -> Callable[[S, Measures], Interval]:
    """An interval that takes rows for independent; where they come in groups the folds say how far a score is off."""

    @wraps(rows_interval)
    def interval(self: S, found: Measures) -> Interval:
        if not found.grouped:
            return self.within(rows_interval(self, found))
        if not found.divided:
            return no_interval("rows come in groups")
        return self.within(by_folds(self.value(found), self.by_fold(found), found.ratio))

    return interval


class SumScore(Score):
    """A function of sums over rows, so that it merges and runs on streams."""

    @abstractmethod
    def of_sums(self, sums: ScoreSums) -> Float:
        """By group: (G,)."""

    def value(self, found: Measures) -> float:
        return float(self.of_sums(found.total)[0])

    def by_fold(self, found: Measures) -> Float:
        return self.of_sums(found.sums)


class TableScore(SumScore):
    """A function of the confusion alone."""

    topic = "decisions"

    @abstractmethod
    def of_tables(self, tables: Float) -> Float:
        """Of weights by true class and action, the classes first among the actions: (..., K, actions) to (...)."""

    def of_sums(self, sums: ScoreSums) -> Float:
        return self.of_tables(sums.confusion)

    def of_table(self, table: Confusion) -> Interval:
        """The interval by one confusion of independent rows."""
        return no_interval(self.no_interval)

    @unless_grouped
    def interval(self, found: Measures) -> Interval:
        return self.of_table(found.table)


class RowScore(SumScore):
    """The mean over rows of what each row alone gives, with Student's interval after Hall."""

    @abstractmethod
    def of_rows(self, rows: PredictedRows) -> Float:
        """What each row adds to the mean: (n,)."""

    def of_sums(self, sums: ScoreSums) -> Float:
        return sums.mean(self.name)

    @unless_grouped
    def interval(self, found: Measures) -> Interval:
        second, third = (float(moment[0]) for moment in found.total.moments(self.name))
        return by_rows(self.value(found), second, third, found.rows)


class KeptScore(Score):
    """What needs the predictions of all rows at once: the mean over repeats, NaN where rows are not kept."""

    @abstractmethod
    def of_repeat(self, rows: Rows, repeat: Repeat, mask: Bool) -> float:
        """Of some rows, (n,), of one division; all of them have a class."""

    def of_first(self, kept: OutOfFold) -> float:
        """Of all rows of the first division."""
        first = kept.repeats[0]
        return self.of_repeat(kept.rows, first, (first.fold >= 0) & kept.rows.counted)

    def value(self, found: Measures) -> float:
        kept = found.kept
        if kept is None:
            return float("nan")
        more = (self.of_repeat(kept.rows, r, (r.fold >= 0) & kept.rows.counted) for r in kept.repeats[1:])
        return float(np.mean([self.of_first(kept), *more]))

    def by_fold(self, found: Measures) -> Float:
        kept = found.kept
        if kept is None:
            return np.full(len(found.sums.confusion), np.nan)
        folds = ((r, mask & kept.rows.counted) for r in kept.repeats for mask in r.folds())
        return np.array([self.of_repeat(kept.rows, r, mask) for r, mask in folds])


@dataclass(frozen=True)
class PredictedRows:
    """What scores are made of.

    >>> rows = PredictedRows(np.array([0, 1]), np.array([[0.8, 0.2], [0.6, 0.4]]))
    >>> rows.done.tolist(), rows.true.tolist()
    ([0, 0], [0.8, 0.4])
    """

    codes: Int  # (n,) true class, -1 where it is not known
    proba: Float  # (n, K)
    weights: Float | None = None  # (n,); None: all 1
    action: Int | None = None  # (n,) what was done: a class, or from K on another action; None: the most probable class
    costs: DecisionCosts | None = None

    @cached_property
    def best(self) -> Int:
        """The most probable class: (n,)."""
        return best_class(self.proba)

    @property
    def done(self) -> Int:
        """What the model did: (n,)."""
        return self.best if self.action is None else self.action

    @cached_property
    def true(self) -> Float:
        """P(true class): (n,)."""
        return pick(self.proba, self.codes)

    @cached_property
    def paid(self) -> Float:
        """As ``DecisionCosts.tallied``, zero without costs: (COST, n)."""
        if self.costs is None:
            return np.zeros((COST, len(self.codes)))
        return self.costs.price_actions(self.codes, self.proba, self.done)

    def take(self, chosen: Bool | Int) -> PredictedRows:
        """Some of the rows."""
        weights = None if self.weights is None else self.weights[chosen]
        action = None if self.action is None else self.action[chosen]
        return PredictedRows(self.codes[chosen], self.proba[chosen], weights, action, self.costs)
