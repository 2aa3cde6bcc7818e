"""Venn-Abers: a probability as an interval, by isotonic regression with the new row tried as either class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from scipy.optimize import isotonic_regression

from bayeskit.arrays import Bool, Float, Int
from bayeskit.portable.program import Unportable

LEAST = -1e300  # of a log probability, so that log-odds are numbers
TIE = 1e-9  # relative distance of scores that count as equal where a map is written down
LONGEST = 10_000  # scores of a map that is written down: it takes a regression for each


@dataclass(frozen=True)
class InductiveVennAbers:
    """p0 and p1 of a new score: what isotonic regression of class on score says of it, taken as a row of either class.

    Vovk and Petej (2014): one of the two is a calibrated probability, whatever the scores are.
    """

    scores: Float  # (n,) of rows that the model has not learned
    is_second: Bool  # (n,) whether they are of the second class

    @cached_property
    def _steps(self) -> tuple[Float, Float, Float]:
        """Different scores in order, their weight and how much of it is of the second class: (m,) each."""
        value, place = np.unique(self.scores, return_inverse=True)
        total = np.bincount(place).astype(np.float64)
        return value, total, np.bincount(place, self.is_second, minlength=len(value)).astype(np.float64)

    def __call__(self, scores: Float) -> Float:
        """p0 and p1 of new scores: (m, 2)."""
        value, _, _ = self._steps
        first, last = np.searchsorted(value, scores, "left"), np.searchsorted(value, scores, "right")
        keys, place = np.unique(np.column_stack([first, last]), axis=0, return_inverse=True)
        found = np.array([[self._fit(a, b, label) for label in (0.0, 1.0)] for a, b in keys.tolist()])
        both: Float = found.reshape(-1, 2)[place.ravel()]
        return both

    def steps(self) -> tuple[Float, Float]:
        """p1 / (1 - p0 + p1) as a step function: m edges, and m + 1 levels between them.

        A score that is that of a learned row to nine digits counts as the same, as other places round otherwise.
        """
        value, _, _ = self._steps
        room = TIE * np.maximum(1.0, np.abs(value))
        low, high = value - room, value + room
        close = np.flatnonzero(high[:-1] > low[1:])
        low[close + 1] = high[close] = value[close] / 2 + value[close + 1] / 2
        places = [key for i in range(len(value)) for key in ((i, i), (i, i + 1))] + [(len(value), len(value))]
        both = np.array([[self._fit(a, b, label) for label in (0.0, 1.0)] for a, b in places])
        return np.column_stack([low, high]).ravel(), both[:, 1] / (1 - both[:, 0] + both[:, 1])

    def _fit(self, first: int, last: int, label: float) -> float:
        """The value of the regression at a new row that stands before step ``first``, or on it if ``last`` is next."""
        _, total, hits = self._steps
        if last > first:
            total, hits = total.copy(), hits.copy()
            total[first] += 1
            hits[first] += label
        else:
            total, hits = np.insert(total, first, 1.0), np.insert(hits, first, label)
        return float(isotonic_regression(hits / total, weights=total).x[first])


@dataclass(frozen=True)
class VennAbersMap:
    """Pairs of classes, each with a regression for every fold of the rows it is fitted to.

    Several folds are merged by geometric means (cross Venn-Abers, Vovk, Petej and Fedorova 2015), several classes by
    1 / (sum over the others of 1 / p - (K - 2)) of the probabilities against each (Manokhin 2017).
    """

    logs: Float  # (n, K) log posteriors of rows by a model that has not learned them
    codes: Int  # (n,)
    fold: Int  # (n,)

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        return tuple(combinations(range(self.logs.shape[1]), 2))

    def intervals(self, logs: Sequence[Float]) -> Float:
        """p0 and p1 of the second class of each pair, merged over folds, from log posteriors by each: (m, pairs, 2)."""
        return np.stack([self._pair(a, b, logs) for a, b in self.pairs], axis=1)

    def _regression(self, a: int, b: int, fold: int) -> InductiveVennAbers:
        mine = (self.fold == fold) & ((self.codes == a) | (self.codes == b))
        return InductiveVennAbers(_odds(self.logs[mine], a, b), self.codes[mine] == b)

    def portable(self) -> tuple[object, ...]:
        """Itself in a portable program, if it has one fold."""
        if len(np.unique(self.fold)) > 1:
            raise Unportable(
                "it merges a model for each fold, and a program has one; fit VennAbers with method='inductive' or 'loo'"
            )
        if len(self.codes) > LONGEST:
            raise Unportable(
                f"its regressions are of {len(self.codes):,} rows, and steps of at most {LONGEST:,} are written down; "
                "method='inductive' with a smaller calibration_size keeps fewer"
            )
        edges, levels = zip(*(self._regression(a, b, 0).steps() for a, b in self.pairs), strict=True)
        return "pairs", [edge.tolist() for edge in edges], [level.tolist() for level in levels]

    def _pair(self, a: int, b: int, logs: Sequence[Float]) -> Float:
        zero, one = [], []
        for f, new in enumerate(logs):
            p = self._regression(a, b, f)(_odds(new, a, b))
            zero.append(p[:, 0])
            one.append(p[:, 1])
        if len(logs) == 1:
            return np.column_stack([zero[0], one[0]])
        return np.column_stack([1 - _geometric_mean(1 - np.array(zero)), _geometric_mean(np.array(one))])

    def merge(self, intervals: Float) -> Float:
        """Probabilities of the classes from p0 and p1 of the pairs: (m, K)."""
        second = intervals[..., 1] / (1 - intervals[..., 0] + intervals[..., 1])
        classes = self.logs.shape[1]
        if classes == 2:
            return np.column_stack([1 - second[:, 0], second[:, 0]])
        inverse = np.zeros((len(intervals), classes))
        with np.errstate(divide="ignore"):
            for k, (a, b) in enumerate(self.pairs):
                inverse[:, a] += 1 / (1 - second[:, k])
                inverse[:, b] += 1 / second[:, k]
        p = 1 / (inverse - (classes - 2))
        whole: Float = p / p.sum(axis=1, keepdims=True)
        return whole


def _odds(logs: Float, a: int, b: int) -> Float:
    known = np.maximum(logs, LEAST)
    odds: Float = known[:, b] - known[:, a]
    return odds


def _geometric_mean(p: Float) -> Float:
    mean: Float = p.prod(axis=0) ** (1 / len(p))
    return mean
