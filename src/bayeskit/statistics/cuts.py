"""Cuts: weights between cut points given beforehand, by group and column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from bayeskit import _core
from bayeskit.arrays import Array, Bool, Code, Float, Int
from bayeskit.data.block import Block
from bayeskit.errors import ForgetError
from bayeskit.statistics.exact import ExactSum, weight_range


@dataclass(frozen=True)
class Cuts:
    """Weights of the right-closed cells (-inf, c1], (c1, c2], ..., (cm, inf), the same for all its columns."""

    columns: tuple[str, ...]
    cuts: tuple[float, ...]  # ascending
    cells: ExactSum  # (G, d, m + 1)

    @classmethod
    def empty(cls, columns: Sequence[str], cuts: Sequence[float], n_groups: int) -> Cuts:
        shape = (n_groups, len(columns), len(cuts) + 1)
        return cls(tuple(columns), tuple(map(float, cuts)), ExactSum.zeros(shape))

    @property
    def groups(self) -> int:
        return self.cells.shape[0]

    def update(self, block: Block, /) -> Self:
        if block.groups is None or not block.rows or not self.columns:
            return self
        numbers, _ = block.numbers(self.columns)
        codes = np.array([cell_of(numbers.column(j), np.array(self.cuts)) for j in range(len(self.columns))])
        light, heavy = (1.0, 1.0) if block.weights is None else weight_range(block.weights)
        cells = self.cells.room(*_core.limb_window(1.0, 1.0, 0, light, heavy))
        d, size = len(self.columns), len(self.cuts) + 1
        every = np.arange(d + 1, dtype=np.int64)
        flat = cells.limbs.reshape(self.groups, d * size, -1)
        sizes, place = np.full(d, size, dtype=np.int32), every[:-1].astype(np.int32)
        _core.count_tables(codes, block.groups, block.weights, place, every, sizes, size * every[:-1], flat, cells.low)
        return replace(self, cells=cells.carry())

    def place(self, groups: Int, n_groups: int, levels: Mapping[str, tuple[Int, int]]) -> Self:
        return replace(self, cells=self.cells.place(groups, n_groups))

    def over_columns(self, like: Self, /) -> Self:
        target = {name: j for j, name in enumerate(like.columns)}
        index = np.array([target[name] for name in self.columns], dtype=np.int64)
        return replace(self, columns=like.columns, cells=self.cells.place(index, len(target), axis=1))

    def merge(self, other: Self, /) -> Self:
        return replace(self, cells=self.cells + other.cells)

    def subtract(self, other: Self, /) -> Self:
        cells = self.cells - other.cells
        wrong = np.argwhere(cells.negative())
        if len(wrong):
            raise ForgetError(
                f"these rows cannot have been learned: without them a cell of column {self.columns[wrong[0][1]]!r} "
                f"would have a negative weight; the model stays as it was"
            )
        return replace(self, cells=cells)

    def occupancy(self) -> tuple[Bool, dict[str, Bool]]:
        return np.asarray(self.cells.nonzero().any(axis=(1, 2))), {}

    def column_weights(self) -> Iterator[tuple[str, ExactSum]]:
        """Weight of the values of each column by group: (G,) each."""
        for j, name in enumerate(self.columns):
            yield name, ExactSum(self.cells.limbs[:, j].sum(axis=1), self.cells.low).carry()

    def column(self, j: int) -> ExactSum:
        """The cells of one column: (G, m + 1)."""
        return ExactSum(np.ascontiguousarray(self.cells.limbs[:, j]), self.cells.low)

    def arrays(self) -> dict[str, Array]:
        return self.cells.arrays("cells")

    def with_arrays(self, arrays: Mapping[str, Array]) -> Self:
        cells = ExactSum.from_arrays(arrays, "cells", (self.groups, len(self.columns), len(self.cuts) + 1))
        if cells.negative().any():
            raise ValueError("the weight of a cell is negative")
        return replace(self, cells=cells)


def cell_of(x: Float, cuts: Float) -> Code:
    """The cell of each value among right-closed cuts, -1 where it is missing.

    >>> cell_of(np.array([5.2, 5.3, np.nan]), np.array([5.2, 6.1]))
    array([ 0,  1, -1], dtype=int32)
    """
    return np.where(np.isnan(x), -1, _core.digitize(x, cuts)).astype(np.int32)
