"""Log-normal densities by mpmath."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
from scipy import stats

from bayeskit.families.lognormal import LogNormal

from . import supported as s

VARIANTS = [LogNormal()]
SUPPORT = "positive"
WORKED = {
    "LogNormal(#; of log x mean #, deviation #)": lambda x, m, s: stats.lognorm.pdf(x, s, scale=np.exp(m)),
}
TOLERANCE = 1e-11  # the logarithms that are summed are doubles


def data(kind: str, family: Any) -> dict[str, s.Groups]:
    if kind == "quantitative":
        return s.positive_tables()
    return {"counts": s.tables(s.positive_counts, [1, 2, 3, 9])["plain"]}


def log_density(family: LogNormal, groups: s.Groups, points: list[float]) -> list[list[Any]]:
    logs = [[(x and mpmath.log(s.number(x)), w) for x, w in rows] for rows in groups]
    weight, centre, total = s.moments([row for rows in logs for row in rows])
    each = [s.moments(rows) for rows in logs]
    within = sum(w * v for w, _, v in each) / weight
    known = []
    for w, mean, v in each:
        if not w:
            mean, v = centre, total
        elif v < total / 10**9:
            v = max(within / (w + 1), total / 10**9)
        known.append((mean, v))

    def log(x: float, c: int) -> Any:
        mean, v = known[c]
        y = mpmath.log(s.number(x))
        return -y - mpmath.log(2 * mpmath.pi * v) / 2 - (y - mean) ** 2 / (2 * v)

    return s.lines(groups, points, lambda x: x > 0, log)
