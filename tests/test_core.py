"""The C++ core against exact rationals, mpmath and NumPy; every clone must give the same bits."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit import _core as core

CLONES = core.clones()
BEST = core.clone()
NAN = math.nan
INF = math.inf


@pytest.fixture(params=CLONES)
def clone(request: pytest.FixtureRequest) -> Iterator[str]:
    """Runs the test once per clone."""
    core.use(request.param)
    yield request.param
    core.use(BEST)


def columns(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """Address, stride and rows of a matrix of any layout."""
    n, d = x.shape
    address = np.array([x.ctypes.data + j * x.strides[1] for j in range(d)], np.uint64)
    return address, np.full(d, x.strides[0], np.int64), n


def value(limbs: np.ndarray, low: int) -> Fraction:
    """The exact number a cell of limbs stands for."""
    total = sum(int(v) << (32 * i) for i, v in enumerate(limbs))
    return Fraction(total) * Fraction(2) ** (32 * low)


def layouts(x: np.ndarray) -> dict[str, np.ndarray]:
    """The same matrix in every kind of memory."""
    n, d = x.shape
    wide = np.full((n * 2, d + 3), 7.5)
    wide[::2, 1 : d + 1] = x
    return {
        "C": np.ascontiguousarray(x),
        "F": np.asfortranarray(x),
        "sliced": wide[::2, 1 : d + 1],
        "reversed": np.ascontiguousarray(x[::-1])[::-1],
        "reversed columns": np.ascontiguousarray(x[:, ::-1])[:, ::-1],
    }


# ---- exact sums ---------------------------------------------------------------------------------------------------


def exact_window(x: np.ndarray, power: int, w: np.ndarray | None = None) -> tuple[int, int]:
    a = np.abs(x[np.isfinite(x) & (x != 0)])
    lowest, highest = (float(a.min()), float(a.max())) if a.size else (INF, 0.0)
    if w is None:
        return core.window(lowest, highest, power, 1.0, 1.0)
    v = w[w > 0]
    return core.window(lowest, highest, power, float(v.min()) if v.size else INF, float(v.max()) if v.size else 0.0)


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
        core.moments(*args)
        for s in limbs:
            core.carry(s.reshape(-1, s.shape[-1]))
    return limbs, lows


UNIT = 1074  # every double is an integer times 2^-UNIT


def integer(v: float) -> int:
    n, d = v.as_integer_ratio()
    return n << (UNIT + 1 - d.bit_length())


def check_moments(x: np.ndarray, groups: np.ndarray, w: np.ndarray | None = None, block: int = 1 << 20) -> None:
    groups = np.ascontiguousarray(groups, np.int32)
    limbs, lows = moments(x, groups, w, block=block)
    g, d = limbs[0].shape[:2]
    expected = [[[0, 0, 0] for _ in range(d)] for _ in range(g)]
    weights = [1 << UNIT] * len(x) if w is None else [integer(v) for v in w.tolist()]
    for c, weight, row in zip(groups.tolist(), weights, x.tolist(), strict=True):
        if c < 0:
            continue
        for cell, v in zip(expected[c], row, strict=True):
            if v == v:
                f = integer(v)
                cell[0] += weight
                cell[1] += weight * f
                cell[2] += weight * f * f
    for c in range(g):
        for j in range(d):
            for p in range(3):
                exact = Fraction(expected[c][j][p]) / Fraction(2) ** (UNIT * (p + 1))
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
        "all holes": np.full((50, 2), NAN),
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
    core.moments(address, np.zeros(2, np.int64), 1000, groups, None, limbs[0], -4, limbs[1], -4, limbs[2], -4)
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
            core.moments(address, stride, n, groups, None, s0, 0, s1, lows[0], s2, lows[1])


@given(st.lists(st.tuples(st.floats(allow_infinity=False), st.integers(-1, 2), st.floats(0, 1e300)), max_size=60),
       st.booleans())  # fmt: skip
@settings(max_examples=150, deadline=None)
def test_moments_of_any_floats(rows: list[tuple[float, int, float]], weighted: bool) -> None:
    x = np.array([r[0] for r in rows], float).reshape(-1, 1)
    groups = np.array([r[1] for r in rows], np.int32)
    w = np.array([r[2] for r in rows], float) if weighted else None
    for name in CLONES:
        core.use(name)
        check_moments(x, groups, w)
    core.use(BEST)


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
        core.moments(
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
        core.moments(*columns(x), np.zeros(2), None, s, 0, s, 0, s, 0)


@pytest.mark.parametrize("power", [0, 1, 2])
def test_window_holds_sums(power: int) -> None:
    numbers = [5e-324, 2.2250738585072014e-308, 1e-300, 0.1, 1.0, 3.0, 1e7, 1e300, 1.7976931348623157e308]
    for i, lowest in enumerate(numbers):
        for highest in numbers[i:]:
            for w0, w1 in [(1.0, 1.0), (5e-324, 1e308), (0.1, 3.0), (1e308, 1e308), (3.0, 3.0)]:
                low, high = core.window(lowest, highest, power, w0, w1)
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
    assert core.window(INF, 0.0, 2, 1.0, 1.0) == (0, 1)
    assert core.window(1.0, 1.0, 0, 1.0, 1.0) == (0, 2)
    for bad in [(2.0, 1.0, 1, 1.0, 1.0), (1.0, INF, 1, 1.0, 1.0), (NAN, 1.0, 1, 1.0, 1.0), (1.0, 1.0, 3, 1.0, 1.0),
                (1.0, 1.0, 1, 0.0, 1.0), (1.0, 1.0, 1, 1.0, INF)]:  # fmt: skip
        with pytest.raises(ValueError, match=r"need|power"):
            core.window(*bad)


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
    assert core.rounded(a, low, shift)[0] == expected
    b = a.copy()
    assert core.carry(b) == (not -(2**31) <= b[0, -1] < 2**31)
    assert value(b[0], low) == exact
    assert (b[0, :-1] >= 0).all()
    assert (b[0, :-1] < 2**32).all()
    assert core.rounded(b, low, shift)[0] == expected


def test_rounded_at_the_edges() -> None:
    for bits in [1, 2, 3, 5, 2**53 - 1, 2**53 + 1, 2**54 + 2, 2**54 + 6, 2**54 - 1, 2**60 + 1, 2**62 + 2**9, 3 << 60]:
        for shift in [*range(-1145, -1060), 0, *range(900, 1030)]:
            for sign in (1, -1):
                limb = [sign * (bits & 0xFFFFFFFF), sign * (bits >> 32)]
                found = core.rounded(np.array([limb], np.int64), 0, shift)[0]
                assert found == nearest(Fraction(sign * bits) * Fraction(2) ** shift)
    assert core.rounded(np.zeros((0, 2), np.int64), 0).shape == (0,)


# ---- finish -------------------------------------------------------------------------------------------------------


def ulps(found: float, exact: Any) -> float:
    """Distance in units of the last place of the found double."""
    if found == exact:
        return 0.0
    return float(abs(mpmath.mpf(found) - exact) / mpmath.mpf(math.ulp(found)))


def check_finish(x: np.ndarray, groups: np.ndarray, w: np.ndarray | None, shift: int = 0) -> None:
    limbs, lows = moments(x, np.ascontiguousarray(groups, np.int32), w)
    d = x.shape[1]
    mean, deviation, sound = core.finish(
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
            core.carry(v.reshape(1, 2))
        result = core.finish(a[0], 0, a[1], 0, a[2], 0, np.zeros(1, np.int64))
        assert np.isfinite(result[0]).all()
        assert np.isfinite(result[1]).all()
        return bool(result[2][0, 0])

    assert sound(0, 0, 0)
    assert sound(2, 4, 8)
    assert sound(2, -4, 9)
    for bad in [(0, 1, 0), (0, 0, 1), (-1, 0, 0), (1, 0, -1), (2, 4, 7), (0, 1, 1), (-1, 1, -1)]:
        assert not sound(*bad), bad


# ---- scan ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_scan(clone: str, name: str) -> None:
    for y in layouts(CASES[name]).values():
        d = y.shape[1]
        out = np.empty((3, d))
        core.scan(*columns(y), out)
        for j in range(d):
            a = np.abs(y[:, j])
            assert out[0, j] == min(a[a > 0], default=INF)
            assert out[1, j] == max(a[a >= 0], default=0.0)
            assert out[2, j] == np.isnan(a).sum()


def test_scan_sees_infinity(clone: str) -> None:
    out = np.empty((3, 1))
    core.scan(*columns(np.array([[1.0], [-INF], [NAN]])), out)
    assert out[:, 0].tolist() == [1.0, INF, 1.0]


# ---- gaussian -----------------------------------------------------------------------------------------------------


def gaussian_reference(
    x: np.ndarray, scale: np.ndarray, mean: np.ndarray, precision: np.ndarray, constant: np.ndarray, out: np.ndarray
) -> None:
    """The formula by NumPy, column by column: every operation rounds the same way."""
    constants, squares = np.full_like(out, -0.0), np.zeros_like(out)
    with np.errstate(all="ignore"):
        for j in range(x.shape[1]):
            root = np.minimum(precision[j], np.finfo(float).max) * math.sqrt(0.5)
            square = (((x[:, j] * scale[j])[:, None] - mean[j]) * root) ** 2
            missing = np.isnan(x[:, j])[:, None]
            constants += np.where(missing, -0.0, constant[j])
            squares += np.where(missing, 0.0, np.where(np.isnan(square), INF, square))
    out += constants
    out -= squares


@pytest.mark.parametrize("classes", [1, 2, 5, 8, 33, 70])
@pytest.mark.parametrize("d", [1, 3, 8, 20])
def test_gaussian(clone: str, classes: int, d: int) -> None:
    rng = np.random.default_rng(7)
    x = rng.normal(size=(777, d))
    x[rng.random(x.shape) < 0.05] = NAN
    scale = 2.0 ** rng.integers(-2, 3, d)
    mean, precision, constant = rng.normal(size=(3, d, classes)) * 2
    start = rng.normal(size=(777, classes))
    expected = start.copy()
    gaussian_reference(x, scale, mean, precision, constant, expected)
    for y in layouts(x).values():
        out = start.copy()
        assert not core.gaussian(*columns(y), scale, mean, precision, constant, out)
        assert out.tobytes() == expected.tobytes()
        by_class = np.array(start, order="F")
        core.gaussian(*columns(y), scale, mean, precision, constant, by_class)
        assert by_class.tobytes() == expected.tobytes()
    for i in (0, 5, 776):
        out = start[i : i + 1].copy()
        core.gaussian(*columns(x[i : i + 1]), scale, mean, precision, constant, out)
        assert out.tobytes() == expected[i : i + 1].tobytes()


@pytest.mark.parametrize(("n", "d"), [(1, 1), (64, 20), (777, 40)])
def test_gaussian_sees_infinity(clone: str, n: int, d: int) -> None:
    rng = np.random.default_rng(8)
    parameters = [np.ones(d), *rng.normal(size=(3, d, 2))]
    for i, j in [(0, 0), (n - 1, d - 1), (n // 2, d // 2)]:
        for bad in (INF, -INF):
            x = rng.normal(size=(n, d))
            x[rng.random(x.shape) < 0.1] = NAN
            assert not core.gaussian(*columns(x), *parameters, np.zeros((n, 2)))
            x[i, j] = bad
            for y in layouts(x).values():
                assert core.gaussian(*columns(y), *parameters, np.zeros((n, 2)))


def test_gaussian_never_makes_nan(clone: str) -> None:
    x = np.array([0, 1, -1, 1e300, -1.7e308, 5e-324, NAN, 2.5]).reshape(-1, 1)
    hard = np.array([0.0, 1.0, 1e300, 1.7e308, 5e-324])
    for scale in [1.0, 1e-300, 1e300, 2.0**1023]:
        for mean in [*hard, -1e308]:
            for precision in [*hard, INF]:
                args = [np.array([scale]), *(np.array([[v]]) for v in (mean, precision, -3.0))]
                out, expected = np.zeros((len(x), 1)), np.zeros((len(x), 1))
                core.gaussian(*columns(x), *args, out)
                gaussian_reference(x, *args, expected)
                assert not np.isnan(out).any()
                assert out.tobytes() == expected.tobytes()
    out = np.full((len(x), 1), -0.0)
    core.gaussian(*columns(np.full((len(x), 1), NAN)), np.ones(1), *(np.ones((1, 1)),) * 3, out)
    assert out.tobytes() == np.full((len(x), 1), -0.0).tobytes()
    assert x[7, 0] == 2.5


# ---- level codes --------------------------------------------------------------------------------------------------


def random_codes(rng: np.random.Generator, sizes: list[int], n: int, holes: float = 0.1) -> np.ndarray:
    codes = np.stack([rng.integers(0, max(s, 1), n) for s in sizes]).astype(np.int32).reshape(len(sizes), n)
    codes[rng.random(codes.shape) < holes] = -1
    codes[rng.random(codes.shape) < holes / 3] = -2
    return np.ascontiguousarray(codes)


def run_count(
    codes: np.ndarray, groups: np.ndarray, w: np.ndarray | None, tables: list[list[int]], sizes: list[int], g: int
) -> tuple[np.ndarray, np.ndarray, int]:
    size = np.array(sizes, np.int32)
    start = np.cumsum([0] + [len(t) for t in tables]).astype(np.int64)
    cells = [int(np.prod([sizes[j] for j in t])) for t in tables]
    offset = np.cumsum([1, *cells])[:-1].astype(np.int64)
    low, high = (0, 2) if w is None else exact_window(np.ones(1), 0, w)
    limbs = np.zeros((g, 1 + sum(cells), high - low), np.int64)
    flat = np.array([j for t in tables for j in t], np.int32)
    core.count(codes, groups, w, flat, start, size, offset, limbs, low)
    core.carry(limbs.reshape(-1, limbs.shape[-1]))
    return limbs, offset, low


def count_reference(
    codes: np.ndarray, groups: np.ndarray, w: np.ndarray | None, table: list[int], sizes: list[int], g: int
) -> list[list[Fraction]]:
    cells = int(np.prod([sizes[j] for j in table]))
    out = [[Fraction(0)] * cells for _ in range(g)]
    for i in range(codes.shape[1]):
        c = [int(codes[j, i]) for j in table]
        if groups[i] >= 0 and min(c) >= 0:
            cell = 0
            for j, v in zip(table, c, strict=True):
                cell = cell * sizes[j] + v
            out[groups[i]][cell] += 1 if w is None else Fraction(float(w[i]))
    return out


@pytest.mark.parametrize("weights", [None, [1, 2, 0], [0.1, 5e-324, 1e300]])
@pytest.mark.parametrize("sizes", [[4, 3, 5], [1, 2, 1], [300, 7, 90]])
def test_count(clone: str, sizes: list[int], weights: list[float] | None) -> None:
    rng = np.random.default_rng(8)
    n, g = 2100, 4
    tables = [[0], [2], [0, 1], [2, 0, 1], [1]]
    codes = random_codes(rng, sizes, n)
    groups = rng.integers(-1, g, n).astype(np.int32)
    w = None if weights is None else rng.choice(np.array(weights, float), n)
    limbs, offset, low = run_count(codes, groups, w, tables, sizes, g)
    assert not limbs[:, 0].any()
    for t, at in zip(tables, offset.tolist(), strict=True):
        expected = count_reference(codes, groups, w, t, sizes, g)
        for c in range(g):
            for k, v in enumerate(expected[c]):
                if v or k < 200:
                    assert value(limbs[c, at + k], low) == v


def test_count_of_many_rows_and_groups(clone: str) -> None:
    rng = np.random.default_rng(9)
    n = 70_000
    for g, sizes in [(1, [2, 3]), (5, [10, 4]), (1000, [12, 3]), (3, [5000, 2])]:
        codes = random_codes(rng, sizes, n)
        groups = rng.integers(-1, g, n).astype(np.int32)
        limbs, offset, _ = run_count(codes, groups, None, [[0], [1], [1, 0]], sizes, g)
        for j in range(2):
            expected = np.zeros((g, sizes[j]), np.int64)
            good = (groups >= 0) & (codes[j] >= 0)
            np.add.at(expected, (groups[good], codes[j][good]), 1)
            assert (limbs[:, offset[j] : offset[j] + sizes[j], 0] == expected).all()
        both = np.zeros((g, sizes[1] * sizes[0]), np.int64)
        good = (groups >= 0) & (codes >= 0).all(axis=0)
        np.add.at(both, (groups[good], (codes[1] * sizes[0] + codes[0])[good]), 1)
        assert (limbs[:, offset[2] :, 0] == both).all()


def test_count_refuses(clone: str) -> None:
    codes = np.zeros((1, 3), np.int32)
    one = np.array([0], np.int32)

    def run(codes: np.ndarray, groups: list[int], cells: int = 2, start: tuple[int, ...] = (0, 1)) -> None:
        limbs = np.zeros((2, cells, 2), np.int64)
        core.count(
            codes, np.array(groups, np.int32), None, one, np.array(start, np.int64), np.array([2], np.int32),
            np.zeros(1, np.int64), limbs, 0,
        )  # fmt: skip

    run(codes, [0, 1, -1])
    for bad in [[0, 0, 2], [0, 0, -2], [0, 0]]:
        with pytest.raises(ValueError, match="group"):
            run(codes, bad)
    for code in (2, -3):
        with pytest.raises(ValueError, match="code"):
            run(np.full((1, 3), code, np.int32), [0, 0, 0])
    with pytest.raises(ValueError, match="cells"):
        run(codes, [0, 0, 0], 1)
    with pytest.raises(ValueError, match="start"):
        run(codes, [0, 0, 0], 2, (0, 2))


@pytest.mark.parametrize("holes", [0.0, 0.1])
@pytest.mark.parametrize("n", [0, 1, 63, 64, 65, 1000, 40_000])
def test_pairs_equal_count(clone: str, n: int, holes: float) -> None:
    rng = np.random.default_rng(10)
    for g in (1, 3, 40):
        sizes = [2, 3, 4, 1, 9, 40, 8]
        codes = random_codes(rng, sizes, n, holes)
        if n > 100:
            codes[4, :50] = -1
        groups = rng.integers(-1, g, n).astype(np.int32)
        tables = [[a, b] for a in range(7) for b in range(7) if a != b]
        expected, offset, _ = run_count(codes, groups, None, tables, sizes, g)
        limbs = np.zeros_like(expected)
        core.pairs(codes, groups, np.array(tables, np.int32), np.array(sizes, np.int32), offset, limbs, 0)
        core.carry(limbs.reshape(-1, limbs.shape[-1]))
        assert (limbs == expected).all()


@pytest.mark.parametrize("classes", [1, 2, 3, 4, 5, 7, 8, 9, 16, 70])
def test_lookup(clone: str, classes: int) -> None:
    rng = np.random.default_rng(11)
    sizes = [4, 3, 50, 1, 2, 3]
    n = 1300
    codes = random_codes(rng, sizes, n)
    offset = np.cumsum([0] + [s + 2 for s in sizes])
    table = rng.normal(size=(offset[-1], classes))
    table[rng.random(table.shape) < 0.05] = -INF
    order = np.array([2, 0, 1, 5, 3, 4, 2], np.int32)
    start = rng.normal(size=(n, classes))
    expected = start.copy()
    for j in order:
        expected += table[offset[j] + codes[j] + 2]
    out = start.copy()
    core.lookup(codes, order, offset[order].astype(np.int64), table, out)
    assert out.tobytes() == expected.tobytes()
    by_class = np.array(start, order="F")
    core.lookup(codes, order, offset[order].astype(np.int64), table, by_class)
    assert by_class.tobytes() == expected.tobytes()
    for i in (0, 700):
        row = start[i : i + 1].copy()
        core.lookup(np.ascontiguousarray(codes[:, i : i + 1]), order, offset[order].astype(np.int64), table, row)
        assert row.tobytes() == expected[i : i + 1].tobytes()


def test_lookup_refuses(clone: str) -> None:
    table, out = np.zeros((7, 2)), np.zeros((1, 2))
    offset, order = np.array([0, 4], np.int64), np.array([0, 1], np.int32)
    core.lookup(np.array([[1], [0]], np.int32), order, offset, table, out)
    for bad in ([[2], [0]], [[0], [1]], [[-3], [0]]):
        with pytest.raises(ValueError, match="code"):
            core.lookup(np.array(bad, np.int32), order, offset, table, out)
    with pytest.raises(ValueError, match="outside"):
        core.lookup(np.array([[1], [0]], np.int32), order, np.array([0, 7], np.int64), table, out)


def test_cells_are_codes_in_steps() -> None:
    rng = np.random.default_rng(12)
    codes = random_codes(rng, [4, 3, 5], 100)
    child, parents = np.array([2, 0, 1], np.int32), np.array([[0, 1], [2, -1], [-1, -1]], np.int32)
    steps = np.array([[35, 7], [6, 99], [99, 99]], np.int32)
    out = np.empty((3, 100), np.int32)
    core.cells(codes, child, parents, steps, out)
    assert (out[0] == codes[2] + 35 * (codes[0] + 2) + 7 * (codes[1] + 2)).all()
    assert (out[1] == codes[0] + 6 * (codes[2] + 2)).all()
    assert (out[2] == codes[1]).all()
    for bad in (-2, 3):
        with pytest.raises(ValueError, match="not there"):
            core.cells(codes, child, np.full((3, 2), bad, np.int32), steps, out)


def test_lean_is_the_sum_of_logarithms() -> None:
    rng = np.random.default_rng(13)
    start = np.array([0, 1, 1, 18, 40], np.int64)
    weight, mass, known = rng.random(40) * 9, rng.random(40) * 8, rng.random((3, 40))
    total, strength = mass + rng.random(40) * 20, 2.0 ** rng.integers(-3, 9, (2, 4))
    mass[3] = known[1, 3] = 0.0  # a share of nothing counts as the smallest normal number
    found = set()
    for name in CLONES:
        core.use(name)
        out = core.lean(weight, mass, total, known, start, strength)
        found.add(out.tobytes())
    core.use(BEST)
    assert len(found) == 1
    with mpmath.workdps(40):
        for s, b, t in np.ndindex(out.shape):
            r = strength[s, t]
            terms = [
                weight[i] * mpmath.log(max((mass[i] + r * known[b, i]) / (total[i] + r), 2.0**-1022))
                for i in range(start[t], start[t + 1])
            ]
            assert abs(out[s, b, t] - mpmath.fsum(terms)) <= 1e-14 * mpmath.fsum(map(abs, terms))


# ---- softmax ------------------------------------------------------------------------------------------------------


def softmax_all(joint: np.ndarray, log: bool) -> tuple[np.ndarray, np.ndarray, int]:
    """Runs all clones and checks that they agree to the bit."""
    found: list[tuple[bytes, bytes, int]] = []
    for name in CLONES:
        core.use(name)
        out, evidence = joint.copy(), np.empty(len(joint))
        n = core.softmax(out, log, evidence)
        again = joint.copy()
        assert core.softmax(again, log, None) == n
        assert again.tobytes() == out.tobytes()
        beside = np.empty_like(joint)
        assert core.softmax(np.asfortranarray(joint), log, None, beside) == n
        assert beside.tobytes() == out.tobytes()
        found.append((out.tobytes(), evidence.tobytes(), n))
    core.use(BEST)
    assert all(f == found[0] for f in found)
    return out, evidence, n


@pytest.mark.parametrize("classes", [1, 2, 3, 5, 8, 17, 300, 3000])
def test_softmax(classes: int) -> None:
    rng = np.random.default_rng(12)
    n = 200 if classes < 100 else 20
    joint = rng.normal(size=(n, classes)) * rng.choice([1, 30, 600], (n, 1)) - rng.choice([0, 1e4], (n, 1))
    joint[rng.random(joint.shape) < 0.1] = -INF
    joint[3] = -INF
    proba, evidence, impossible = softmax_all(joint, False)
    logs, _, _ = softmax_all(joint, True)
    none = np.isneginf(joint).all(axis=1)
    assert impossible == none.sum()
    assert np.isneginf(evidence[none]).all()
    assert np.isneginf(proba[none]).all()
    assert np.isneginf(logs[none]).all()
    assert (proba[~none][np.isneginf(joint[~none])] == 0).all()
    for i in np.flatnonzero(~none)[:20]:
        assert abs(math.fsum(proba[i]) - 1) <= 4 * 2**-52
        top = max(joint[i])
        with mpmath.workdps(60):
            terms = [mpmath.exp(mpmath.mpf(v)) if v > -INF else mpmath.mpf(0) for v in joint[i].tolist()]
            total = mpmath.fsum(terms)
            lse = mpmath.log(total)
            assert ulps(float(evidence[i]), lse) <= 1.5 or abs(float(evidence[i]) - lse) < 3e-16 * max(1, abs(top))
            for k in range(min(classes, 40)):
                if joint[i, k] > -INF:
                    p = terms[k] / total
                    # the difference to the top is rounded once, which moves exp by |difference| * 2^-53
                    slack = 3 + abs(joint[i, k] - top) * 1.01
                    assert ulps(float(proba[i, k]), p) <= slack
                    assert abs(logs[i, k] - mpmath.log(p)) <= 2**-52 * (2 + abs(float(mpmath.log(p))))
    for i in range(5):
        row, _, _ = softmax_all(joint[i : i + 1], False)
        assert row.tobytes() == proba[i : i + 1].tobytes()


def test_softmax_exp_and_log_are_accurate() -> None:
    """A first class at 0 and a second at t <= 0: exp(t) / (1 + exp(t)) and log(1 + exp(t))."""
    rng = np.random.default_rng(13)
    t = np.concatenate([-rng.random(300), -rng.random(300) * 40, -rng.random(400) * 760, [-745.13, -745.14, -708.4]])
    joint = np.stack([np.zeros_like(t), t], axis=1)
    proba, evidence, _ = softmax_all(joint, False)
    with mpmath.workdps(60):
        for v, p, e in zip(t.tolist(), proba[:, 1].tolist(), evidence.tolist(), strict=True):
            exact = mpmath.exp(mpmath.mpf(v))
            assert ulps(p, exact / (1 + exact)) <= 2.0
            if exact > 1e-15:
                assert abs(e - mpmath.log1p(exact)) <= 2**-53 * 2
    assert proba[-3, 1] == 5e-324
    assert proba[-2, 1] == 0


# ---- integers -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 3, 8, 20])
def test_integers(clone: str, d: int) -> None:
    rng = np.random.default_rng(14)
    n = 3001
    x = rng.integers(-5, 30, size=(n, d))
    x[0, 0], x[1, 0], x[2, 0] = -(2**63), 2**63 - 1, 0
    base = rng.integers(-6, 3, d)
    base[-1] = -(2**63) if d == 1 else 2**63 - 5
    widths = rng.integers(0, 40, d)
    start = np.concatenate([[0], np.cumsum(widths)])
    table = rng.integers(-2, 50, start[-1]).astype(np.int32)
    expected = np.full((d, n), -2, np.int32)
    for j in range(d):
        for i in range(n):
            k = int(x[i, j]) - int(base[j])
            if 0 <= k < widths[j]:
                expected[j, i] = table[start[j] + k]
    for y in layouts(x.view(float)).values():
        out = np.empty((d, n), np.int32)
        found = core.integers(*columns(y), base, start, table, out)
        assert (out == expected).all()
        assert found == (expected == -2).sum()


@pytest.mark.parametrize("d", [1, 3, 8, 12, 20])
@pytest.mark.parametrize("unseen", ["no", "last", "first", "all"])
def test_integers_of_levels_that_count_up(clone: str, d: int, unseen: str) -> None:
    rng = np.random.default_rng(15)
    n, levels = 1003, np.full(d, 10)
    levels[{"no": slice(0), "last": slice(-1, None), "first": slice(1), "all": slice(None)}[unseen]] = 7
    base = rng.integers(-50, 50, d)
    x = rng.integers(0, 10, size=(n, d))
    start, table = np.concatenate([[0], np.cumsum(levels)]), np.concatenate([np.arange(m) for m in levels])
    expected = np.where(x < levels, x, -2).T
    for y in layouts((x + base).view(float)).values():
        out = np.empty((d, n), np.int32)
        found = core.integers(*columns(y), base, start, table.astype(np.int32), out)
        assert (out == expected).all()
        assert found == (expected == -2).sum()


# ---- clones -------------------------------------------------------------------------------------------------------


def test_clones_are_listed() -> None:
    assert "base" in CLONES
    assert BEST in CLONES
    with pytest.raises(ValueError, match="clone"):
        core.use("sse9")
