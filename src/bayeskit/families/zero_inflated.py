"""ZeroInflated: many zeros, and something continuous besides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bayeskit.arrays import Float, Int
from bayeskit.data.schema import Column
from bayeskit.data.support import NONNEGATIVE, Support
from bayeskit.data.written import Ratio
from bayeskit.densities.likelihood import Recipe
from bayeskit.densities.parametric import Parametric, SmoothedParametric, Views
from bayeskit.errors import InputError
from bayeskit.families import families
from bayeskit.statistics.moments import Moments, View
from bayeskit.statistics.statistic import Product

ZERO = "x = 0"


@dataclass(frozen=True)
class ZeroInflated(SmoothedParametric):
    """p(0 | c) = z and p(x | c) = (1 - z) f(x | c) for x > 0: a point mass at zero plus the density f of ``family``.

    z = (weight of zeros + a) / (W + 2 a), a = ``smoothing``; f is fitted to the values above 0 (LogNormal, Gamma or
    Exponential). Where those do not vary, only whether a value is zero counts.

    Parameters
    ----------
    family : {"LogNormal", "Gamma", "Exponential"} or family, default "LogNormal"
        The density of the values above 0.
    smoothing : float, default 1.0
        Pseudo-count a of zero and of not zero.

    Examples
    --------
    >>> import bayeskit as bk
    >>> rows, labels = [[0.0], [0.0], [1.0], [4.0], [0.0], [8.0], [20.0], [32.0]], list("aaaabbbb")
    >>> model = bk.NaiveBayes(families=ZeroInflated("LogNormal")).fit(rows, labels)
    >>> model.predict_proba([[0.0]]).round(3)
    array([[0.6, 0.4]])
    """

    family: Any = "LogNormal"
    smoothing: float = 1.0

    identifier: ClassVar[str] = "family/zero_inflated"
    kinds: ClassVar[tuple[str, ...]] = ("quantitative", "count")
    support: ClassVar[Support] = NONNEGATIVE
    point_mass: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        inner = families().get(self.family, self.family) if isinstance(self.family, str) else self.family
        inner = inner() if isinstance(inner, type) else inner
        within = inner.support if isinstance(inner, Parametric) and not isinstance(inner, ZeroInflated) else None
        if within is None or within.low != 0 or within.high != np.inf or within.integer:
            raise InputError(
                f"ZeroInflated({self.family!r}): give a continuous family of positive numbers, "
                f"such as LogNormal, Gamma or Exponential"
            )
        object.__setattr__(self, "family", inner)

    @property
    def views(self) -> tuple[str, ...]:
        return (*self.family.views, ZERO)

    @property
    def scales(self) -> bool:
        return bool(self.family.scales)

    def statistic(self, columns: Sequence[Column], n_groups: int) -> Product:
        names, owner = [c.name for c in columns], type(self).__name__
        views = {v: View(v, NONNEGATIVE, owner, nonzero=v != ZERO) for v in self.views}
        return Product({name: Moments.empty(names, n_groups, view) for name, view in views.items()}, n_groups)

    @property
    def recipe(self) -> Recipe | None:
        inner = self.family.recipe
        return None if inner is None else inner._replace(zeros=self.smoothing)

    def check(self, columns: Sequence[str], sums: Views) -> None:
        zero = sums[ZERO]
        if (((zero.mean < 0) | (zero.mean > 1)) & (zero.weight > 0)).any():  # of a damaged file
            raise InputError("the zeros are fewer than none, or more than the values")
        self.family.check(columns, sums)

    def parameters(self, sums: Views) -> tuple[Float, ...]:
        zero, a = sums[ZERO], self.smoothing
        empty = (zero.weight <= 0) & (a == 0)
        share, weight = np.where(empty, zero.grand_mean, zero.mean), np.where(empty, 1.0, zero.weight)
        total = weight + 2 * a
        varies = np.any([sums[view].varying for view in self.family.views], axis=0)
        speaks = np.broadcast_to(varies, share.shape)
        inner = self.family.parameters({view: sums[view] for view in self.family.views})
        return (share * weight + a) / total, ((1 - share) * weight + a) / total, speaks, *inner

    def write(self, x: float, sums: Mapping[str, tuple[float, float]], *parameters: float) -> str:
        zero, other, speaks, *inner = parameters
        (weight, zeros), a = sums[ZERO], self.smoothing
        share = f"{zero if x == 0 else other:.6g}"
        if weight + a:
            count = zeros if x == 0 else weight - zeros
            share = str(Ratio.of([count, a] if a else [count], [weight, 2 * a] if a else [weight]))
        return share if x == 0 or not speaks else f"{share} · {self.family.write(x, sums, *inner)}"

    def log_density(self, x: Float, *parameters: Float) -> Float:
        zero, other, speaks, *inner = parameters
        positive = np.where(x == 0, np.nan, x)
        density = np.where(speaks, self.family.log_density(positive, *inner), 0.0)
        out: Float = np.where(x == 0, np.log(zero), np.log(other) + density)
        return out

    def magnitude(self, x: Float, shift: Int, *parameters: Float) -> Float | None:
        _, _, speaks, *inner = parameters
        size = self.family.magnitude(x, shift, *inner)
        return None if size is None else np.where(speaks, size, -np.inf)
