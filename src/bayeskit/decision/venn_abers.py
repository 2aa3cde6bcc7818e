"""Venn-Abers: a probability as an interval, by isotonic regression with the new row tried as either class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from scipy.optimize import isotonic_regression

from bayeskit.arrays import Bool, Float, Int

LEAST = -1e300  # of a log probability, so that log-odds are numbers


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

    def _pair(self, a: int, b: int, logs: Sequence[Float]) -> Float:
        zero, one = [], []
        for f, new in enumerate(logs):
            mine = (self.fold == f) & ((self.codes == a) | (self.codes == b))
            regression = InductiveVennAbers(_odds(self.logs[mine], a, b), self.codes[mine] == b)
            p = regression(_odds(new, a, b))
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
