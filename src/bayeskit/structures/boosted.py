"""Boosted: small trees, each of which corrects the class scores of those before it."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from bayeskit import _core
from bayeskit.arrays import Array, Float
from bayeskit.data.block import Block
from bayeskit.data.levels import Domain
from bayeskit.data.schema import KINDS, Column, Schema
from bayeskit.densities.likelihood import Context, Staged
from bayeskit.errors import InputError
from bayeskit.portable.program import Inputs, Term
from bayeskit.portable.symbol import where
from bayeskit.statistics.leaves import MISSING, Leaves, Trees
from bayeskit.statistics.rows import Rows
from bayeskit.statistics.statistic import Statistic
from bayeskit.structures.correction import places
from bayeskit.structures.forest import (
    BYTES,
    NODE_BYTES,
    NodeWeights,
    TreeRows,
    TreesDensity,
    portable_code,
)
from bayeskit.validation import integer

ROWS = 40_000  # different rows that trees are grown on; all are counted in the leaves
LEAVES, LEAST = 15, 10.0  # leaves of a tree at most, rows of a leaf at least
RIDGE = 1.0  # added to the curvature of a leaf
HELD, PATIENCE = 10, 10  # one row of so many is held out; trees that may fail to predict these better


@dataclass(frozen=True)
class Leafage:
    """Trees, and what each of their leaves adds to the score of each class."""

    trees: Trees
    classes: tuple[int, ...]  # hashes of them
    values: str  # (leaves, classes) in single precision

    def __post_init__(self) -> None:
        try:
            numbers = np.frombuffer(base64.b64decode(self.values, validate=True), dtype="<f4")
        except ValueError as error:
            raise InputError("the values of leaves are no text of numbers") from error
        if len(numbers) != sum(self.trees.leaf_counts) * len(self.classes) or not np.isfinite(numbers).all():
            raise InputError("the values of leaves do not fit the trees and classes, or are not finite")
        if len(set(self.classes)) < len(self.classes):
            raise InputError("boosted trees name a class twice")

    @classmethod
    def of(cls, rows: TreeRows, domain: Domain, most: int, rate: float) -> Leafage:
        """Grown on rows."""
        words = domain.classes.words.view(np.int64)
        classes = len(rows.classes)
        found, values = _nothing(classes) if classes < 2 else _grow(rows, most, rate)
        trees = Trees.grown(rows.columns, found)
        kept = values[trees.leaf_nodes] - values[trees.leaf_nodes].mean(axis=1, keepdims=True)
        text = base64.b64encode(np.ascontiguousarray(kept, dtype="<f4").tobytes()).decode()
        return cls(trees, tuple(words[rows.classes].tolist()), text)

    def by_class(self, words: Sequence[int]) -> Float:
        """The values of classes of these hashes, 0 where one came later: (leaves, K)."""
        numbers = np.frombuffer(base64.b64decode(self.values), dtype="<f4").astype(np.float64)
        table = numbers.reshape(sum(self.trees.leaf_counts), len(self.classes))
        out: Float = np.pad(table, ((0, 0), (0, 1)))[:, places(self.classes, words)]
        return out


@dataclass(frozen=True)
class Boosted(Staged[Any]):
    """log P(c | x) = log P(c) + sum over trees of v_t(leaf of x)_c + a constant.

    Each tree is a Newton step on the conditional likelihood: its leaves move the scores by -rate G/(H + 1), with the
    sums G of slopes and H of curvatures of their rows, and the split that lowers the loss most comes first. A tenth of
    the rows is held out, and the trees end where these are predicted best. Where a value is missing or a level new, a
    row goes both ways, by the shares of the rows counted there; what is left over without any value, so that the
    classes have their shares, is spread over the columns as they are split. Rows are read once for the trees, once to
    count.
    """

    trees: int = 400
    rate: float = 0.1
    grown: Leafage | None = field(default=None, repr=False, kw_only=True)  # once a pass has grown them

    identifier: ClassVar[str] = "structure/boosted"
    kinds: ClassVar[tuple[str, ...]] = KINDS
    leave_one_out: ClassVar[bool] = False  # labels chose the splits

    def __post_init__(self) -> None:
        if (number := integer(self.trees)) is None or not 1 <= number <= 10_000:
            raise InputError(f"trees={self.trees!r}: give a whole number from 1 to 10,000")
        if isinstance(self.rate, bool) or not 0 < float(self.rate) <= 1:
            raise InputError(f"rate={self.rate!r}: give a number above 0, at most 1")

    def first_stage(self) -> Self:
        return replace(self, grown=None)

    def check_columns(self, schema: Schema) -> None:
        for column in () if self.grown is None else self.grown.trees.columns:
            if column.name not in (schema.numeric_index if column.numeric else schema.coded_index):
                raise InputError(f"trees split column {column.name!r} as what it is not")

    @property
    def choices(self) -> tuple[str, ...]:
        return () if self.grown is None else ("the trees and what their leaves say",)

    def statistic(self, columns: Sequence[Column], n_groups: int) -> Statistic:
        if self.grown is None:
            return Rows.empty(columns, n_groups, ROWS)
        return Leaves.empty(self.grown.trees, columns, n_groups)

    def next_stage(self, statistic: object, context: Context) -> Self | None:
        if not isinstance(statistic, Rows):
            return None
        domain = _domain(context)
        return replace(self, grown=Leafage.of(TreeRows.of(statistic, domain), domain, self.trees, self.rate))

    def fit(self, statistic: Leaves, context: Context) -> BoostedDensity:
        assert self.grown is not None
        nodes, trees = NodeWeights.of(statistic.trees, statistic.counts()), statistic.trees
        values = np.zeros((len(nodes.weight), statistic.groups))
        values[trees.leaf_nodes] = self.grown.by_class(_domain(context).classes.words.view(np.int64).tolist())
        return BoostedDensity(trees, nodes.counts, values, nodes.first, statistic.columns)


@dataclass(frozen=True)
class BoostedDensity(TreesDensity):
    """The scores of every leaf, added up over trees."""

    @cached_property
    def splits(self) -> Float:
        """The share of all splits that each column has: (d,)."""
        column = self.trees.arrays[1]
        found = np.bincount(column[column >= 0], minlength=len(self.trees.columns)).astype(np.float64)
        return found / max(float(found.sum()), 1.0)

    @property
    def left_over(self) -> Float:
        """The score without any value, which the columns share: (K,)."""
        return len(self.trees.sizes) * self.nothing

    def portable(self, inputs: Inputs) -> list[Term]:
        found = self.walk(inputs, self.node(1.0, boosted=True, of_codes=self._by_trees))
        for of, share in zip(self.trees.columns, self.splits.tolist(), strict=True):
            said = share * self.left_over
            found.append(Term((of.name,), where(portable_code(of, inputs) < 0.0, np.zeros_like(said), said)))
        return found

    def _by_trees(self, codes: Array) -> Float:
        """What the trees say beyond what they say without any value; codes below zero are missing: (n, K)."""
        found = self.mean(np.where(codes < 0, MISSING, codes).astype(np.uint8))
        out: Float = len(self.trees.sizes) * found - self.left_over
        return out

    def _known(self, codes: Array) -> Float:
        """The part of the left-over of each column that is there: (n, d, K)."""
        there = (codes != MISSING).T * self.splits
        out: Float = there[:, :, None] * self.left_over
        return out

    def add(self, block: Block, out: Float) -> None:
        codes = self.trees.codes(block)
        out += self._by_trees(codes) + ((codes != MISSING).T @ self.splits)[:, None] * self.left_over

    def terms(self, block: Block) -> Float:
        """What each column adds when revealed, in schema order."""
        codes = self.trees.codes(block)
        stages, here = self.stages(codes)
        out = np.zeros((block.rows, len(self.names), self.shares.shape[1]))
        out[:, here] = len(self.trees.sizes) * np.diff(stages, axis=1)
        place = {name: j for j, name in enumerate(self.names)}
        out[:, [place[column.name] for column in self.trees.columns]] += self._known(codes)
        return out


def _grow(rows: TreeRows, most: int, rate: float) -> tuple[Any, Float]:
    """Nodes as the core has them, and what each adds to the score of each class: (nodes, P)."""
    units, classes = rows.units, len(rows.classes)
    held = units.weigh_fold(units.places(HELD), HELD, 0)
    weight = units.weight - held
    total = np.bincount(rows.label, weight, minlength=classes)
    base = np.log((total + 0.5) / (total.sum() + 0.5 * classes))
    size = LEAVES * (12 * classes + 2 * NODE_BYTES) + LEAVES * 4 * classes // 3
    label = np.ascontiguousarray(rows.label, dtype=np.int32)
    settings = min(most, max(1, BYTES // size)), LEAVES, LEAST, rate, RIDGE, PATIENCE
    found = _core.boost_trees(rows.codes, label, weight, held, base, rows.ordered, rows.sizes, *settings)
    return (found[:5], found[5]) if len(found[1]) else _nothing(classes)


def _nothing(classes: int) -> tuple[Any, Float]:
    """One tree of one leaf, which says nothing."""
    none = np.zeros(1, dtype=np.int32)
    return (np.array([0, 1]), none - 1, none.astype(np.uint64), none, none.astype(np.uint8)), np.zeros((1, classes))


def _domain(context: Context) -> Domain:
    """What the codes mean: what leaves say of classes outlives their codes."""
    if context.domain is None:
        raise InputError("trees are held by class and level; grow them in a model, which knows these")
    return context.domain
