"""Kernel densities as sums over the values in high precision, with bandwidths from exact fractions."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import mpmath

from bayeskit.families.kernel import Kernel

from .gaussian import moments, number

Groups = list[list[tuple[float | None, float]]]
Rows = list[tuple[Fraction, Fraction]]
VARIANTS = [Kernel(), Kernel("scott"), Kernel(0.75)]
SUPPORT = "pieces"  # narrow peaks: test_kernel.py integrates them
TOLERANCE = 1e-6  # the promise of the table


def quantile(rows: Rows, q: Fraction) -> Fraction:
    """The first value at which the weight reaches q, halfway to the next where it does exactly."""
    goal, below = q * sum(w for _, w in rows), Fraction(0)
    values = sorted({x for x, _ in rows})
    for i, value in enumerate(values):
        below += sum(w for x, w in rows if x == value)
        if below == goal and i + 1 < len(values):
            return (value + values[i + 1]) / 2
        if below >= goal:
            return value
    raise AssertionError("the weights do not add up")


def bandwidth(family: Kernel, rows: Rows, everything: list[Rows]) -> Any:
    """Of a class; of the column where ``rows`` are all rows."""
    if not isinstance(family.bandwidth, str):
        return mpmath.mpf(family.bandwidth)
    factor = mpmath.mpf({"silverman": 0.9, "scott": 1.059}[family.bandwidth])
    weight, _, squares = moments(rows)
    deviation = mpmath.sqrt(number(squares / weight))
    quartiles = number(quantile(rows, Fraction(3, 4)) - quantile(rows, Fraction(1, 4))) / mpmath.mpf(1.349)
    scale = min(deviation, quartiles) if quartiles else deviation
    if not scale:
        flat = [row for some in everything for row in some]
        total, _, spread = moments(flat)
        within = sum(moments(some)[2] for some in everything) / total
        scale = mpmath.sqrt(number(max(within / (weight + 1), spread / total / 10**9)))
    values = sorted({x for some in everything for x, _ in some})
    step = min(b - a for a, b in pairwise(values))
    return max(factor * scale * mpmath.mpf(max(float(weight), 1.0)) ** (-mpmath.mpf(1) / 5), number(step) / 2)


def log_density(family: Kernel, groups: Groups, points: list[float]) -> list[list[Any]]:
    """A class without values takes all of the column; a constant column says nothing."""
    exact = [[(Fraction(x), Fraction(w)) for x, w in rows if x is not None and w > 0] for rows in groups]
    flat = [row for rows in exact for row in rows]
    if len({x for x, _ in flat}) < 2:
        return [[mpmath.mpf(0)] * len(groups) for _ in points]
    used = [rows or flat for rows in exact]
    widths = [bandwidth(family, rows, exact) for rows in used]
    return [[_log(Fraction(p), rows, h) for rows, h in zip(used, widths, strict=True)] for p in points]


def _log(point: Fraction, rows: Rows, h: Any) -> Any:
    terms = [(number(w), -((number(point - x) / h) ** 2) / 2) for x, w in rows]
    top = max(t for _, t in terms)
    total = sum(w * mpmath.exp(t - top) for w, t in terms if t - top > -200)
    return top + mpmath.log(total / sum(w for w, _ in terms)) - mpmath.log(h) - mpmath.log(2 * mpmath.pi) / 2
