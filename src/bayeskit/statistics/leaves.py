"""Leaves: how often each class is in each leaf of trees that are given beforehand."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

import numpy as np

from bayeskit import _core
from bayeskit.arrays import Array, Bool, Code, Float, Int
from bayeskit.data.block import Block, Columns
from bayeskit.data.schema import Column, Schema, names_of
from bayeskit.errors import InputError
from bayeskit.statistics.cuts import cell_of
from bayeskit.statistics.exact import ExactSum
from bayeskit.statistics.tables import Tables
from bayeskit.validation import name_in_files

MISSING = 255  # the code of what no tree knows
MOST = 64  # levels of a column that trees tell apart
NODE = np.dtype([("column", "<i2"), ("majority", "u1"), ("child", "<u2"), ("mask", "<u8")])


@dataclass(frozen=True)
class TreeColumn:
    """A column as trees see it: intervals of numbers, or levels by hash, in at most 64 levels.

    Where missing numbers are a level of their own, it is one more interval. With ``others`` all levels that are not
    listed are one.
    """

    name: str
    cuts: tuple[float, ...] = ()
    levels: tuple[int, ...] = ()
    numeric: bool = False
    missing: bool = field(default=False, metadata=name_in_files("holes"))  # whether missing numbers are a level
    others: bool = False

    def __post_init__(self) -> None:
        apart = np.array(self.cuts, dtype=np.float64)
        if not (np.isfinite(apart).all() and (np.diff(apart) > 0).all() and len(set(self.levels)) == len(self.levels)):
            raise InputError(f"column {self.name!r} of trees has cuts that do not rise, or a level twice")

    @property
    def size(self) -> int:
        return len(self.cuts) + 1 + self.missing if self.numeric else len(self.levels) + self.others

    def codes(self, block: Block) -> Array:
        """(n,)"""
        if self.numeric:
            cell = cell_of(block.numeric.column(block.schema.numeric_index[self.name]), np.array(self.cuts))
            absent = len(self.cuts) + 1 if self.missing and self.name not in block.hidden else MISSING
            return np.where(cell < 0, absent, cell).astype(np.uint8)
        words = block.levels[self.name].words.view(np.int64).tolist() if self.name in block.levels else []
        at = {word: i for i, word in enumerate(self.levels)}
        rest = len(self.levels) if self.others else MISSING
        known = np.array([*(at.get(word, rest) for word in words), MISSING, MISSING], dtype=np.uint8)
        out: Array = known[block.codes[block.schema.coded_index[self.name]]]
        return out


@dataclass(frozen=True)
class Trees:
    """Binary trees, one after the other; their nodes as a text of packed numbers."""

    columns: tuple[TreeColumn, ...]
    sizes: tuple[int, ...]  # nodes of each tree
    nodes: str

    def __post_init__(self) -> None:
        try:
            packed = np.frombuffer(base64.b64decode(self.nodes, validate=True), dtype=NODE)
        except ValueError as error:
            raise InputError("the nodes of trees are no text of packed numbers") from error
        if len(packed) != sum(self.sizes) or any(size < 1 for size in self.sizes) or not self.sizes:
            raise InputError("trees have other nodes than their sizes say")
        if any(not 1 <= column.size <= MOST for column in self.columns):
            raise InputError(f"a column of trees has no level, or more than {MOST}")
        self._route(np.zeros((len(self.columns), 0), dtype=np.uint8))  # refuses what is no tree

    @classmethod
    def grown(cls, columns: Sequence[TreeColumn], found: tuple[Int, Array, Array, Array, Array]) -> Trees:
        """From what the core has grown."""
        start, column, mask, child, majority = found
        packed = np.empty(len(column), dtype=NODE)
        packed["column"], packed["majority"], packed["child"], packed["mask"] = column, majority, child, mask
        return cls(tuple(columns), tuple(np.diff(start).tolist()), base64.b64encode(packed.tobytes()).decode())

    @cached_property
    def arrays(self) -> tuple[Int, Code, Array, Code, Array]:
        """As the core takes them: where each tree begins, and of the nodes column, mask, child and majority."""
        packed = np.frombuffer(base64.b64decode(self.nodes), dtype=NODE)
        start = np.cumsum([0, *self.sizes], dtype=np.int64)
        column, child = packed["column"].astype(np.int32), packed["child"].astype(np.int32)
        return start, column, packed["mask"].astype(np.uint64), child, packed["majority"].astype(np.uint8)

    @cached_property
    def leaf_nodes(self) -> Int:
        """The nodes that are leaves, among all nodes."""
        return np.flatnonzero(self.arrays[1] < 0)

    @cached_property
    def leaf_counts(self) -> tuple[int, ...]:
        """Leaves of each tree."""
        ends = np.searchsorted(self.leaf_nodes, self.arrays[0])
        return tuple(np.diff(ends).tolist())

    @property
    def names(self) -> tuple[str, ...]:
        """What the trees are called where they stand in place of columns."""
        return tuple(f"tree {t}" for t in range(len(self.sizes)))

    @cached_property
    def schema(self) -> Schema:
        return Schema(tuple(Column(name, "nominal", "", "a tree") for name in self.names))

    def codes(self, block: Block) -> Array:
        """Of the columns as trees see them: (d, n)."""
        out = np.empty((len(self.columns), block.rows), dtype=np.uint8)
        for j, column in enumerate(self.columns):
            out[j] = column.codes(block)
        return out

    def _route(self, codes: Array) -> Code:
        out = np.empty((len(self.sizes), codes.shape[1]), dtype=np.int32)
        _core.find_leaves(codes, *self.arrays, out)
        return out

    def block(self, block: Block) -> Block:
        """The same rows with the leaf in each tree as a level."""
        codes = self._route(self.codes(block))
        return replace(block, schema=self.schema, numeric=Columns((), block.rows), codes=codes, levels={})


@dataclass(frozen=True)
class Leaves:
    """Weights of the leaves by group; trees are given beforehand, so counting, merging and forgetting are exact."""

    trees: Trees
    columns: tuple[str, ...]
    leaves: Tables  # of one leaf each
    levels: Tables  # of the columns that have levels, in the codes of the domain

    @classmethod
    def empty(cls, trees: Trees, columns: Sequence[Column], n_groups: int) -> Leaves:
        none = np.empty(0, dtype=np.int64)
        sizes = {name: (none, size) for name, size in zip(trees.names, trees.leaf_counts, strict=True)}
        leaves = Tables.empty([(name,) for name in trees.names], n_groups)
        levels = Tables.empty([(name,) for name in Schema(tuple(columns)).coded], n_groups)
        names = names_of(columns)
        return cls(trees, names, leaves.place(np.arange(n_groups), n_groups, sizes), levels)

    @property
    def groups(self) -> int:
        return self.leaves.groups

    @property
    def sizes(self) -> Mapping[str, int]:
        """Levels of the columns that have some in the domain."""
        return self.levels.sizes

    @property
    def cuts(self) -> dict[str, tuple[float, ...]]:
        """Those of the columns of numbers."""
        return {column.name: column.cuts for column in self.trees.columns if column.numeric}

    def counts(self) -> Float:
        """Weight of each leaf, tree after tree: (G, leaves)."""
        return np.concatenate(list(self.leaves.counts(range(len(self.leaves.tables)))), axis=1)

    def update(self, block: Block, /) -> Self:
        if block.groups is None or not block.rows:
            return self
        return replace(self, leaves=self.leaves.update(self.trees.block(block)), levels=self.levels.update(block))

    def place(self, groups: Int, n_groups: int, levels: Mapping[str, tuple[Int, int]]) -> Self:
        leaves = self.leaves.place(groups, n_groups, {})
        return replace(self, leaves=leaves, levels=self.levels.place(groups, n_groups, levels))

    def over_columns(self, like: Self, /) -> Self:
        return replace(self, columns=like.columns, levels=self.levels.over_columns(like.levels))

    def merge(self, other: Self, /) -> Self:
        return replace(self, leaves=self.leaves.merge(other.leaves), levels=self.levels.merge(other.levels))

    def subtract(self, other: Self, /) -> Self:
        return replace(self, leaves=self.leaves.subtract(other.leaves), levels=self.levels.subtract(other.levels))

    def occupancy(self) -> tuple[Bool, dict[str, Bool]]:
        groups, _ = self.leaves.occupancy()
        return groups, self.levels.occupancy()[1]

    def column_weights(self) -> Iterable[tuple[str, ExactSum]]:
        yield from self.levels.column_weights()
        yield from self.leaves.column_weights()

    def arrays(self) -> dict[str, Array]:
        levels = {f"levels/{name}": array for name, array in self.levels.arrays().items()}
        return {**self.leaves.arrays(), **levels}

    def with_arrays(self, arrays: Mapping[str, Array]) -> Self:
        levels = {name.removeprefix("levels/"): array for name, array in arrays.items() if name.startswith("levels/")}
        leaves = {name: array for name, array in arrays.items() if not name.startswith("levels/")}
        back = replace(self, leaves=self.leaves.with_arrays(leaves), levels=self.levels.with_arrays(levels))
        if dict(back.leaves.sizes) != dict(self.leaves.sizes):
            raise ValueError("a tree has other leaves than its nodes make")
        return back
