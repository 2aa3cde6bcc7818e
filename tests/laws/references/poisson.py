"""Poisson probabilities by rational means and mpmath."""

from __future__ import annotations

from typing import Any

import mpmath

from bayeskit.families.poisson import Poisson

from . import supported as s

VARIANTS = [Poisson(), Poisson(smoothing=0), Poisson(smoothing=0.25)]
SUPPORT = "counts"


def data(kind: str, family: Any) -> dict[str, s.Groups]:
    return s.count_tables()


def log_density(family: Poisson, groups: s.Groups, points: list[float]) -> list[list[Any]]:
    means = [s.number(m) for m in s.smoothed(groups, family.smoothing)]
    return s.lines(groups, points, s.is_count, lambda x, c: log(s.number(x), means[c]))


def log(x: Any, mean: Any) -> Any:
    if not mean:
        return mpmath.mpf(0) if not x else -mpmath.inf
    with mpmath.workdps(400):  # at 1e300 the terms cancel
        return x * mpmath.log(mean) - mean - mpmath.loggamma(x + 1)
