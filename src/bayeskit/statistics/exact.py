"""ExactSum: sums of doubles without rounding; Scattered: those of which most are zero, kept where they are not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

import numpy as np

from bayeskit import _core
from bayeskit.arrays import Array, Bool, Float, Int

HALF = 1 << 31
FULL = 2**32  # more than any limb of a canonical sum
DOUBT = 2.0**-10  # a difference of doubles below this share of them is computed from the exact sums


@dataclass(frozen=True)
class ExactSum:
    """An array of exact sums.

    >>> tenth = ExactSum.zeros((1,)).widen(-2, 3)
    >>> tenth.shape, tenth.to_float()
    ((1,), array([0.]))
    """

    limbs: Int  # (*shape, L)
    low: int

    @classmethod
    def zeros(cls, shape: tuple[int, ...]) -> ExactSum:
        return cls(np.zeros((*shape, 1), dtype=np.int64), 0)

    @classmethod
    def of(cls, values: Float) -> ExactSum:
        """Numbers of at least 0, (n,), as sums of one term each."""
        light, heavy = weight_range(values)
        out = cls.zeros((len(values), 1)).room(*_core.limb_window(1.0, 1.0, 0, light, heavy))
        one = np.zeros(1)
        where, still = np.array([one.ctypes.data], dtype=np.uint64), np.zeros(1, dtype=np.int64)
        codes, spare = np.arange(len(values), dtype=np.int32), cls.zeros((len(values), 1))
        nothing = (spare.limbs, spare.low)
        _core.add_moments(where, still, len(values), codes, values, out.limbs, out.low, *nothing, *nothing)
        return cls(out.limbs[:, 0], out.low).carry()

    @property
    def shape(self) -> tuple[int, ...]:
        return self.limbs.shape[:-1]

    @property
    def high(self) -> int:
        return self.low + int(self.limbs.shape[-1])

    def widen(self, low: int, high: int) -> ExactSum:
        """The same sums over a window that holds limbs low..high-1; itself if it does already."""
        below, above = max(self.low - low, 0), max(high - self.high, 0)
        if not below and not above:
            return self
        limbs = np.zeros((*self.shape, below + self.limbs.shape[-1] + above), dtype=np.int64)
        limbs[..., below : below + self.limbs.shape[-1]] = self.limbs
        return ExactSum(limbs, self.low - below).carry()

    def room(self, low: int, high: int) -> ExactSum:
        """A copy over a window at least that wide, to be added to in place."""
        wide = self.widen(low, high)
        return ExactSum(wide.limbs.copy(), wide.low) if wide is self else wide

    def carry(self) -> ExactSum:
        """Carries resolved in place, one limb added where the top one is full."""
        if _core.carry_limbs(self.limbs.reshape(-1, self.limbs.shape[-1])):
            wide = np.zeros((*self.shape, self.limbs.shape[-1] + 1), dtype=np.int64)
            wide[..., :-1] = self.limbs
            return ExactSum(wide, self.low).carry()
        return self

    def canonical(self) -> ExactSum:
        """The shortest window: equal sums have equal canonical limbs."""
        flat = self.carry().limbs
        low, width = self.low, flat.shape[-1]
        while width > 1:  # fold the top limb down while the one below can carry its sign
            top = flat[..., width - 2] + (flat[..., width - 1] << 32)
            fits = (np.abs(flat[..., width - 1]) <= 1) & (top >= -HALF) & (top < HALF)
            if not fits.all():
                break
            flat = flat.copy()
            flat[..., width - 2] = top
            width -= 1
        flat = flat[..., :width]
        used = np.flatnonzero(np.any(flat != 0, axis=tuple(range(flat.ndim - 1))))
        if not len(used):
            return ExactSum.zeros(self.shape)
        flat = flat[..., used[0] :]
        return ExactSum(np.ascontiguousarray(flat), low + int(used[0]))

    def _combine(self, other: ExactSum, sign: int) -> ExactSum:
        low, high = min(self.low, other.low), max(self.high, other.high)
        mine, theirs = self.widen(low, high), other.widen(low, high)
        return ExactSum(mine.limbs + sign * theirs.limbs, low).carry()

    def __add__(self, other: ExactSum) -> ExactSum:
        return self._combine(other, 1)

    def __sub__(self, other: ExactSum) -> ExactSum:
        return self._combine(other, -1)

    def place(self, index: Int, n: int, axis: int = 0) -> ExactSum:
        """Entries along an axis moved to ``index`` (many-to-one sums, -1 drops) among n."""
        if n == len(index) == self.shape[axis] and np.array_equal(index, np.arange(n)):
            return self
        moved = np.moveaxis(self.limbs, axis, 0)
        kept = np.flatnonzero(index >= 0)
        if n == 1 and len(kept) == len(index) > 0:
            return ExactSum(np.ascontiguousarray(self.limbs.sum(axis=axis, keepdims=True)), self.low).carry()
        if np.bincount(index[kept], minlength=1).max() <= 1:
            whole = np.zeros((*self.shape[:axis], n, *self.limbs.shape[axis + 1 :]), dtype=np.int64)
            if axis == 0:  # one block each, without a copy of them all between
                for old in kept.tolist():
                    whole[index[old]] = self.limbs[old]
            else:
                np.moveaxis(whole, axis, 0)[index[kept]] = moved[kept]
            return ExactSum(whole, self.low)  # nothing to carry
        out = np.zeros((n, *moved.shape[1:]), dtype=np.int64)
        order = kept[np.argsort(index[kept], kind="stable")]
        first = np.flatnonzero(np.diff(index[order], prepend=-1))
        out[index[order[first]]] = np.add.reduceat(moved[order], first, axis=0)
        return ExactSum(np.ascontiguousarray(np.moveaxis(out, 0, axis)), self.low).carry()

    def total(self) -> ExactSum:
        """The sum over axis 0, kept as an axis of one."""
        return ExactSum(self.limbs.sum(axis=0, keepdims=True), self.low).carry()

    def stretches(self, starts: Int) -> ExactSum:
        """Sums over (n,) from one start to the next: (starts - 1,)."""
        return ExactSum(_core.sparse_group_sums(starts, self.limbs), self.low).carry()

    @cached_property
    def across(self) -> ExactSum:
        """The sum over the second of two axes: (G,) of (G, d)."""
        return self.flat().stretches(np.arange(self.shape[0] + 1) * self.shape[1])

    def to_float(self) -> Float:
        """Each sum rounded once to a double."""
        flat = np.ascontiguousarray(self.limbs.reshape(-1, self.limbs.shape[-1]))
        return _core.round_sums(flat, self.low).reshape(self.shape)

    def flat(self) -> ExactSum:
        """The same sums along one axis."""
        return ExactSum(self.limbs.reshape(-1, self.limbs.shape[-1]), self.low)

    def without(self, index: Int, mass: Float) -> Float:
        """Cell index[i] without mass[i], for each i: (n,). Exact where the difference would cancel; (cells,) only."""
        cell = self.to_float()[index]
        left = cell - mass
        doubt = np.flatnonzero(~(left > DOUBT * cell) | ~np.isfinite(cell))
        if len(doubt):
            cells = ExactSum(self.limbs[index[doubt]], self.low)
            left[doubt] = (cells - ExactSum.of(mass[doubt])).to_float()
        return left

    def negative(self) -> Bool:
        below: Bool = self.limbs[..., -1] < 0
        return below

    def nonzero(self) -> Bool:
        used: Bool = self.limbs[..., 0] != 0
        for place in range(1, self.limbs.shape[-1]):  # limb by limb: reducing a short last axis is slow
            used |= self.limbs[..., place] != 0
        return used

    def keep(self, kept: Bool) -> ExactSum:
        """The same sums, 0 where they are not kept: a mask over the cells."""
        return ExactSum(np.where(kept[..., None], self.limbs, 0), self.low)

    def fraction(self, *cell: int) -> Fraction:
        """One cell as an exact fraction."""
        number = sum(int(limb) << (32 * place) for place, limb in enumerate(self.limbs[cell]))
        return Fraction(number) * Fraction(2) ** (32 * self.low)

    def arrays(self, name: str) -> dict[str, Array]:
        short = self.canonical()
        return {name: short.limbs, f"{name}.low": np.array([short.low], dtype=np.int64)}

    @staticmethod
    def from_arrays(arrays: Mapping[str, Array], name: str, shape: tuple[int, ...]) -> ExactSum:
        limbs = np.array(arrays[name], dtype=np.int64)
        if limbs.shape[:-1] != shape or limbs.shape[-1] < 1:
            raise ValueError(f"{name} has shape {limbs.shape}, expected {(*shape, 'limbs')}")
        if not ((limbs >= -FULL) & (limbs <= FULL)).all() or arrays[f"{name}.low"].shape != (1,):
            raise ValueError(f"{name} is not in canonical form")
        whole = ExactSum(limbs, int(arrays[f"{name}.low"][0]))
        if not -400 <= whole.low <= 400 or whole.limbs.shape[-1] > 400:
            raise ValueError(f"{name} has an impossible exponent")
        short = whole.canonical()
        if short.low != whole.low or not np.array_equal(short.limbs, limbs):
            raise ValueError(f"{name} is not in canonical form")
        return short


def weight_range(weights: Float) -> tuple[float, float]:
    """Smallest nonzero and largest weight."""
    used = weights[weights > 0]
    return (float(used.min()), float(used.max())) if len(used) else (1.0, 1.0)


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

    def column(self, j: int) -> Float:
        """The sums of one column, each rounded once: (G,)."""
        out = np.zeros(self.groups)
        for group, (start, end) in enumerate(pairwise(self.starts.tolist())):
            at = start + int(np.searchsorted(self.columns[start:end], j))
            if at < end and self.columns[at] == j:
                out[group] = ExactSum(self.cells.limbs[at : at + 1], self.cells.low).to_float()[0]
        return out

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
