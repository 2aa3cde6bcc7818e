"""Beta: shares and rates between 0 and 1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bayeskit._core import FormulaKind
from bayeskit.arrays import Bool, Float
from bayeskit.data.support import UNIT, Support
from bayeskit.densities.density import CoreFormula
from bayeskit.densities.parametric import TAME, Parametric, Views
from bayeskit.errors import InputError
from bayeskit.numerics.special import LOG_2PI, deviance, log_minus_digamma, stirling, trigamma

LEAST = 1e-8  # what the geometric means of x and 1 - x lack to 1: below it the parameters are lost in rounding


@dataclass(frozen=True)
class Beta(Parametric):
    """log p(x | c) = (a - 1) log x + (b - 1) log(1 - x) - log B(a, b), by maximum likelihood.

    digamma(a) - digamma(a + b) is the class mean of log x, digamma(b) - digamma(a + b) that of log(1 - x).

    With geometric means g of x and h of 1 - x, a gap 1 - g - h below 1e-8 in a class (one row, constant) becomes
    max(P/(W + 1), 1e-8), where P is the gap pooled within classes and W the weight of the class; a class without
    values takes the whole column's means. A column whose whole gap is below 1e-8 is refused.

    >>> import bayeskit as bk
    >>> model = bk.NaiveBayes(families=Beta()).fit([[0.1], [0.3], [0.6], [0.9]], ["a", "a", "b", "b"])
    >>> model.predict([[0.2], [0.8]])
    array(['a', 'b'], dtype='<U1')
    """

    identifier: ClassVar[str] = "family/beta"
    kinds: ClassVar[tuple[str, ...]] = ("quantitative",)
    views: ClassVar[tuple[str, ...]] = ("log x", "log(1 - x)")
    support: ClassVar[Support] = UNIT

    def check(self, columns: Sequence[str], sums: Views) -> None:
        log, log1m = (sums[view] for view in self.views)
        if ((_gap(log.mean, log1m.mean) < -LEAST) & (log.weight > 0)).any():  # of a damaged file
            raise InputError("the sums of log x and log(1 - x) are those of no numbers between 0 and 1")
        low: Bool = (_gap(log.grand_mean, log1m.grand_mean) < LEAST) & log.varying
        if low.any():
            raise InputError(
                f"column {columns[int(np.argmax(low))]!r} varies too little for Beta (the geometric means of x and "
                f"1 - x add up to 1 within {LEAST:g}); choose Gaussian for it"
            )

    def parameters(self, sums: Views) -> tuple[Float, ...]:
        log, log1m = (sums[view] for view in self.views)
        empty = log.weight <= 0
        g, h = np.where(empty, log.grand_mean, log.mean), np.where(empty, log1m.grand_mean, log1m.mean)
        gap = np.maximum(_gap(g, h), 0.0)
        weight = log.weight / np.maximum(log.total_weight, 1e-300)
        floor = np.maximum((weight * gap).sum(axis=0) / (log.weight + 1), LEAST)
        wanted = np.where(gap < LEAST, np.where(empty, LEAST, floor), gap)
        more = np.where(gap < LEAST, np.log1p(-wanted) - np.log1p(-gap), 0.0)
        return shapes(g + more, h + more, wanted)

    def write(self, x: float, sums: Mapping[str, tuple[float, float]], *parameters: float) -> str:
        a, b = parameters
        return f"Beta({x:.6g}; a {a:.6g}, b {b:.6g})"

    def core_formula(self, *parameters: Float) -> CoreFormula | None:
        a, b = parameters
        n = a + b
        if not (n < TAME).all():  # logarithms would cancel
            return None
        constant = (np.log(a / n) + np.log(b) - LOG_2PI) / 2 + stirling(n) - stirling(a) - stirling(b)
        return CoreFormula(FormulaKind.BETA, np.stack([a - 1, b - 1, constant - a * np.log(a / n) - b * np.log(b / n)]))

    def log_density(self, x: Float, *parameters: Float) -> Float:
        a, b = parameters
        n, y = a + b, 1 - x
        small = a * (np.log(a / n) - np.log(x)) + n * x - a  # n x has no digits left below 1e-290
        away = np.where(x > 1e-290, deviance(a, n * x), small) + deviance(b, n * y)
        constant = (np.log(a / n) + np.log(b) - LOG_2PI) / 2 + stirling(n) - stirling(a) - stirling(b)
        out: Float = constant - away - np.log(x) - np.log1p(-x)
        return out


def _gap(log: Float, log1m: Float) -> Float:
    out: Float = -np.expm1(log) - np.exp(log1m)
    return out


def shapes(log: Float, log1m: Float, gap: Float) -> tuple[Float, Float]:
    """a and b whose beta density has these means of log x and log(1 - x); ``gap`` is 1 - exp(log) - exp(log1m).

    >>> a, b = shapes(np.array(-1.0), np.array(-1.0), np.array(1 - 2 / np.e))
    >>> float(a.round(6)), float(b.round(6))  # the uniform density
    (1.0, 1.0)
    """
    shape = np.shape(log)
    _, first, back = np.unique(log + 1j * log1m, return_index=True, return_inverse=True)
    log, log1m, gap = (np.ravel(v)[first] for v in (log, log1m, gap))  # without a row, the other classes stay the same
    a: Float = 0.5 + np.exp(log) / (2 * gap)
    b: Float = 0.5 + np.exp(log1m) / (2 * gap)
    done = np.zeros(a.shape, dtype=bool)  # each by itself, so that nothing depends on what else is asked for
    for _ in range(25):  # Newton on a concave likelihood, never below a tenth of where it stands
        n = a + b
        joint, both = log_minus_digamma(n), trigamma(n)
        f = np.log(a / n) - log_minus_digamma(a) + joint - log
        g = np.log(b / n) - log_minus_digamma(b) + joint - log1m
        aa, bb = trigamma(a), trigamma(b)
        # (aa - t)(bb - t) - t^2, with t = trigamma(n)
        determinant = aa * bb - both * (aa + bb)
        step_a = ((bb - both) * f + both * g) / determinant
        step_b = (both * f + (aa - both) * g) / determinant
        a = np.where(done, a, np.maximum(a - step_a, a / 10))
        b = np.where(done, b, np.maximum(b - step_b, b / 10))
        done |= (np.abs(step_a) <= 1e-9 * a) & (np.abs(step_b) <= 1e-9 * b)  # the next step would be its square
        if done.all():
            break
    return a[back].reshape(shape), b[back].reshape(shape)
