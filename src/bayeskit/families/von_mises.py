"""VonMises: angles, and anything that comes round again (hours, weekdays, bearings)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bayeskit.arrays import Float
from bayeskit.data.support import ANGLES, Support
from bayeskit.deferred import deferred
from bayeskit.densities.moment_summary import FLOOR
from bayeskit.densities.parametric import Parametric, Views
from bayeskit.numerics.special import LOG_2PI

i0e = deferred("scipy.special", "i0e")
i1e = deferred("scipy.special", "i1e")


@dataclass(frozen=True)
class VonMises(Parametric):
    """log p(x | c) = k cos(x - mu) - log(2 pi I0(k)), for angles in radians.

    mu is the direction and R the length of the mean of (cos x, sin x) in the class; I1(k)/I0(k) = R. A dispersion
    1 - R below 1e-9 of the whole column's T becomes max(P/(W + 1), 1e-9 T), where P is the pooled within-class
    dispersion and W the weight of the class; a class without values takes the whole column's.

    >>> import bayeskit as bk
    >>> model = bk.NaiveBayes(families=VonMises()).fit([[-0.2], [0.3], [3.0], [-3.0]], ["a", "a", "b", "b"])
    >>> model.predict([[6.2]])
    array(['a'], dtype='<U1')
    """

    identifier: ClassVar[str] = "family/von_mises"
    kinds: ClassVar[tuple[str, ...]] = ("quantitative",)
    views: ClassVar[tuple[str, ...]] = ("cos x", "sin x")
    support: ClassVar[Support] = ANGLES

    def parameters(self, sums: Views) -> tuple[Float, ...]:
        cos, sin = sums["cos x"], sums["sin x"]
        total = _dispersion(cos.grand_mean, sin.grand_mean, cos.total_deviation, sin.total_deviation)
        each = _dispersion(cos.mean, sin.mean, cos.deviation, sin.deviation)
        weight = cos.weight / np.maximum(cos.total_weight, 1e-300)
        pooled = (weight * each).sum(axis=0)
        floor = np.maximum(pooled / (cos.weight + 1), FLOOR * total)
        empty = cos.weight <= 0
        spread = np.where(empty, total, np.where(each < FLOOR * total, floor, each))
        centre = np.where(empty, cos.grand_mean, cos.mean), np.where(empty, sin.grand_mean, sin.mean)
        return *centre, concentration(spread)

    def write(self, x: float, sums: Mapping[str, tuple[float, float]], *parameters: float) -> str:
        cos, sin, k = parameters
        return f"VonMises({x:.6g}; direction {np.arctan2(sin, cos):.6g}, concentration {k:.6g})"

    def log_density(self, x: Float, *parameters: Float) -> Float:
        cos, sin, k = parameters
        half = np.sin((x - np.arctan2(sin, cos)) / 2)  # cos - 1 = -2 sin^2(half)
        out: Float = -2 * k * half * half - LOG_2PI - np.log(i0e(k))
        return out


def _dispersion(cos: Float, sin: Float, spread_cos: Float, spread_sin: Float) -> Float:
    """1 - R, from 1 - R^2 = var(cos x) + var(sin x), which does not cancel."""
    out: Float = (spread_cos**2 + spread_sin**2) / (1 + np.hypot(cos, sin))
    return out


def concentration(dispersion: Float) -> Float:
    """k with 1 - I1(k)/I0(k) = dispersion, in (0, 1].

    >>> float(concentration(np.array(1 - 0.4463899658965345)).round(9))
    1.0
    """
    gap = np.minimum(dispersion, 1.0)
    r = 1 - gap
    k = np.where(gap < 0.15, 0.5 / gap + 0.25, np.maximum(r * (2 - r * r) / np.maximum(1 - r * r, 1e-300), 0.0))
    for _ in range(8):
        ratio = i1e(k) / i0e(k)
        safe = np.maximum(k, 1e-8)
        # far out the gap is a series in 1/k, where 1 - ratio would cancel
        i = 1 / np.maximum(k, 200.0)
        far = i * (1 / 2 + i * (1 / 8 + i * (1 / 8 + i * (25 / 128 + i * (13 / 32 + i * (1073 / 1024))))))
        here = np.where(k > 200, far, 1 - ratio)
        slope = np.where(k > 200, i * i * (1 / 2 + i * (1 / 4 + i * (3 / 8 + i * (25 / 32 + i * (65 / 32))))), 0.0)
        slope = np.where(k > 200, slope, np.where(k > 1e-8, 1 - ratio * ratio - ratio / safe, 0.5))
        # Newton in 1/k where k is large, as the gap is nearly proportional to it
        plain = k + (here - gap) / slope
        inverse = 1 / (1 / safe - (here - gap) / (slope * safe * safe))
        k = np.maximum(np.where(k > 2, inverse, plain), 0.0)
    return k
