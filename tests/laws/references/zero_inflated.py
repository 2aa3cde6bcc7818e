"""A point mass at zero and the reference of the family inside."""

from __future__ import annotations

import importlib
from fractions import Fraction
from typing import Any

import mpmath

from bayeskit.families.exponential import Exponential
from bayeskit.families.gamma import Gamma
from bayeskit.families.lognormal import LogNormal
from bayeskit.families.zero_inflated import ZeroInflated

from . import supported as s

VARIANTS = [ZeroInflated(LogNormal()), ZeroInflated(Gamma(), smoothing=0.5), ZeroInflated(Exponential(), smoothing=0)]
SUPPORT = "nonnegative"
TOLERANCE = 1e-10


def data(kind: str, family: Any) -> dict[str, s.Groups]:
    found = s.positive_tables()
    if kind == "count":
        found = {"counts": s.tables(s.positive_counts, [1.0, 2.0, 3.0, 9.0])["plain"]}
    for name in list(found):
        if name != "a constant column":
            found[f"{name}, zeros"] = [
                [(0.0 if x is not None and (i + c) % 3 == 0 else x, w) for i, (x, w) in enumerate(rows)]
                for c, rows in enumerate(found[name])
            ]
    found["only zeros in a class"] = [[(0.0, 1.0)] * 3, [(1.5, 1.0), (0.0, 2.0), (3.0, 1.0)], [(2.0, 1.0), (2.5, 1.0)]]
    found["one value besides zero"] = [[(0.0, 1.0)] * 3, [(2.0, 1.0), (0.0, 2.0)], [(2.0, 3.0), (0.0, 1.0)]]
    return found


def log_density(family: ZeroInflated, groups: s.Groups, points: list[float]) -> list[list[Any]]:
    inner = importlib.import_module(f"{__package__}.{type(family.family).__module__.rsplit('.', 1)[1]}")
    above = [[(x or None, w) for x, w in rows] for rows in groups]
    varies = any(x for rows in above for x, _ in rows)
    known = inner.log_density(family.family, above, points) if varies else [[mpmath.mpf(0)] * len(groups)] * len(points)
    zero = [[(x if x is None else Fraction(x == 0), w) for x, w in rows] for rows in groups]
    a, shares = Fraction(family.smoothing), []
    for weight, share, _ in map(s.sums, zero):
        if not weight and not a:
            weight, share, _ = s.whole(zero)
        shares.append((weight * share + a) / (weight + 2 * a))
    silent = not s.whole(groups)[2]
    found = []
    for x, line in zip(points, known, strict=True):
        if silent or x < 0:
            found.append([mpmath.mpf(0)] * len(groups))
        else:
            p = [share if x == 0 else 1 - share for share in shares]
            logs = [mpmath.log(s.number(q)) if q else -mpmath.inf for q in p]
            found.append([log + (0 if x == 0 else t) for log, t in zip(logs, line, strict=True)])
    return found
