"""Binomial probabilities by rational rates and mpmath."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath

from bayeskit.families.binomial import Binomial

from . import supported as s

VARIANTS = [Binomial(12), Binomial(12, smoothing=0), Binomial(1000, smoothing=0.5), Binomial(10**8)]
SUPPORT = "counts"


def data(kind: str, family: Binomial) -> dict[str, s.Groups]:
    return s.count_tables(family.trials)


def log_density(family: Binomial, groups: s.Groups, points: list[float]) -> list[list[Any]]:
    t, a = Fraction(family.trials), Fraction(family.smoothing)
    rates = []
    for weight, mean, _ in map(s.sums, groups):
        if not weight and not a:
            weight, mean, _ = s.whole(groups)
        rates.append((weight * mean + a) / (weight * t + 2 * a))

    def log(x: float, c: int) -> Any:
        r = rates[c]
        if (not r and x) or (r == 1 and x < t):
            return -mpmath.inf
        ways = mpmath.log(mpmath.binomial(int(t), int(x)))
        hit = s.number(x) * mpmath.log(s.number(r)) if x else 0
        return ways + hit + (s.number(t - Fraction(x)) * mpmath.log(s.number(1 - r)) if x < t else 0)

    return s.lines(groups, points, lambda x: s.is_count(x) and x <= t, log)
