"""Exact sums by the core and by whole numbers, and columns that are hard to sum."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np

from bayeskit import _core as core
from whole_numbers import whole

from .memory import INF, NAN, columns, value


def exact_window(x: np.ndarray, power: int, w: np.ndarray | None = None) -> tuple[int, int]:
    a = np.abs(x[np.isfinite(x) & (x != 0)])
    lowest, highest = (float(a.min()), float(a.max())) if a.size else (INF, 0.0)
    if w is None:
        return core.limb_window(lowest, highest, power, 1.0, 1.0)
    v = w[w > 0]
    return core.limb_window(
        lowest, highest, power, float(v.min()) if v.size else INF, float(v.max()) if v.size else 0.0
    )


def moments(
    x: np.ndarray, groups: np.ndarray, w: np.ndarray | None = None, n_groups: int | None = None, block: int = 1 << 20
) -> tuple[list[np.ndarray], list[int]]:
    """Runs the kernel in windows of the smallest size, block by block; returns carried limbs."""
    n, d = x.shape
    g = int(groups.max(initial=0)) + 1 if n_groups is None else n_groups
    limbs, lows = [], []
    for power in range(3):
        low, high = exact_window(x, power, w)
        limbs.append(np.zeros((g, d, high - low), np.int64))
        lows.append(low)
    address, stride, _ = columns(x)
    for i in range(0, n, block):
        m = min(block, n - i)
        at = (address.astype(np.int64) + i * stride).astype(np.uint64)
        args: list[Any] = [at, stride, m, groups[i : i + m], None if w is None else w[i : i + m]]
        for s, low in zip(limbs, lows, strict=True):
            args += [s, low]
        core.add_moments(*args)
        for s in limbs:
            core.carry_limbs(s.reshape(-1, s.shape[-1]))
    return limbs, lows


def check_moments(x: np.ndarray, groups: np.ndarray, w: np.ndarray | None = None, block: int = 1 << 20) -> None:
    groups = np.ascontiguousarray(groups, np.int32)
    limbs, lows = moments(x, groups, w, block=block)
    g, d = limbs[0].shape[:2]
    (numbers, power), (weights, unit) = whole(x), whole(np.ones(len(x)) if w is None else w)
    expected = [[[0, 0, 0] for _ in range(d)] for _ in range(g)]
    for c, weight, row, there in zip(groups.tolist(), weights, numbers, ~np.isnan(x), strict=True):
        if c < 0:
            continue
        for cell, f, known in zip(expected[c], row, there, strict=True):
            if known:
                cell[0] += weight
                cell[1] += weight * f
                cell[2] += weight * f * f
    for c in range(g):
        for j in range(d):
            for p in range(3):
                exact = Fraction(expected[c][j][p], unit * power**p)
                assert value(limbs[p][c, j], lows[p]) == exact, (c, j, p)
    for s in limbs:
        assert (s[..., :-1] >= 0).all()
        assert (s[..., :-1] < 2**32).all()


HARD = np.array(
    [0.0, -0.0, 1.0, -1.0, 0.1, 1e300, -1e300, 1.7e308, 1.7976931348623157e308, 1e-300, 5e-324, -5e-324, 2.2e-308,
     3.0, 1 / 3, 2.0**-17, 2.0**-21, 2.0**-22, np.nextafter(1, 2), np.nextafter(1, 0), 1e7 + 0.1, 1e16, NAN]
)  # fmt: skip


def cases() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    normal = rng.normal(size=(700, 3))
    holes = normal.copy()
    holes[rng.random(holes.shape) < 0.1] = NAN
    return {
        "normal": normal,
        "holes": holes,
        "all missing values": np.full((50, 2), NAN),
        "far": 1e7 + rng.choice([0.1, 0.2, 0.3], size=(3000, 1)),
        "alternating": np.tile([1e7 + 0.1, 1e7 + 0.2, 1e7 + 0.3], 900).reshape(-1, 1) * [[1.0, -1.0]],
        "hard": rng.choice(HARD, size=(600, 3)),
        "extremes": np.tile([1e300, 1e-300, 5e-324], 100).reshape(-1, 1),
        "equal": np.full((2500, 2), 0.1),
        "largest": np.full((2500, 1), 1.7976931348623157e308),
        "one": np.array([[1.5, -2.5e-310, NAN]]),
        "powers": 2.0 ** rng.integers(-30, 3, size=(2000, 2)) * rng.choice([-1.0, 1.0], size=(2000, 2)),
        "boundary": np.ldexp(1 + rng.integers(-2, 3, (2000, 2)) * 2.0**-52, rng.integers(-24, 1, (2000, 2))),
        "spread": np.ldexp(rng.random((1500, 2)) + 0.5, rng.integers(-60, 60, (1500, 2))),
        "wild": np.ldexp(rng.random((600, 2)) - 0.5, rng.integers(-1080, 1024, (600, 2))),
        "lognormal": np.exp(rng.normal(size=(1500, 2)) * 6),
        "integers": rng.integers(-9, 9, size=(1500, 9)).astype(float),
        "mostly zero": np.where(rng.random((3000, 1)) < 0.99, 0.0, rng.normal(size=(3000, 1))),
        "full": rng.integers(2**52, 2**53, size=(2100, 2)).astype(float) * rng.choice([-1.0, 1.0], size=(2100, 2)),
        "just ones": np.full((4100, 1), np.nextafter(2, 0)),
        "no rows": np.empty((0, 2)),
        "low edge": np.ldexp(rng.random((1200, 2)) + 0.5, rng.integers(-420, -380, (1200, 2))),
        "high edge": np.ldexp(rng.random((1200, 2)) + 0.5, rng.integers(460, 500, (1200, 2))),
        "wide": rng.normal(size=(300, 21)),
    }


CASES = cases()


def ulps(found: float, exact: Any) -> float:
    """Distance in units of the last place of the found double."""
    if found == exact:
        return 0.0
    return float(abs(mpmath.mpf(found) - exact) / mpmath.mpf(math.ulp(found)))
