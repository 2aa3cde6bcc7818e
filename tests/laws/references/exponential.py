"""Exponential densities by rational means and mpmath."""

from __future__ import annotations

from typing import Any

import mpmath
from scipy import stats

from bayeskit.families.exponential import Exponential

from . import supported as s

VARIANTS = [Exponential(), Exponential(smoothing=0), Exponential(smoothing=0.25)]
SUPPORT = "positive"
WORKED = {"Exponential(#; mean #)": lambda x, mean: stats.expon.pdf(x, scale=mean)}


def data(kind: str, family: Any) -> dict[str, s.Groups]:
    return s.count_tables() if kind == "count" else s.positive_tables()


def log_density(family: Exponential, groups: s.Groups, points: list[float]) -> list[list[Any]]:
    lowest = s.whole(groups)[1] / 10**9
    means = [s.number(max(m, lowest)) for m in s.smoothed(groups, family.smoothing)]
    return s.lines(groups, points, lambda x: x >= 0, lambda x, c: -mpmath.log(means[c]) - s.number(x) / means[c])
