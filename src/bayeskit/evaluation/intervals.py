"""Intervals: how far a score may be off, and by which reasoning."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri, stdtrit

from bayeskit.arrays import Float

LEVEL = 0.95


@dataclass(frozen=True)
class Interval:
    """Where a score lies with 95 % confidence, and how that was found."""

    low: float
    high: float
    how: str


def wilson(share: float, weight: float) -> Interval:
    """Wilson's interval of a proportion p seen in a weight of n rows.

    (p + z²/2n ± z sqrt(p(1-p)/n + z²/4n²)) / (1 + z²/n)

    >>> interval = wilson(0.5, 10)
    >>> round(interval.low, 4), round(interval.high, 4)
    (0.2366, 0.7634)
    """
    if not weight > 0 or share != share:
        return Interval(np.nan, np.nan, "no rows")
    z2 = float(ndtri((1 + LEVEL) / 2)) ** 2
    middle = share + z2 / (2 * weight)
    half = np.sqrt(z2 * (share * (1 - share) / weight + z2 / (4 * weight * weight)))
    low, high = (middle - half) / (1 + z2 / weight), (middle + half) / (1 + z2 / weight)
    return Interval(max(0.0, float(low)), min(1.0, float(high)), "Wilson")


def by_folds(value: float, scores: Float, ratio: float, how: str = "folds, corrected t") -> Interval:
    """Student's 95 % interval from the scores of folds, whose training rows overlap.

    The variance of the mean is s² (1/J + test/train) for J folds (Nadeau and Bengio, Machine Learning 52, 2003).
    """
    found = scores[np.isfinite(scores)]
    if len(found) < 2:
        return Interval(np.nan, np.nan, "too few folds")
    half = float(stdtrit(len(found) - 1, (1 + LEVEL) / 2)) * corrected_error(found, ratio)
    return Interval(value - half, value + half, how)


def corrected_error(scores: Float, ratio: float) -> float:
    """Standard error of the mean of J scores of overlapping training sets; ``ratio`` is test to training rows."""
    return float(np.sqrt(np.var(scores, ddof=1) * (1 / len(scores) + ratio)))


def by_values(values: Float, how: str) -> Interval:
    """Percentiles of a score over resampled rows."""
    found = values[np.isfinite(values)]
    if len(found) < 2 or 2 * len(found) < len(values):
        return Interval(np.nan, np.nan, "too few rows")
    low, high = np.quantile(found, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(float(low), float(high), how)


def normal(value: float, error: float, how: str) -> Interval:
    """A share from its standard error, kept within 0 and 1."""
    half = float(ndtri((1 + LEVEL) / 2)) * error
    return Interval(float(np.maximum(0.0, value - half)), float(np.minimum(1.0, value + half)), how)


def known_mean(values: Float) -> float:
    """The mean of those that are numbers; NaN if none is."""
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else float("nan")
