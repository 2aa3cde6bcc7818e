"""Gamma: positive numbers with a long right tail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bayeskit._core import FormulaKind
from bayeskit.arrays import Float, Int
from bayeskit.data.support import POSITIVE, Support
from bayeskit.densities.density import CoreFormula
from bayeskit.densities.moment_summary import MomentSummary
from bayeskit.densities.parametric import TAME, Parametric, Views
from bayeskit.errors import InputError
from bayeskit.numerics.special import LOG_2, LOG_2PI, deviance, gamma_shape, log2_distance, stirling

LEAST = 1e-8  # log mean minus mean log: below it the shape is lost in rounding


@dataclass(frozen=True)
class Gamma(Parametric):
    """log p(x | c) = k log(k/m) - log Gamma(k) + (k - 1) log x - k x/m, by maximum likelihood.

    m is the class mean and log k - digamma(k) the gap between its logarithm and the mean of log x. Where that gap is
    below 1e-8 in a class (one row, constant) it becomes max(P/(W + 1), 1e-8), where P is the gap pooled within classes
    and W the weight of the class; a class without values takes the whole column's mean and gap. A column whose whole
    gap is below 1e-8 is refused.

    >>> import bayeskit as bk
    >>> model = bk.NaiveBayes(families=Gamma()).fit([[1.0], [4.0], [8.0], [32.0]], ["a", "a", "b", "b"])
    >>> model.predict_proba([[4.0]]).round(3)
    array([[0.836, 0.164]])
    """

    identifier: ClassVar[str] = "family/gamma"
    kinds: ClassVar[tuple[str, ...]] = ("quantitative", "count")
    views: ClassVar[tuple[str, ...]] = ("x", "log x")
    scales: ClassVar[bool] = True
    in_core: ClassVar[bool] = True
    support: ClassVar[Support] = POSITIVE

    def check(self, columns: Sequence[str], sums: Views) -> None:
        low = (_gap(sums["x"].grand_mean, sums["log x"].grand_mean, sums["x"]) < LEAST) & sums["x"].varying
        if low.any():
            raise InputError(
                f"column {columns[int(np.argmax(low))]!r} varies too little around its mean for Gamma "
                f"(log of the mean minus mean of the logs is below {LEAST:g}); choose Gaussian for it"
            )

    def parameters(self, sums: Views) -> tuple[Float, ...]:
        x, log = sums["x"], sums["log x"]
        whole = np.maximum(_gap(x.grand_mean, log.grand_mean, x), LEAST)
        gap = np.where(x.weight > 0, np.maximum(_gap(x.mean, log.mean, x), 0.0), 0.0)
        weight = x.weight / np.maximum(x.total_weight, 1e-300)
        floor = np.maximum((weight * gap).sum(axis=0) / (x.weight + 1), LEAST)
        empty = x.weight <= 0
        shape = gamma_shape(np.where(empty, whole, np.where(gap < LEAST, floor, gap)))
        return np.where(empty, x.grand_mean, x.mean), shape

    def write(self, x: float, sums: Mapping[str, tuple[float, float]], *parameters: float) -> str:
        mean, shape = parameters
        return f"Gamma({x:.6g}; mean {mean:.6g}, shape {shape:.6g})"

    def core_formula(self, *parameters: Float) -> CoreFormula | None:
        mean, shape = parameters
        if not (shape * (1 + np.abs(np.log(mean))) < TAME).all():  # x and log x would cancel
            return None
        constant = (np.log(shape) - LOG_2PI) / 2 - stirling(shape) + shape * (1 - np.log(mean))
        return CoreFormula(FormulaKind.GAMMA, np.stack([-shape / mean, shape - 1, constant]))

    def log_density(self, x: Float, *parameters: Float) -> Float:
        mean, shape = parameters
        ratio = x / mean
        gap = np.where(ratio > 1e-290, deviance(np.ones_like(ratio), ratio), np.log(mean) - np.log(x) - 1)
        gap = np.where(ratio > 1e290, ratio, gap)
        out: Float = -np.log(x) - shape * gap + (np.log(shape) - LOG_2PI) / 2 - stirling(shape)
        return out

    def magnitude(self, x: Float, shift: Int, *parameters: Float) -> Float:
        mean, shape = parameters
        out: Float = log2_distance(x, shift) - np.log2(mean) + np.log2(shape)
        return out


def _gap(mean: Float, log: Float, sums: MomentSummary) -> Float:
    """log m - mean of log x; the mean is in units of 2^-shift, the logarithms are not."""
    with np.errstate(divide="ignore", invalid="ignore"):
        out: Float = np.log(mean) - sums.shift * LOG_2 - log
    return out
