"""Exponential: waiting times, and other numbers of at least 0 that crowd near it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bayeskit._core import FormulaKind
from bayeskit.arrays import Float, Int
from bayeskit.data.support import NONNEGATIVE, Support
from bayeskit.densities.density import CoreFormula
from bayeskit.densities.parametric import SmoothedParametric, Views, toward_pooled
from bayeskit.numerics.special import log2_distance

FLOOR = 1e-9  # of the pooled mean: a class of zeros gets no density of infinity


@dataclass(frozen=True)
class Exponential(SmoothedParametric):
    """log p(x | c) = -log m - x/m, with m the class mean after ``smoothing`` pseudo-rows at the pooled mean.

    Parameters
    ----------
    smoothing : float, default 1.0
        Pseudo-rows at the pooled mean.

    Examples
    --------
    >>> import bayeskit as bk
    >>> model = bk.NaiveBayes(families=Exponential(smoothing=0)).fit([[1.0], [3.0], [5.0], [15.0]], [0, 0, 1, 1])
    >>> model.predict_proba([[4.0]]).round(3)
    array([[0.502, 0.498]])
    """

    smoothing: float = 1.0

    identifier: ClassVar[str] = "family/exponential"
    kinds: ClassVar[tuple[str, ...]] = ("quantitative", "count")
    scales: ClassVar[bool] = True
    in_core: ClassVar[bool] = True
    support: ClassVar[Support] = NONNEGATIVE

    def parameters(self, sums: Views) -> tuple[Float, ...]:
        of = sums["x"]
        return (np.maximum(toward_pooled(of, self.smoothing), FLOOR * of.grand_mean),)

    def write(self, x: float, sums: Mapping[str, tuple[float, float]], *parameters: float) -> str:
        return f"Exponential({x:.6g}; mean {parameters[0]:.6g})"

    def core_formula(self, *parameters: Float) -> CoreFormula | None:
        (mean,) = parameters
        return CoreFormula(FormulaKind.EXPONENTIAL, np.stack([-1 / mean, np.zeros_like(mean), -np.log(mean)]))

    def log_density(self, x: Float, *parameters: Float) -> Float:
        (mean,) = parameters
        out: Float = -np.log(mean) - x / mean
        return out

    def magnitude(self, x: Float, shift: Int, *parameters: Float) -> Float:
        out: Float = log2_distance(x, shift) - np.log2(parameters[0])
        return out
