"""Sums without rounding, and means and deviations rounded once: against fractions and mpmath."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from math import isqrt
from typing import Any

import mpmath
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bayeskit.data.encode import Roles
from bayeskit.data.kinds import infer
from bayeskit.statistics.counted import Counted
from bayeskit.statistics.exact import ExactSum
from bayeskit.statistics.moments import Moments
from bayeskit.statistics.statistic import Product
from bayeskit.statistics.tables import Tables

from .tables import DOMAIN, EXTREMES, LARGEST, SMALLEST, block, random_batch

ONE = Fraction(1)
NIST = {
    "1e7 and tenths": [1e7 + (0.1, 0.2, 0.3)[i % 3] for i in range(999)],
    "1e9 and tenths": [1e9 + (0.1, 0.2, 0.3)[i % 3] for i in range(999)],
    "1e12 and fifths": [1e12 + 0.2 * (-1) ** i for i in range(1001)],
    "alternating signs": [(-1) ** i * (1e7 + i / 7) for i in range(1000)],
    "cancelling to a tenth": [1e17, 0.1, -1e17] * 50,
    "1e300 with 1e-300": [1e300, 1e-300, -1e300, 3e-300] * 20,
    "constant": [0.1] * 1000,
    "constant but one": [1e15 + 0.125] * 999 + [1e15 + 0.25],
    "near the largest": [LARGEST, -LARGEST, LARGEST / 3, LARGEST],
    "of the smallest": [SMALLEST * k for k in (1, 2, 3, 5, 8)],
    "one row": [1e7 + 0.1],
    "extremes": EXTREMES,
}
WEIGHTS = {
    "no weights": lambda n: None,
    "integers": lambda n: [float(i % 4) for i in range(n)],
    "tenths": lambda n: [0.1 * (1 + i % 3) for i in range(n)],
    "far apart": lambda n: [(1e-300, 1.0, 1e300)[i % 3] for i in range(n)],
}
on_nist = pytest.mark.parametrize("values", NIST.values(), ids=list(NIST))
weighted = pytest.mark.parametrize("weight", WEIGHTS.values(), ids=list(WEIGHTS))


def moments(values: list[float], weights: list[float] | None, cut: int = 100) -> Moments:
    """Exact sums of one column in one class, counted in batches."""
    columns = {"x": pa.array(values), "class": pa.array(["c"] * len(values))}
    if weights is not None:
        columns["w"] = pa.array(weights)
    schema = infer(pa.schema({"x": pa.float64()}))
    roles = Roles("class", None if weights is None else "w")
    counted = Counted.empty(schema, lambda n: Product({"m": Moments.empty(["x"], n)}, n), roles)
    for batch in pa.table(columns).to_batches(max_chunksize=cut):
        counted = counted.update(batch)
    return counted.statistic["m"]


def sums(values: list[float], weights: list[float] | None) -> tuple[Fraction, Fraction, Fraction]:
    """W, sum of w x and sum of w x^2 by rational arithmetic."""
    pairs = [(Fraction(w), Fraction(x)) for w, x in zip(weights or [1.0] * len(values), values, strict=True)]
    return sum(w for w, _ in pairs), sum(w * x for w, x in pairs), sum(w * x * x for w, x in pairs)


def root(value: Fraction) -> float:
    """The square root of any fraction, correctly rounded: an integer root with a sticky bit."""
    places = max(0, 1200 - value.numerator.bit_length() + value.denominator.bit_length())
    scaled = (value.numerator << 2 * places) // value.denominator
    whole = isqrt(scaled)
    inexact = whole * whole * value.denominator != value.numerator << 2 * places
    return float(Fraction(2 * whole + inexact, 1 << (places + 1)))


@on_nist
@weighted
def test_moments_are_the_exact_sums(values: list[float], weight: Callable[[int], Any]) -> None:
    weights = weight(len(values))
    counted = moments(values, weights)
    found = tuple(s.fraction(0, 0) for s in (counted.present, counted.first, counted.second))
    assert found == sums(values, weights)


@on_nist
@weighted
def test_mean_and_deviation_are_rounded_once(values: list[float], weight: Callable[[int], Any]) -> None:
    weights = weight(len(values))
    mean, deviation, sound = moments(values, weights).finish()
    total, first, second = sums(values, weights)
    variance = second / total - (first / total) ** 2 if total else Fraction(0)
    assert sound.all()
    assert (mean[0, 0], deviation[0, 0]) == (float(first / total if total else 0), root(variance))


@on_nist
def test_deviation_agrees_with_60_digits(values: list[float]) -> None:
    with mpmath.workdps(60 if max(map(abs, values)) < 1e200 else 1400):
        exact = [mpmath.mpf(x) for x in values]
        mean = mpmath.fsum(exact) / len(exact)
        wanted = mpmath.sqrt(mpmath.fsum((x - mean) ** 2 for x in exact) / len(exact))
        found = mpmath.mpf(float(moments(values, None).finish()[1][0, 0]))
        assert abs(found - wanted) <= max(wanted * mpmath.mpf(2) ** -53, mpmath.mpf(SMALLEST) / 2)


doubles = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(doubles, min_size=1, max_size=30), st.integers(1, 30))
@example([1.0] + [3.402823669209384e38] * 3, 1)  # the sum lies 1 beside a tie, 128 bits below its first
@settings(max_examples=200, deadline=None)
def test_moments_of_any_doubles_are_exact(values: list[float], cut: int) -> None:
    counted = moments(values, None, cut)
    total, first, second = sums(values, None)
    assert (counted.first.fraction(0, 0), counted.second.fraction(0, 0)) == (first, second)
    mean, deviation, _ = counted.finish()
    assert mean[0, 0] == float(first / total)
    assert deviation[0, 0] == root(second / total - (first / total) ** 2)


@pytest.mark.parametrize("sort", [None, "fraction", "any"])
@pytest.mark.parametrize("columns", [(), ("colour",), ("flag", "grade"), ("shape", "y", "town")])
def test_tables_are_the_exact_weights(sort: str | None, columns: tuple[str, ...]) -> None:
    """Cell by cell against a dictionary of fractions."""
    batch = random_batch(11, 400, sort)
    rows = block(batch)
    index = [rows.schema.coded.index(name) for name in columns]
    wanted: dict[tuple[int, ...], Fraction] = {}
    for i, group in enumerate(rows.groups.tolist()):
        cell = (group, *(int(rows.codes[j, i]) for j in index))
        if min(cell) >= 0:
            weight = Fraction(batch.column("w")[i].as_py()) if sort else ONE
            wanted[cell] = wanted.get(cell, Fraction(0)) + weight
    none = np.empty(0, dtype=np.int64)
    sizes = {name: (none, len(levels)) for name, levels in DOMAIN.levels.items()}
    table = Tables.empty([columns], 0).place(none, len(DOMAIN.classes), sizes).update(rows).table(0)
    cells = product(*map(range, table.shape))
    assert {cell: table.fraction(*cell) for cell in cells if table.fraction(*cell)} == {
        cell: weight for cell, weight in wanted.items() if weight
    }


def test_a_million_tenths_are_exact() -> None:
    counted = moments([0.1] * 1_000_000, None, 1 << 16)
    assert counted.first.fraction(0, 0) == 1_000_000 * Fraction(0.1)
    assert counted.finish()[1][0, 0] == 0


# -- ExactSum ----------------------------------------------------------------------------------------

edges = st.sampled_from([0, 1, -1, 2**31, -(2**31), 2**32, 2**63, -(2**64)])
integers = edges | st.integers(-(2**200), 2**200)
arrays = st.tuples(st.lists(integers, min_size=3, max_size=3), st.integers(-40, 20))


def exact(numbers: list[int], low: int) -> ExactSum:
    """Integers times 2^(32 low), as limbs made here."""
    width = max(number.bit_length() for number in numbers) // 32 + 2
    limbs = np.zeros((len(numbers), width), dtype=np.int64)
    for i, number in enumerate(numbers):
        limbs[i, :-1] = [(number >> (32 * place)) & 0xFFFFFFFF for place in range(width - 1)]
        limbs[i, width - 1] = number >> (32 * (width - 1))
    return ExactSum(limbs, low)


def fractions(numbers: list[int], low: int) -> list[Fraction]:
    return [number * Fraction(2) ** (32 * low) for number in numbers]


def values(sum_: ExactSum) -> list[Fraction]:
    return [sum_.fraction(i) for i in range(sum_.shape[0])]


@given(arrays, arrays)
def test_sums_and_differences_are_exact(a: tuple[list[int], int], b: tuple[list[int], int]) -> None:
    x, y = fractions(*a), fractions(*b)
    assert values(exact(*a) + exact(*b)) == [p + q for p, q in zip(x, y, strict=True)]
    assert values(exact(*a) - exact(*b)) == [p - q for p, q in zip(x, y, strict=True)]


@given(arrays)
def test_rounding_is_to_the_nearest_double(a: tuple[list[int], int]) -> None:
    assert exact(*a).to_float().tolist() == [float(value) for value in fractions(*a)]


@given(st.integers(2**52, 2**53 - 1), st.integers(-40, 20), st.sampled_from([-1, 0, 1]), st.booleans())
def test_ties_go_to_even(odd: int, low: int, beside: int, negative: bool) -> None:
    number = ((2 * odd + 1) << 100) + beside
    number = -number if negative else number
    assert exact([number], low).to_float()[0] == float(number * Fraction(2) ** (32 * low))


@given(arrays, arrays)
def test_equal_sums_have_one_canonical_form(a: tuple[list[int], int], b: tuple[list[int], int]) -> None:
    """However wide the window they came through."""
    there_and_back = (exact(*a) + exact(*b) - exact(*b)).canonical()
    direct = exact(*a).canonical()
    assert (there_and_back.low, there_and_back.limbs.tolist()) == (direct.low, direct.limbs.tolist())
    assert values(direct) == fractions(*a)


@given(arrays, st.lists(st.integers(-1, 3), min_size=3, max_size=3))
def test_placing_sums_what_meets(a: tuple[list[int], int], index: list[int]) -> None:
    placed = exact(*a).place(np.array(index), 4)
    moved = list(zip(fractions(*a), index, strict=True))
    assert values(placed) == [sum(value for value, place in moved if place == k) for k in range(4)]


@given(arrays)
def test_sign_and_zero_are_seen(a: tuple[list[int], int]) -> None:
    x = exact(*a).carry()
    assert x.negative().tolist() == [number < 0 for number in a[0]]
    assert x.nonzero().tolist() == [number != 0 for number in a[0]]
