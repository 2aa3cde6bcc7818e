"""Beta densities by mpmath, the likelihood equations solved to 40 digits."""

from __future__ import annotations

from typing import Any

import mpmath
from scipy import stats

from bayeskit.families.beta import Beta

from . import supported as s

VARIANTS = [Beta()]
SUPPORT = "unit"
WORKED = {"Beta(#; a #, b #)": stats.beta.pdf}
TOLERANCE = 1e-9  # the logarithms that are summed are doubles, and a gap of 1e-8 has lost half of their digits


def data(kind: str, family: Any) -> dict[str, s.Groups]:
    return s.tables(lambda rng, n: rng.beta(2.0, 1.3, n).tolist(), [0.1, 0.35, 0.5, 0.95])


def log_density(family: Beta, groups: s.Groups, points: list[float]) -> list[list[Any]]:
    def read(rows: Any) -> tuple[Any, Any, Any]:
        w, log, _ = s.moments([(x and mpmath.log(s.number(x)), m) for x, m in rows])
        return w, log, s.moments([(x and mpmath.log(1 - s.number(x)), m) for x, m in rows])[1]

    def gap(log: Any, log1m: Any) -> Any:
        return 1 - mpmath.exp(log) - mpmath.exp(log1m)

    everything = read([row for rows in groups for row in rows])
    each = [read(rows) for rows in groups]
    pooled = sum(w * gap(g, h) for w, g, h in each if w) / everything[0]
    known = []
    if s.whole(groups)[2]:
        for w, g, h in each:
            if not w:
                _, g, h = everything
            elif gap(g, h) < 1e-8:
                more = mpmath.log((1 - max(pooled / (w + 1), mpmath.mpf(1e-8))) / (1 - gap(g, h)))
                g, h = g + more, h + more
            known.append(solved(g, h, gap(g, h)))

    def log(x: float, c: int) -> Any:
        a, b = known[c]
        x = s.number(x)
        constant = mpmath.loggamma(a + b) - mpmath.loggamma(a) - mpmath.loggamma(b)
        return constant + (a - 1) * mpmath.log(x) + (b - 1) * mpmath.log(1 - x)

    return s.lines(groups, points, lambda x: 0 < x < 1, log)


def solved(g: Any, h: Any, gap: Any) -> tuple[Any, Any]:
    start = [0.5 + mpmath.exp(v) / (2 * gap) for v in (g, h)]
    psi = mpmath.digamma
    with mpmath.workdps(40):
        found = mpmath.findroot(lambda a, b: [psi(a) - psi(a + b) - g, psi(b) - psi(a + b) - h], start, tol=1e-50)
    return found[0], found[1]
