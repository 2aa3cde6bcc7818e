"""Sliced: tables over columns of levels and over numbers cut into intervals, all read as level codes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from bayeskit.arrays import Array, Bool, Code, Float, Int
from bayeskit.data.block import Block, Columns
from bayeskit.data.schema import Column, Schema
from bayeskit.errors import SchemaError
from bayeskit.portable.symbol import place
from bayeskit.statistics.cuts import cell_of
from bayeskit.statistics.exact import ExactSum
from bayeskit.statistics.statistic import Product, sizes_of
from bayeskit.statistics.tables import Tables

LEVELS = "levels"  # the name of tables of every column by itself, where there are any


@dataclass(frozen=True)
class Slices:
    """Columns as levels: those that have levels as they are, numbers by the right-closed interval they lie in.

    Where a missing value is a level of its own, it is one more interval of a column of numbers.
    """

    columns: tuple[str, ...]
    cuts: Mapping[str, tuple[float, ...]]  # of the columns that are numbers, ascending
    missing: frozenset[str] = frozenset()  # the columns of numbers whose missing values are a level

    def __deepcopy__(self, memo: object) -> Slices:
        return self  # a value; its columns may be many

    @classmethod
    def of(cls, columns: Sequence[Column], cuts: Mapping[str, tuple[float, ...]]) -> Slices:
        """Of the columns that are determined; numbers need cuts."""
        known = [c for c in columns if c.numeric or c.coded]
        for column in known:
            if column.numeric and column.name not in cuts:
                raise SchemaError(
                    f"column {column.name!r} had no value when its numbers were to be cut into intervals, and has some "
                    f"now; fit anew with rows that have them"
                )
        numeric = {c.name: cuts[c.name] for c in known if c.numeric}
        missing = frozenset(c.name for c in known if c.numeric and c.missing == "level")
        return cls(tuple(c.name for c in known), numeric, missing)

    @property
    def sizes(self) -> dict[str, int]:
        """Levels of the columns of numbers."""
        return {name: len(cuts) + 1 + (name in self.missing) for name, cuts in self.cuts.items()}

    @property
    def values(self) -> dict[str, Float]:
        """One value of each interval of the columns of numbers: its end, and of the last the next double."""
        cut = {name: np.array(cuts) for name, cuts in self.cuts.items() if cuts}
        return {name: np.append(cuts, np.nextafter(cuts[-1], np.inf)) for name, cuts in cut.items()}

    @cached_property
    def schema(self) -> Schema:
        return Schema(tuple(Column(name, "nominal", "", "as levels") for name in self.columns))

    def codes(self, block: Block) -> Code:
        """Level codes (columns, rows): -1 missing, -2 never seen."""
        if not self.cuts and self.columns == block.schema.coded:
            return block.codes
        out = np.empty((len(self.columns), block.rows), dtype=np.int32)
        for j, name in enumerate(self.columns):
            if name in self.cuts:
                cuts = self.cuts[name]
                cell = cell_of(block.numeric.column(block.schema.numeric_index[name]), np.array(cuts))
                level = name in self.missing and name not in block.hidden
                out[j] = np.where(cell < 0, len(cuts) + 1, cell) if level else cell
            else:
                out[j] = block.codes[block.schema.coded_index[name]]
        return out

    def symbols(self, inputs: Any) -> list[Any]:
        """Level codes of each column of a portable program."""
        found = []
        for name in self.columns:
            if name in self.cuts:
                x, cuts = inputs.number(name), np.array(self.cuts[name])
                absent = len(cuts) + 1.0 if name in self.missing else -1.0
                found.append(np.where(np.isnan(x), absent, place(cuts, x)))
            else:
                found.append(inputs.code(name))
        return found

    def block(self, block: Block) -> Block:
        """The same rows with level codes only."""
        return replace(block, schema=self.schema, numeric=Columns((), block.rows), codes=self.codes(block))


@dataclass(frozen=True)
class Sliced:
    """Tables by name over sliced columns; cuts are given beforehand, so counting, merging and forgetting are exact."""

    slices: Slices
    parts: Product  # of Tables, in the codes of the slices
    missing: Tables  # in the codes of the domain: which columns of numbers have missing and known values

    @classmethod
    def empty(cls, slices: Slices, tables: Mapping[str, Sequence[Sequence[str]]], n_groups: int) -> Sliced:
        sizes = {name: (np.empty(0, dtype=np.int64), size) for name, size in slices.sizes.items()}
        parts = Product({name: Tables.empty(sets, n_groups) for name, sets in tables.items()}, n_groups)
        missing = Tables.empty([(name,) for name in slices.columns if name in slices.missing], n_groups)
        return cls(slices, parts.place(np.arange(n_groups), n_groups, sizes) if sizes else parts, missing)

    def __getitem__(self, name: str) -> Tables:
        return self.parts.part(name, Tables)

    @property
    def levels(self) -> Tables:
        """Of every column by itself."""
        return self[LEVELS]

    @property
    def cuts(self) -> dict[str, tuple[float, ...]]:
        """Those of the columns of numbers."""
        return dict(self.slices.cuts)

    @property
    def groups(self) -> int:
        return self.parts.groups

    @property
    def sizes(self) -> dict[str, int]:
        """Levels of the columns that have some in the domain."""
        return {n: size for n, size in self.parts.sizes.items() if n not in self.slices.cuts} | dict(self.missing.sizes)

    def update(self, block: Block, /) -> Self:
        parts = self.parts.update(self.slices.block(block))
        return replace(self, parts=parts, missing=self.missing.update(block) if self.missing.tables else self.missing)

    def place(self, groups: Int, n_groups: int, levels: Mapping[str, tuple[Int, int]]) -> Self:
        own = {name: moves for name, moves in levels.items() if name not in self.slices.cuts}
        parts, missing = self.parts.place(groups, n_groups, own), self.missing.place(groups, n_groups, levels)
        return replace(self, parts=parts, missing=missing)

    def over_columns(self, like: Self, /) -> Self:
        return replace(like, parts=self.parts.over_columns(like.parts), missing=self.missing.over_columns(like.missing))

    def merge(self, other: Self, /) -> Self:
        return replace(self, parts=self.parts.merge(other.parts), missing=self.missing.merge(other.missing))

    def subtract(self, other: Self, /) -> Self:
        return replace(self, parts=self.parts.subtract(other.parts), missing=self.missing.subtract(other.missing))

    def occupancy(self) -> tuple[Bool, dict[str, Bool]]:
        # a cell of several columns has weight only where each of them has
        alone = self.parts.parts.get(LEVELS)
        groups, levels = self.parts.occupancy() if alone is None else alone.occupancy()
        missing = self.missing.occupancy()[1]
        return groups, {name: used for name, used in levels.items() if name not in self.slices.cuts} | missing

    def column_weights(self) -> Iterable[tuple[str, ExactSum]]:
        return self.parts.column_weights()

    def arrays(self) -> dict[str, Array]:
        return {**self.parts.arrays(), **{f"holes/{name}": array for name, array in self.missing.arrays().items()}}

    def with_arrays(self, arrays: Mapping[str, Array]) -> Self:
        missing = {name.removeprefix("holes/"): array for name, array in arrays.items() if name.startswith("holes/")}
        back = replace(self, parts=self.parts.with_arrays(arrays), missing=self.missing.with_arrays(missing))
        for part in back.parts.parts.values():
            for name, size in self.slices.sizes.items():
                if sizes_of(part).get(name, size) != size:
                    raise ValueError(f"column {name!r} has other intervals than its cuts make")
        return back
