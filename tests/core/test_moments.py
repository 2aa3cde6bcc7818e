"""Exact sums: to the bit, in any layout, in any window."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit import _core as core

from .memory import BEST, CLONES, INF, NAN, columns, layouts, value
from .sums import CASES, check_moments, exact_window, moments


@pytest.mark.parametrize("name", CASES)
def test_moments_are_exact(clone: str, name: str) -> None:
    x = CASES[name]
    rng = np.random.default_rng(1)
    check_moments(x, rng.integers(-1, 4, len(x)))
    check_moments(x, np.zeros(len(x), int))


@pytest.mark.parametrize("name", ["normal", "holes", "hard", "wild", "equal", "one"])
@pytest.mark.parametrize("weights", [[0, 1, 3], [0.1, 2.5], [5e-324, 1e300, 0, 1], [3], [1e308, 1e308]])
def test_weighted_moments_are_exact(clone: str, name: str, weights: list[float]) -> None:
    x = CASES[name][:400]
    rng = np.random.default_rng(2)
    check_moments(x, rng.integers(-1, 3, len(x)), rng.choice(np.array(weights, float), len(x)))


@pytest.mark.parametrize("spread", [19, 20, 21, 22, 23, 41, 42, 43, 63, 84, 85, 120])
def test_moments_at_the_edge_of_exactness(clone: str, spread: int) -> None:
    """2,047 times one number, and one so much smaller that the sums of the low parts need all their bits."""
    rng = np.random.default_rng(spread)
    columns, rows = 400, 2048
    large = rng.integers(2**52, 2**53, columns) | 1
    small = rng.integers(2**52, 2**53, columns) | 1
    shift = spread + rng.integers(0, 2, columns)
    x = np.tile(np.ldexp(large.astype(float), -53), (rows, 1))
    x[rng.integers(0, rows, columns), np.arange(columns)] = np.ldexp(small.astype(float), -53 - shift)
    limbs, lows = moments(x, np.zeros(rows, np.int32))
    for j, (a, b, k) in enumerate(zip(large.tolist(), small.tolist(), shift.tolist(), strict=True)):
        first = Fraction((rows - 1) * (a << k) + b, 1 << (53 + k))
        second = Fraction((rows - 1) * (a << k) ** 2 + b**2, 1 << 2 * (53 + k))
        assert value(limbs[1][0, j], lows[1]) == first
        assert value(limbs[2][0, j], lows[2]) == second


@pytest.mark.parametrize("spread", [0, 5, 20, 21, 22, 30, 45, 70, 90, 200])
@pytest.mark.parametrize("signs", [[1.0], [-1.0, 1.0]])
def test_moments_of_full_mantissas(clone: str, spread: int, signs: list[float]) -> None:
    rng = np.random.default_rng(spread)
    n = 4200
    whole = rng.choice([2**53 - 1, 2**52 + 1, 2**53 - 3, 2**53 - 2**26 + 1, 3 * 2**51], n)
    x = np.ldexp(whole.astype(float), -53 - rng.integers(0, spread + 1, n)) * rng.choice(signs, n)
    x[rng.random(n) < 0.02] = NAN
    check_moments(x.reshape(-1, 2), rng.integers(0, 2, n // 2))
    check_moments(x.reshape(-1, 1), np.zeros(n, int))


@pytest.mark.parametrize("n_groups", [1, 2, 7, 100, 1000])
def test_moments_of_many_groups(clone: str, n_groups: int) -> None:
    rng = np.random.default_rng(n_groups)
    x = rng.normal(size=(3000, 2))
    x[rng.random(x.shape) < 0.05] = NAN
    check_moments(x, rng.integers(0, n_groups, len(x)))
    check_moments(x, np.sort(rng.integers(0, n_groups, len(x)))[::-1])
    check_moments(x, rng.integers(0, n_groups, len(x)), block=517)


def test_moments_of_any_layout(clone: str) -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(2300, 11))
    x[5, 2] = NAN
    groups = rng.integers(-1, 3, len(x)).astype(np.int32)
    reference, _ = moments(np.ascontiguousarray(x), groups)
    for name, y in layouts(x).items():
        found, _ = moments(y, groups)
        for a, b in zip(reference, found, strict=True):
            assert (a == b).all(), name


def test_moments_of_constant_columns(clone: str) -> None:
    one, nan = np.array([2.5]), np.array([NAN])
    address = np.array([one.ctypes.data, nan.ctypes.data], np.uint64)
    groups = np.zeros(1000, np.int32)
    limbs = [np.zeros((1, 2, 8), np.int64) for _ in range(3)]
    core.add_moments(address, np.zeros(2, np.int64), 1000, groups, None, limbs[0], -4, limbs[1], -4, limbs[2], -4)
    found = [[value(limbs[p][0, j], -4) for p in range(3)] for j in range(2)]
    assert found == [[1000, 2500, 6250], [0, 0, 0]]


def test_moments_refuse_a_window_that_is_too_narrow(clone: str) -> None:
    x = np.random.default_rng(0).normal(size=(500, 9))
    groups = np.zeros(500, np.int32)
    address, stride, n = columns(x)
    low, high = exact_window(x, 1), exact_window(x, 2)
    for cut in [(1, 0, 0, 0), (0, 2, 0, 0), (0, 0, 1, 0), (0, 0, 0, 2)]:
        lows = low[0] + cut[0], high[0] + cut[2]
        sizes = low[1] - cut[1] - lows[0], high[1] - cut[3] - lows[1]
        s0, s1, s2 = (np.zeros((1, 9, size), np.int64) for size in (2, *sizes))
        with pytest.raises(ValueError, match="window"):
            core.add_moments(address, stride, n, groups, None, s0, 0, s1, lows[0], s2, lows[1])


@given(st.lists(st.tuples(st.floats(allow_infinity=False), st.integers(-1, 2), st.floats(0, 1e300)), max_size=60),
       st.booleans())  # fmt: skip
@settings(max_examples=150, deadline=None)
def test_moments_of_any_floats(rows: list[tuple[float, int, float]], weighted: bool) -> None:
    x = np.array([r[0] for r in rows], float).reshape(-1, 1)
    groups = np.array([r[1] for r in rows], np.int32)
    w = np.array([r[2] for r in rows], float) if weighted else None
    for name in CLONES:
        core.use_clone(name)
        check_moments(x, groups, w)
    core.use_clone(BEST)


def test_moments_weights_are_repetitions(clone: str) -> None:
    rng = np.random.default_rng(4)
    x = rng.normal(size=(900, 3)) * 1e5
    w = rng.integers(0, 4, len(x))
    groups = rng.integers(-1, 3, len(x)).astype(np.int32)
    (a, low_a), (b, low_b) = (
        moments(x, groups, w.astype(float), 3),
        moments(np.repeat(x, w, axis=0), np.repeat(groups, w), None, 3),
    )
    for p in range(3):
        for c in range(3):
            for j in range(3):
                assert value(a[p][c, j], low_a[p]) == value(b[p][c, j], low_b[p])


def test_moments_refuse(clone: str) -> None:
    x = np.array([[1.0], [INF]])
    s = np.zeros((2, 1, 40), np.int64)

    def run(groups: list[int], w: list[float] | None = None, rows: int = 1, limbs: np.ndarray = s) -> None:
        address, stride, _ = columns(x)
        weights = None if w is None else np.array(w, float)
        core.add_moments(
            address, stride, rows, np.array(groups, np.int32), weights, limbs.copy(), -20, limbs.copy(), -20,
            limbs.copy(), -20,
        )  # fmt: skip

    run([1])
    for groups, w, rows in [([2], None, 1), ([-2], None, 1), ([0], [-1.0], 1), ([0], [NAN], 1), ([0, 0], None, 2)]:
        with pytest.raises(ValueError, match=r"group|weight|value"):
            run(groups, w, rows)
    with pytest.raises(ValueError, match="length"):
        run([0, 0], None, 1)
    with pytest.raises(ValueError, match="limbs"):
        run([0], None, 1, np.zeros((2, 1, 20), np.int64))
    with pytest.raises(TypeError):
        core.add_moments(*columns(x), np.zeros(2), None, s, 0, s, 0, s, 0)


@pytest.mark.parametrize("power", [0, 1, 2])
def test_window_holds_sums(power: int) -> None:
    numbers = [5e-324, 2.2250738585072014e-308, 1e-300, 0.1, 1.0, 3.0, 1e7, 1e300, 1.7976931348623157e308]
    for i, lowest in enumerate(numbers):
        for highest in numbers[i:]:
            for w0, w1 in [(1.0, 1.0), (5e-324, 1e308), (0.1, 3.0), (1e308, 1e308), (3.0, 3.0)]:
                low, high = core.limb_window(lowest, highest, power, w0, w1)
                top = 2**40 * Fraction(w1) * Fraction(highest) ** power
                assert top < Fraction(2) ** (32 * high - 1)
                ends = {lowest, min(math.nextafter(lowest, INF), highest)}
                unit = Fraction(2) ** (32 * low)
                terms = [
                    Fraction(w) * Fraction(x) ** power for x in ends for w in {w0, min(math.nextafter(w0, INF), w1)}
                ]
                assert all((t / unit).denominator == 1 for t in terms)
                assert any((t / unit / 2**32).denominator != 1 for t in terms)
                assert high == low + 1 or 2 * top >= Fraction(2) ** (32 * (high - 1) - 1)
    assert core.limb_window(INF, 0.0, 2, 1.0, 1.0) == (0, 1)
    assert core.limb_window(1.0, 1.0, 0, 1.0, 1.0) == (0, 2)
    for bad in [(2.0, 1.0, 1, 1.0, 1.0), (1.0, INF, 1, 1.0, 1.0), (NAN, 1.0, 1, 1.0, 1.0), (1.0, 1.0, 3, 1.0, 1.0),
                (1.0, 1.0, 1, 0.0, 1.0), (1.0, 1.0, 1, 1.0, INF)]:  # fmt: skip
        with pytest.raises(ValueError, match=r"need|power"):
            core.limb_window(*bad)


def nearest(f: Fraction) -> float:
    """Correct rounding of a rational, by Python's own integer division."""
    try:
        return f.numerator / f.denominator
    except OverflowError:
        return INF if f > 0 else -INF


@given(st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=6), st.integers(-40, 30), st.integers(-900, 900))
@settings(max_examples=300, deadline=None)
def test_rounded_once(limbs: list[int], low: int, shift: int) -> None:
    a = np.array([limbs], np.int64)
    exact = value(a[0], low)
    expected = nearest(exact * Fraction(2) ** shift)
    assert core.round_sums(a, low, shift)[0] == expected
    b = a.copy()
    assert core.carry_limbs(b) == (not -(2**31) <= b[0, -1] < 2**31)
    assert value(b[0], low) == exact
    assert (b[0, :-1] >= 0).all()
    assert (b[0, :-1] < 2**32).all()
    assert core.round_sums(b, low, shift)[0] == expected


def test_rounded_at_the_edges() -> None:
    for bits in [1, 2, 3, 5, 2**53 - 1, 2**53 + 1, 2**54 + 2, 2**54 + 6, 2**54 - 1, 2**60 + 1, 2**62 + 2**9, 3 << 60]:
        for shift in [*range(-1145, -1060), 0, *range(900, 1030)]:
            for sign in (1, -1):
                limb = [sign * (bits & 0xFFFFFFFF), sign * (bits >> 32)]
                found = core.round_sums(np.array([limb], np.int64), 0, shift)[0]
                assert found == nearest(Fraction(sign * bits) * Fraction(2) ** shift)
    assert core.round_sums(np.zeros((0, 2), np.int64), 0).shape == (0,)


def test_carrying_limbs_of_any_size_keeps_the_sum():
    """Limbs at both ends of 64 bits, as crafted or very long sums might hold; the sum in Python's integers."""
    ends = [-(2**63), -(2**63) + 1, -1, 0, 1, 2**63 - 1]
    rng = np.random.default_rng(3)
    limbs = np.array([[*rng.choice(ends, 4), rng.integers(-9, 9)] for _ in range(200)], dtype=np.int64)
    sums = [sum(int(limb) << (32 * i) for i, limb in enumerate(row)) for row in limbs.tolist()]
    core.carry_limbs(limbs)
    assert [sum(int(limb) << (32 * i) for i, limb in enumerate(row)) for row in limbs.tolist()] == sums
    assert (limbs[:, :-1] >= 0).all()
    assert (limbs[:, :-1] < 2**32).all()
