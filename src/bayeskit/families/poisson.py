"""Poisson: counts of events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bayeskit.arrays import Float, Int
from bayeskit.data.support import COUNTS, Support
from bayeskit.densities.parametric import SmoothedParametric, Views, toward_pooled
from bayeskit.numerics.special import LOG_2PI, deviance, log2_deviance, stirling


@dataclass(frozen=True)
class Poisson(SmoothedParametric):
    """log p(x | c) = x log m - m - log x!, with m the class mean after ``smoothing`` pseudo-rows at the pooled mean.

    Parameters
    ----------
    smoothing : float, default 1.0
        Pseudo-rows at the pooled mean.

    Examples
    --------
    >>> import bayeskit as bk
    >>> model = bk.NaiveBayes(families=Poisson(smoothing=0)).fit([[1], [3], [5], [7]], ["a", "a", "b", "b"])
    >>> model.predict_proba([[3]]).round(3)
    array([[0.669, 0.331]])
    """

    smoothing: float = 1.0

    identifier: ClassVar[str] = "family/poisson"
    kinds: ClassVar[tuple[str, ...]] = ("count", "quantitative")
    in_core: ClassVar[bool] = True
    support: ClassVar[Support] = COUNTS

    def parameters(self, sums: Views) -> tuple[Float, ...]:
        return (toward_pooled(sums["x"], self.smoothing),)

    def write(self, x: float, sums: Mapping[str, tuple[float, float]], *parameters: float) -> str:
        mean = f"{parameters[0]:.6g}"
        return f"{mean}^{x:.6g} · e^(-{mean}) / {x:.6g}!"

    def log_density(self, x: Float, *parameters: Float) -> Float:
        (mean,) = parameters
        known = np.maximum(mean, 5e-324)
        positive = -stirling(np.maximum(x, 1.0)) - deviance(x, known) - (LOG_2PI + np.log(np.maximum(x, 1.0))) / 2
        out: Float = np.where(x > 0, np.where(mean > 0, positive, -np.inf), -mean)
        return out

    def magnitude(self, x: Float, shift: Int, *parameters: Float) -> Float:
        (mean,) = parameters
        return np.where(mean > 0, log2_deviance((x, mean)), -np.inf)
