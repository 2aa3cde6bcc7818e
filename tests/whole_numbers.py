"""Doubles as whole numbers, so that sums of them are exact."""

import numpy as np


def whole(x: np.ndarray) -> tuple[np.ndarray, int]:
    """Numbers times the power of two that makes them whole, as Python's integers, and that power; missing values are
    zero.
    """
    ratios = [v.as_integer_ratio() for v in np.where(np.isnan(x), 0.0, x).ravel().tolist()]
    power = max((below for _, below in ratios), default=1)
    return np.array([above * (power // below) for above, below in ratios], object).reshape(x.shape), power
