"""Trees over columns of at most 64 levels: the rows they are grown on, and what densities on them share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from bayeskit import _core
from bayeskit.arrays import FRONT, Array, Code, Float, Int
from bayeskit.data.block import Block
from bayeskit.data.levels import Domain
from bayeskit.data.schema import Column
from bayeskit.densities.density import Density
from bayeskit.numerics.cut_points import heavy_apart, short
from bayeskit.portable.nodes import Forest as ForestNode
from bayeskit.portable.program import Inputs, Term
from bayeskit.portable.symbol import Symbol, place, take, where
from bayeskit.statistics.content import Units
from bayeskit.statistics.leaves import MISSING, MOST, TreeColumn, Trees
from bayeskit.statistics.rows import ContentOrder, Rows

BYTES = 1_850_000  # of trees in a file
NODE_BYTES = 17  # of a node in base64; a tree has nearly two for each leaf


@dataclass(frozen=True)
class TreeRows:
    """Rows as trees see them, in the order of their content; columns in the order of their names."""

    columns: tuple[TreeColumn, ...]
    codes: Array  # (d, n)
    ordered: Array  # (d,) whether levels have an order
    label: Int
    classes: Int  # (P,) the code of each label in the domain
    units: Units

    @classmethod
    def of(cls, rows: Rows, domain: Domain) -> Self:
        kept = ContentOrder.of(rows, domain)
        known = [_column(c, kept.block, domain, rows.rows.weight.to_float()) for c in rows.columns]
        columns = tuple(sorted((c for c in known if c is not None), key=lambda c: c.name))
        codes = np.empty((len(columns), len(kept.order)), dtype=np.uint8)
        for j, column in enumerate(columns):
            codes[j] = column.codes(kept.block)[kept.order]
        ordinal = {c.name for c in rows.columns if c.kind == "ordinal"}
        ordered = np.array([c.numeric or c.name in ordinal for c in columns], dtype=np.uint8)
        return cls(columns, codes, ordered, kept.label, kept.classes, kept.units)

    @cached_property
    def sizes(self) -> Array:
        """Levels of each column: (d,)."""
        return np.array([column.size for column in self.columns], dtype=np.uint8)


@dataclass(frozen=True)
class NodeWeights:
    """What the rows of every node weigh, by class."""

    trees: Trees
    counts: Float  # (K, leaves)
    weight: Float  # (nodes, K)
    levels: tuple[tuple[Int, Int], ...]  # nodes that split, and their first children, from the roots down

    @classmethod
    def of(cls, trees: Trees, counts: Float) -> NodeWeights:
        """From weights of the leaves, (K, leaves)."""
        start, column, _, child, _ = trees.arrays
        begin = np.repeat(start[:-1], np.diff(start))
        weight = np.zeros((len(column), len(counts)))
        weight[trees.leaf_nodes] = counts.T
        levels, level = [], start[:-1]
        while len(inner := level[column[level] >= 0]):
            below = begin[inner] + child[inner]
            levels.append((inner, below))
            level = np.concatenate([below, below + 1])
        for inner, below in levels[::-1]:
            weight[inner] = weight[below] + weight[below + 1]
        return cls(trees, counts, weight, tuple(levels))

    @property
    def first(self) -> Float:
        """The share of the rows of each node that went to its first child: (nodes,)."""
        total = self.weight.sum(axis=1)
        out = np.full(len(total), 0.5)
        for inner, below in self.levels:
            there = total[inner] > 0
            out[inner[there]] = total[below[there]] / total[inner[there]]
        return out


@dataclass(frozen=True)
class TreesDensity(Density):
    """Trees whose leaves each say something of every class."""

    trees: Trees
    counts: Float  # (K, leaves)
    shares: Float  # (nodes, K) what the leaves say
    first: Float  # (nodes,) share of the rows of a node that went to its first child
    names: tuple[str, ...]  # the columns, in schema order

    normalised: ClassVar[bool] = False
    additive: ClassVar[bool] = False
    class_ratios: ClassVar[bool] = True

    @property
    def columns(self) -> tuple[str, ...]:
        return self.names

    @property
    def constant(self) -> tuple[str, ...]:
        used = {column.name for column in self.trees.columns}
        return tuple(name for name in self.names if name not in used)

    def mean(self, codes: Array) -> Float:
        """What the leaves that rows get to say, the mean over trees, from codes of the columns: (n, K)."""
        out = np.zeros((codes.shape[1], self.shares.shape[1]))
        _core.forest_shares(codes, *self.trees.arrays, self.first, self.shares, out)
        return out

    @cached_property
    def nothing(self) -> Float:
        """The answer without any value: (K,)."""
        found: Float = self.mean(np.full((len(self.trees.columns), 1), MISSING, dtype=np.uint8))
        return np.array(found[0])

    def stages(self, codes: Array) -> tuple[Float, list[int]]:
        """The same as columns are revealed in schema order, (n, used + 1, K), and which of the columns these are.

        All stages come from one walk through each tree.
        """
        place = {name: j for j, name in enumerate(self.names)}
        here = [place[column.name] for column in self.trees.columns]
        rank = np.empty(len(here), dtype=np.int32)
        rank[np.argsort(here, kind="stable")] = np.arange(len(here))
        out = np.zeros((codes.shape[1], len(here) + 1, self.shares.shape[1]))
        _core.forest_stages(codes, *self.trees.arrays, self.first, self.shares, rank, out)
        return out, sorted(here)

    def node(self, strength: float, boosted: bool, of_codes: Callable[[Code], Float]) -> ForestNode:
        """The trees of a portable program, and what they make of codes."""
        _, column, mask, child, _ = self.trees.arrays
        halves = np.stack([mask & 0xFFFFFFFF, mask >> 32], axis=1).astype(np.int64)
        said = self.shares, self.first, self.nothing, boosted, of_codes
        return ForestNode(self.trees.sizes, column, child, halves, self.counts.T, strength, *said)

    def walk(self, inputs: Inputs, node: ForestNode) -> list[Term]:
        """A portable program's walk through them."""
        used = tuple(column.name for column in self.trees.columns)
        value = Symbol("forest", node, *(portable_code(column, inputs) for column in self.trees.columns))
        return [Term(tuple(name for name in self.names if name in used), value, chain=used)] if used else []


def portable_code(column: TreeColumn, inputs: Inputs) -> Any:
    """The code of a column in trees as a portable program has it: -1 is missing."""
    if column.numeric:
        x = inputs.number(column.name)
        absent = len(column.cuts) + 1.0 if column.missing else -1.0
        return where(np.isnan(x), absent, place(np.array(column.cuts), x))
    at = {word: i for i, word in enumerate(column.levels)}
    rest = len(column.levels) if column.others else -1
    known = [-1, -1, *(at.get(word, rest) for word in inputs.words(column.name))]
    return take(np.array(known, dtype=np.float64), inputs.code(column.name) + FRONT)


def _column(column: Column, block: Block, domain: Domain, weight: Float) -> TreeColumn | None:
    """At most 64 levels: intervals, or the commonest levels and all others as one; None of a constant column."""
    if column.numeric:
        x = block.numeric.column(block.schema.numeric_index[column.name])
        value, place = np.unique(x[~np.isnan(x)], return_inverse=True)
        missing = column.missing == "level"
        if len(value) + (missing and bool(np.isnan(x).any())) < 2:
            return None
        mass = np.bincount(place, weight[~np.isnan(x)], minlength=len(value)).astype(np.float64, copy=False)
        most = next(found for cells in (62, 48, 32, 20) if len(found := heavy_apart(mass, cells)) < MOST - 1)
        cuts = short(value[most], value[most + 1])
        return TreeColumn(column.name, tuple(np.unique(cuts[~np.isnan(cuts)]).tolist()), numeric=True, missing=missing)
    if not column.coded:
        return None
    codes = block.codes[block.schema.coded_index[column.name]]
    size = len(domain.levels[column.name])
    mass = np.bincount(codes[codes >= 0], weight[codes >= 0], minlength=size).astype(np.float64, copy=False)
    words = domain.levels[column.name].words.view(np.int64)
    if np.count_nonzero(mass) < 2:
        return None
    if size <= MOST:
        return TreeColumn(column.name, levels=tuple(words.tolist()))
    kept = np.sort(np.argsort(-mass, kind="stable")[: MOST - 1])
    return TreeColumn(column.name, levels=tuple(words[kept].tolist()), others=True)
