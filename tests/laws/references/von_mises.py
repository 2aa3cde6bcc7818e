"""Von Mises densities by mpmath, the likelihood equation solved to 40 digits."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
from scipy import stats

from bayeskit.families.von_mises import VonMises

from . import supported as s

VARIANTS = [VonMises()]
SUPPORT = "angles"
WORKED = {"VonMises(#; direction #, concentration #)": lambda x, m, k: stats.vonmises.pdf(x, k, m)}
TOLERANCE = 1e-11  # the sines and cosines that are summed are doubles


def data(kind: str, family: Any) -> dict[str, s.Groups]:
    def draw(rng: np.random.Generator, n: int) -> list[float]:
        return (rng.vonmises(1.0, 2.0, n) + rng.choice([0.0, 2.0, -3.0], n)).tolist()  # type: ignore[no-any-return]

    return s.tables(draw, [-0.3, 0.7, 3.0, -2.9])


def concentration(gap: Any) -> Any:
    if gap < mpmath.mpf("0.001"):  # 1 - I1/I0 = 1/(2k) + 1/(8k^2) + 1/(8k^3) + 25/(128k^4) + ...
        start = 1 / (2 * gap) + 0.25
        return mpmath.findroot(lambda k: _far(k) - gap, start, tol=1e-60)
    return mpmath.findroot(
        lambda k: 1 - mpmath.besseli(1, k) / mpmath.besseli(0, k) - gap,
        (mpmath.mpf(1e-9), mpmath.mpf(2000)),
        solver="anderson",
        tol=1e-50,
        maxsteps=300,
    )


def _far(k: Any) -> Any:
    terms = [
        mpmath.mpf(1) / 2,
        mpmath.mpf(1) / 8,
        mpmath.mpf(1) / 8,
        mpmath.mpf(25) / 128,
        mpmath.mpf(13) / 32,
        mpmath.mpf(1073) / 1024,
    ]
    return sum(t / k ** (i + 1) for i, t in enumerate(terms))


def log_density(family: VonMises, groups: s.Groups, points: list[float]) -> list[list[Any]]:
    def read(rows: Any) -> tuple[Any, Any, Any]:
        w, cos, _ = s.moments([(None if x is None else mpmath.cos(s.number(x)), m) for x, m in rows])
        _, sin, _ = s.moments([(None if x is None else mpmath.sin(s.number(x)), m) for x, m in rows])
        return w, mpmath.atan2(sin, cos), 1 - mpmath.hypot(cos, sin)

    everything = read([row for rows in groups for row in rows])
    each = [read(rows) for rows in groups]
    pooled = sum(w * d for w, _, d in each if w) / everything[0]
    known = []
    if s.whole(groups)[2]:
        for w, mu, gap in each:
            if not w:
                _, mu, gap = everything
            elif gap < everything[2] / 10**9:
                gap = max(pooled / (w + 1), everything[2] / 10**9)
            known.append((mu, concentration(gap)))

    def log(x: float, c: int) -> Any:
        mu, k = known[c]
        return k * mpmath.cos(s.number(x) - mu) - mpmath.log(2 * mpmath.pi * mpmath.besseli(0, k))

    return s.lines(groups, points, lambda x: abs(x) <= 2 * np.pi, log)
