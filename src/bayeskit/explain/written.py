"""Written: numbers with as few decimals as people write them with."""

from __future__ import annotations

import numpy as np

from bayeskit.arrays import Float

MOST = 1000  # values of a column that are all listed
MANY = 300  # decimals of the smallest doubles, about


def usual_decimals(low: float, high: float) -> int:
    """Decimals that tell about a thousand values apart between two ends; none where whole numbers do.

    >>> usual_decimals(0.0, 2.0), usual_decimals(100.0, 90_000.0)
    (3, 0)
    """
    wide = high - low
    return int(np.clip(np.ceil(-np.log10(wide / MOST)), 0, MANY)) if 0 < wide < np.inf else 0


def ends_at(low: float, high: float, decimals: int) -> tuple[float, float]:
    """The least and the greatest number of steps of 10^-decimals from low to high; none if the least is the greater.

    >>> ends_at(0.7, 2.95, 1)
    (7.0, 29.0)
    """
    tens = 10.0**decimals
    first, last = np.ceil(low * tens), np.floor(high * tens)
    first -= (first - 1) / tens >= low  # 0.7 * 10 is more than 7
    last += (last + 1) / tens <= high
    return float(first), float(last)


def listed(low: float, high: float, decimals: int) -> Float | None:
    """Every number of so many decimals from low to high, None if there are more than a thousand.

    >>> listed(0.7, 1.1, 1).tolist()
    [0.7, 0.8, 0.9, 1.0, 1.1]
    """
    first, last = ends_at(low, high, decimals)
    return np.arange(first, last + 1) / 10.0**decimals if last - first < MOST else None


def between(low: float, high: float, decimals: float) -> tuple[Float, bool]:
    """Numbers from low to high with the decimals known, and whether there are others between; at most a thousand.

    >>> between(0.0, 3.0, 0.0)
    (array([0., 1., 2., 3.]), False)
    """
    every = listed(low, high, int(decimals)) if np.isfinite(decimals) else None
    if every is not None and len(every):
        return every, False
    places = int(decimals) if np.isfinite(decimals) else usual_decimals(low, high)
    return rounded(np.linspace(low, high, MOST), places), True


def rounded(values: Float, decimals: int) -> Float:
    """The numbers of so many decimals nearest to some between the least and the greatest of them, each once."""
    first, last = ends_at(float(values.min()), float(values.max()), decimals)
    if last < first:
        return values
    found: Float = np.unique(np.clip(np.rint(values * 10.0**decimals), first, last)) / 10.0**decimals
    return found


def shortest(near: float, far: float) -> float:
    """The number of fewest decimals from one to another, the nearest to the first among such.

    >>> shortest(0.51234567, 0.51239), shortest(7.2, 3.9), shortest(-0.1, -0.1)
    (0.51235, 7.0, -0.1)
    """
    low, high = min(near, far), max(near, far)
    for decimals in range(MANY):
        first, last = ends_at(low, high, decimals)
        if not np.isfinite(10.0**decimals * high):
            break
        if first <= last:
            return float((first if near <= far else last) / 10.0**decimals)
    return near
