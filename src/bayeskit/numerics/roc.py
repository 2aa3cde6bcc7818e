"""Curve: how many of a class are found against how many others, as a threshold falls."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayeskit.arrays import Bool, Float


@dataclass(frozen=True)
class Curve:
    """The ROC curve of one class against the rest: a point for every distinct score, from (0, 0) to (1, 1)."""

    threshold: Float  # (points,) scores of at least this count as the class; inf at the start
    false_positive: Float  # (points,) share of the others
    true_positive: Float  # (points,) share of the class

    @property
    def area(self) -> float:
        """The chance that a row of the class scores above one of the others, a tie counting half."""
        return float(np.trapezoid(self.true_positive, self.false_positive))


def curve(scores: Float, positive: Bool, weights: Float) -> Curve:
    """The exact curve, from all scores; NaN shares where the class or the rest has no weight.

    >>> curve(np.array([0.1, 0.4, 0.35, 0.8]), np.array([False, False, True, True]), np.ones(4)).area
    0.75
    """
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    last = np.append(np.flatnonzero(np.diff(ranked)), len(ranked) - 1) if len(ranked) else np.zeros(0, dtype=np.int64)
    shares = []
    for some in (~positive, positive):
        passed = np.append(0.0, np.cumsum((weights * some)[order])[last])
        with np.errstate(invalid="ignore"):
            shares.append(passed / passed[-1] if passed[-1] > 0 else np.full(len(passed), np.nan))
    return Curve(np.append(np.inf, ranked[last]), *shares)
