"""Tables and exact sums for families that take some numbers only."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np

Groups = list[list[tuple[Any, float]]]
mpmath.mp.dps = 60


def dealt(values: list[Any], weights: list[float] | None = None) -> Groups:
    cut, rows = len(values) // 5, list(zip(values, weights or [1.0] * len(values), strict=True))
    return [rows[:cut], rows[cut : 3 * cut], rows[3 * cut :]]


def tables(draw: Callable[[np.random.Generator, int], list[Any]], few: list[Any]) -> dict[str, Groups]:
    """Tables of values drawn from a support, and of four of its members."""
    rng = np.random.default_rng(7)
    plain, mass = draw(rng, 50), rng.random(50).tolist()
    a, b, c, d = few
    return {
        "plain": dealt(plain),
        "weighted": dealt(plain, mass),
        "with holes": dealt([x if i % 4 else None for i, x in enumerate(plain)], mass),
        "very heavy": dealt(plain, [1e9 * w for w in mass]),
        "few rows": [[(a, 1.0), (b, 1.0)], [(b, 1.0), (c, 1.0)], [(a, 1.0), (d, 1.0)]],
        "one row in a class": [[(a, 1.0), (b, 1.0)], [(d, 1.0)], [(c, 1.0), (a, 1.0), (b, 2.0)]],
        "a constant class": [[(b, 1.0)] * 4, [(a, 1.0), (c, 3.0)], [(d, 1.0), (b, 1.0), (a, 1.0)]],
        "a class without values": [[(None, 1.0)] * 4, [(a, 1.0), (b, 3.0), (d, 1.0)], [(c, 1.0), (d, 1.0), (b, 0.5)]],
        "a constant column": [[(b, 1.0)] * 4, [(b, 3.0)], [(b, 1.0), (None, 1.0)]],
    }


def positive(rng: np.random.Generator, n: int) -> list[float]:
    return rng.gamma(2.0, 3.0, n).tolist()  # type: ignore[no-any-return]


def positive_tables() -> dict[str, Groups]:
    found = tables(positive, [0.5, 1.5, 2.0, 7.0])
    plain = [x for rows in found["plain"] for x, _ in rows]
    found["huge"] = dealt([x * 2.0**1017 for x in plain])
    found["tiny"] = dealt([max(1, round(100 * x)) * 5e-324 for x in plain])
    found["wide"] = dealt([x * 10.0 ** (i % 9) for i, x in enumerate(plain)])
    return found


def count_tables(most: int | None = None) -> dict[str, Groups]:
    def draw(rng: np.random.Generator, n: int) -> list[float]:
        found = rng.poisson(4, n) if most is None else rng.binomial(most, 0.4, n)
        return found.astype(float).tolist()  # type: ignore[no-any-return]

    few = [0.0, 1.0, 2.0, 9.0] if most is None else [0.0, 1.0, 2.0, float(most)]
    found = tables(draw, few)
    found["zeros in a class"] = [[(0.0, 1.0)] * 3, [(0.0, 1.0), (2.0, 3.0)], [(1.0, 1.0), (0.0, 1.0)]]
    if most is None:
        found["large"] = dealt([1e15 + 3 * x for rows in found["plain"] for x, _ in rows])
    return found


def number(value: Fraction | float) -> Any:
    value = Fraction(value)
    return mpmath.mpf(value.numerator) / value.denominator


def sums(rows: list[tuple[Any, float]]) -> tuple[Fraction, Fraction, Fraction]:
    """Weight, mean and variance of the values that are there."""
    there = [(Fraction(x), Fraction(w)) for x, w in rows if x is not None and w > 0]
    weight = sum((w for _, w in there), Fraction(0))
    if not weight:
        return weight, Fraction(0), Fraction(0)
    mean = sum((w * x for x, w in there), Fraction(0)) / weight
    return weight, mean, sum((w * (x - mean) ** 2 for x, w in there), Fraction(0)) / weight


def whole(groups: Groups) -> tuple[Fraction, Fraction, Fraction]:
    return sums([row for rows in groups for row in rows])


def smoothed(groups: Groups, alpha: float) -> list[Fraction]:
    """Class means with alpha pseudo-rows at the pooled mean."""
    pooled, a = whole(groups)[1], Fraction(alpha)
    found = []
    for weight, mean, _ in map(sums, groups):
        found.append((weight * mean + a * pooled) / (weight + a) if weight + a else pooled)
    return found


def lines(groups: Groups, points: list[float], inside: Callable[[float], bool], log: Callable[[Any, int], Any]) -> Any:
    """log(point, class) for points inside the support, nothing outside it or where the column is constant."""
    silent = not whole(groups)[2]
    none = [mpmath.mpf(0)] * len(groups)
    return [none if silent or not inside(x) else [log(x, c) for c in range(len(groups))] for x in points]


def is_count(x: float) -> bool:
    return x >= 0 and x == int(x)


def positive_counts(rng: np.random.Generator, n: int) -> list[float]:
    return (1.0 + rng.poisson(4, n)).tolist()  # type: ignore[no-any-return]


def moments(rows: list[tuple[Any, float]]) -> tuple[Any, Any, Any]:
    """Weight, mean and variance of mpmath numbers, None where missing."""
    there = [(x, number(w)) for x, w in rows if x is not None and w > 0]
    weight = mpmath.fsum(w for _, w in there)
    if not weight:
        return mpmath.mpf(0), mpmath.mpf(0), mpmath.mpf(0)
    mean = mpmath.fsum(w * x for x, w in there) / weight
    return weight, mean, mpmath.fsum(w * (x - mean) ** 2 for x, w in there) / weight
