"""Ordinal probabilities as exact fractions."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath

from bayeskit.families.ordinal import Ordinal

Groups = list[list[tuple[Any, float]]]
VARIANTS = [Ordinal(), Ordinal(smoothing=0.25), Ordinal(smoothing=0)]
SUPPORT = "levels"
LEVELS = ["low", "middle", "high", "highest"]


def log_density(family: Ordinal, groups: Groups, points: list[Any]) -> list[list[Any]]:
    a, m = Fraction(family.smoothing), len(LEVELS)
    found = []
    for point in points:
        line = []
        for rows in groups:
            if not a and not any(x is not None for x, _ in rows):
                rows = [row for some in groups for row in some]
            n = [sum((Fraction(w) for x, w in rows if x == level), Fraction(0)) for level in LEVELS]
            v, total = LEVELS.index(point), sum(n)
            beside = n[max(v - 1, 0)] + n[min(v + 1, m - 1)]
            q = Fraction(1, 2 * m) + beside / (4 * total) if total else Fraction(1, m)
            p = (n[v] + a * m * q) / (total + a * m)
            line.append(mpmath.log(mpmath.mpf(p.numerator) / p.denominator) if p else -mpmath.inf)
        found.append(line)
    return found
