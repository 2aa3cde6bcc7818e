"""Negative binomial probabilities by rational moments and mpmath."""

from __future__ import annotations

import math
from typing import Any

import mpmath
from scipy import stats

from bayeskit.families.negative_binomial import NegativeBinomial

from . import poisson
from . import supported as s

VARIANTS = [NegativeBinomial(), NegativeBinomial(smoothing=0)]
SUPPORT = "counts"
WORKED = {
    "NegativeBinomial(#; mean #, size #)": lambda x, m, r: (
        stats.poisson.pmf(x, m) if math.isinf(r) else stats.nbinom.pmf(x, r, r / (r + m))
    )
}
TOLERANCE = 1e-11


def data(kind: str, family: Any) -> dict[str, s.Groups]:
    found = s.count_tables()
    found["over-dispersed"] = s.dealt([float(round(x**2)) for rows in found["plain"] for x, _ in rows])
    return found


def log_density(family: NegativeBinomial, groups: s.Groups, points: list[float]) -> list[list[Any]]:
    means = s.smoothed(groups, family.smoothing)
    sizes = []
    for rows in groups:
        weight, mean, variance = s.sums(rows)
        if not weight:
            _, mean, variance = s.whole(groups)
        sizes.append(mean**2 / (variance - mean) if variance > mean else None)

    def log(x: float, c: int) -> Any:
        m, r, x = s.number(means[c]), sizes[c], s.number(x)
        if r is None or not m:
            return poisson.log(x, m)
        r = s.number(r)
        with mpmath.workdps(400):
            ways = mpmath.loggamma(x + r) - mpmath.loggamma(r) - mpmath.loggamma(x + 1)
            return ways + r * mpmath.log(r / (r + m)) + x * mpmath.log(m / (r + m))

    return s.lines(groups, points, s.is_count, log)
