"""Written: numbers with as few decimals as people write them with."""

from __future__ import annotations

import numpy as np

from bayeskit.arrays import Float

MOST = 1000  # values of a column that are all listed
MANY = 300  # decimals of the smallest doubles, about
FINE = 1e12  # values of a column beyond which its step is that of doubles, not of a record
EXACT = 22  # powers of ten up to here are doubles


def telling_decimals(decimals: float, low: float, high: float) -> float:
    """The decimals of values between two ends, NaN where they tell so many apart that they are no longer written.

    >>> telling_decimals(0.0, 0.0, 9e6), telling_decimals(0.0, -1e20, 1e20)
    (0.0, nan)
    """
    return np.nan if (high - low) * 10.0**decimals >= FINE else decimals


def usual_decimals(low: float, high: float) -> int:
    """Decimals that tell about a thousand values apart between two ends; below 0 they are zeros before the point.

    >>> usual_decimals(0.0, 2.0), usual_decimals(100.0, 90_000.0)
    (3, -1)
    """
    wide = high - low
    return int(np.clip(np.ceil(-np.log10(wide / MOST)), -MANY, MANY)) if 0 < wide < np.inf else 0


def values_at(steps: Float, decimals: int) -> Float:
    """Numbers of steps of 10^-decimals as the doubles nearest to them."""
    if abs(decimals) <= EXACT:
        found: Float = steps / 10.0**decimals if decimals >= 0 else steps * 10.0**-decimals
        return found
    return np.array([float(f"{step:.0f}e{-decimals}") for step in steps.tolist()])


def ends_at(low: float, high: float, decimals: int) -> tuple[float, float]:
    """The least and the greatest number of steps of 10^-decimals from low to high; none if the least is the greater.

    >>> ends_at(0.7, 2.95, 1), ends_at(1234.0, 5678.0, -2)
    ((7.0, 29.0), (13.0, 56.0))
    """
    scaled = np.array([low, high]) * 10.0**decimals if decimals >= 0 else np.array([low, high]) / 10.0**-decimals
    first, last = np.ceil(scaled[0]), np.floor(scaled[1])
    if np.isfinite(first):
        first -= values_at(np.array([first - 1]), decimals)[0] >= low  # 0.7 * 10 is more than 7
    if np.isfinite(last):
        last += values_at(np.array([last + 1]), decimals)[0] <= high
    return float(first), float(last)


def list_numbers(low: float, high: float, decimals: int) -> Float | None:
    """Every number of so many decimals from low to high, None if there are more than a thousand.

    >>> list_numbers(0.7, 1.1, 1).tolist()
    [0.7, 0.8, 0.9, 1.0, 1.1]
    """
    first, last = ends_at(low, high, decimals)
    return values_at(np.arange(first, last + 1), decimals) if last - first < MOST else None


def between(low: float, high: float, decimals: float) -> tuple[Float, bool]:
    """Numbers from low to high with the decimals known, and whether there are others between; at most a thousand.

    >>> between(0.0, 3.0, 0.0)
    (array([0., 1., 2., 3.]), False)
    """
    every = list_numbers(low, high, int(decimals)) if np.isfinite(decimals) else None
    if every is not None and len(every):
        return every, False
    places = int(decimals) if np.isfinite(decimals) else usual_decimals(low, high)
    return round_within(np.linspace(low, high, MOST), places), True


def round_within(values: Float, decimals: int) -> Float:
    """The numbers of so many decimals nearest to some between the least and the greatest of them, each once."""
    first, last = ends_at(float(values.min()), float(values.max()), decimals)
    if last < first:
        return values
    steps = np.rint(values * 10.0**decimals if decimals >= 0 else values / 10.0**-decimals)
    return values_at(np.unique(np.clip(steps, first, last)), decimals)


def shortest(near: float, far: float) -> float:
    """The number of fewest digits from one to another, the nearest to the first among such.

    >>> shortest(0.51234567, 0.51239), shortest(7.2, 3.9), shortest(-0.1, -0.1), shortest(123456.7, 123999.0)
    (0.51235, 7.0, -0.1, 123500.0)
    """
    low, high = min(near, far), max(near, far)
    if low <= 0 <= high:
        return 0.0
    start = -int(np.floor(np.log10(max(-low, high))))
    for decimals in range(max(start, -MANY), min(start + 17, MANY)):
        first, last = ends_at(low, high, decimals)
        if first <= last:
            return float(values_at(np.array([first if near <= far else last]), decimals)[0])
    return near
