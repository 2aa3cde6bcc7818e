"""Scattered: exact sums by group and column of which most are zero, kept where they are not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from bayeskit import _core
from bayeskit.arrays import Array, Float, Int
from bayeskit.statistics.exact import ExactSum


@dataclass(frozen=True)
class Scattered:
    """Group g has the cells starts[g] to starts[g + 1]; what has no cell is zero.

    >>> sums = Scattered.of(ExactSum(np.array([[[0], [3]], [[2], [0]]]), 0))
    >>> sums.columns.tolist(), sums.cells.to_float().tolist(), sums.across.to_float().tolist()
    ([1, 0], [3.0, 2.0], [3.0, 2.0])
    """

    starts: Int  # (G + 1,)
    columns: Array  # (cells,) int32, in order in each group
    cells: ExactSum  # (cells,)
    width: int

    @classmethod
    def zeros(cls, groups: int, width: int) -> Scattered:
        starts = np.zeros(groups + 1, dtype=np.int64)
        return cls(starts, np.zeros(0, dtype=np.int32), ExactSum.zeros((0,)), width)

    @classmethod
    def of(cls, dense: ExactSum) -> Scattered:
        """From sums (G, d)."""
        keys = np.flatnonzero(dense.nonzero())
        cells = ExactSum(dense.limbs.reshape(-1, dense.limbs.shape[-1])[keys], dense.low)
        return cls._at(keys, cells, *dense.shape)

    @classmethod
    def _at(cls, keys: Int, cells: ExactSum, groups: int, width: int) -> Scattered:
        """Cells at ascending places group * width + column."""
        starts = np.searchsorted(keys, np.arange(groups + 1) * width).astype(np.int64)
        columns = keys - np.repeat(np.arange(groups) * width, np.diff(starts))
        return cls(starts, columns.astype(np.int32), cells, width)

    @classmethod
    def _sum(cls, keys: Int, cells: ExactSum, groups: int, width: int) -> Scattered:
        """The same of places in any order; cells at one place are added up."""
        if not len(keys):
            return cls.zeros(groups, width)
        order = np.argsort(keys, kind="stable")
        first = np.flatnonzero(np.diff(keys[order], prepend=-1))
        sums = ExactSum(np.add.reduceat(cells.limbs[order], first, axis=0), cells.low).carry()
        kept = np.flatnonzero(sums.nonzero())
        return cls._at(keys[order[first[kept]]], ExactSum(sums.limbs[kept], sums.low), groups, width)

    @property
    def groups(self) -> int:
        return len(self.starts) - 1

    @property
    def shape(self) -> tuple[int, int]:
        return self.groups, self.width

    @property
    def owner(self) -> Int:
        """The group of each cell: (cells,)."""
        return np.repeat(np.arange(self.groups), np.diff(self.starts))

    @property
    def keys(self) -> Int:
        """group * width + column of each cell: (cells,)."""
        return self.owner * self.width + self.columns

    @cached_property
    def dense(self) -> ExactSum:
        """All sums, zeros too: (G, d)."""
        limbs = np.zeros((self.groups * self.width, self.cells.limbs.shape[-1]), dtype=np.int64)
        limbs[self.keys] = self.cells.limbs
        return ExactSum(limbs.reshape(*self.shape, limbs.shape[-1]), self.cells.low)

    @cached_property
    def across(self) -> ExactSum:
        """The sum over the columns: (G,)."""
        return self.cells.stretches(self.starts)

    def pool(self) -> Scattered:
        """The sum over the groups, as one."""
        return self.place(np.zeros(self.groups, dtype=np.int64), 1)

    def times(self, limbs: int) -> Scattered:
        """The same times 2^(32 limbs)."""
        return Scattered(self.starts, self.columns, ExactSum(self.cells.limbs, self.cells.low + limbs), self.width)

    def __add__(self, other: Scattered) -> Scattered:
        return self._combine(other, 1) if len(self.columns) else other

    def __sub__(self, other: Scattered) -> Scattered:
        return self._combine(other, -1)

    def _combine(self, other: Scattered, sign: int) -> Scattered:
        low, high = min(self.cells.low, other.cells.low), max(self.cells.high, other.cells.high)
        mine, theirs = self.cells.widen(low, high), other.cells.widen(low, high)
        limbs = np.concatenate([mine.limbs, sign * theirs.limbs])
        return Scattered._sum(np.concatenate([self.keys, other.keys]), ExactSum(limbs, low), *self.shape)

    def place(self, index: Int, n: int, axis: int = 0) -> Scattered:
        """Groups or columns moved to ``index`` (many-to-one sums, -1 drops) among n."""
        if n == len(index) == self.shape[axis] and np.array_equal(index, np.arange(n)):
            return self
        groups, columns = (index[self.owner], self.columns) if axis == 0 else (self.owner, index[self.columns])
        shape = (n, self.width) if axis == 0 else (self.groups, n)
        kept = np.flatnonzero((groups >= 0) & (columns >= 0))
        keys = groups[kept].astype(np.int64) * shape[1] + columns[kept]
        return Scattered._sum(keys, ExactSum(self.cells.limbs[kept], self.cells.low), *shape)

    def logs(self, smoothing: float, size: Float, rest: Float | None = None) -> Float:
        """log(sum + smoothing) - size of the group: (columns, G). ``rest`` stands for the sums that have no cell."""
        out = np.empty(self.shape[::-1])
        none = np.zeros(self.groups) if rest is None else rest
        _core.sparse_log_table(self.starts, self.columns, self.cells.to_float(), none, smoothing, size, out)
        return out

    def fraction(self, group: int, column: int) -> Fraction:
        """One sum as an exact fraction."""
        return self.dense.fraction(group, column)

    def arrays(self, name: str) -> dict[str, Array]:
        return self.dense.arrays(name)

    @staticmethod
    def from_arrays(arrays: Mapping[str, Array], name: str, shape: tuple[int, int]) -> Scattered:
        return Scattered.of(ExactSum.from_arrays(arrays, name, shape))
