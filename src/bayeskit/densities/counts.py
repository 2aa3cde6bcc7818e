"""Counts: densities over a group of columns by the values that are not zero, the words of a text for instance."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from bayeskit import _core
from bayeskit.arrays import Float, Int
from bayeskit.data.block import Block
from bayeskit.data.matrix import Sparse
from bayeskit.data.support import NONNEGATIVE, Support
from bayeskit.densities.density import OVERFLOW, SupportsLeftOut, TailLogDensity
from bayeskit.densities.likelihood import Family
from bayeskit.errors import InputError
from bayeskit.portable.program import Inputs, Tail, Term
from bayeskit.smoothing import pseudo_rows
from bayeskit.statistics.exact import ExactSum, Scattered
from bayeskit.statistics.totals import Totals
from bayeskit.validation import integer, keep


class CountFamily(Family[Totals]):
    """Columns of counts that make a group: ``group`` distinguishes groups of equal settings."""

    smoothing: float | None  # fields of the family; None takes the smoothing of the classifier
    group: int

    kinds: ClassVar[tuple[str, ...]] = ("quantitative", "count")
    support: ClassVar[Support] = NONNEGATIVE
    sparse: ClassVar[bool] = True

    def check_settings(self, zero: bool) -> None:
        """Refuse settings that make no sense; ``zero`` says whether there may be no smoothing at all."""
        if self.smoothing is not None:
            pseudo_rows(self, zero)
        group = integer(self.group)
        if group is None:
            raise InputError(f"{type(self).__name__}(group={self.group!r}): give a whole number")
        keep(self, group=group)

    def with_settings(self, **settings: object) -> Self:
        """The same with some settings changed."""
        made: Any = self
        changed: Self = replace(made, **settings)
        return changed

    @property
    def alpha(self) -> float:
        """The pseudo-counts of a cell: one, unless the family or its classifier says otherwise."""
        return 1.0 if self.smoothing is None else self.smoothing


@dataclass(frozen=True)
class Counts(SupportsLeftOut):
    """log p(x | c) = sum over the values x_j > 0 of x_j times a weight of column and class."""

    columns: tuple[str, ...]
    totals: Totals
    smoothing: float
    table: Float  # (columns, K)
    unit: float  # what a count of one is in the totals and the smoothing

    normalised: ClassVar[bool] = False

    def probabilities(self) -> Float:
        """P(word | class) of every column: (columns, K)."""
        raise InputError(
            f"{type(self).__name__} of column {self.columns[0]!r} weighs words by the other classes and has no "
            f"P(word | class); ask explain(X) for what words say, or choose Multinomial"
        )

    def add(self, block: Block, out: Float) -> None:
        cells = block.sparse(self.columns).sort_columns().floats()
        _core.sparse_linear_terms(cells.indptr, cells.indices, cells.values, self.totals.presence, self.table, out)

    def terms(self, block: Block) -> Float:
        return self.terms_of(block, np.arange(len(self.columns)))

    def terms_of(self, block: Block, which: Int) -> Float:
        cells = block.sparse(self.columns)
        out = np.zeros((block.rows, len(which), self.table.shape[1]))
        place = np.full(len(self.columns), -1, dtype=np.int64)
        place[which] = np.arange(len(which))
        kept = np.flatnonzero(place[cells.indices] >= 0)
        terms = _times(self._values(cells), self._weights(block, cells))
        out[cells.owner[kept], place[cells.indices[kept]]] = terms[kept]
        return out

    def count_of(self, j: int, row: Block) -> float:
        """What a block of one row has in column j."""
        cells = row.sparse(self.columns)
        return float(self._values(cells)[cells.indices == j].sum())

    def class_range(self, block: Block) -> Float:
        cells = block.sparse(self.columns)
        apart = np.ptp(np.where(np.isfinite(self.table), self.table, -1e300), axis=1)
        with np.errstate(over="ignore"):
            sizes = self._values(cells) * apart[cells.indices]
            return np.bincount(cells.indices, sizes, minlength=len(self.columns)).astype(np.float64)

    def portable(self, inputs: Inputs) -> list[Term]:
        whole = -np.log(np.maximum(self.totals.sums.across.to_float(), 1e-300))
        found = []
        for j, name in enumerate(self.columns):
            x, weight = inputs.number(name), self.table[j]
            zero, count = np.isneginf(weight), 1.0 if self.totals.presence else x
            finite: Any = count * np.where(zero, 0.0, weight)
            size = (
                None
                if self.totals.presence
                else np.log2(x) + np.log2(np.maximum(np.abs(np.where(zero, 0.0, weight)), 1e-300))
            )
            term = Term.from_formula(name, x, finite, size)
            if zero.any():
                limit = Tail(count * zero, size, np.where(zero, count * whole, term.limit.rest))
                term = Term((name,), np.where(zero, -np.inf, term.value), limit)
            found.append(term.mask(np.isnan(x) | (x <= 0)))
        return found

    def log2_magnitude(self, block: Block) -> Float:
        cells = block.sparse(self.columns)
        farthest = np.zeros(block.rows)
        sizes = _sizes(self._values(cells), self._weights(block, cells))
        np.maximum.at(farthest, cells.owner, np.where(np.isposinf(sizes), 0.0, sizes).max(axis=1, initial=0.0))
        return farthest

    def tail(self, block: Block, unit: Float) -> TailLogDensity:
        cells = block.sparse(self.columns)
        x, weights = self._values(cells), self._weights(block, cells)
        zero = np.isneginf(weights) & (x[:, None] > 0)
        sizes = _sizes(x, weights)
        overflow = (sizes > OVERFLOW) & ~zero
        amount = np.where(overflow, -np.exp2(np.minimum(sizes - unit[cells.owner, None], 0.0)), 0.0)
        vanishing = -np.log(np.maximum(self._wholes(block, cells), 1e-300))  # of a / S_c as a -> 0+
        rest = np.where(overflow, 0.0, _times(x, np.where(zero, vanishing[cells.owner], weights)))
        parts = [np.zeros((block.rows, self.table.shape[1])) for _ in range(3)]
        for out, addend in zip(parts, (np.where(zero, x[:, None], 0.0), amount, rest), strict=True):
            np.add.at(out, cells.owner, addend)
        return TailLogDensity(*parts)

    def _wholes(self, block: Block, cells: Sparse) -> Float:
        """What each class counts in all columns: (n, K)."""
        return np.tile(self.totals.sums.across.to_float(), (block.rows, 1))

    def out_of_support(self, block: Block) -> dict[str, int]:
        cells = block.sparse(self.columns)
        if not cells.bounds[4]:
            return {}
        found, times = np.unique(cells.indices[cells.values < 0], return_counts=True)
        return {self.columns[j]: n for j, n in zip(found.tolist(), times.tolist(), strict=True)}

    def _values(self, cells: Sparse) -> Float:
        """What each stored value counts: (stored,)."""
        with np.errstate(invalid="ignore"):
            there = cells.values > 0
        return there.astype(np.float64) if self.totals.presence else np.where(there, cells.values, 0.0)

    def _weights(self, block: Block, cells: Sparse) -> Float:
        """The weight of each stored value by class: (stored, K)."""
        weights: Float = self.table[cells.indices]
        return weights


@dataclass(frozen=True)
class LeftOutCounts(Counts):
    """The same without each row's own counts."""

    @abstractmethod
    def _without(self, left: Left, weights: Float) -> Float:
        """Weights (stored, K) with what rows take out of them put in place."""

    def add(self, block: Block, out: Float) -> None:
        cells = block.sparse(self.columns)
        np.add.at(out, cells.owner, _times(self._values(cells), self._weights(block, cells)))

    def _weights(self, block: Block, cells: Sparse) -> Float:
        return self._without(Left(block, cells, self.totals, self.unit), super()._weights(block, cells))

    def _wholes(self, block: Block, cells: Sparse) -> Float:
        whole, left = super()._wholes(block, cells), Left(block, cells, self.totals, self.unit)
        mine, across = np.flatnonzero(left.group >= 0), self.totals.sums.across
        whole[mine, left.group[mine]] = left.rows_of(across, np.maximum(left.group, 0))[mine]
        return whole


class Left:
    """Sums without the mass of the row of each stored value, from the exact ones."""

    def __init__(self, block: Block, cells: Sparse, totals: Totals, unit: float) -> None:
        self.totals, self.cells = totals, cells
        row, group, mass = block.rows_with_weight()
        self.group = np.full(block.rows, -1, dtype=np.int64)
        self.mass = np.zeros(block.rows)
        self.group[row], self.mass[row] = group, mass * unit
        self.window = totals.window(cells, self.mass)
        self.stored = np.flatnonzero(self.group[cells.owner] >= 0)  # values of rows that were counted
        self.row = cells.owner[self.stored]
        self.column = cells.indices[self.stored].astype(np.int64)
        self.values = np.ascontiguousarray(cells.values[self.stored])

    def cells_of(self, sums: Scattered, groups: Int) -> Float:
        """Of each stored value the sum of its column in a group, without its row: (stored,)."""
        wide = sums.dense.widen(*self.window)
        out: Float = _core.loo_sparse_sums(
            np.arange(len(self.stored) + 1),
            self.values,
            self.mass[self.row],
            groups * len(self.totals.columns) + self.column,
            self.totals.presence,
            wide.limbs.reshape(-1, wide.limbs.shape[-1]),
            wide.low,
        )
        return out

    def rows_of(self, sums: ExactSum, groups: Int) -> Float:
        """Of each row the sum (G,) of a group, without the row's own values: (n,)."""
        wide = sums.widen(*self.window)
        values, presence = np.ascontiguousarray(self.cells.values), self.totals.presence
        out: Float = _core.loo_sparse_sums(self.cells.indptr, values, self.mass, groups, presence, wide.limbs, wide.low)
        return out


def rescale(totals: Totals) -> tuple[Totals, float]:
    """The totals in units in which all of them together are a double, and one in that unit: shares do not change."""
    with np.errstate(over="ignore"):
        if np.isfinite(totals.sums.across.to_float().sum()):
            return totals, 1.0
    return replace(totals, sums=totals.sums.times(-8)), 2.0**-256


def _times(x: Float, weights: Float) -> Float:
    """x times the weights, 0 where x is: (stored, K)."""
    with np.errstate(invalid="ignore", over="ignore"):
        return np.where(x[:, None] > 0, x[:, None] * weights, 0.0)


def _sizes(x: Float, weights: Float) -> Float:
    """log2 of |x w|, which cannot overflow; -inf where it is 0, inf where w is -inf: (stored, K)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(x[:, None] > 0, np.log2(x)[:, None] + np.log2(np.abs(weights)), -np.inf)
