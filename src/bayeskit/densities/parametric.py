"""Parametric: families that read a few parameters per class from sums, and their density, leave-one-out included."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from bayeskit.arrays import Bool, Float, Int
from bayeskit.data.block import Block
from bayeskit.data.schema import Column
from bayeskit.data.support import Support
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
from bayeskit.densities.moment_summary import MomentSummary
from bayeskit.numerics.special import LOG_2
from bayeskit.portable.program import Inputs, Term
from bayeskit.portable.symbol import evaluate_at
from bayeskit.smoothing import pseudo_rows
from bayeskit.statistics.moments import Moments, View
from bayeskit.statistics.statistic import Product

Views = Mapping[str, MomentSummary]
TAME = 1000.0  # how large terms that cancel may be in a formula of the core: twelve digits are left
FAINT = 2.0**-60, 2.0**-70  # smoothings that are nothing beside a weight of one


class Parametric(Family[Product]):
    """What such a family says: which views of the values it sums, and two formulas."""

    @property
    def views(self) -> tuple[str, ...]:
        """Functions of the values that are summed."""
        return ("x",)

    @property
    def scales(self) -> bool:
        """Whether p(a x) a is of the family too: values and sums of tiny columns then come in units of 2^-shift."""
        return False

    @property
    def in_core(self) -> bool:
        """Whether the core knows its formula too."""
        return False

    @abstractmethod
    def parameters(self, sums: Views) -> tuple[Float, ...]:
        """Of every class and column, (K, d) each."""

    def add_fast(self, x: Float, out: Float, *parameters: Float) -> bool:
        """Whether it knows a faster way to add the log densities of values (n,), NaN if missing, to out (n, K)."""
        return False

    def core_formula(self, *parameters: Float) -> CoreFormula | None:
        """The same as a formula of the core, of parameters (K,); None where it has none, or not enough digits."""
        return None

    @abstractmethod
    def log_density(self, x: Float, *parameters: Float) -> Float:
        """log p(x | class), (K, n), of values (n,) in the support; parameters are (K, 1) or (K, n)."""

    def write(self, x: float, sums: Mapping[str, tuple[float, float]], *parameters: float) -> str:
        """p(x | class) of one class as a textbook writes it; by view the weight of the class and its sum."""
        return f"{type(self).__name__}({x:.6g}; {', '.join(f'{p:.6g}' for p in parameters)})"

    def magnitude(self, x: Float, shift: Int, *parameters: Float) -> Float | None:
        """log2 of the size of log p(x 2^shift | class), whatever doubles reach: (K, n); None if it is never large.

        See ``special.log2_distance``; what is not above 2^900, and a probability of 0, may be anything below that.
        """
        return None

    def check(self, columns: Sequence[str], sums: Views) -> None:
        """Refuse a column it cannot describe."""
        return

    def statistic(self, columns: Sequence[Column], n_groups: int) -> Product:
        names, owner = [c.name for c in columns], type(self).__name__
        return Product({v: Moments.empty(names, n_groups, View(v, self.support, owner)) for v in self.views}, n_groups)

    @property
    def recipe(self) -> Recipe | None:
        smoothing = self.smoothing if isinstance(self, SmoothedParametric) else 0.0
        return Recipe(type(self).__name__, smoothing, integer=self.support.integer) if self.in_core else None

    def fit(self, statistic: Product, context: Context) -> ParametricDensity:
        moments: dict[str, Any] = {view: statistic[view] for view in self.views}
        density = ParametricDensity(self, moments, {v: MomentSummary.of(m) for v, m in moments.items()})
        self.check(density.columns, density.sums)
        return density


class SmoothedParametric(Parametric):
    """One with pseudo-rows, without which a probability may be zero."""

    smoothing: float  # a field of the family

    def __post_init__(self) -> None:
        pseudo_rows(self)


@dataclass(frozen=True)
class ParametricDensity(SupportsLeftOut):
    """Columns of one parametric family; one without spread, or without a value, says nothing."""

    family: Parametric
    moments: Mapping[str, Moments]  # by view; for leave-one-out, what a row added is taken out of it
    sums: Mapping[str, MomentSummary]  # by view, (K, d)

    normalised: ClassVar[bool] = True

    @property
    def columns(self) -> tuple[str, ...]:
        return self.moments[self.family.views[0]].columns

    @property
    def constant(self) -> tuple[str, ...]:
        return tuple(name for name, varies in zip(self.columns, self._varying(self.sums), strict=True) if not varies)

    @property
    def left_out(self) -> Density:
        return _LeftOutParametric(self.family, self.moments, self.sums)

    def add(self, block: Block, out: Float) -> None:
        for _, x, fitted in self._each(block):
            if fitted.shift.any() or not self.family.add_fast(x, out, *fitted.parameters):
                out += fitted.terms(x)

    @property
    def core_formula(self) -> CoreFormula | None:
        fitted = self._plain
        if len(self.columns) != 1 or fitted.shift.any() or not fitted.varying.all():
            return None
        with np.errstate(all="ignore"):
            found = self.family.core_formula(*(p[:, 0] for p in fitted.parameters))
        return found if found is not None and np.isfinite(found.numbers).all() else None

    def terms(self, block: Block) -> Float:
        out = np.zeros((block.rows, len(self.columns), self._classes))
        for j, x, fitted in self._each(block):
            out[:, j] = fitted.terms(x)
        return out

    def write_factor(self, j: int, row: Block, factor: WorkedFactor) -> WorkedFactor:
        fitted, x = self._plain.at(np.array([j])), float(row.numbers(self.columns)[0].column(j)[0])
        if fitted.shift.any():  # values so small or large are kept in other units
            return factor
        formulas = []
        for k, parameters in enumerate(np.hstack(fitted.parameters)):
            sums = {v: (float(s.weight[k, j]), float(s.weight[k, j] * s.mean[k, j])) for v, s in self.sums.items()}
            formulas.append(self.family.write(x, sums, *parameters.tolist()))
        zero = self.family.point_mass and x == 0
        return replace(factor, formulas=tuple(formulas), mass=factor.mass or zero)

    def log2_magnitude(self, block: Block) -> Float:
        out = np.zeros(block.rows)
        for _, x, fitted in self._each(block):
            out = np.maximum(out, fitted.magnitude(x).max(axis=1, initial=0.0))
        return out

    def tail(self, block: Block, unit: Float) -> TailLogDensity:
        zeros, overflow, rest = np.zeros((3, block.rows, self._classes))
        faint = [replace(self, family=family)._each(block) for _, family in self._faint]
        for (_, x, fitted), *smoothed in zip(self._each(block), *faint, strict=True):
            size, term = fitted.magnitude(x), fitted.terms(x)
            beyond, zero = size > OVERFLOW, np.isneginf(term) & ~(size > OVERFLOW)
            overflow -= np.where(beyond, np.exp2(np.minimum(size - unit[:, None], 0.0)), 0.0)
            power, constant = self._vanishing(*(faintly.terms(x) for _, _, faintly in smoothed))
            zeros += np.where(zero, power, 0.0)
            rest += np.where(beyond, 0.0, np.where(zero, constant, term))
        return TailLogDensity(zeros, overflow, rest)

    @cached_property
    def _faint(self) -> list[tuple[float, Parametric]]:
        """Two vanishing smoothings, as logarithms, and the family with each; none where something is smoothed."""
        plain: Any = self.family
        if not isinstance(self.family, SmoothedParametric) or self.family.smoothing != 0:
            return []
        weights = np.concatenate([s.weight.ravel() for s in self.sums.values()])
        least = max(float(weights[weights > 0].min(initial=1.0)), 2.0**-900)
        return [(float(np.log(least * a)), replace(plain, smoothing=least * a)) for a in FAINT]

    def _vanishing(self, *terms: Float) -> tuple[Any, Any]:
        """k and c of log p = k log a + c as a smoothing a vanishes, from two of them: (n, K) each, or 1 and 0."""
        if not terms:
            return 1.0, 0.0
        (one, _), (other, _) = self._faint
        finite = np.isfinite(terms[0]) & np.isfinite(terms[1])
        with np.errstate(invalid="ignore"):
            power = np.where(finite, np.round((terms[0] - terms[1]) / (one - other)), np.inf)
            return power, np.where(finite, terms[0] - power * one, 0.0)

    def portable(self, inputs: Inputs) -> list[Term]:
        """The formula of the family, traced."""
        found = []
        for j in np.flatnonzero(self._varying(self.sums)).tolist():
            x, at = inputs.number(self.columns[j]), np.array([j])
            fitted = self._plain.at(at)
            value: Any = fitted.terms(x)
            overflows = self.family.magnitude(np.ones(1), fitted.shift, *fitted.parameters) is not None
            term = Term.from_formula(self.columns[j], x, value, fitted.magnitude(x) if overflows else None)
            faint = [replace(self, family=family)._plain.at(at).terms(x) for _, family in self._faint]
            if faint or np.isneginf(evaluate_at(value, x, np.array([0.0, 1.0]))).any():
                power, constant = self._vanishing_at(*faint)
                term = term.vanishing(power, constant)
            found.append(term.mask(self.family.support.outside(x) | np.isnan(x)))
        return found

    def _vanishing_at(self, *terms: Any) -> tuple[Any, Any]:
        """``_vanishing`` of symbols, which have no infinities to guard against: a zero is one with either smoothing."""
        if not terms:
            return 1.0, 0.0
        (one, _), (other, _) = self._faint
        power = np.floor((terms[0] - terms[1]) / (one - other) + 0.5)
        return power, terms[0] - power * one

    def out_of_support(self, block: Block) -> dict[str, int]:
        support = self.family.support
        if support.everything:
            return {}
        columns, ends = block.columns(self.columns), block.ends(self.columns)
        least, greatest = (np.where(np.isinf(end), np.nan, end) for end in ends)  # of a column without values
        beyond = support.below(least) | support.above(greatest) | support.integer
        found = {j: int((~support.inside(columns.column(j))).sum()) for j in np.flatnonzero(beyond).tolist()}
        return {self.columns[j]: count for j, count in found.items() if count}

    @property
    def axes(self) -> dict[str, Axis]:
        """Where each column that says something has its values."""
        support, live = self.family.support, np.flatnonzero(self._varying(self.sums)).tolist()
        return {self.columns[j]: self._axis(support, j) for j in live}

    def _axis(self, support: Support, j: int) -> Axis:
        if "x" in self.sums:
            mean, deviation = (np.ldexp(a[:, j], -self.sums["x"].shift[j]) for a in self.sums["x"].normal())
        elif "log x" in self.sums:
            points = np.exp(self._around("log x", j))
            if "log(1 - x)" in self.sums:  # both ends, where the logarithms have longer tails than a normal density
                low, high = (self._around(view, j, 48.0) for view in ("log x", "log(1 - x)"))
                points = np.unique(np.concatenate([np.exp(low), -np.expm1(high)]))
            return Axis(points[support.inside(points)], point_mass=self.family.point_mass)
        else:
            return Axis(np.linspace(-np.pi, np.pi, 65))  # directions: once round
        if support.integer:
            far = np.maximum(mean + 40 * deviation, 40.0)
            return Axis(np.array([support.low, min(support.high, float(np.ceil(far.max())))]), integer=True)
        if np.isfinite(support.low):
            return replace(Axis.above(support.low, support.high, mean), point_mass=self.family.point_mass)
        return Axis.around(mean, deviation)

    def _around(self, view: str, j: int, far: float = 12.0) -> Float:
        """Values of a view around the middle of each class."""
        middle, spread = (a[:, j] for a in self.sums[view].normal())
        with np.errstate(over="ignore"):
            return Axis.around(middle, spread, far).points

    @property
    def _classes(self) -> int:
        return len(self.sums[self.family.views[0]].weight)

    def _varying(self, sums: Views) -> Bool:  # (d,)
        varying: Bool = np.any([s.varying for s in sums.values()], axis=0)
        return varying

    def _each(self, block: Block) -> Iterator[tuple[int, Float, _Fitted]]:
        """Columns that say something: position, values (n,) with NaN outside the support, the parameters there."""
        columns, _ = block.numbers(self.columns)
        for j in np.flatnonzero(self._varying(self.sums)).tolist():
            x = self.family.support.mask(columns.column(j))
            yield j, x, self._fit_column(j, x, block)

    def _fit_column(self, j: int, x: Float, block: Block) -> _Fitted:
        """The parameters of a column."""
        return self._plain.at(np.array([j]))

    @cached_property
    def _plain(self) -> _Fitted:
        return _Fitted.of(self.family, self.sums, self._varying(self.sums))


@dataclass(frozen=True)
class _LeftOutParametric(ParametricDensity):
    """The same without each row's own values."""

    def add(self, block: Block, out: Float) -> None:
        for _, x, fitted in self._each(block):
            out += fitted.terms(x)

    def _fit_column(self, j: int, x: Float, block: Block) -> _Fitted:
        views = zip(self.sums.items(), self.moments.values(), strict=True)
        sums = {v: s.left_out(m, j, m.view.of(x), block) for (v, s), m in views}
        return _Fitted.of(self.family, sums, self._varying(sums))


@dataclass(frozen=True)
class _Fitted:
    """Parameters of columns, or of one column by row."""

    family: Parametric
    shift: Int  # (d,)
    varying: Bool  # (d,)
    parameters: tuple[Float, ...]  # (K, d) each

    @classmethod
    def of(cls, family: Parametric, sums: Views, varying: Bool) -> _Fitted:
        fair = {view: s.unscale(tiny=not family.scales) for view, s in sums.items()}
        with np.errstate(all="ignore"):  # columns that do not vary say nothing, whatever comes out
            return cls(family, fair[family.views[0]].shift, varying, family.parameters(fair))

    def at(self, index: Int) -> _Fitted:
        chosen = tuple(p[:, index] for p in self.parameters)
        return replace(self, shift=self.shift[index], varying=self.varying[index], parameters=chosen)

    def terms(self, x: Float) -> Float:
        """log p(x | class), (n, K)."""
        with np.errstate(all="ignore"):
            terms = self.family.log_density(np.ldexp(x, self.shift), *self.parameters)
            terms = terms + np.where((x == 0) & self.family.point_mass, 0.0, self.shift * LOG_2)
        return np.where(np.isnan(x) | ~self.varying, 0.0, terms).T

    def magnitude(self, x: Float) -> Float:
        """log2 of what may overflow in the term, -inf if nothing is: (n, K)."""
        with np.errstate(all="ignore"):
            size = self.family.magnitude(x, self.shift, *self.parameters)
        if size is None:
            return np.full((len(x), len(self.parameters[0])), -np.inf)
        return np.where(np.isnan(x) | np.isnan(size) | ~self.varying, -np.inf, size).T


def toward_pooled(sums: MomentSummary, alpha: float) -> Float:
    """Means with alpha pseudo-rows at the pooled mean: (sum x + alpha m) / (W + alpha), (K, d)."""
    share = np.where(sums.weight > 0, alpha / np.where(sums.weight > 0, sums.weight + alpha, 1.0), 1.0)
    out: Float = sums.mean * (1 - share) + sums.grand_mean * share
    return out
