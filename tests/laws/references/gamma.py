"""Gamma densities by mpmath, the likelihood equation solved to 40 digits."""

from __future__ import annotations

from typing import Any

import mpmath
from scipy import stats

from bayeskit.families.gamma import Gamma

from . import supported as s

VARIANTS = [Gamma()]
SUPPORT = "positive"
WORKED = {"Gamma(#; mean #, shape #)": lambda x, mean, k: stats.gamma.pdf(x, k, scale=mean / k)}
TOLERANCE = 1e-10  # the logarithms that are summed are doubles: at 1e300 the gap keeps 12 digits


def data(kind: str, family: Any) -> dict[str, s.Groups]:
    if kind == "quantitative":
        return s.positive_tables()
    return {"counts": s.tables(s.positive_counts, [1, 2, 3, 9])["plain"]}


def shape(gap: Any) -> Any:
    start = (3 - gap + mpmath.sqrt((gap - 3) ** 2 + 24 * gap)) / (12 * gap)
    return mpmath.findroot(lambda k: mpmath.log(k) - mpmath.digamma(k) - gap, start, tol=1e-60)


def log_density(family: Gamma, groups: s.Groups, points: list[float]) -> list[list[Any]]:
    def read(rows: Any) -> tuple[Any, Any, Any]:
        w, mean, _ = s.moments([(x if x is None else s.number(x), m) for x, m in rows])
        _, log, _ = s.moments([(x and mpmath.log(s.number(x)), m) for x, m in rows])
        return w, mean, mpmath.log(mean) - log if w else 0

    everything = read([row for rows in groups for row in rows])
    each = [read(rows) for rows in groups]
    pooled = sum(w * g for w, _, g in each) / everything[0]
    known = []
    if s.whole(groups)[2]:
        for w, mean, gap in each:
            if not w:
                _, mean, gap = everything
            elif gap < 1e-8:
                gap = max(pooled / (w + 1), mpmath.mpf(1e-8))
            known.append((mean, shape(gap)))

    def log(x: float, c: int) -> Any:
        mean, k = known[c]
        x = s.number(x)
        return k * mpmath.log(k / mean) - mpmath.loggamma(k) + (k - 1) * mpmath.log(x) - k * x / mean

    return s.lines(groups, points, lambda x: x > 0, log)
