"""Intervals: how far a score may be off, and by which reasoning."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri, stdtrit

from bayeskit.arrays import Float
from bayeskit.proportion import LEVEL, Interval


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
