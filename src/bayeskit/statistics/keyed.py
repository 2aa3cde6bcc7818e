"""Keyed: a statistic by group and by what a row holds, a cell of levels or a pattern of missing values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from bayeskit._core import RangeRow
from bayeskit.arrays import Array, Bool, Int
from bayeskit.data.block import Block
from bayeskit.errors import InputError
from bayeskit.statistics.exact import ExactSum

PATTERNS = 4096


@dataclass(frozen=True)
class Keyed:
    """One state of another statistic for each key that occurs, never for all that could.

    A key is the group and, column by column, the level (or 0 for a number that is there), -1 for a missing value. Rows
    with missing values only are not counted.
    """

    span: Mapping[str, int]  # codes of each column: its levels, or one for a number that is there
    groups: int
    keys: Int  # (C, 1 + columns), in order
    inner: Any  # a statistic of C groups
    patterns: bool = False  # whether numbers are asked if they are there, instead of levels

    @classmethod
    def empty(cls, columns: Sequence[str], inner: object, n_groups: int, patterns: bool = False) -> Keyed:
        """Nothing counted yet; ``inner`` is a statistic of no group."""
        return cls(dict.fromkeys(columns, 1 if patterns else 0), n_groups, _no_keys(len(columns)), inner, patterns)

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.span)

    @property
    def sizes(self) -> Mapping[str, int]:
        """Levels of the columns counted by level."""
        return {} if self.patterns else self.span

    def update(self, block: Block, /) -> Self:
        if block.groups is None or not block.rows or not self.span:
            return self
        counted = block.groups >= 0
        if block.weights is not None:
            counted &= block.weights > 0
        varying, codes = self._codes(block)
        if len(varying) == len(self.span):
            counted &= (codes >= 0).any(axis=0)
        rows = np.flatnonzero(counted)
        cells, each = distinct(np.column_stack([block.groups[rows], codes[:, rows].T]))
        found = np.zeros((len(cells), 1 + len(self.span)), dtype=np.int64)
        found[:, [0, *(1 + varying)]] = cells
        wide = self._over(found)
        index = np.full(block.rows, -1, dtype=np.int32)
        index[rows] = _positions(found, wide.keys)[each]
        return replace(wide, inner=wide.inner.update(replace(block, groups=index)))

    def _codes(self, block: Block) -> tuple[Int, Int]:
        """The columns in which rows may differ, and what each row holds there, (columns, rows); 0 in the others."""
        if not self.patterns:
            return np.arange(len(self.span)), np.maximum(block.codes[block.code_positions(self.columns)], -1).astype(
                np.int64
            )
        columns, span = block.numbers(self.columns)
        varying = np.flatnonzero(span[RangeRow.MISSING])
        codes = np.empty((len(varying), block.rows), dtype=np.int64)
        for at, j in enumerate(varying.tolist()):
            codes[at] = -np.isnan(columns.column(j)).astype(np.int64)
        return varying, codes

    def _over(self, more: Int) -> Self:
        """The same counts with room for further keys."""
        keys, _ = distinct(np.concatenate([self.keys, more]))
        if len(keys) == len(self.keys):
            return self
        if self.patterns and len(keys) > PATTERNS and (many := len(distinct(keys[:, 1:])[0])) > PATTERNS:
            raise InputError(
                f"the rows have {many} patterns of missing values, more than {PATTERNS}; pass missing='available' "
                f"to take every two columns from the rows that hold both, or drop columns with many missing values"
            )
        inner = self.inner.place(_positions(self.keys, keys), len(keys), {})
        return replace(self, keys=keys, inner=inner)

    def place(self, groups: Int, n_groups: int, levels: Mapping[str, tuple[Int, int]]) -> Self:
        sizes, keys = dict(self.span), self.keys.copy()
        keys[:, 0] = np.asarray(groups, dtype=np.int64)[keys[:, 0]] if len(keys) else keys[:, 0]
        for j, name in enumerate(self.columns, 1):
            if name in levels and not self.patterns:
                codes, sizes[name] = levels[name]
                keys[:, j] = np.append(codes, -1)[keys[:, j]]
        kept = np.flatnonzero((keys[:, 0] >= 0) & (keys[:, 1:] >= 0).any(axis=1))
        found, each = distinct(keys[kept])
        index = np.full(len(keys), -1, dtype=np.int64)
        index[kept] = each
        return replace(self, span=sizes, groups=n_groups, keys=found, inner=self.inner.place(index, len(found), {}))

    def without_missing(self) -> Self:
        """The keys in which no column is missing."""
        kept = (self.keys[:, 1:] >= 0).all(axis=1)
        index = np.where(kept, np.cumsum(kept) - 1, -1)
        return replace(self, keys=self.keys[kept], inner=self.inner.place(index, int(kept.sum()), {}))

    def over_columns(self, like: Self, /) -> Self:
        sizes = {name: self.span.get(name, size) for name, size in like.span.items()}
        keys = np.full((len(self.keys), 1 + len(sizes)), -1, dtype=np.int64)
        keys[:, [0, *(1 + like.columns.index(name) for name in self.columns)]] = self.keys
        order = np.lexsort(keys.T[::-1])
        inner = self.inner.over_columns(like.inner).place(np.argsort(order), len(order), {})
        return replace(self, span=sizes, keys=keys[order], inner=inner)

    def merge(self, other: Self, /) -> Self:
        mine, theirs = self._over(other.keys), other._over(self.keys)
        return replace(mine, inner=mine.inner.merge(theirs.inner))

    def subtract(self, other: Self, /) -> Self:
        mine, theirs = self._over(other.keys), other._over(self.keys)
        left = replace(mine, inner=mine.inner.subtract(theirs.inner))
        used, _ = left.inner.occupancy()
        index = np.where(used, np.cumsum(used) - 1, -1)
        return replace(left, keys=left.keys[used], inner=left.inner.place(index, int(used.sum()), {}))

    def occupancy(self) -> tuple[Bool, dict[str, Bool]]:
        groups = np.zeros(self.groups, dtype=bool)
        groups[self.keys[:, 0]] = True
        if self.patterns:
            return groups, {}
        used = {name: np.zeros(size + 1, dtype=bool) for name, size in self.span.items()}
        for j, name in enumerate(self.columns, 1):
            used[name][self.keys[:, j]] = True
        return groups, {name: levels[:-1] for name, levels in used.items()}

    def column_weights(self) -> Iterator[tuple[str, ExactSum]]:
        for name, weight in self.inner.column_weights():
            yield name or " x ".join(self.columns), weight.place(self.keys[:, 0], self.groups)

    def arrays(self) -> dict[str, Array]:
        inner = {f"of/{name}": array for name, array in self.inner.arrays().items()}
        return {"sizes": np.array(list(self.span.values()), dtype=np.int64), "keys": self.keys, **inner}

    def with_arrays(self, arrays: Mapping[str, Array]) -> Self:
        keys, sizes = np.asarray(arrays["keys"]), np.asarray(arrays["sizes"])
        if keys.shape != (len(keys), 1 + len(self.span)) or sizes.shape != (len(self.span),) or (sizes < 0).any():
            raise ValueError("the keys do not fit the columns")
        empty = self.inner.place(np.full(self.inner.groups, -1, dtype=np.int64), len(keys), {})
        mine = {name.removeprefix("of/"): array for name, array in arrays.items() if name.startswith("of/")}
        inner = empty.with_arrays(mine)
        low, high = np.r_[0, np.full(len(sizes), -1)], np.r_[self.groups, sizes]
        if not ((keys >= low) & (keys < high)).all() or not (keys[:, 1:] >= 0).any(axis=1).all():
            raise ValueError("a key is negative, or of no group or level there is")
        if len(distinct(keys)[0]) < len(keys) or not np.array_equal(distinct(keys)[0], keys):
            raise ValueError("the keys are not in order")
        if not inner.occupancy()[0].all():
            raise ValueError("a key has no weight")
        known = dict(zip(self.columns, sizes.tolist(), strict=True))
        return replace(self, span=known, keys=np.array(keys, dtype=np.int64), inner=inner)


def _no_keys(columns: int) -> Int:
    return np.empty((0, 1 + columns), dtype=np.int64)


def distinct(keys: Int | Bool) -> tuple[Int, Int]:
    """The different rows in order, and which of them each row is."""
    place = np.zeros(len(keys), dtype=np.int64)
    if len(keys) and (keys == keys[0]).all():
        return np.asarray(keys[:1], dtype=np.int64), place
    for column in keys.T:  # numbers of the beginnings, one column longer at a time: they never outgrow the rows
        low = int(column.min(initial=0))
        span = int(column.max(initial=0)) - low + 1
        if span > 1:
            place = _ranks(place * span + (column - low))
    first = np.empty(int(place.max(initial=-1)) + 1, dtype=np.int64)
    first[place[::-1]] = np.arange(len(keys))[::-1]
    return np.asarray(keys[first], dtype=np.int64), place


def _ranks(numbers: Int) -> Int:
    """Each number of at least 0 replaced by its rank among the different ones."""
    most = int(numbers.max(initial=0))
    if most > 4 * len(numbers):
        return np.unique(numbers, return_inverse=True)[1]
    used = np.zeros(most + 1, dtype=np.int64)
    used[numbers] = 1
    return (np.cumsum(used) - 1)[numbers]


def _positions(wanted: Int, keys: Int) -> Int:
    """Where each of some keys stands among keys that hold them all."""
    _, place = distinct(np.concatenate([keys, wanted]))
    return place[len(keys) :]
