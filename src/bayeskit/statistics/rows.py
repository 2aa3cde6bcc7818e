"""Rows: the rows themselves, by group, for models that keep them; and their order by what they hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

import numpy as np

from bayeskit.arrays import Array, Bool, Code, Float, Int
from bayeskit.data.block import Block, Columns
from bayeskit.data.hash_split import Word
from bayeskit.data.levels import Domain, word
from bayeskit.data.schema import Column, Schema
from bayeskit.errors import ForgetError, InputError
from bayeskit.statistics.content import Batch, Content, Units, bits, mix
from bayeskit.statistics.exact import ExactSum

EVERY = np.uint64(2**64 - 1)  # the bound below which rows are kept, while all are
CAP = 200_000


@dataclass(frozen=True)
class Rows:
    """Every row with its group and weight; equal rows of a group are one, with the sum of their weights.

    With ``most`` only so many are kept: those whose key, a seeded hash of what they hold, is smallest. That is a random
    sample, yet the same one in any order and split; what it dropped does not come back when other rows are forgotten.
    """

    columns: tuple[Column, ...]
    groups: int
    parts: tuple[Batch, ...]
    sizes: Mapping[str, int] = field(default_factory=dict)  # levels of the coded columns
    most: int | None = None
    seed: int = 0
    bound: np.uint64 = EVERY  # rows whose keys are not below were dropped

    @classmethod
    def empty(cls, columns: Sequence[Column], n_groups: int, most: int | None = None, seed: int = 0) -> Self:
        made = cls(tuple(columns), n_groups, (), {}, most, seed)
        sizes = dict.fromkeys(made.schema.coded, 0)
        return replace(made, parts=(made._nothing,), sizes=sizes)

    @cached_property
    def schema(self) -> Schema:
        """Of its columns alone."""
        return Schema(self.columns)

    @property
    def _nothing(self) -> Batch:
        shape = len(self.schema.numeric), len(self.schema.coded)
        none = np.empty(0, dtype=np.int64)
        numbers, codes = np.empty((0, shape[0])), np.empty((0, shape[1]), dtype=np.int32)
        return Batch(numbers, codes, none, ExactSum.zeros((0,)), none.astype(np.uint64))

    @cached_property
    def rows(self) -> Batch:
        """All rows in canonical form."""
        return self._capped.parts[0]

    @property
    def sampled(self) -> bool:
        """Whether rows were dropped."""
        return bool(self._capped.bound < EVERY)

    @cached_property
    def _capped(self) -> Self:
        """In one canonical part, with no more rows than asked for."""
        rows = Batch.concatenate(self.parts)
        kept = rows.keys < self.bound
        rows, bound = (rows if kept.all() or self.bound == EVERY else rows.at(kept)).canonical(), self.bound
        if self.most is not None and len(rows) > self.most:
            ranked = np.sort(rows.keys)
            bound = max(ranked[self.most], ranked[0] + np.uint64(1))  # rows of one key stay together
            rows = rows.at(rows.keys < bound)
        return replace(self, parts=(rows,), bound=bound)

    def update(self, block: Block, /) -> Self:
        if block.groups is None or not block.rows:
            return self
        row, group, mass = block.rows_with_weight()
        numbers, codes = self.read(block)
        ones = ExactSum(np.ones((len(row), 1), dtype=np.int64), 0)
        weight = ones if block.weights is None else ExactSum.of(mass)
        fresh = Batch(numbers, codes, group, weight, self._keys(block))
        if len(row) < block.rows:
            fresh = replace(fresh, numbers=numbers[row], codes=codes[row], keys=fresh.keys[row])
        return self._more((fresh,), self.bound)

    def _more(self, parts: tuple[Batch, ...], bound: np.uint64) -> Self:
        """With parts more; those that a cap drops go when there are too many."""
        more = replace(self, parts=self.parts + parts, bound=min(self.bound, bound))
        crowded = self.most is not None and sum(map(len, more.parts)) > 2 * self.most
        return more._capped if crowded else more

    def read(self, block: Block) -> tuple[Float, Code]:
        """The columns of a block as rows: numbers (n, d) and codes (n, c), -2 for a level never seen."""
        numbers = block.columns(self.schema.numeric).matrix() + 0.0  # -0.0 is 0.0
        return numbers, np.ascontiguousarray(block.codes[block.code_positions(self.schema.coded)].T)

    def _keys(self, block: Block) -> Word:
        """Seeded hashes of what rows hold, from values and not from codes, which differ from domain to domain."""
        if self.most is None:
            return np.zeros(block.rows, dtype=np.uint64)
        numbers, codes = self.read(block)
        seed, total = np.array([self.seed], dtype=np.int64), np.zeros(block.rows, dtype=np.uint64)

        def add(name: str, column: Array, there: Bool) -> None:  # a sum: columns undetermined so far add nothing
            start = mix(word(name), seed)
            total[there] += mix(np.repeat(start, np.count_nonzero(there)), column[there])

        for name, column in zip(self.schema.numeric, numbers.T, strict=True):
            add(name, bits(column), ~np.isnan(column))
        for name, column in zip(self.schema.coded, codes.T, strict=True):
            words = np.append(block.levels[name].words, np.uint64(0))
            add(name, words[column].view(np.int64), column >= 0)
        return np.minimum(mix(total, np.repeat(seed, block.rows)), EVERY - np.uint64(1))

    def find(self, block: Block) -> Int:
        """Where each row that was counted stands among the rows, -1 where it is not: (n,)."""
        row, group, _ = block.rows_with_weight()
        numbers, codes = self.read(block)
        asked = replace(self._nothing, numbers=numbers[row], codes=np.maximum(codes[row], -1), group=group)
        place = np.searchsorted(self.rows.fingerprint, asked.fingerprint)
        found = np.full(len(row), -1, dtype=np.int64)
        left = np.flatnonzero(place < len(self.rows))
        while len(left):  # one step, but where two different rows have one fingerprint
            here = place[left]
            same = self.rows.same(here, asked, left)
            found[left[same]] = here[same]
            place[left] += 1
            left = left[~same]
            left = left[place[left] < len(self.rows)]
            left = left[self.rows.fingerprint[place[left]] == asked.fingerprint[left]]
        out = np.full(block.rows, -1, dtype=np.int64)
        out[row] = found
        return out

    def place(self, groups: Int, n_groups: int, levels: Mapping[str, tuple[Int, int]]) -> Self:
        rows = self.rows
        codes = rows.codes.copy()
        for j, name in enumerate(self.schema.coded):
            if name in levels:
                codes[:, j] = np.append(levels[name][0], -1)[codes[:, j]]
        moved = replace(rows, codes=codes, group=np.append(groups, -1)[rows.group]) if len(rows) else rows
        sizes = {name: levels[name][1] if name in levels else size for name, size in self.sizes.items()}
        return replace(self._capped, groups=n_groups, sizes=sizes, parts=(moved.at(moved.group >= 0),))

    def over_columns(self, like: Self, /) -> Self:
        rows, schema = self.rows, like.schema
        numbers = np.full((len(rows), len(schema.numeric)), np.nan)
        codes = np.full((len(rows), len(schema.coded)), -1, dtype=np.int32)
        numbers[:, [schema.numeric_index[n] for n in self.schema.numeric]] = rows.numbers
        codes[:, [schema.coded_index[n] for n in self.schema.coded]] = rows.codes
        sizes = {name: self.sizes.get(name, 0) for name in schema.coded}
        wide = replace(rows, numbers=numbers, codes=codes)
        return replace(self._capped, columns=like.columns, sizes=sizes, parts=(wide,))

    def merge(self, other: Self, /) -> Self:
        return self._more(other.parts, other.bound)

    def subtract(self, other: Self, /) -> Self:
        bound = min(self._capped.bound, other._capped.bound)
        mine, theirs = (of.rows.at(of.rows.keys < bound) if bound < EVERY else of.rows for of in (self, other))
        minus = replace(theirs, weight=ExactSum(-theirs.weight.limbs, theirs.weight.low).carry())
        rest = Batch.concatenate([mine, minus]).canonical()
        left = rest.weight
        if left.negative().any():
            raise ForgetError(
                "these rows cannot have been learned: no row like one of them is left, or none of as much weight; "
                "the model stays as it was"
            )
        return replace(self, parts=(rest.at(left.nonzero()),), bound=bound)

    def occupancy(self) -> tuple[Bool, dict[str, Bool]]:
        rows = self.rows
        groups = np.bincount(rows.group, minlength=self.groups) > 0
        levels = {
            name: np.bincount(rows.codes[:, j] + 1, minlength=self.sizes[name] + 1)[1:] > 0
            for j, name in enumerate(self.schema.coded)
        }
        return groups, levels

    def column_weights(self) -> Iterator[tuple[str, ExactSum]]:
        yield "rows", self.weights()

    def weights(self, which: Bool | None = None) -> ExactSum:
        """Of the rows of each group, or of some of them: (G,)."""
        rows = self.rows if which is None else self.rows.at(which)
        limbs = np.zeros((self.groups, rows.weight.limbs.shape[-1]), dtype=np.int64)
        np.add.at(limbs, rows.group, rows.weight.limbs)
        return ExactSum(limbs, rows.weight.low).carry()

    def block(self) -> Block:
        """The rows as a block, for statistics of them."""
        rows = self.rows
        numeric = Columns(rows.numbers, len(rows))
        codes = np.ascontiguousarray(rows.codes.T)
        return Block(self.schema, numeric, codes, rows.group.astype(np.int32), rows.weight.to_float())

    def arrays(self) -> dict[str, Array]:
        rows = self.rows
        capped = {"keys": rows.keys.view(np.int64), "bound": np.array([self._capped.bound]).view(np.int64)}
        return {
            "sizes": np.array([self.sizes[n] for n in self.schema.coded], dtype=np.int64),
            "numbers": np.ascontiguousarray(rows.numbers),
            "codes": np.ascontiguousarray(rows.codes.astype(np.int64)),
            "group": rows.group,
            **rows.weight.arrays("weight"),
            **({} if self.most is None else capped),
        }

    def with_arrays(self, arrays: Mapping[str, Array]) -> Self:
        weight = ExactSum.from_arrays(arrays, "weight", np.shape(arrays["group"]))
        if weight.negative().any() or not weight.nonzero().all():
            raise ValueError("the weight of a row is negative or zero")
        sizes = dict(zip(self.schema.coded, np.asarray(arrays["sizes"]).tolist(), strict=True))
        numbers, codes, group = (np.array(arrays[name]) for name in ("numbers", "codes", "group"))
        if numbers.shape != (len(group), len(self.schema.numeric)) or codes.shape != (len(group), len(sizes)):
            raise ValueError("the rows do not fit the columns")
        if group.ndim != 1 or (group < 0).any() or (group >= self.groups).any():
            raise ValueError("the group of a row is negative or too large")
        if (codes < -1).any() or (codes >= np.array(list(sizes.values()), dtype=np.int64)).any():
            raise ValueError("the level of a row is negative or too large")
        if np.isinf(numbers).any() or np.signbit(numbers[numbers == 0]).any():
            raise ValueError("a number of a row is infinite or a negative zero")
        keys, bound = np.zeros(len(group), dtype=np.uint64), EVERY
        if self.most is not None:
            keys, bound = np.array(arrays["keys"]).view(np.uint64), np.array(arrays["bound"]).view(np.uint64)[0]
        if keys.shape != group.shape or (bound < EVERY and (keys >= bound).any()):
            raise ValueError("the keys do not fit the rows")
        batch = Batch(numbers, codes.astype(np.int32), group, weight, keys)
        back = replace(self, parts=(batch,), sizes=sizes, bound=bound)
        order, begin = batch.sort()
        if len(begin) < len(batch) or not order.same(np.arange(len(batch)), batch, np.arange(len(batch))).all():
            raise ValueError("the rows are not in order")
        return back


@dataclass(frozen=True)
class Distinct(Rows):
    """The rows of a table, equal ones of a group once with the sum of their weights, and none left out.

    What is derived from them is the same in any order and split, and after others were learned and forgotten.
    """

    @cached_property
    def _capped(self) -> Self:
        rows = Batch.concatenate(self.parts).canonical()
        if len(rows) > CAP:
            raise InputError(
                f"exact=True keeps every different row, here more than {CAP:,}; join levels, round numbers, or leave "
                f"exact=True out: then cuts and arcs are held as the first rows chose them"
            )
        return replace(self, parts=(rows,))

    def _more(self, parts: tuple[Batch, ...], bound: np.uint64) -> Self:
        more = replace(self, parts=self.parts + parts)
        return more._capped if sum(map(len, more.parts)) > 2 * CAP else more

    def sample(self, most: int) -> Rows:
        """At most so many of them, those of the smallest fingerprints."""
        return replace(
            Rows.empty(self.columns, self.groups),
            parts=(self.rows.at(np.arange(len(self.rows)) < most),),  # they are in the order of fingerprints
            sizes=dict(self.sizes),
        )


@dataclass(frozen=True)
class ContentOrder:
    """Rows by the hash of their content, classes by the least hash among their rows.

    So no order of rows or columns and no names of classes move a bit of what is made of them.
    """

    block: Block  # the rows as they are kept
    order: Int  # (n,) their places in it
    label: Int  # (n,) in the new order, the place of the class among ``classes``
    classes: Int  # (P,) the classes that have rows, by code
    units: Units  # in the new order

    @classmethod
    def of(cls, rows: Rows, domain: Domain) -> ContentOrder:
        block = replace(rows.block(), levels=domain.levels)
        words = Content.varying([block]).words(block)
        classes, label = _by_content(words, rows.rows.group)
        order = np.lexsort((label, words[1], words[0]))
        units = Units(np.ascontiguousarray(words[:, order]), label[order], rows.rows.weight.to_float()[order])
        return cls(block, order, label[order], classes, units)


def _by_content(words: Word, group: Int) -> tuple[Int, Int]:
    """The classes that have rows in an order that hangs on no name, and the place of each row's class in it."""
    every, size = np.unique(group, return_counts=True)
    order = np.lexsort((words[1], words[0], group))
    least = [tuple(words[:, i].tolist()) for i in order[_begins(group[order])].tolist()]
    ranked = sorted(range(len(every)), key=lambda i: (least[i], int(size[i]), i))
    place = np.empty(int(every.max(initial=0)) + 1, dtype=np.int64)
    place[every[ranked]] = np.arange(len(every))
    return every[ranked], place[group]


def _begins(group: Int) -> Bool:
    """Where each stretch of equal numbers begins."""
    found: Bool = np.diff(group, prepend=-1) != 0
    return found
