"""NegativeBinomial: counts that vary more than Poisson's."""

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
class NegativeBinomial(SmoothedParametric):
    """log p(x | c) = log C(x + r - 1, x) + r log(r/(r + m)) + x log(m/(r + m)), by moments.

    m is the class mean after ``smoothing`` pseudo-rows at the pooled mean; 1/r = (v - u)/u^2 with mean u and variance
    v of the class, or of the whole column for a class without values; where v <= u it is 0, the Poisson limit.

    Parameters
    ----------
    smoothing : float, default 1.0
        Pseudo-rows at the pooled mean.

    Examples
    --------
    >>> import bayeskit as bk
    >>> rows, labels = [[0], [4], [2], [14]], ["a", "a", "b", "b"]
    >>> model = bk.NaiveBayes(families=NegativeBinomial(smoothing=0)).fit(rows, labels)
    >>> model.predict_proba([[4]]).round(3)
    array([[0.484, 0.516]])
    """

    smoothing: float = 1.0

    identifier: ClassVar[str] = "family/negative_binomial"
    kinds: ClassVar[tuple[str, ...]] = ("count", "quantitative")
    in_core: ClassVar[bool] = True
    support: ClassVar[Support] = COUNTS

    def parameters(self, sums: Views) -> tuple[Float, ...]:
        of = sums["x"]
        empty = of.weight <= 0
        mean = np.where(empty, of.grand_mean, of.mean)
        deviation = np.where(empty, of.total_deviation, of.deviation)
        known = np.maximum(mean, 1e-300)
        excess = np.where(mean > 0, np.maximum((deviation / known) ** 2 - 1 / known, 0.0), 0.0)
        return toward_pooled(of, self.smoothing), excess

    def write(self, x: float, sums: Mapping[str, tuple[float, float]], *parameters: float) -> str:
        mean, excess = parameters
        size = f"size {1 / excess:.6g}" if excess > 0 else "size infinite"
        return f"NegativeBinomial({x:.6g}; mean {mean:.6g}, {size})"

    def log_density(self, x: Float, *parameters: Float) -> Float:
        mean, excess = parameters
        m, k = np.maximum(mean, 5e-324), np.maximum(x, 1.0)
        poisson = -stirling(k) - deviance(k, m) - (LOG_2PI + np.log(k)) / 2
        spread = excess > 0
        r = 1 / np.where(spread, excess, 1.0)
        n, share = k + r, 1 / (1 + m / r)  # share = r / (r + m)
        saddle = stirling(n) - stirling(k) - stirling(r) - deviance(k, n * (m / (r + m))) - deviance(r, n * share)
        wide = saddle + np.log(r / n) + (np.log(n / k) - np.log(r) - LOG_2PI) / 2
        positive = np.where(mean > 0, np.where(spread, wide, poisson), -np.inf)
        out: Float = np.where(x > 0, positive, np.where(spread, -r * np.log1p(mean / r), -mean))
        return out

    def magnitude(self, x: Float, shift: Int, *parameters: Float) -> Float:
        mean, excess = parameters
        spread = excess > 0
        r = 1 / np.where(spread, excess, 1.0)
        n, share = x / 2 + r / 2, 1 / (1 + mean / r)
        wide = log2_deviance((x / 2, n * (mean / (r + mean))), (r / 2, n * share)) + 1  # twice its halves
        return np.where(mean > 0, np.where(spread, wide, log2_deviance((x, mean))), -np.inf)
