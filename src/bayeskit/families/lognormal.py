"""LogNormal: positive numbers whose logarithm is normal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bayeskit import _core
from bayeskit._core import FormulaKind
from bayeskit.arrays import Float
from bayeskit.data.block import Columns
from bayeskit.data.support import POSITIVE, Support
from bayeskit.densities.density import CoreFormula
from bayeskit.densities.parametric import Parametric, Views
from bayeskit.numerics.special import LOG_2PI
from bayeskit.numerics.special import log as natural_log


@dataclass(frozen=True)
class LogNormal(Parametric):
    """log p(x | c) = -log x - log s - log(2 pi)/2 - ((log x - mu)/s)^2 / 2, mean and variance (ddof 0) of log x.

    Small class variances are floored as for Gaussian, on the scale of log x.

    >>> import bayeskit as bk
    >>> model = bk.NaiveBayes(families=LogNormal()).fit([[1.0], [4.0], [8.0], [32.0]], ["a", "a", "b", "b"])
    >>> model.predict_proba([[4.0]]).round(3)
    array([[0.818, 0.182]])
    """

    identifier: ClassVar[str] = "family/lognormal"
    kinds: ClassVar[tuple[str, ...]] = ("quantitative", "count")
    views: ClassVar[tuple[str, ...]] = ("log x",)
    in_core: ClassVar[bool] = True
    support: ClassVar[Support] = POSITIVE

    def parameters(self, sums: Views) -> tuple[Float, ...]:
        return sums["log x"].normal()

    def add_fast(self, x: Float, out: Float, *parameters: Float) -> bool:
        mean, deviation = (np.ascontiguousarray(p.T) for p in parameters)
        log = _core.log(np.ascontiguousarray(x))
        logs, constant = Columns((log,), len(log)), -np.log(deviation) - LOG_2PI / 2
        _core.gaussian_log_density(logs.address, logs.stride, logs.rows, np.ones(1), mean, 1 / deviation, constant, out)
        out -= np.where(np.isnan(log), 0.0, log)[:, None]
        return True

    def write(self, x: float, sums: Mapping[str, tuple[float, float]], *parameters: float) -> str:
        mean, deviation = parameters
        return f"LogNormal({x:.6g}; of log x mean {mean:.6g}, deviation {deviation:.6g})"

    def core_formula(self, *parameters: Float) -> CoreFormula | None:
        mean, deviation = parameters
        return CoreFormula(FormulaKind.LOG_NORMAL, np.stack([mean, 1 / deviation, -np.log(deviation) - LOG_2PI / 2]))

    def log_density(self, x: Float, *parameters: Float) -> Float:
        mean, deviation = parameters
        log = natural_log(x)
        z = (log - mean) / deviation
        out: Float = -log - np.log(deviation) - LOG_2PI / 2 - 0.5 * z * z
        return out
