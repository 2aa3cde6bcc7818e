"""Histograms by counting in exact fractions."""

from __future__ import annotations

from bisect import bisect_left
from fractions import Fraction
from itertools import pairwise
from typing import Any

import mpmath

from bayeskit.families.histogram import Histogram

Groups = list[list[tuple[float | None, float]]]
VARIANTS = [
    Histogram(),
    Histogram(5),
    Histogram(40, smoothing=0.5),
    Histogram((0.5, 2.5, 3.0, 5.2)),
    Histogram((2.1,), smoothing=0),
    Histogram("auto", smoothing=0),
    Histogram("mdlp"),
]
SUPPORT = "pieces"


def cuts_of(family: Histogram, groups: Groups) -> list[Fraction] | None:
    """In exact arithmetic; None where the column is constant."""
    if isinstance(family.bins, tuple):
        return [Fraction(c) for c in family.bins]
    there = [(Fraction(x), Fraction(w)) for rows in groups for x, w in rows if x is not None and w > 0]
    values = sorted({x for x, _ in there})
    if len(values) < 2:
        return None
    step = min(b - a for a, b in pairwise(values))
    low, high = values[0] - step / 2, values[-1] + step / 2
    if family.bins == "auto":
        weight = sum(w for _, w in there)
        wanted = min(int(mpmath.ceil(2 * mpmath.cbrt(max(float(weight), 1.0)))), 256)
        inner, below, k = [], Fraction(0), 1
        for a, b in pairwise(values):
            below += sum(w for x, w in there if x == a)
            if below >= weight * k / wanted * (1 - Fraction(1, 10**12)):
                inner.append((a + b) / 2)
                while k < wanted and weight * k / wanted * (1 - Fraction(1, 10**12)) <= below:
                    k += 1
    elif family.bins == "mdlp":
        inner = mdlp([[(Fraction(x), Fraction(w)) for x, w in rows if x is not None and w > 0] for rows in groups])
    else:
        wanted = max(1, min(family.bins, round((high - low) / step)))
        inner = [low + Fraction(k, wanted) * (high - low) for k in range(1, wanted)]
    return [low, *inner, high]


def mdlp(groups: list[list[tuple[Fraction, Fraction]]]) -> list[Fraction]:
    """The cuts of Fayyad and Irani (1993), by their recursion, in 50 digits."""
    values = sorted({x for rows in groups for x, _ in rows})
    whole = _information(groups)
    rows = sum(whole[0])
    if len(values) < 2 or rows <= 1:
        return []
    trials = []
    for a, b in pairwise(values):
        cut = (a + b) / 2
        sides = [[[(x, w) for x, w in rows if (x <= cut) == low] for rows in groups] for low in (True, False)]
        left, right = map(_information, sides)
        mean = (sum(left[0]) * left[1] + sum(right[0]) * right[1]) / mpmath.mpf(rows)
        trials.append((mean, cut, sides, left, right))
    mean, cut, sides, left, right = min(trials, key=lambda t: (mpmath.nstr(t[0], 30), t[1]))
    k, k1, k2 = (sum(n > 0 for n in side[0]) for side in (whole, left, right))
    delta = mpmath.log(3**k - 2, 2) - (k * whole[1] - k1 * left[1] - k2 * right[1])
    if whole[1] - mean <= (mpmath.log(rows - 1, 2) + delta) / rows:
        return []
    return [*mdlp(sides[0]), cut, *mdlp(sides[1])]


def _information(groups: list[list[tuple[Fraction, Fraction]]]) -> tuple[list[Any], Any]:
    """Weights of the classes, and their entropy in bits."""
    weights = [sum((_real(w) for _, w in rows), mpmath.mpf(0)) for rows in groups]
    total = sum(weights)
    return weights, -sum((w / total * mpmath.log(w / total, 2) for w in weights if w), mpmath.mpf(0))


def _real(value: Fraction) -> Any:
    return mpmath.mpf(value.numerator) / value.denominator


def log_density(family: Histogram, groups: Groups, points: list[float]) -> list[list[Any]]:
    cuts = cuts_of(family, groups)
    if cuts is None:
        return [[mpmath.mpf(0)] * len(groups) for _ in points]
    size = len(cuts) + 1
    alpha = Fraction(1, size) if family.smoothing is None else Fraction(family.smoothing)
    tail = (cuts[-1] - cuts[0]) / (len(cuts) - 1) if len(cuts) > 1 else Fraction(1)
    counts = [[Fraction(0)] * size for _ in groups]
    for c, rows in enumerate(groups):
        for x, w in rows:
            if x is not None:
                counts[c][bisect_left(cuts, Fraction(x))] += Fraction(w)
    pooled = [sum(column) for column in zip(*counts, strict=True)]
    found = []
    for x in points:
        cell = bisect_left(cuts, Fraction(x))
        beyond = max(cuts[0] - Fraction(x), Fraction(x) - cuts[-1], Fraction(0)) / tail
        width = tail if cell in (0, size - 1) else cuts[cell] - cuts[cell - 1]
        line = []
        for mine in counts:
            mine = mine if sum(mine) or alpha else pooled
            share = (mine[cell] + alpha) / (sum(mine) + alpha * size)
            line.append(_log(share / width) - _real(beyond))
        found.append(line)
    return found


def _log(value: Fraction) -> Any:
    return mpmath.log(_real(value)) if value else -mpmath.inf
