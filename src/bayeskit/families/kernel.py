"""Kernel: a sum of normal densities over the values seen, per class and column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from bayeskit import _core
from bayeskit.arrays import Bool, Float, Int
from bayeskit.data.block import Block, Columns
from bayeskit.data.schema import Column
from bayeskit.data.written import plain
from bayeskit.densities.density import OVERFLOW, Axis, Density, SupportsLeftOut, TailLogDensity, WorkedFactor
from bayeskit.densities.likelihood import Context, Family, Recipe
from bayeskit.densities.mixture import Around, Curves, LeftMass, Mixture, log_sums
from bayeskit.errors import InputError
from bayeskit.numerics.bandwidth import FACTORS, Remaining, bandwidths, bandwidths_without
from bayeskit.numerics.special import LOG_2, log2_distance
from bayeskit.portable.program import Inputs, Term
from bayeskit.statistics.bins import BinnedColumn, Bins
from bayeskit.validation import keep, number

RULES = ("silverman", "scott", "isj")
BANDWIDTHS = "bandwidths of Kernel, which saw the label of the row"


@dataclass(frozen=True)
class Kernel(Family[Bins]):
    """p(x | c) = sum over cells k of w_ck / w_c N(x; centre_k, h_c): a smooth density of any shape.

    The cells are those of the column's bins: the values themselves while there are at most 1024 of them. ``bandwidth``
    is "silverman" (0.9 A n^(-1/5), A the smaller of deviation and quartile distance / 1.349), "scott" (1.059 instead),
    "isj" (improved Sheather-Jones) or a number, the same for all classes. Densities come from a table within 1e-6 of
    the sum, and from the sum itself where it is not that good. A class without values takes the column as a whole.

    Parameters
    ----------
    bandwidth : {"silverman", "scott", "isj"} or float, default "silverman"
        The width h of the kernel, by a rule for each class, or one number for all.

    Examples
    --------
    >>> import bayeskit as bk
    >>> model = bk.NaiveBayes(families=Kernel(1.0)).fit([[0.0], [4.0], [2.0], [2.0]], ["a", "a", "b", "b"])
    >>> model.predict_proba([[0.0], [2.0]]).round(3)
    array([[0.787, 0.213],
           [0.119, 0.881]])
    """

    bandwidth: str | float = "silverman"

    identifier: ClassVar[str] = "family/kernel"
    kinds: ClassVar[tuple[str, ...]] = ("quantitative", "count")

    def __post_init__(self) -> None:
        if isinstance(self.bandwidth, str) and self.bandwidth in RULES:
            return
        h = number(self.bandwidth)
        if h is None or not h > 0:
            advice = f"give a number above 0, or one of {', '.join(RULES)}"
            raise InputError(f"Kernel(bandwidth={self.bandwidth!r}): {advice}")
        keep(self, bandwidth=h)

    def statistic(self, columns: Sequence[Column], n_groups: int) -> Bins:
        return Bins.empty([c.name for c in columns], n_groups)

    @property
    def recipe(self) -> Recipe | None:
        return Recipe("Kernel") if self.bandwidth == "silverman" else None

    def fit(self, statistic: Bins, context: Context) -> KernelDensity:
        every = range(len(statistic.columns))
        made = tuple(Kernels.of(statistic.column(j), self.bandwidth) for j in every)
        return KernelDensity(statistic.columns, made, statistic.groups)


@dataclass(frozen=True)
class Kernels:
    """One column: a mixture for each class, in units of 2^-shift from a base."""

    column: BinnedColumn
    rule: str | float
    shift: int
    bandwidth: Float  # (K,)
    common: float  # bandwidth of the column as a whole

    @classmethod
    def of(cls, column: BinnedColumn, rule: str | float) -> Kernels | None:
        """None for a column without spread."""
        if len(column.edges) < 2:
            return None
        size = int(np.frexp(np.abs(column.edges).max())[1])
        if isinstance(rule, str):
            shift = int(np.clip(-size, -1020, 1020))
            by_class, common = bandwidths(column, rule, shift)
        else:
            width = int(np.frexp(float(rule))[1])
            shift = int(np.clip(0 if abs(width) < 900 else -width, -1020, min(1020, 1020 - size)))
            common = float(np.ldexp(float(rule), shift))
            by_class = np.full(len(column.weights), common)
        return cls(column, rule, shift, by_class, common)

    @cached_property
    def base(self) -> float:
        """The median: distances from it are exact enough however far from 0 the column lies."""
        return float(self.column.quantile(0.5, self.column.pooled, self.shift)[0])

    @cached_property
    def centres(self) -> Float:
        """(m,)"""
        return self.at(self.column.centres)

    @cached_property
    def pooled(self) -> Mixture:
        return Mixture.of(self.centres, self.column.pooled, self.common)

    @cached_property
    def empty(self) -> Bool:
        """Which classes have no value: (K,)."""
        none: Bool = ~np.asarray(np.any(self.column.cells.nonzero(), axis=1))
        return none

    @cached_property
    def mixtures(self) -> tuple[Mixture, ...]:
        """Of the classes."""
        return tuple(
            self.pooled if empty else Mixture.of(self.centres, w, float(h))
            for empty, w, h in zip(self.empty, self.column.weights, self.bandwidth, strict=True)
        )

    @cached_property
    def curves(self) -> Curves:
        return Curves(self.mixtures, 2.0**self.shift, self.base, self.shift * LOG_2)

    def at(self, x: Float) -> Float:
        """Values in its units; infinite where they are out of range."""
        with np.errstate(over="ignore"):
            return np.ldexp(x, self.shift) - self.base

    @property
    def axis(self) -> Axis:
        narrow, wide = float(self.bandwidth.min()), float(max(self.bandwidth.max(), self.common))
        _, first = np.unique(np.floor(self.centres / narrow), return_index=True)
        tail = wide * np.array([0.5, 1, 2, 3, 4, 6, 8, 12])
        low, high = float(self.centres.min()), float(self.centres.max())
        points = np.unique(np.concatenate([low - tail, self.centres[first], [high], high + tail]))
        return Axis(np.ldexp(points + self.base, -self.shift))

    def terms(self, column: Columns) -> Float:
        """log p(x | c), 0 where x is missing: (n, K)."""
        out = np.zeros((column.rows, len(self.mixtures)))
        self.curves.add(column, out)
        return out

    def terms_left_out(self, column: Columns, block: Block, hold: bool) -> Float:
        """The same without each row's own mass."""
        out, counted = np.zeros((column.rows, len(self.mixtures))), np.zeros(column.rows, dtype=bool)
        counted[block.rows_with_weight()[0]] = True
        others = np.flatnonzero(~counted)
        if len(others):
            out[others] = self.terms(column.at(others))
        self._without(column.column(0), out, block, hold)
        return out

    def logs(self, x: Float) -> Float:
        """log2 of z^2 / 2 for the nearest centre of each class, which cannot overflow; -inf where missing: (n, K)."""
        out = np.full((len(x), len(self.mixtures)), -np.inf)
        y = self.at(x)
        with np.errstate(divide="ignore", invalid="ignore"):
            for k, mixture in enumerate(self.mixtures):
                nearest = mixture.nearest(y)
                beyond = log2_distance(x, np.array(self.shift), nearest + self.base)
                far = np.where(np.isfinite(y), np.log2(np.abs(y - nearest)), beyond)
                out[:, k] = np.where(np.isnan(x), -np.inf, 2 * (far - np.log2(mixture.bandwidth)) - 1)
        return out

    @cached_property
    def _around(self) -> tuple[Around | None, ...]:
        """Every class seen from the cells; None for those without a value."""
        return tuple(
            None if empty else m.around(self.centres, self._reach)
            for empty, m in zip(self.empty, self.mixtures, strict=True)
        )

    @cached_property
    def _pooled_around(self) -> Around:
        return self.pooled.around(self.centres, self._reach)

    @property
    def _reach(self) -> float:
        """How far a value may lie from the centre of its cell."""
        return float(np.ldexp(self.column.width.max(initial=0.0), self.shift)) / 2

    @property
    def held(self) -> tuple[str, ...]:
        """What leave-one-out has of all rows: bandwidths are found anew unless that takes long, numbers are given."""
        grid = () if self.column.distinct else ("grid of Kernel",)
        return (*grid, *(() if self._renews or not isinstance(self.rule, str) else (BANDWIDTHS,)))

    @property
    def _renews(self) -> bool:
        """Whether bandwidths without a row are found: of values that stand for themselves, by rules of two moments."""
        return self.column.distinct and self.rule in FACTORS

    def _without(self, x: Float, terms: Float, block: Block, hold: bool) -> None:
        """Take each row's own mass out of its terms (n, K), in place."""
        row, group, mass = block.values_with_weight(x)
        cell = np.minimum(_core.digitize(x[row], self.column.edges), len(self.centres) - 1)
        if hold or not self._renews:
            terms[row] = self._left(self.at(x[row]), group, cell, mass, False)
            return
        weights, which = np.unique(mass, return_inverse=True)  # equal rows of a class are without them alike
        key = (group * len(self.centres) + cell) * len(weights) + which
        _, first, again = np.unique(key, return_index=True, return_inverse=True)
        terms[row] = self._left(self.at(x[row[first]]), group[first], cell[first], mass[first], True)[again]

    def _left(self, y: Float, group: Int, cell: Int, mass: Float, renew: bool) -> Float:
        """log p(y | c) without a mass of each row in its cell and class; the grid is held: (n, K)."""
        m, cells = len(self.centres), self.column.cells
        whole, in_all = cells.total(), cells.place(np.zeros(m, dtype=np.int64), 1, axis=1)
        left, rest = in_all.flat().without(group, mass), cells.flat().without(group * m + cell, mass)
        every, remaining = whole.flat().without(cell, mass), in_all.total().flat().without(np.zeros_like(cell), mass)
        wide = np.broadcast_to([*self.bandwidth, self.common], (len(y), len(self.empty) + 1))
        if renew:
            wide = bandwidths_without(self.column, str(self.rule), self.shift, Remaining(group, cell, rest, every))
        plain, out = self.shift * LOG_2, np.empty((len(y), len(self.empty)))
        for k, around in enumerate(self._around):
            if around is not None:
                mine = group == k
                weight = np.where(mine & (left > 0), left, in_all.to_float()[k, 0])
                stays = np.where(mine, rest, self.column.weights[k, cell])
                less = LeftMass(cell, stays, weight)
                out[:, k] = around.log_density(y, less) + plain
                new = np.flatnonzero(wide[:, k] != self.bandwidth[k])
                out[new, k] = log_sums(y[new], self.centres, self.column.weights[k], less.at(new), wide[new, k]) + plain
        # Where a class has nothing, or nothing but the row, the whole column stands for it, without the row.
        lacking = np.flatnonzero((left <= 0) | self.empty.any())
        if len(lacking):
            alone, common = remaining[lacking] <= 0, wide[lacking, -1]
            less = LeftMass(cell[lacking], every[lacking], np.where(alone, 1.0, remaining[lacking]))
            log_f = self._pooled_around.log_density(y[lacking], less)
            new = np.flatnonzero(common != self.common)
            log_f[new] = log_sums(y[lacking[new]], self.centres, self.column.pooled, less.at(new), common[new])
            pooled = np.where(alone, 0.0, log_f + plain)
            for k, empty in enumerate(self.empty):
                mine = (group[lacking] == k) & (left[lacking] <= 0) | empty
                out[lacking[mine], k] = pooled[mine]
        if renew and m == 2:  # the row was all there was beside the other value
            out[every <= 0] = 0.0
        return out


@dataclass(frozen=True)
class KernelDensity(SupportsLeftOut):
    """Kernel densities of several columns."""

    columns: tuple[str, ...]
    kernels: tuple[Kernels | None, ...]  # None: the column says nothing
    groups: int
    hold: bool = False  # whether leave-one-out holds all bandwidths, as a choice among families does

    normalised: ClassVar[bool] = True

    @property
    def held(self) -> tuple[str, ...]:
        """What leave-one-out has of all rows."""
        return tuple(dict.fromkeys(what for k in self.kernels if k is not None for what in k.held))

    @property
    def constant(self) -> tuple[str, ...]:
        """Columns without spread, which say nothing."""
        return tuple(name for name, kernels in zip(self.columns, self.kernels, strict=True) if kernels is None)

    @property
    def axes(self) -> dict[str, Axis]:
        """Its centres, as close as the narrowest kernel resolves, and the tails."""
        return {name: k.axis for name, k in zip(self.columns, self.kernels, strict=True) if k is not None}

    def _columns(self, block: Block) -> Iterator[tuple[int, Kernels, Columns]]:
        numbers, _ = block.numbers(self.columns)
        for j, kernels in enumerate(self.kernels):
            if kernels is not None:
                yield j, kernels, numbers.take(np.array([j], dtype=np.int64))

    def write_factor(self, j: int, row: Block, factor: WorkedFactor) -> WorkedFactor:
        kernels, x = self.kernels[j], row.numbers(self.columns)[0].column(j)[0]
        if kernels is None:
            return factor
        formulas = []
        for empty, weights, h in zip(kernels.empty, kernels.column.weights, kernels.bandwidth, strict=True):
            which = "values of all classes" if empty else f"{plain(weights.sum())} values of the class"
            width = np.ldexp(kernels.common if empty else h, -kernels.shift)
            formulas.append(f"mean of N({x:.6g}; x_i, deviation {width:.6g}) over the {which}")
        return replace(factor, formulas=tuple(formulas))

    @property
    def left_out(self) -> Density:
        return LeftOutKernel(self.columns, self.kernels, self.groups, self.hold)

    def add(self, block: Block, out: Float) -> None:
        for _, kernels, column in self._columns(block):
            kernels.curves.add(column, out)

    def terms(self, block: Block) -> Float:
        out = np.zeros((block.rows, len(self.columns), self.groups))
        for j, kernels, column in self._columns(block):
            out[:, j] = self._term(kernels, column, block)
        return out

    def _term(self, kernels: Kernels, column: Columns, block: Block) -> Float:
        """log p(x | c) of one column: (n, K)."""
        return kernels.terms(column)

    def portable(self, inputs: Inputs) -> list[Term]:
        found = []
        for name, kernels in zip(self.columns, self.kernels, strict=True):
            if kernels is not None:
                x = inputs.number(name)
                ends = np.array([m.centre[[0, m.real - 1]] for m in kernels.mixtures]) + kernels.base  # (K, 2)
                width = np.array([m.bandwidth for m in kernels.mixtures])
                nearest = np.where(x > 0, ends[:, 1], ends[:, 0])  # of values that are far enough to overflow
                size = 2 * (log2_distance(x, np.array(kernels.shift), nearest) - np.log2(width)) - 1
                found.append(Term.from_formula(name, x, kernels.curves.portable(x), size).mask(np.isnan(x)))
        return found

    def log2_magnitude(self, block: Block) -> Float:
        logs = (k.logs(column.column(0)).max(axis=1) for _, k, column in self._columns(block))
        farthest: Float = np.max([np.zeros(block.rows), *logs], axis=0)
        return farthest

    def tail(self, block: Block, unit: Float) -> TailLogDensity:
        overflow, rest = np.zeros((2, block.rows, self.groups))
        for _, kernels, column in self._columns(block):
            logs = kernels.logs(column.column(0))
            far = logs > OVERFLOW
            overflow -= np.where(far, np.exp2(np.minimum(logs - unit[:, None], 0.0)), 0.0)
            rest += np.where(far, 0.0, self._term(kernels, column, block))
        return TailLogDensity(np.zeros_like(rest), overflow, rest)


@dataclass(frozen=True)
class LeftOutKernel(KernelDensity):
    """Without each row's own mass."""

    def add(self, block: Block, out: Float) -> None:
        for _, kernels, column in self._columns(block):
            out += self._term(kernels, column, block)

    def _term(self, kernels: Kernels, column: Columns, block: Block) -> Float:
        return kernels.terms_left_out(column, block, self.hold)
