"""Gaussian: a normal density per class and column, or its Student-t predictive."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from bayeskit import _core
from bayeskit._core import FormulaKind
from bayeskit.arrays import Float
from bayeskit.data.block import Block, Columns
from bayeskit.data.schema import Column
from bayeskit.deferred import deferred
from bayeskit.densities.density import (
    OVERFLOW,
    Axis,
    CoreFormula,
    Density,
    SupportsLeftOut,
    TailLogDensity,
    WorkedFactor,
)
from bayeskit.densities.likelihood import Context, Family, Recipe
from bayeskit.densities.moment_summary import MomentSummary, NormalDowndate
from bayeskit.numerics.special import LOG_2, LOG_2PI, log2_distance
from bayeskit.portable.program import Inputs, Term
from bayeskit.statistics.moments import Moments
from bayeskit.validation import switch

gammaln = deferred("scipy.special", "gammaln")


@dataclass(frozen=True)
class Gaussian(Family[Moments]):
    """log p(x | c) = -log s - log(2 pi)/2 - ((x - mu)/s)^2 / 2, with mean and variance (ddof 0) of the class.

    A class variance below 1e-9 of the column's total variance T becomes max(P/(W + 1), 1e-9 T), where P is the
    pooled within-class variance and W the weight of the class; a class without values takes the whole column's
    mean and T. A column with T = 0 says nothing. ``predictive=True`` integrates the parameters out under a
    normal-inverse-gamma prior (kappa 1, nu 2, the column's mean and T): a Student-t.

    Parameters
    ----------
    predictive : bool, default False
        Integrate the parameters out under a normal-inverse-gamma prior: a Student-t.

    Examples
    --------
    >>> import bayeskit as bk
    >>> model = bk.NaiveBayes(families=Gaussian()).fit([[1.0], [3.0], [5.0], [7.0]], ["a", "a", "b", "b"])
    >>> model.predict_proba([[3.0]]).round(3)
    array([[0.982, 0.018]])
    """

    predictive: bool = False

    identifier: ClassVar[str] = "family/gaussian"
    kinds: ClassVar[tuple[str, ...]] = ("quantitative", "count")

    def __post_init__(self) -> None:
        switch(self, predictive=self.predictive)

    def statistic(self, columns: Sequence[Column], n_groups: int) -> Moments:
        return Moments.empty([c.name for c in columns], n_groups)

    @property
    def recipe(self) -> Recipe | None:
        return None if self.predictive else Recipe("Gaussian")

    def fit(self, statistic: Moments, context: Context) -> GaussianDensity | StudentDensity:
        kind = StudentDensity if self.predictive else GaussianDensity
        return kind(statistic.columns, statistic, MomentSummary.of(statistic))


@dataclass(frozen=True)
class Located(SupportsLeftOut):
    """Columns with a location and a scale in every class."""

    columns: tuple[str, ...]
    moments: Moments  # for leave-one-out: what a row added is taken out of it
    sums: MomentSummary  # (K, d)

    normalised: ClassVar[bool] = True
    far: ClassVar[float] = 12.0  # deviations beyond which nothing is left

    @property
    def constant(self) -> tuple[str, ...]:
        """Columns without spread, which say nothing."""
        return tuple(name for name, varies in zip(self.columns, self.sums.varying, strict=True) if not varies)

    @property
    def axes(self) -> dict[str, Axis]:
        """Where each column that says something has its values."""
        mean, deviation = (np.ldexp(a, -self.sums.shift) for a in self.sums.normal())
        live = np.flatnonzero(self.sums.varying).tolist()
        return {self.columns[j]: Axis.around(mean[:, j], deviation[:, j], self.far) for j in live}

    def terms(self, block: Block) -> Float:
        out = self._zeros(block)
        for j, x, sums in self._each(block):
            out[:, j] = self._term(x, sums)
        return out

    def portable(self, inputs: Inputs) -> list[Term]:
        """The formula of each column, traced."""
        found = []
        for j in np.flatnonzero(self.sums.varying).tolist():
            x, sums = inputs.number(self.columns[j]), self.sums.at(np.array([j]))
            found.append(Term.from_formula(self.columns[j], x, self._term(x, sums), self._size(x, sums)))
        return found

    @abstractmethod
    def _term(self, x: Float, sums: MomentSummary) -> Float:
        """log p(x | class) of one column: (n, K)."""

    def _size(self, x: Float, sums: MomentSummary) -> Float | None:
        """log2 of the magnitude of that term, -inf where the value is missing: (n, K); None if it is never large."""
        return None

    def _each(self, block: Block) -> Iterator[tuple[int, Float, MomentSummary]]:
        """Columns that say something: position, values (n,), sums (K, 1), or (K, n) without each row's own."""
        columns, _ = block.numbers(self.columns)
        for j in np.flatnonzero(self.sums.varying).tolist():
            x = columns.column(j)
            yield j, x, self._sums(j, x, block)

    def _sums(self, j: int, x: Float, block: Block) -> MomentSummary:
        """Of one column."""
        return self.sums.at(np.array([j]))

    def _zeros(self, block: Block) -> Float:
        return np.zeros((block.rows, len(self.columns), len(self.sums.weight)))


@dataclass(frozen=True)
class LeftOutLocated(Located):
    """The same without each row's own values."""

    def _sums(self, j: int, x: Float, block: Block) -> MomentSummary:
        return self.sums.left_out(self.moments, j, x, block)


@dataclass(frozen=True)
class GaussianDensity(Located):
    """A normal density per class and column."""

    @cached_property
    def _fused(self) -> tuple[Float, Float, Float, Float]:
        """Scale (d,), mean, precision and constant (d, K) of the columns that say something."""
        live = self.sums.at(self.sums.varying)
        mean, deviation = live.normal()
        constant = -np.log(deviation) - LOG_2PI / 2 + live.shift * LOG_2
        mean, precision, constant = (np.ascontiguousarray(a.T) for a in (mean, 1 / deviation, constant))
        return np.ldexp(1.0, live.shift), mean, precision, constant

    @cached_property
    def overlap(self) -> Float:
        """Of each column log(2 s t / (s^2 + t^2))/2 - (m - n)^2 / (s^2 + t^2) / 4: (K, K)."""
        mean, deviation = self.sums.at(self.sums.varying).normal()
        both = np.hypot(deviation[:, None], deviation[None])  # (K, K, d)
        height = LOG_2 + np.log(deviation[:, None] / both) + np.log(deviation[None] / both)
        whole: Float = (height / 2 - ((mean[:, None] - mean[None]) / both) ** 2 / 4).sum(axis=2)
        return whole

    @cached_property
    def checks_infinite(self) -> tuple[str, ...]:
        """The columns that say something: ``add`` looks at each of their values, and refuses infinite ones."""
        return tuple(np.array(self.columns, dtype=object)[self.sums.varying])

    @cached_property
    def left_out(self) -> Density:
        return LeftOutGaussian(self.columns, self.moments, self.sums)

    @property
    def core_formula(self) -> CoreFormula | None:
        scale, *numbers = self._fused
        if len(self.columns) != 1 or scale.tolist() != [1.0]:
            return None
        return CoreFormula(FormulaKind.NORMAL, np.concatenate(numbers))

    def add(self, block: Block, out: Float) -> None:
        columns = block.columns(self.checks_infinite)
        if _core.gaussian_log_density(columns.address, columns.stride, columns.rows, *self._fused, out):
            columns.refuse_infinite(self.checks_infinite)

    def _term(self, x: Float, sums: MomentSummary) -> Float:
        """-log s - log(2 pi)/2 - z^2/2, (n, K)."""
        mean, deviation = sums.normal()
        with np.errstate(over="ignore"):
            z = (np.ldexp(x, sums.shift) - mean) / deviation
            term = -np.log(deviation) - LOG_2PI / 2 + sums.shift * LOG_2 - 0.5 * z * z
        return np.where(np.isnan(x) | ~sums.varying, 0.0, term).T

    def write_factor(self, j: int, row: Block, factor: WorkedFactor) -> WorkedFactor:
        x = row.numbers(self.columns)[0].column(j)[0]
        mean, deviation = (np.ldexp(a[:, j], -self.sums.shift[j]) for a in self.sums.normal())
        each = zip(mean, deviation, strict=True)
        return replace(factor, formulas=tuple(f"N({x:.6g}; mean {m:.6g}, deviation {s:.6g})" for m, s in each))

    def log2_magnitude(self, block: Block) -> Float:
        farthest: Float = np.max(self._logs(block), axis=(1, 2), initial=0.0)
        return farthest

    def tail(self, block: Block, unit: Float) -> TailLogDensity:
        logs = self._logs(block)
        overflow = logs > OVERFLOW
        sizes = np.where(overflow, np.exp2(np.minimum(logs - unit[:, None, None], 0.0)), 0.0)
        rest = np.where(overflow, 0.0, self.terms(block)).sum(axis=1)
        return TailLogDensity(np.zeros_like(rest), -sizes.sum(axis=1), rest)

    def _logs(self, block: Block) -> Float:
        """log2(z^2 / 2), which cannot overflow; -inf where z is 0 or the value is missing: (n, d, K)."""
        out = np.full_like(self._zeros(block), -np.inf)
        for j, x, sums in self._each(block):
            out[:, j] = self._size(x, sums)
        return out

    def _size(self, x: Float, sums: MomentSummary) -> Float:
        mean, deviation = sums.normal()
        far = 2 * (log2_distance(x, sums.shift, mean) - np.log2(deviation)) - 1
        return np.where(np.isnan(far) | ~sums.varying, -np.inf, far).T


@dataclass(frozen=True)
class LeftOutGaussian(LeftOutLocated, GaussianDensity):
    """Without each row's own values: by the core, and by exact sums where it cannot decide."""

    @cached_property
    def _downdate(self) -> NormalDowndate:
        scale, mean, precision, constant = self._fused
        return NormalDowndate.of(self.moments, self.sums, scale, mean.T, precision.T, constant.T)

    def add(self, block: Block, out: Float) -> None:
        columns = block.columns(self.checks_infinite)
        doubt = self._downdate.add(columns, block, out)
        before = out[doubt]
        super().add(block, out)
        if len(doubt):
            out[doubt] = before + super().terms(block.at(doubt)).sum(axis=1)

    def terms(self, block: Block) -> Float:
        out, columns = self._zeros(block), block.columns(self.checks_infinite)
        for i, j in enumerate(np.flatnonzero(self.sums.varying).tolist()):
            out[:, j] = self._column(i, j, columns, block)
        return out

    def _column(self, i: int, j: int, columns: Columns, block: Block) -> Float:
        """The term of column j, the i-th of those that vary: (n, K)."""
        column, term = columns.take(np.array([i])), np.zeros((block.rows, len(self.sums.weight)))
        doubt = self._downdate.at(i).add(column, block, term)
        scale, mean, precision, constant = (a[i : i + 1] for a in self._fused)
        _core.gaussian_log_density(column.address, column.stride, column.rows, scale, mean, precision, constant, term)
        if len(doubt):
            x, doubtful = column.column(0)[doubt], block.at(doubt)
            term[doubt] = self._term(x, self._sums(j, x, doubtful))
        return term

    def odds(self, block: Block, floor: float, out: Float) -> None:
        live = np.flatnonzero(self.sums.varying)
        columns, room = block.columns(self.checks_infinite), out
        if len(live) < len(self.columns):
            room = np.zeros((len(live), *out.shape[1:]))
        for i, rows in enumerate(self._downdate.odds(columns, block, floor, room)):
            if len(rows):
                doubtful, apart = block.at(rows), np.zeros((out.shape[1], len(rows)))
                term = self._column(i, int(live[i]), doubtful.columns(self.checks_infinite), doubtful)
                _core.log_odds(term, doubtful.classes, floor, apart)
                room[i][:, rows] += apart
        if room is not out:
            out[live] += room


@dataclass(frozen=True)
class StudentDensity(Located):
    """The posterior predictive of a normal column: a Student-t per class; its tails are logarithmic, never overflow."""

    far: ClassVar[float] = 2.0**20

    @property
    def left_out(self) -> Density:
        return LeftOutStudent(self.columns, self.moments, self.sums)

    def add(self, block: Block, out: Float) -> None:
        for _, x, sums in self._each(block):
            out += self._term(x, sums)

    def _term(self, x: Float, sums: MomentSummary) -> Float:
        """log t = lgamma((v+1)/2) - lgamma(v/2) - log(v pi)/2 - log s - (v+1)/2 log(1 + z^2/v), (n, K)."""
        nu, mean, deviation = self._parameters(sums)
        scale = deviation * np.sqrt(nu)
        high = log2_distance(x, sums.shift, mean) * LOG_2 - np.log(scale)  # log(|z| / sqrt(v))
        with np.errstate(over="ignore"):
            near = (np.ldexp(x, sums.shift) - mean) / scale
            tail = np.where(high > 40, 2 * high, np.log1p(near * near))
        term = _gamma_ratio(nu) - np.log(deviation) + sums.shift * LOG_2 - (nu + 1) / 2 * tail
        return np.where(np.isnan(x) | ~sums.varying, 0.0, term).T

    @staticmethod
    def _parameters(sums: MomentSummary) -> tuple[Float, Float, Float]:
        """Degrees of freedom, mean and scale: (K, d) each."""
        n, kappa, nu = sums.weight, sums.weight + 1, sums.weight + 2
        away = np.where(n > 0, (sums.mean - sums.grand_mean) / sums.scale, 0.0)
        squares = 2 + n * sums.variance_ratio + n / kappa * away**2
        mean = sums.grand_mean + np.where(n > 0, (sums.mean - sums.grand_mean) * (n / kappa), 0.0)
        return nu, mean, sums.scale * np.sqrt(squares / nu * (1 + 1 / kappa))

    def write_factor(self, j: int, row: Block, factor: WorkedFactor) -> WorkedFactor:
        if self.sums.shift[j]:  # values so small or large are kept in other units
            return factor
        x, each = row.numbers(self.columns)[0].column(j)[0], np.stack(self._parameters(self.sums))[:, :, j].T
        made = (f"t({x:.6g}; mean {m:.6g}, scale {s:.6g}, {v:.6g} degrees of freedom)" for v, m, s in each)
        return replace(factor, formulas=tuple(made))


@dataclass(frozen=True)
class LeftOutStudent(LeftOutLocated, StudentDensity):
    """Without each row's own values."""


def _gamma_ratio(nu: Float) -> Float:
    """lgamma((v+1)/2) - lgamma(v/2) - log(v pi)/2, by its asymptotic series where the difference would cancel."""
    z = np.maximum(nu, 60) / 2
    series = ((17 / 14336 / z**2 - 1 / 640) / z**2 + 1 / 192) / z**3 - 1 / 8 / z - LOG_2PI / 2
    direct = gammaln((nu + 1) / 2) - gammaln(nu / 2) - np.log(nu * np.pi) / 2
    return np.where(nu >= 60, series, direct)
