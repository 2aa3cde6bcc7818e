"""Forest: randomised trees whose class shares shrink toward those of the nodes above."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from bayeskit import _core
from bayeskit.arrays import FRONT, Array, Code, Float, Int
from bayeskit.data.block import Block
from bayeskit.data.levels import Domain
from bayeskit.data.schema import KINDS, Column, Schema
from bayeskit.densities.density import Density
from bayeskit.densities.likelihood import Context, Staged
from bayeskit.errors import InputError
from bayeskit.numerics.cut_points import heavy_apart, short
from bayeskit.portable.nodes import Forest as ForestNode
from bayeskit.portable.program import Inputs, Term
from bayeskit.portable.symbol import Symbol, place, take, where
from bayeskit.statistics.content import Units
from bayeskit.statistics.leaves import MISSING, MOST, Leaves, TreeColumn, Trees
from bayeskit.statistics.rows import ContentOrder, Rows
from bayeskit.statistics.statistic import Statistic
from bayeskit.validation import integer

ROWS = 40_000  # different rows that trees are grown on; all are counted in the leaves
STRENGTHS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)  # pseudo-rows of the parent's shares to choose from
FOLDS = 3  # that choose among them
TRIED = 32  # trees of each fold
FEW = 500  # rows up to which all folds are used, beyond one
DRAWN = 100  # columns that a node tries, at most
FEWEST = 100  # leaves of a tree, below which there are fewer trees
LEAST = 24  # trees, in any case
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


@dataclass(frozen=True)
class Forest(Staged[Any]):
    """P(c | x) = mean over trees of p_leaf(c), p_node = (n_c + a p_parent)/(n + a); log p(x | c) = log P(c | x)/P_0(c).

    P_0 is the answer without any value. At each node a third of the columns is drawn, at most a hundred, and the
    split of least Gini impurity is taken; trees grow best first, on all rows. The number a of pseudo-rows is what
    predicts best the rows that inner folds hold out. Where a value is missing or a level new, a row goes both ways, by
    the shares of the rows counted there; such rows are counted where most others went. Rows are read once for the
    trees, once to count.
    """

    trees: int = 150
    seed: int = 0
    strength: float | None = None
    grown: Trees | None = field(default=None, repr=False, kw_only=True)  # once a pass has grown them
    chosen: float | None = field(default=None, repr=False, kw_only=True)  # the strength, once it has been

    identifier: ClassVar[str] = "structure/forest"
    kinds: ClassVar[tuple[str, ...]] = KINDS
    leave_one_out: ClassVar[bool] = False  # labels chose the splits

    def __post_init__(self) -> None:
        if (number := integer(self.trees)) is None or not 1 <= number <= 10_000:
            raise InputError(f"trees={self.trees!r}: give a whole number from 1 to 10,000")
        if (seed := integer(self.seed)) is None or not 0 <= seed < 2**63:
            raise InputError(f"random_state={self.seed!r}: give a whole number of at least 0")
        for strength in (self.strength, self.chosen):
            if strength is not None and (isinstance(strength, bool) or not 0 < float(strength) < np.inf):
                raise InputError(f"strength={strength!r}: give a number of pseudo-rows above 0, or None to choose one")

    def first_stage(self) -> Self:
        return replace(self, grown=None, chosen=None)

    def check_columns(self, schema: Schema) -> None:
        for column in () if self.grown is None else self.grown.columns:
            if column.name not in (schema.numeric_index if column.numeric else schema.coded_index):
                raise InputError(f"trees split column {column.name!r} as what it is not")

    @property
    def choices(self) -> tuple[str, ...]:
        return () if self.grown is None else ("the splits of the trees", "how strongly their shares shrink")

    def statistic(self, columns: Sequence[Column], n_groups: int) -> Statistic:
        if self.grown is None:
            return Rows.empty(columns, n_groups, ROWS)
        return Leaves.empty(self.grown, columns, n_groups)

    def next_stage(self, statistic: object, context: Context) -> Self | None:
        if not isinstance(statistic, Rows):
            return None
        if context.domain is None:
            raise InputError("trees are held by class and level; grow them in a model, which knows these")
        return replace(self, **TreeSearch.of(statistic, context.domain).found(self))

    def fit(self, statistic: Leaves, context: Context) -> ForestDensity:
        strength = self.chosen if self.chosen is not None else 1.0
        return forest_density(NodeWeights.of(statistic.trees, statistic.counts()), strength, statistic.columns)


@dataclass(frozen=True)
class TreeSearch(TreeRows):
    """Rows on which a forest is grown, and its strength is chosen."""

    def found(self, settings: Forest) -> dict[str, Any]:
        """The trees, and how strongly their shares shrink."""
        strength = settings.strength
        if strength is None:
            strength = self._strength(settings) if len(self.classes) > 1 and len(self.columns) else 1.0
        return {"grown": self._grown(self.units.weight, settings.trees, settings.seed), "chosen": float(strength)}

    def _grown(self, weight: Float, trees: int, seed: int) -> Trees:
        """From the rows that have some weight."""
        used = np.flatnonzero(weight > 0)
        codes, classes = np.ascontiguousarray(self.codes[:, used]), len(self.classes)
        leaves = int(BYTES // (8 * classes + 2 * NODE_BYTES))
        trees = min(trees, max(LEAST, leaves // FEWEST))
        tried = int(np.clip(-(-len(self.columns) // 3), 1, DRAWN))
        label = np.ascontiguousarray(self.label[used], dtype=np.int32)
        size = max(2, min(leaves // trees, 30_000))
        settings = classes, trees, tried, size, 1e-9, seed
        found = _core.grow_trees(codes, label, np.ascontiguousarray(weight[used]), self.ordered, self.sizes, *settings)
        return Trees.grown(self.columns, found)

    def _strength(self, settings: Forest) -> float:
        """Tried from 1 on, in the direction in which the loss on rows held out falls."""
        place, weight = self.units.places(FOLDS), self.units.weight
        judged = []
        for fold in range(FOLDS if len(weight) <= FEW else 1):
            test = self.units.weigh_fold(place, FOLDS, fold)
            trees = self._grown(weight - test, min(TRIED, settings.trees), settings.seed)
            asked = np.flatnonzero(test > 0)
            nodes = NodeWeights.of(trees, self._counts(trees, weight - test))
            judged.append((nodes, np.ascontiguousarray(self.codes[:, asked]), self.label[asked], test[asked]))

        def loss(strength: float) -> float:
            total = 0.0
            for nodes, codes, label, mass in judged:
                log = np.log(forest_density(nodes, strength, ()).mean(codes))
                log -= np.logaddexp.reduce(log, axis=1, keepdims=True)
                total -= float(mass @ log[np.arange(len(label)), label])
            return total

        start = STRENGTHS.index(1.0)
        best, lowest = start, loss(STRENGTHS[start])
        for step in (1, -1):
            while best == start or (best - start) * step > 0:
                at = best + step
                if not 0 <= at < len(STRENGTHS) or (found := loss(STRENGTHS[at])) >= lowest:
                    break
                best, lowest = at, found
        return STRENGTHS[best]

    def _counts(self, trees: Trees, weight: Float) -> Float:
        """Of the leaves of trees: (P, leaves)."""
        leaf = np.empty((len(trees.sizes), len(weight)), dtype=np.int32)
        _core.find_leaves(self.codes, *trees.arrays, leaf)
        begin = np.cumsum([0, *trees.leaf_counts[:-1]])
        total = sum(trees.leaf_counts)
        cell = (leaf + begin[:, None]) + total * self.label
        mass = np.broadcast_to(weight, leaf.shape).ravel()
        found: Float = np.bincount(cell.ravel(), mass, minlength=len(self.classes) * total).astype(
            np.float64, copy=False
        )
        return found.reshape(len(self.classes), total)


def forest_density(nodes: NodeWeights, strength: float, names: tuple[str, ...]) -> ForestDensity:
    """The class shares, each drawn toward its parent's by so many pseudo-rows."""
    total, of_class = nodes.weight.sum(axis=1), nodes.weight[0]
    prior = (of_class + 0.5) / (of_class.sum() + 0.5 * len(of_class))
    shares = (nodes.weight + strength * prior) / (total + strength)[:, None]  # those of the roots; the others follow
    for inner, below in nodes.levels:
        for at in (below, below + 1):
            shares[at] = (nodes.weight[at] + strength * shares[inner]) / (total[at] + strength)[:, None]
    return ForestDensity(nodes.trees, nodes.counts, shares, nodes.first, names, strength)


@dataclass(frozen=True)
class ForestDensity(TreesDensity):
    """The class shares of every node, averaged over trees."""

    strength: float

    def portable(self, inputs: Inputs) -> list[Term]:
        return self.walk(inputs, self.node(self.strength, boosted=False, of_codes=self._log_ratios))

    def add(self, block: Block, out: Float) -> None:
        out += self._log_ratios(self.trees.codes(block))

    def _log_ratios(self, codes: Array) -> Float:
        """log P(c | x)/P(c), from codes of which those below zero are missing: (n, K)."""
        found = self.mean(np.where(codes < 0, MISSING, codes).astype(np.uint8))
        ratios: Float = np.log(found) - np.log(self.nothing)
        return ratios

    def terms(self, block: Block) -> Float:
        """What each column adds when revealed, in schema order."""
        stages, here = self.stages(self.trees.codes(block))
        out = np.zeros((block.rows, len(self.names), self.shares.shape[1]))
        out[:, here] = np.diff(np.log(stages), axis=1)
        return out
