"""Gaussian: a normal density per class and column, or its Student-t predictive."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import gammaln

from bayeskit import _core
from bayeskit.arrays import Bool, Float, Int
from bayeskit.data.block import Block
from bayeskit.data.schema import Column
from bayeskit.likelihood import VAST, Context, Limit
from bayeskit.statistics.moments import Moments

FLOOR = 1e-9  # of the column's total variance: below it a class variance counts as zero
LOG_2, LOG_2PI = float(np.log(2)), float(np.log(2 * np.pi))
TINY, HUGE = 2.0**-900, 2.0**900


@dataclass(frozen=True)
class Gaussian:
    """log p(x | c) = -log s - log(2 pi)/2 - ((x - mu)/s)^2 / 2, with mean and variance (ddof 0) of the class.

    A class variance below 1e-9 of the column's total variance T becomes max(P/(W + 1), 1e-9 T), where P is the
    pooled within-class variance and W the weight of the class; a class without values takes the whole column's
    mean and T. A column with T = 0 says nothing. ``predictive=True`` integrates the parameters out under a
    normal-inverse-gamma prior (kappa 1, nu 2, the column's mean and T): a Student-t.

    >>> import bayeskit as bk
    >>> model = bk.NaiveBayes(families=Gaussian()).fit([[1.0], [3.0], [5.0], [7.0]], ["a", "a", "b", "b"])
    >>> model.predict_proba([[3.0]]).round(3)
    array([[0.982, 0.018]])
    """

    predictive: bool = False

    kinds: ClassVar[tuple[str, ...]] = ("quantitative", "count")

    def statistic(self, columns: Sequence[Column], n_groups: int) -> Moments:
        return Moments.empty([c.name for c in columns], n_groups)

    def fit(self, statistic: Moments, context: Context) -> GaussianDensity | StudentDensity:
        fitted = Fit.of(statistic)
        return fitted.student(statistic.columns) if self.predictive else fitted.gaussian(statistic.columns)


@dataclass(frozen=True)
class Fit:
    """Parameters in units of 2^-shift of the column, so that 1e300 and 5e-324 are ordinary numbers."""

    shift: Int  # (d,)
    weight: Float  # (K, d)
    mean: Float  # (K, d)
    deviation: Float  # (K, d) ddof 0, before any floor
    middle: Float  # (d,) mean of the whole column
    spread: Float  # (d,) its deviation

    @classmethod
    def of(cls, moments: Moments) -> Fit:
        whole = moments.total()
        spread, enlarged = (whole.finish(np.full(len(moments.columns), s))[1][0] for s in (0, 1000))
        tiny = (spread < TINY) & (enlarged > 0)
        shift = np.where(tiny, 1000, np.where(spread > HUGE, -200, 0)).astype(np.int64)
        mean, deviation, _ = moments.finish(shift)
        middle, spread, _ = whole.finish(shift)
        return cls(shift, moments.present.rounded(), mean, deviation, middle[0], spread[0])

    @property
    def varying(self) -> Bool:  # (d,)
        return self.spread > 0

    def gaussian(self, columns: tuple[str, ...]) -> GaussianDensity:
        spread = np.where(self.varying, self.spread, 1.0)
        share = (self.deviation / spread) ** 2  # of T, (K, d)
        weight = self.weight
        pooled = (weight * share).sum(axis=0) / np.maximum(weight.sum(axis=0), 1e-300)
        floor = np.maximum(pooled / (weight + 1), FLOOR)
        deviation = np.where(share < FLOOR, spread * np.sqrt(floor), self.deviation)
        empty = weight <= 0
        return GaussianDensity(
            columns,
            self.varying,
            self.shift,
            np.where(empty, self.middle, self.mean),
            np.where(empty, spread, deviation),
        )

    def student(self, columns: tuple[str, ...]) -> StudentDensity:
        spread = np.where(self.varying, self.spread, 1.0)
        n, kappa, nu = self.weight, self.weight + 1, self.weight + 2
        away = (self.mean - self.middle) / spread
        squares = 2 + n * (self.deviation / spread) ** 2 + n / kappa * np.where(n > 0, away, 0) ** 2
        return StudentDensity(
            columns,
            self.varying,
            self.shift,
            np.where(n > 0, self.middle + (self.mean - self.middle) * (n / kappa), self.middle),
            spread * np.sqrt(squares / nu * (1 + 1 / kappa)),
            nu,
        )


@dataclass(frozen=True)
class Located:
    """Columns with a location and a scale in every class."""

    parts: tuple[str, ...]
    varying: Bool  # (d,)
    shift: Int  # (d,) parameters are in units of 2^-shift
    mean: Float  # (K, d)
    deviation: Float  # (K, d)

    normalised: ClassVar[bool] = True

    @property
    def constant(self) -> tuple[str, ...]:
        """Columns without spread, which say nothing."""
        return tuple(name for name, varies in zip(self.parts, self.varying, strict=True) if not varies)


@dataclass(frozen=True)
class GaussianDensity(Located):
    """A normal density per class and column."""

    def add(self, block: Block, out: Float) -> None:
        columns, _ = block.numbers(tuple(np.array(self.parts, dtype=object)[self.varying]))
        live = self.varying
        _core.gaussian(
            columns.address,
            columns.stride,
            columns.rows,
            np.ldexp(1.0, self.shift[live]),
            np.ascontiguousarray(self.mean[:, live].T),
            np.ascontiguousarray(1 / self.deviation[:, live].T),
            np.ascontiguousarray(self._constant[:, live].T),
            out,
        )

    @property
    def _constant(self) -> Float:  # (K, d)
        out: Float = -np.log(self.deviation) - LOG_2PI / 2 + self.shift * LOG_2
        return out

    def terms(self, block: Block) -> Float:
        columns, _ = block.numbers(self.parts)
        out = np.zeros((block.rows, len(self.parts), len(self.mean)))
        for j in np.flatnonzero(self.varying).tolist():
            x = columns.column(j)[:, None]
            with np.errstate(over="ignore"):
                z = (x * 2.0 ** int(self.shift[j]) - self.mean[:, j]) / self.deviation[:, j]
                out[:, j] = np.where(np.isnan(x), 0.0, self._constant[:, j] - 0.5 * z * z)
        return out

    def reach(self, block: Block) -> Float:
        farthest: Float = np.max(self._logs(block), axis=(1, 2), initial=0.0)
        return farthest

    def limit(self, block: Block, unit: Float) -> Limit:
        logs = self._logs(block)
        vast = logs > VAST
        sizes = np.where(vast, np.exp2(np.minimum(logs - unit[:, None, None], 0.0)), 0.0)
        rest = np.where(vast, 0.0, self.terms(block)).sum(axis=1)
        return Limit(np.zeros_like(rest), -sizes.sum(axis=1), rest)

    def _logs(self, block: Block) -> Float:
        """log2(z^2 / 2), which cannot overflow; -inf where z is 0 or the value is missing: (n, d, K)."""
        columns, _ = block.numbers(self.parts)
        out = np.full((block.rows, len(self.parts), len(self.mean)), -np.inf)
        for j in np.flatnonzero(self.varying).tolist():
            far = log_distance(columns.column(j)[:, None], int(self.shift[j]), self.mean[:, j])
            out[:, j] = np.where(np.isnan(far), -np.inf, (2 * (far - np.log(self.deviation[:, j]))) / LOG_2 - 1)
        return out


@dataclass(frozen=True)
class StudentDensity(Located):
    """The posterior predictive of a normal column: a Student-t per class, with ``deviation`` as its scale."""

    freedom: Float  # (K, d)

    def add(self, block: Block, out: Float) -> None:
        for j in np.flatnonzero(self.varying):
            out += self._term(block, int(j))

    def terms(self, block: Block) -> Float:
        out = np.zeros((block.rows, len(self.parts), len(self.mean)))
        for j in np.flatnonzero(self.varying).tolist():
            out[:, j] = self._term(block, j)
        return out

    def reach(self, block: Block) -> Float:
        return np.zeros(block.rows)  # a t has log tails: nothing is ever out of range

    def limit(self, block: Block, unit: Float) -> Limit:
        rest = self.terms(block).sum(axis=1)
        return Limit(np.zeros_like(rest), np.zeros_like(rest), rest)

    def _term(self, block: Block, j: int) -> Float:
        """log t = lgamma((v+1)/2) - lgamma(v/2) - log(v pi)/2 - log s - (v+1)/2 log(1 + z^2/v), (n, K)."""
        columns, _ = block.numbers((self.parts[j],))
        x = columns.column(0)[:, None]
        nu, scale = self.freedom[:, j], self.deviation[:, j] * np.sqrt(self.freedom[:, j])
        shift = int(self.shift[j])
        high = log_distance(x, shift, self.mean[:, j]) - np.log(scale)  # log(|z| / sqrt(v))
        with np.errstate(over="ignore"):
            near = (x * 2.0**shift - self.mean[:, j]) / scale
            tail = np.where(high > 40, 2 * high, np.log1p(near * near))
        term = _gamma_ratio(nu) - np.log(self.deviation[:, j]) + shift * LOG_2 - (nu + 1) / 2 * tail
        return np.where(np.isnan(x), 0.0, term)


def _gamma_ratio(nu: Float) -> Float:
    """lgamma((v+1)/2) - lgamma(v/2) - log(v pi)/2, by its asymptotic series where the difference would cancel."""
    z = np.maximum(nu, 60) / 2
    series = ((17 / 14336 / z**2 - 1 / 640) / z**2 + 1 / 192) / z**3 - 1 / 8 / z - LOG_2PI / 2
    direct = gammaln((nu + 1) / 2) - gammaln(nu / 2) - np.log(nu * np.pi) / 2
    return np.where(nu >= 60, series, direct)


def log_distance(x: Float, shift: int, mean: Float) -> Float:
    """log |x 2^shift - mean| for any doubles, NaN where x is: the distance itself may overflow."""
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        half = np.abs(x * 2.0 ** (shift - 1) - mean * 0.5)
        return np.where(np.isinf(half), np.log(np.abs(x)) + shift * LOG_2, np.log(half) + LOG_2)
