"""Tables: contingency counts by group, of any arity."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import chain
from math import prod
from typing import Self

import numpy as np

from bayeskit import _core
from bayeskit.arrays import Array, Bool, Code, Float, Int
from bayeskit.data.block import Block
from bayeskit.errors import ForgetError, InputError
from bayeskit.statistics.exact import ExactSum, weight_range

PAIRS_AT_ONCE = 8
COUNTS = 0, 1  # the limbs of rows of weight 1: carries add another where 2^31 are exceeded
MOST_CELLS = 1 << 28  # of all tables and groups together: 2 GB


@dataclass(frozen=True)
class Members:
    """Which columns stand in which table, however many levels they have."""

    tables: tuple[tuple[str, ...], ...]

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(chain.from_iterable(self.tables)))

    @cached_property
    def start(self) -> Int:  # (tables + 1,) where each table's columns begin in ``used``
        return np.cumsum([0, *map(len, self.tables)], dtype=np.int64)

    @cached_property
    def used(self) -> Int:  # the columns of all tables, as positions in ``columns``
        place = {name: j for j, name in enumerate(self.columns)}
        return np.array([place[n] for n in chain.from_iterable(self.tables)], dtype=np.int64)

    @cached_property
    def padded(self) -> Int:  # (tables, most columns of a table), in front filled up with a column of one level
        most = max(map(len, self.tables), default=0)
        out = np.full((len(self.tables), most), len(self.columns), dtype=np.int64)
        for arity in {len(t) for t in self.tables} - {0}:
            chosen = np.flatnonzero(np.diff(self.start) == arity)
            out[chosen, most - arity :] = self.used[self.start[chosen][:, None] + np.arange(arity)]
        return out

    @cached_property
    def number(self) -> Mapping[tuple[str, ...], int]:
        return {columns: t for t, columns in enumerate(self.tables)}

    @cached_property
    def only_pairs(self) -> bool:
        return len(self.tables) >= PAIRS_AT_ONCE and bool((np.diff(self.start) == 2).all())


@lru_cache(maxsize=16)
def _members(tables: tuple[tuple[str, ...], ...]) -> Members:
    """One object for all statistics over the same tables: what it works out is worked out once."""
    return Members(tables)


@dataclass(frozen=True)
class Layout:
    """Tables over columns of so many levels, and where each table's cells begin; kept from batch to batch."""

    members: Members
    sizes: Mapping[str, int]  # in the order of the columns

    def __deepcopy__(self, memo: object) -> Layout:
        return self  # a value; its tables may be many

    @property
    def tables(self) -> tuple[tuple[str, ...], ...]:
        return self.members.tables

    @cached_property
    def offset(self) -> Int:  # (tables + 1,)
        if self.members.padded.shape[1] > 2:  # Python's integers do not overflow
            return np.cumsum([0, *(prod(self.sizes[n] for n in t) for t in self.tables)], dtype=np.int64)
        widths = np.append(self.levels, 1).astype(np.int64)[self.members.padded].prod(axis=1)
        return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(widths)])

    @cached_property
    def cells(self) -> tuple[Int, Int]:  # of each cell its table, and its place in it
        table = np.repeat(np.arange(len(self.tables)), np.diff(self.offset))
        return table, np.arange(self.offset[-1]) - self.offset[table]

    @cached_property
    def levels(self) -> Code:  # (columns,)
        return np.array(list(self.sizes.values()), dtype=np.int32)

    def check(self, groups: int) -> None:
        """Refuse tables that memory should not be spent on."""
        if self.offset[-1] * max(groups, 1) <= MOST_CELLS:
            return
        widest = self.tables[int(np.argmax(np.diff(self.offset)))]
        about = " x ".join(f"{name!r} ({self.sizes[name]:,} levels)" for name in widest)
        raise InputError(
            f"the counts of {about} and others would have {int(self.offset[-1]) * groups:,} cells, more than "
            f"{MOST_CELLS:,}; leave out columns that name their rows, or join levels"
        )

    @property
    def spans(self) -> Iterator[tuple[tuple[str, ...], int, int]]:
        """Each table with the first and the last + 1 of its cells."""
        return zip(self.tables, self.offset[:-1].tolist(), self.offset[1:].tolist(), strict=True)


@dataclass(frozen=True)
class Tables:
    """Weights of the cells of several tables; a table over no column counts the rows of each group."""

    layout: Layout
    cells: ExactSum  # (G, all cells of all tables one after the other, last column fastest)

    @classmethod
    def empty(cls, tables: Sequence[Sequence[str]], n_groups: int) -> Tables:
        members = _members(tuple(map(tuple, tables)))
        whole = members.tables.count(())
        return cls(Layout(members, dict.fromkeys(members.columns, 0)), ExactSum.zeros((n_groups, whole)))

    @property
    def groups(self) -> int:
        return self.cells.shape[0]

    @property
    def tables(self) -> tuple[tuple[str, ...], ...]:
        return self.layout.tables

    @property
    def sizes(self) -> Mapping[str, int]:
        return self.layout.sizes

    def update(self, block: Block, /) -> Self:
        if block.groups is None or not block.rows:
            return self
        weights = block.weights
        cells = self.cells.room(
            *(COUNTS if weights is None else _core.limb_window(1.0, 1.0, 0, *weight_range(weights)))
        )
        layout = self.layout
        position = block.code_positions(layout.members.columns)
        size = np.zeros(len(block.codes), dtype=np.int32)
        size[position] = layout.levels
        columns = position[layout.members.used]
        begin = layout.offset[:-1]
        if block.weights is None and layout.members.only_pairs:
            _core.count_pairs(block.codes, block.groups, columns.reshape(-1, 2), size, begin, cells.limbs, cells.low)
        else:
            start = layout.members.start
            _core.count_tables(
                block.codes, block.groups, block.weights, columns, start, size, begin, cells.limbs, cells.low
            )
        return replace(self, cells=cells.carry())

    def place(self, groups: Int, n_groups: int, levels: Mapping[str, tuple[Int, int]]) -> Self:
        sizes = {name: levels[name][1] if name in levels else old for name, old in self.sizes.items()}
        layout = Layout(self.layout.members, sizes)
        layout.check(n_groups)
        same = all(
            sizes[n] == old and (n not in levels or np.array_equal(levels[n][0], np.arange(old)))
            for n, old in self.sizes.items()
        )
        if same:
            cells = self.cells
        elif not self.cells.shape[1]:  # nothing to move
            cells = ExactSum(np.zeros((self.groups, int(layout.offset[-1]), 1), dtype=np.int64), self.cells.low)
        else:
            cells = self.cells.place(self._moves(layout, levels), int(layout.offset[-1]), axis=1)
        return replace(self, layout=self.layout if same else layout, cells=cells.place(groups, n_groups))

    def _moves(self, placed: Layout, levels: Mapping[str, tuple[Int, int]]) -> Int:
        """Where each cell goes, -1 where one of its levels is dropped; all tables at once."""
        codes = [levels[n][0] if n in levels else np.arange(size) for n, size in self.sizes.items()]
        begin = np.cumsum([0, *map(len, codes)], dtype=np.int64)
        whole = np.concatenate([*codes, np.zeros(1, dtype=np.int64)])  # the last is for tables of fewer columns
        old, new = np.append(self.layout.levels, 1).astype(np.int64), np.append(placed.levels, 1).astype(np.int64)
        table, rest = self.layout.cells
        cell, step, gone = placed.offset[table], np.ones_like(rest), np.zeros(len(rest), dtype=bool)
        for column in self.layout.members.padded.T[::-1]:
            of = column[table]
            rest, level = np.divmod(rest, old[of])
            code = whole[begin[of] + level]
            gone |= code < 0
            cell += np.maximum(code, 0) * step
            step *= new[of]
        return np.where(gone, -1, cell)

    def over_columns(self, like: Self, /) -> Self:
        sizes = {name: self.sizes.get(name, 0) for name in like.sizes}
        wide = Layout(like.layout.members, sizes)
        where = dict(zip(wide.tables, wide.offset.tolist(), strict=False))
        index = [np.empty(0, dtype=np.int64)]
        for t, begin, end in self.layout.spans:
            index.append(where[t] + np.arange(end - begin))
        return replace(self, layout=wide, cells=self.cells.place(np.concatenate(index), int(wide.offset[-1]), axis=1))

    def merge(self, other: Self, /) -> Self:
        return replace(self, cells=self.cells + other.cells)

    def subtract(self, other: Self, /) -> Self:
        cells = self.cells - other.cells
        wrong = np.argwhere(cells.negative())
        if len(wrong):
            table = self.tables[int(np.searchsorted(self.layout.offset, wrong[0][1], side="right")) - 1]
            where = f"a count of {' x '.join(table)}" if table else "the weight of a class"
            raise ForgetError(
                f"these rows cannot have been learned: without them {where} would be negative; "
                f"the model stays as it was"
            )
        return replace(self, cells=cells)

    def occupancy(self) -> tuple[Bool, dict[str, Bool]]:
        used = self.cells.nonzero()
        anywhere: Bool = np.asarray(used.any(axis=0))
        table, rest = (of[anywhere] for of in self.layout.cells)
        sizes = np.append(self.layout.levels, 1).astype(np.int64)
        begin = np.cumsum([0, *sizes])
        marked = np.zeros(begin[-1], dtype=bool)
        for column in self.layout.members.padded.T[::-1]:
            rest, level = np.divmod(rest, sizes[column[table]])
            marked[begin[column[table]] + level] = True
        places = begin.tolist()
        levels = {name: marked[places[j] : places[j + 1]] for j, name in enumerate(self.sizes)}
        return np.asarray(used.any(axis=1)), levels

    def table(self, t: int) -> ExactSum:
        """Table t as an array (G, levels of its first column, ...)."""
        shape = [self.sizes[n] for n in self.tables[t]]
        part = self.cells.limbs[:, self.layout.offset[t] : self.layout.offset[t + 1]]
        return ExactSum(part.reshape(self.groups, *shape, part.shape[-1]), self.cells.low)

    def counts(self, which: Iterable[int]) -> Iterator[Float]:
        """Some tables, rounded: (G, levels of its first column, ...) each."""
        begin, end = (self.layout.offset[side : len(self.tables) + side] for side in (0, 1))
        asked = np.fromiter(which, dtype=np.int64)
        width = end[asked] - begin[asked]
        stop = np.cumsum(width)
        place = np.arange(stop[-1] if len(stop) else 0) + np.repeat(begin[asked] - (stop - width), width)
        whole = ExactSum(self.cells.limbs[:, place], self.cells.low).to_float()
        for t, a, b in zip(asked.tolist(), (stop - width).tolist(), stop.tolist(), strict=True):
            yield whole[:, a:b].reshape(self.groups, *(self.sizes[n] for n in self.tables[t]))

    def apart(self) -> Iterator[Tables]:
        """Each table as a statistic of its own."""
        for names, begin, end in self.layout.spans:
            layout = Layout(Members((names,)), {name: self.sizes[name] for name in names})
            limbs = np.ascontiguousarray(self.cells.limbs[:, begin:end])
            yield Tables(layout, ExactSum(limbs, self.cells.low))

    def column_weights(self) -> Iterator[tuple[str, ExactSum]]:
        """Weight of the rows each table counts by group: (G,) each."""
        for names, begin, end in self.layout.spans:
            yield " x ".join(names), ExactSum(self.cells.limbs[:, begin:end].sum(axis=1), self.cells.low).carry()

    def arrays(self) -> dict[str, Array]:
        return {"sizes": self.layout.levels.astype(np.int64), **self.cells.arrays("cells")}

    def with_arrays(self, arrays: Mapping[str, Array]) -> Self:
        sizes = dict(zip(self.layout.members.columns, np.asarray(arrays["sizes"]).tolist(), strict=True))
        if any(size < 0 for size in sizes.values()):
            raise ValueError("a column has a negative number of levels")
        layout = Layout(self.layout.members, sizes)
        cells = ExactSum.from_arrays(arrays, "cells", (self.groups, int(layout.offset[-1])))
        if cells.negative().any():
            raise ValueError("a count is negative")
        return replace(self, layout=layout, cells=cells)
