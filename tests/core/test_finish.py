"""Means and deviations to the last digits, and what a scan sees of columns."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from bayeskit import _core as core

from .memory import INF, NAN, columns, layouts, value
from .sums import CASES, moments, ulps


def check_finish(x: np.ndarray, groups: np.ndarray, w: np.ndarray | None, shift: int = 0) -> None:
    limbs, lows = moments(x, np.ascontiguousarray(groups, np.int32), w)
    d = x.shape[1]
    mean, deviation, sound = core.means_and_deviations(
        limbs[0], lows[0], limbs[1], lows[1], limbs[2], lows[2], np.full(d, shift, np.int64)
    )
    assert sound.all()
    with mpmath.workprec(20000):
        for c in range(mean.shape[0]):
            for j in range(d):
                s0, s1, s2 = (value(limbs[p][c, j], lows[p]) for p in range(3))
                if s0 == 0:
                    assert mean[c, j] == deviation[c, j] == 0
                    continue
                m = s1 / s0 * Fraction(2) ** shift
                n = s0 * s2 - s1 * s1
                root = mpmath.sqrt(mpmath.mpf(n.numerator) / n.denominator)
                v = root / mpmath.mpf(s0.numerator) * s0.denominator * mpmath.mpf(2) ** shift
                assert ulps(float(mean[c, j]), mpmath.mpf(m.numerator) / m.denominator) <= 0.5000001
                assert ulps(float(deviation[c, j]), v) <= 0.5000001


@pytest.mark.parametrize("name", [k for k in CASES if k not in ("largest",)])
def test_finish(name: str) -> None:
    x = CASES[name][:300, :2]
    rng = np.random.default_rng(5)
    check_finish(x, rng.integers(-1, 5, len(x)), None)
    check_finish(x, rng.integers(-1, 5, len(x)), rng.choice([0.1, 3, 1e-20], len(x)))


@pytest.mark.parametrize("shift", [-1060, -1074, -500, 300])
def test_finish_scales(shift: int) -> None:
    rng = np.random.default_rng(6)
    check_finish(rng.normal(size=(200, 3)), rng.integers(0, 20, 200), None, shift)


def test_finish_tells_unsound_sums() -> None:
    def sound(s0: int, s1: int, s2: int) -> bool:
        a = [np.array([[[v, 0]]], np.int64) for v in (s0, s1, s2)]
        for v in a:
            core.carry_limbs(v.reshape(1, 2))
        result = core.means_and_deviations(a[0], 0, a[1], 0, a[2], 0, np.zeros(1, np.int64))
        assert np.isfinite(result[0]).all()
        assert np.isfinite(result[1]).all()
        return bool(result[2][0, 0])

    assert sound(0, 0, 0)
    assert sound(2, 4, 8)
    assert sound(2, -4, 9)
    for bad in [(0, 1, 0), (0, 0, 1), (-1, 0, 0), (1, 0, -1), (2, 4, 7), (0, 1, 1), (-1, 1, -1)]:
        assert not sound(*bad), bad


@pytest.mark.parametrize("name", CASES)
def test_scan(clone: str, name: str) -> None:
    for y in layouts(CASES[name]).values():
        d = y.shape[1]
        out = np.empty((5, d))
        core.column_ranges(*columns(y), out)
        for j in range(d):
            a = np.abs(y[:, j])
            assert out[0, j] == min(a[a > 0], default=INF)
            assert out[1, j] == max(a[a >= 0], default=0.0)
            assert out[2, j] == np.isnan(a).sum()
            there = y[a >= 0, j]
            assert out[3, j] == min(there, default=INF)
            assert out[4, j] == max(there, default=-INF)


def test_scan_sees_infinity(clone: str) -> None:
    out = np.empty((5, 1))
    core.column_ranges(*columns(np.array([[1.0], [-INF], [NAN]])), out)
    assert out[:, 0].tolist() == [1.0, INF, 1.0, -INF, 1.0]
