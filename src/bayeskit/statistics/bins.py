"""Bins: one mergeable histogram per column and group, as fine as a budget of occupied cells allows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from bayeskit import _core
from bayeskit.arrays import Array, Bool, Float, Int
from bayeskit.data.block import Block
from bayeskit.errors import ForgetError
from bayeskit.statistics.exact import ExactSum, weight_range

# A column of n values has a kernel bandwidth of about n^(-1/5) deviations and some ten deviations of range: with
# 1024 cells even a hundred million rows have five cells to a bandwidth, and the cells of a column stay in a cache.
BUDGET = 1024
WIDEST = 1.7976931348623157e308
FINEST = -1074  # every double is a multiple of 2^-1074: each value is a cell of its own


class Weighed:
    """Cells that have a weight in each group."""

    cells: ExactSum  # (G, m)

    @cached_property
    def weights(self) -> Float:
        """Of the cells: (G, m)."""
        return self.cells.to_float()

    @cached_property
    def pooled(self) -> Float:
        """Of the cells over all groups: (m,)."""
        out: Float = self.cells.total().to_float()[0]
        return out


@dataclass(frozen=True)
class Bins(Weighed):
    """Weights of the cells (edge - 2^e, edge] on a grid anchored at 0; a cell is named by its right edge.

    edge(x) = ceil(x / 2^e) 2^e, which is x itself where doubles lie at least 2^e apart. e is the smallest exponent
    with at most ``budget`` occupied cells over all groups, so it does not depend on the order of rows or on how they
    were split. Coarsening loses information: A + B - B is A on the grid of A + B, and never finer.
    """

    columns: tuple[str, ...]
    exponent: Int  # (d,)
    edges: Float  # (cells,) ascending in each column, one column after the other
    offset: Int  # (d + 1,) where each column's cells begin
    cells: ExactSum  # (G, cells)
    budget: int = BUDGET

    @classmethod
    def empty(cls, columns: Sequence[str], n_groups: int, budget: int = BUDGET) -> Bins:
        d = len(columns)
        offset = np.zeros(d + 1, dtype=np.int64)
        exponent = np.full(d, FINEST, dtype=np.int64)
        return cls(tuple(columns), exponent, np.empty(0), offset, ExactSum.zeros((n_groups, 0)), budget)

    @property
    def groups(self) -> int:
        return self.cells.shape[0]

    def update(self, block: Block, /) -> Self:
        groups, weights = block.groups, block.weights
        if groups is None or not block.rows or not self.columns:
            return self
        numbers, _ = block.numbers(self.columns)
        codes = None if weights is None else np.empty((len(self.columns), block.rows), dtype=np.int32)
        exponent = self.exponent.copy()
        edges, offset, moves, counts = _core.count_bins(
            numbers.address,
            numbers.stride,
            numbers.rows,
            groups,
            self.groups,
            weights,
            self.edges,
            self.offset,
            self.budget,
            exponent,
            codes,
        )
        if codes is None and not len(self.edges):  # the first rows, of weight 1
            return replace(self, exponent=exponent, edges=edges, offset=offset, cells=ExactSum(counts[..., None], 0))
        grown = self._move(exponent, edges, offset, moves)
        if codes is None or weights is None:  # the same as rows of weight 1
            return replace(grown, cells=grown.cells + ExactSum(counts[..., None], 0))
        cells = grown.cells.room(*_core.limb_window(1.0, 1.0, 0, *weight_range(weights)))
        every = np.arange(len(self.columns) + 1, dtype=np.int64)
        sizes = np.diff(offset).astype(np.int32)
        place = every[:-1].astype(np.int32)
        _core.count_tables(codes, groups, weights, place, every, sizes, offset[:-1], cells.limbs, cells.low)
        return replace(grown, cells=cells.carry())

    def _on(self, exponent: Int, edges: Float, offset: Int) -> Self:
        """The same weights in cells that hold all of these, at exponents at least as large."""
        if len(edges) == len(self.edges) and np.array_equal(edges, self.edges) and np.array_equal(offset, self.offset):
            return replace(self, exponent=exponent)
        return self._move(exponent, edges, offset, _core.find_bins(self.edges, self.offset, edges, offset, exponent))

    def _move(self, exponent: Int, edges: Float, offset: Int, moves: Int) -> Self:
        return replace(
            self,
            exponent=exponent,
            edges=edges,
            offset=offset,
            cells=self.cells.place(moves, len(edges), axis=1),
        )

    def _drop_empty(self) -> Self:
        """Without cells that carry no weight."""
        used = self.cells.nonzero().any(axis=0)
        if used.all():
            return self
        ends = np.concatenate([[0], np.cumsum(used)])
        kept = np.ascontiguousarray(self.cells.limbs[:, used])
        offset = ends[self.offset].astype(np.int64)
        return replace(self, edges=self.edges[used], offset=offset, cells=ExactSum(kept, self.cells.low))

    def coarsen(self, exponent: Int) -> Self:
        """On a grid at least as coarse as the exponents given."""
        wide = np.maximum(self.exponent, exponent)
        nothing = np.empty(0), np.zeros_like(self.offset)
        edges, offset = _core.merge_bins(self.edges, self.offset, *nothing, self.budget, wide)
        return self._on(wide, edges, offset)

    def place(self, groups: Int, n_groups: int, levels: Mapping[str, tuple[Int, int]]) -> Self:
        return replace(self, cells=self.cells.place(groups, n_groups))._drop_empty()

    def over_columns(self, like: Self, /) -> Self:
        place = {name: j for j, name in enumerate(self.columns)}
        index = np.array([place.get(name, -1) for name in like.columns], dtype=np.int64)
        sizes = np.where(index < 0, 0, np.append(np.diff(self.offset), 0)[index])
        offset = np.cumsum([0, *sizes], dtype=np.int64)
        old = [np.arange(*self.offset[j : j + 2]) for j in index[index >= 0].tolist()]
        order = np.concatenate([np.empty(0, dtype=np.int64), *old])
        return replace(
            self,
            columns=like.columns,
            exponent=np.where(index < 0, FINEST, np.append(self.exponent, FINEST)[index]),
            edges=self.edges[order],
            offset=offset,
            cells=ExactSum(np.ascontiguousarray(self.cells.limbs[:, order]), self.cells.low),
        )

    def merge(self, other: Self, /) -> Self:
        exponent = np.maximum(self.exponent, other.exponent)
        edges, offset = _core.merge_bins(self.edges, self.offset, other.edges, other.offset, self.budget, exponent)
        mine, theirs = self._on(exponent, edges, offset), other._on(exponent, edges, offset)
        return replace(mine, cells=mine.cells + theirs.cells)

    def subtract(self, other: Self, /) -> Self:
        mine = self.coarsen(other.exponent)
        moves = _core.find_bins(other.edges, other.offset, mine.edges, mine.offset, mine.exponent)
        strange = np.flatnonzero(moves < 0)
        if len(strange):
            raise ForgetError(self._refusal(other, int(strange[0])))
        cells = mine.cells - other.cells.place(moves, len(mine.edges), axis=1)
        wrong = np.flatnonzero(cells.negative().any(axis=0))
        if len(wrong):
            raise ForgetError(mine._refusal(mine, int(wrong[0])))
        return replace(mine, cells=cells)._drop_empty()

    @staticmethod
    def _refusal(of: Bins, cell: int) -> str:
        column = of.columns[int(np.searchsorted(of.offset, cell, side="right")) - 1]
        return (
            f"these rows cannot have been learned: column {column!r} would have a negative weight of values at or just "
            f"below {float(of.edges[cell])!r}; the model stays as it was"
        )

    def occupancy(self) -> tuple[Bool, dict[str, Bool]]:
        return np.asarray(self.cells.nonzero().any(axis=1)), {}

    def column_weights(self) -> Iterator[tuple[str, ExactSum]]:
        """Weight of the values of each column by group: (G,) each."""
        for j, name in enumerate(self.columns):
            part = self.cells.limbs[:, self.offset[j] : self.offset[j + 1]]
            yield name, ExactSum(part.sum(axis=1), self.cells.low).carry()

    def arrays(self) -> dict[str, Array]:
        return {
            "exponent": self.exponent,
            "edges": self.edges,
            "edges.sizes": np.diff(self.offset),
            **self.cells.arrays("cells"),
        }

    def with_arrays(self, arrays: Mapping[str, Array]) -> Self:
        sizes = np.asarray(arrays["edges.sizes"], dtype=np.int64)
        exponent = np.array(arrays["exponent"], dtype=np.int64)
        edges = np.array(arrays["edges"], dtype=np.float64)
        if sizes.shape != exponent.shape or len(sizes) != len(self.columns) or (sizes < 0).any():
            raise ValueError("the cells do not fit the columns")
        offset = np.cumsum([0, *sizes], dtype=np.int64)
        cells = ExactSum.from_arrays(arrays, "cells", (self.groups, len(edges)))
        if cells.negative().any():
            raise ValueError("the weight of a cell is negative")
        back = replace(self, exponent=exponent, edges=edges, offset=offset, cells=cells)
        again = back.coarsen(exponent)
        same = np.array_equal(again.edges, edges) and np.array_equal(again.offset, offset)
        if not same or (again.exponent != exponent).any() or np.signbit(edges[edges == 0]).any():
            raise ValueError("the cells of a column are not those of its grid")
        if len(back._drop_empty().edges) < len(edges):
            raise ValueError("a cell has no weight")
        return back

    # -- questions to it --------------------------------------------------------------------------

    @cached_property
    def widths(self) -> Float:
        """Of the cells, 0 where a cell is one value: (cells,)."""
        return _widths(self.edges, np.repeat(self.exponent, np.diff(self.offset)))

    @cached_property
    def centres(self) -> Float:
        """(cells,)"""
        return self.edges - self.widths / 2

    @cached_property
    def steps(self) -> Float:
        """How finely each column was recorded: (d,)."""
        out, filled = np.zeros(len(self.columns)), np.flatnonzero(np.diff(self.offset))
        if len(filled):
            first = self.offset[filled]
            with np.errstate(over="ignore"):
                gaps = np.diff(self.edges, append=np.inf)
            gaps[self.offset[filled + 1] - 1] = np.inf
            least = np.minimum(np.minimum.reduceat(gaps, first), WIDEST)
            coarse, one = np.maximum.reduceat(self.widths, first) > 0, np.diff(self.offset)[filled] == 1
            out[filled] = np.where(coarse, _width(self.exponent[filled]), np.where(one, 0.0, least))
        return out

    def span(self, j: int) -> slice:
        """Where the cells of a column are."""
        return slice(int(self.offset[j]), int(self.offset[j + 1]))

    def column(self, j: int) -> BinnedColumn:
        """The cells of one column as numbers."""
        span = self.span(j)
        sums = ExactSum(np.ascontiguousarray(self.cells.limbs[:, span]), self.cells.low)
        return BinnedColumn(self.columns[j], int(self.exponent[j]), self.edges[span], sums)


@dataclass(frozen=True)
class BinnedColumn(Weighed):
    """One column of bins.

    >>> sums = ExactSum(np.array([[[1], [2], [1]]]), 0)
    >>> column = BinnedColumn("age", FINEST, np.array([1.0, 3.0, 4.5]), sums)
    >>> column.quantile(0.5), column.step
    (array([3.]), 1.5)
    """

    name: str
    exponent: int
    edges: Float  # (m,)
    cells: ExactSum  # (G, m)

    def part(self, which: Bool) -> BinnedColumn:
        """Some of the cells."""
        sums = ExactSum(np.ascontiguousarray(self.cells.limbs[:, which]), self.cells.low)
        return BinnedColumn(self.name, self.exponent, np.ascontiguousarray(self.edges[which]), sums)

    @cached_property
    def width(self) -> Float:
        """Of the cells, 0 where a cell is one value: (m,)."""
        return _widths(self.edges, self.exponent)

    @cached_property
    def centres(self) -> Float:
        """(m,)"""
        return self.edges - self.width / 2

    @property
    def distinct(self) -> bool:
        """Whether every cell is one value."""
        return not self.width.any()

    @cached_property
    def step(self) -> float:
        """How finely the column was recorded: the smallest gap between values, or the width of a cell."""
        if not self.distinct:
            return float(_width(self.exponent))
        with np.errstate(over="ignore"):
            gaps = np.diff(self.edges)
        return float(min(gaps.min(), WIDEST)) if len(gaps) else 0.0

    def quantile(self, q: float, weights: Float | None = None, shift: int = 0) -> Float:
        """The centre of the first cell at which the weight reaches a share q, by group; NaN without weight: (G,).

        Halfway to the next one where it is reached exactly, as a median of an even number of values is. In units of
        2^-shift, in which a halfway point of the smallest doubles is a double too.
        """
        masses = np.atleast_2d(self.weights if weights is None else weights)
        out, centre = np.full(len(masses), np.nan), np.ldexp(self.centres, shift)
        for g, mass in enumerate(masses):
            used = np.flatnonzero(mass)
            if len(used):
                below = np.cumsum(mass[used] / mass.max())
                goal = q * below[-1]
                first, after = (
                    int(min(np.searchsorted(below, goal, side=side), len(used) - 1)) for side in ("left", "right")
                )
                out[g] = centre[used[first]] / 2 + centre[used[after]] / 2 if first < after else centre[used[first]]
        return out


def _width(exponent: Int | int) -> Float:
    return np.ldexp(1.0, np.minimum(exponent, 1023))


def _widths(edges: Float, exponent: Int | int) -> Float:
    """Of cells, 0 where doubles lie so far apart that a cell is one value: (m,)."""
    with np.errstate(over="ignore"):
        far = np.ldexp(1.0, np.add(exponent, 52))  # doubles from here on lie 2^exponent apart, closer below it
    single = (edges > far) | (edges <= -far) | np.less_equal(exponent, FINEST)
    return np.where(single, 0.0, _width(exponent))
