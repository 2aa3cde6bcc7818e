"""Binomial: successes in a known number of trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bayeskit.arrays import Float
from bayeskit.data.support import Support, counts_up_to
from bayeskit.data.written import Ratio
from bayeskit.deferred import deferred
from bayeskit.densities.parametric import SmoothedParametric, Views
from bayeskit.errors import InputError
from bayeskit.numerics.special import LOG_2PI, deviance, stirling
from bayeskit.validation import keep, number

xlog1py = deferred("scipy.special", "xlog1py")
xlogy = deferred("scipy.special", "xlogy")


@dataclass(frozen=True)
class Binomial(SmoothedParametric):
    """log p(x | c) = log C(t, x) + x log r + (t - x) log(1 - r), with r = (sum x + a) / (t W + 2 a) in t ``trials``.

    a is ``smoothing``; without it a class without values takes the pooled r.

    Parameters
    ----------
    trials : int, default 1
        The number t of trials of each row.
    smoothing : float, default 1.0
        Pseudo-count a; without it a class without values takes the pooled rate.

    Examples
    --------
    >>> import bayeskit as bk
    >>> model = bk.NaiveBayes(families=Binomial(trials=4)).fit([[0], [1], [3], [4]], ["a", "a", "b", "b"])
    >>> model.predict_proba([[3]]).round(3)
    array([[0.059, 0.941]])
    """

    trials: int = 1
    smoothing: float = 1.0

    identifier: ClassVar[str] = "family/binomial"
    kinds: ClassVar[tuple[str, ...]] = ("count", "quantitative")

    def __post_init__(self) -> None:
        super().__post_init__()
        trials = number(self.trials)
        if trials is None or trials != int(trials) or trials < 1:
            raise InputError(f"Binomial(trials={self.trials!r}): give a whole number of at least 1")
        keep(self, trials=int(self.trials))

    @property
    def support(self) -> Support:
        return counts_up_to(self.trials)

    def check(self, columns: Sequence[str], sums: Views) -> None:
        of = sums["x"]
        if (((of.mean < 0) | (of.mean > self.trials)) & (of.weight > 0)).any():  # of a damaged file
            raise InputError(f"the sums are those of no counts from 0 to {self.trials}")

    def parameters(self, sums: Views) -> tuple[Float, ...]:
        of, a, t = sums["x"], self.smoothing, float(self.trials)
        empty = (of.weight <= 0) & (a == 0)
        mean, weight = np.where(empty, of.grand_mean, of.mean), np.where(empty, 1.0, of.weight)
        total = t * weight + 2 * a
        return (mean * weight + a) / total, ((t - mean) * weight + a) / total

    def write(self, x: float, sums: Mapping[str, tuple[float, float]], *parameters: float) -> str:
        (weight, hits), a, t = sums["x"], self.smoothing, self.trials
        if not weight + a:  # a class without values takes the rate of all
            return super().write(x, sums, *parameters)
        total = [t * weight, 2 * a] if a else [t * weight]
        rates = (Ratio.of([n, a] if a else [n], total) for n in (hits, t * weight - hits))
        return " · ".join([f"C({t}, {x:.6g})", *(f"({r})^{n:.6g}" for r, n in zip(rates, (x, t - x), strict=True))])

    def log_density(self, x: Float, *parameters: Float) -> Float:
        success, failure = parameters
        t = float(self.trials)
        y = t - x
        inner = (x > 0) & (y > 0) & (success > 0) & (failure > 0)
        a, b = np.where(inner, x, 1.0), np.where(inner, y, 1.0)
        tied = stirling(np.array(t)) - stirling(a) - stirling(b) + (np.log(t / a) - np.log(b) - LOG_2PI) / 2
        saddle = tied - deviance(a, t * success) - deviance(b, t * failure)
        # beside a rate of 1e-15 the other one is 1 with its last digits gone, and they count for each of 1e15 trials
        hits = np.where(success < failure, xlogy(x, success), xlog1py(x, -failure))
        misses = np.where(failure < success, xlogy(y, failure), xlog1py(y, -success))
        out: Float = np.where(inner, saddle, hits + misses)
        return out
