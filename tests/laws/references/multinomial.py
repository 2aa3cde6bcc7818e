"""Counts of a group of one column by exact fractions; groups of many stand beside scikit-learn in test_text.py."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath

from bayeskit.families import Bernoulli, Complement, Multinomial

from . import supported as s

VARIANTS = [
    Multinomial(),
    Multinomial(0),
    Multinomial(0.3, group=2),
    Complement(),
    Complement(0.25, norm=True),
    Bernoulli(),
    Bernoulli(0.25),
]
SUPPORT = "group"
NORMALISED = {"Multinomial": False, "Complement": False, "Bernoulli": True}


def data(kind: str, family: Any) -> dict[str, s.Groups]:
    return s.count_tables()


def log_density(family: Any, groups: s.Groups, points: list[float]) -> list[list[Any]]:
    """One column alone has all counts of the group, in every class; only its presence can tell classes apart."""
    if not isinstance(family, Bernoulli):
        return [[mpmath.mpf(0)] * len(groups) for _ in points]
    a, found = Fraction(1 if family.smoothing is None else family.smoothing), []
    for x in points:
        line = []
        for rows in groups:
            there = [(v, Fraction(w)) for v, w in rows if v is not None]
            present, seen = sum(w for v, w in there if v > 0), sum(w for _, w in there)
            q = (present + a) / (seen + 2 * a)
            line.append(mpmath.mpf(0) if x < 0 else mpmath.log(s.number(q if x > 0 else 1 - q)))
        found.append(line)
    return found
