"""Proportion: a share of rows, and how far it may be off."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from bayeskit.arrays import Float

LEVEL = 0.95


@dataclass(frozen=True)
class Interval:
    """Where a score lies with 95 % confidence, and how that was found."""

    low: float
    high: float
    how: str


def effective(weight: Float | float, squared: Float | float) -> Float:
    """How many rows of equal weight say as much: (Σw)² / Σw², 0 without rows.

    >>> effective(np.array([1e6, 3.0]), np.array([1e10, 5.0])).tolist()
    [100.0, 1.8]
    """
    rows: Float = np.divide(np.square(weight), squared, out=np.zeros(np.shape(weight)), where=np.greater(squared, 0))
    return rows


def ratio(part: Float | float, whole: Float | float) -> Float:
    """part / whole, NaN where the whole is nothing.

    >>> ratio(np.array([1.0, 0.0]), np.array([2.0, 0.0])).tolist()
    [0.5, nan]
    """
    part, whole = np.asarray(part, dtype=np.float64), np.asarray(whole, dtype=np.float64)
    share: Float = np.divide(part, whole, out=np.full(np.broadcast(part, whole).shape, np.nan), where=whole > 0)
    return share


def wilson(share: float, weight: float, quantile: float = float(ndtri((1 + LEVEL) / 2))) -> Interval:
    """Wilson's interval of a proportion p seen in a weight of n rows; ``quantile`` z is the normal one unless given.

    (p + z²/2n ± z sqrt(p(1-p)/n + z²/4n²)) / (1 + z²/n)

    >>> interval = wilson(0.5, 10)
    >>> round(interval.low, 4), round(interval.high, 4)
    (0.2366, 0.7634)
    """
    if not weight > 0 or share != share:
        return Interval(np.nan, np.nan, "no rows")
    z2 = quantile**2
    middle = share + z2 / (2 * weight)
    half = np.sqrt(z2 * (share * (1 - share) / weight + z2 / (4 * weight * weight)))
    low, high = (middle - half) / (1 + z2 / weight), (middle + half) / (1 + z2 / weight)
    return Interval(max(0.0, float(low)), min(1.0, float(high)), "Wilson")
