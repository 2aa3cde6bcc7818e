"""Normal densities and Student-t predictives by rational sums and mpmath."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath
from scipy import stats

from bayeskit.families.gaussian import Gaussian

Groups = list[list[tuple[float | None, float]]]
VARIANTS = [Gaussian(), Gaussian(predictive=True)]
SUPPORT = "real"
WORKED = {
    "N(#; mean #, deviation #)": stats.norm.pdf,
    "t(#; mean #, scale #, # degrees of freedom)": lambda x, m, s, v: stats.t.pdf(x, v, m, s),
}
mpmath.mp.dps = 60


def number(value: Fraction) -> Any:
    return mpmath.mpf(value.numerator) / value.denominator


def moments(rows: list[tuple[float | None, float]]) -> tuple[Fraction, Fraction, Fraction]:
    """Weight, mean and sum of squares about the mean of the values that are there."""
    there = [(Fraction(x), Fraction(w)) for x, w in rows if x is not None and w > 0]
    weight = sum((w for _, w in there), Fraction(0))
    if not weight:
        return weight, Fraction(0), Fraction(0)
    mean = sum(w * x for x, w in there) / weight
    return weight, mean, sum(w * (x - mean) ** 2 for x, w in there)


def parameters(family: Gaussian, groups: Groups) -> list[tuple[Fraction, Fraction, Fraction]] | None:
    """Of each class centre, squared scale, degrees of freedom (0: normal); None for a constant column."""
    everything, centre, squares = moments([row for rows in groups for row in rows])
    by_class = [moments(rows) for rows in groups]
    if not squares:
        return None
    total = squares / everything
    pooled = sum(s for _, _, s in by_class) / everything
    found = []
    for weight, mean, s in by_class:
        if family.predictive:
            kappa, nu = weight + 1, weight + 2
            scale = (2 * total + s + weight / kappa * (mean - centre) ** 2) / nu if weight else total
            found.append(((centre + weight * mean) / kappa, scale * (kappa + 1) / kappa, nu))
        elif not weight:
            found.append((centre, total, Fraction(0)))
        elif s / weight < total / 10**9:
            found.append((mean, max(pooled / (weight + 1), total / 10**9), Fraction(0)))
        else:
            found.append((mean, s / weight, Fraction(0)))
    return found


def log_density(family: Gaussian, groups: Groups, points: list[float]) -> list[list[Any]]:
    known = parameters(family, groups)
    if known is None:
        return [[mpmath.mpf(0)] * len(groups) for _ in points]
    return [[_log(Fraction(x) - mean, scale, nu) for mean, scale, nu in known] for x in points]


def location(family: Gaussian, groups: Groups) -> list[tuple[float, float]] | None:
    known = parameters(family, groups)
    return known and [(float(mean), float(mpmath.sqrt(number(scale)))) for mean, scale, _ in known]


def _log(away: Fraction, scale: Fraction, nu: Fraction) -> Any:
    square, half = number(away**2 / scale), mpmath.log(number(scale)) / 2
    if not nu:
        return -square / 2 - half - mpmath.log(2 * mpmath.pi) / 2
    v = number(nu)
    constant = mpmath.loggamma((v + 1) / 2) - mpmath.loggamma(v / 2) - mpmath.log(v * mpmath.pi) / 2
    return constant - half - (v + 1) / 2 * mpmath.log1p(square / v)
