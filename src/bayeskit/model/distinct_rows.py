"""Distinct: labelled rows with equal ones as one, in an order that depends on nothing but what rows hold; Sample: how
they are drawn.
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from bayeskit.arrays import Bool, Float, Int
from bayeskit.data.block import Block, Columns
from bayeskit.data.encode import IngestReport
from bayeskit.data.hash_split import Word
from bayeskit.data.levels import Domain, Levels
from bayeskit.data.schema import Schema
from bayeskit.model.coded import CodedTable
from bayeskit.model.labelled_table import Rows
from bayeskit.model.model import Model
from bayeskit.model.open_table import OpenTable
from bayeskit.statistics.content import Content, Units
from bayeskit.statistics.exact import ExactSum

CELLS = 1 << 25  # numbers of a sample at most: 256 MB
FEWEST = 1000  # rows of it, however many columns there are


@dataclass(frozen=True)
class Keys:
    """What distinguishes rows, and how much each weighs."""

    words: Word  # (2, n) hash of what they hold
    code: Int  # (n,) class
    weight: ExactSum  # (n,)

    @classmethod
    def of(cls, words: Word, code: Int, weight: Float | None) -> Keys:
        ones = ExactSum(np.ones((len(code), 1), dtype=np.int64), 0)
        return cls(words, code, ones if weight is None else ExactSum.of(weight))

    @staticmethod
    def concatenate(parts: Sequence[Keys]) -> Keys:
        low, high = min(p.weight.low for p in parts), max(p.weight.high for p in parts)
        limbs = np.concatenate([p.weight.widen(low, high).limbs for p in parts])
        words = np.concatenate([p.words for p in parts], axis=1)
        return Keys(words, np.concatenate([p.code for p in parts]), ExactSum(limbs, low))

    def __len__(self) -> int:
        return len(self.code)

    def at(self, rows: Int | Bool) -> Keys:
        weight = ExactSum(np.ascontiguousarray(self.weight.limbs[rows]), self.weight.low)
        return Keys(np.ascontiguousarray(self.words[:, rows]), self.code[rows], weight)

    def distinct(self, most: int) -> tuple[Int, Keys, bool]:
        """One row of each hash and class, by hash, their keys with all that equal rows weigh, and whether some went.

        Of more different hashes than ``most`` the smallest are kept.
        """
        order = np.lexsort((self.code, self.words[1], self.words[0]))
        every = self.at(order)
        new = np.ones(len(order), dtype=bool)
        new[1:] = (every.words[:, 1:] != every.words[:, :-1]).any(axis=0)
        hashes = np.flatnonzero(new)
        stop = len(order) if len(hashes) <= most else int(hashes[most])
        begin = np.flatnonzero(new | (np.diff(every.code, prepend=-1) != 0))
        begin = begin[begin < stop]
        limbs = np.add.reduceat(every.weight.limbs[:stop], begin, axis=0)
        found = replace(every.at(begin), weight=ExactSum(limbs, every.weight.low).carry())
        return order[begin], found, stop < len(order)


@dataclass(frozen=True)
class Sample:
    """The rows of the smallest keyed hashes, equal ones of a class once with all that they weigh.

    That is a random sample of the different rows, yet the same one in any order of rows and columns, any split and any
    engine. Rows that weigh nothing, or have no label, are no rows.
    """

    schema: Schema
    most: int  # different hashes
    key: int = 0
    domain: Domain = Domain()
    parts: tuple[tuple[Block, Keys], ...] = ()
    cut: bool = False  # whether rows were dropped
    bound: np.uint64 = np.uint64(2**64 - 1)  # high words above belong to rows that are dropped

    @classmethod
    def of(cls, schema: Schema, most: int, key: int = 0) -> Sample:
        """Nothing drawn yet; of wide tables fewer rows are."""
        return cls(schema, min(most, max(FEWEST, CELLS // max(len(schema.names), 1))), key)

    def count(self, block: Block, domain: Domain, ingest: IngestReport) -> Sample:
        """Draw among some rows more, in the codes of a domain that has all of these classes and levels."""
        moved = self.on(domain)
        words = Content(self.key).words(block)
        row, group, mass = block.rows_with_weight()
        if not (low := words[0, row] <= self.bound).all():
            moved, row, group, mass = replace(moved, cut=True), row[low], group[low], mass[low]
        if not len(row):
            return moved
        keys = Keys.of(words[:, row], group, None if block.weights is None else mass)
        return moved._more(((replace(block.at(row), groups=None, weights=None), keys),))

    def _more(self, parts: tuple[tuple[Block, Keys], ...]) -> Sample:
        more = replace(self, parts=self.parts + parts)
        return more._fewer() if sum(len(keys) for _, keys in more.parts) > 4 * self.most else more

    def _fewer(self) -> Sample:
        """With equal rows as one, and no more rows than asked for; they come in the order of their hashes."""
        if not self.parts:
            return self
        blocks, keys = zip(*self.parts, strict=True)
        rows, found, cut = Keys.concatenate(keys).distinct(self.most)
        bound = found.words[0, -1] if self.cut or cut else self.bound
        kept = Block.concatenate(blocks).at(rows)
        return replace(self, parts=((kept, found),), cut=self.cut or cut, bound=min(bound, self.bound))

    def on(self, domain: Domain) -> Sample:
        """The same rows in the codes of a domain that has all of their classes and levels."""
        if domain == self.domain:
            return self
        place, levels = self.domain.classes.codes_in(domain.classes), dict(domain.levels)
        parts = tuple((block.recode(levels), replace(keys, code=place[keys.code])) for block, keys in self.parts)
        return replace(self, domain=domain, parts=parts)

    def merge(self, other: Sample) -> Sample:
        """The sample of both."""
        domain = self.domain.union(other.domain)
        mine, theirs = self.on(domain), other.on(domain)
        bound, cut = min(self.bound, other.bound), self.cut or other.cut
        return replace(mine, bound=bound, cut=cut)._more(theirs.parts)

    def without_counts(self) -> Sample:
        """The same classes and levels, with nothing drawn."""
        return replace(self, parts=(), cut=False, bound=type(self).bound)

    def to_bytes(self) -> bytes:
        """What was drawn as data; only rows in memory are sparse, and they are counted here."""
        out, drawn = io.BytesIO(), self._fewer()
        levels = [[name, known.keys] for name, known in self.domain.levels.items()]
        about = np.frombuffer(json.dumps([self.domain.classes.keys, levels, bool(drawn.cut)]).encode(), np.uint8)
        rows: dict[str, Any] = {"about": about, "bound": np.array([drawn.bound])}
        for block, keys in drawn.parts:
            rows |= {"numbers": block.numeric.matrix(), "codes": block.codes, "words": keys.words, "code": keys.code}
            rows |= keys.weight.arrays("weight")
        np.savez(out, **rows)
        return out.getvalue()

    def with_bytes(self, data: bytes) -> Sample:
        """What another process drew from this empty one."""
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            found = {name: file[name] for name in file.files}
        classes, by_column, cut = json.loads(found["about"].tobytes())
        levels = {name: _levels(keys) for name, keys in by_column}
        empty = replace(self, domain=Domain(_levels(classes), levels), cut=cut, bound=found["bound"][0])
        if "code" not in found:
            return empty
        rows = len(found["code"])
        block = Block(self.schema, Columns(found["numbers"], rows), found["codes"], levels=levels)
        weight = ExactSum.from_arrays(found, "weight", (rows,))
        return replace(empty, parts=((block, Keys(found["words"], found["code"], weight)),))

    def distinct(self, model: Model, opened: OpenTable) -> Distinct:
        """The rows drawn of a table, with the classes that have rows in the order of a model of all of them."""
        there = np.flatnonzero(model.weights > 0)
        classes = Levels(tuple(model.counted.domain.classes.keys[c] for c in there.tolist()))
        ((block, keys),) = self.on(replace(self.domain, classes=classes))._fewer().parts
        content = Content.varying([block], self.key)
        rows = Rows(keys.code, keys.weight.to_float(), model.classes[there])
        coded = replace(block, groups=keys.code.astype(np.int32), weights=_weights(rows.weights))
        table = CodedTable.of(opened, coded, Domain(classes, self.domain.levels))
        return Distinct(table, rows, content.words(block), content.constant, self._fewer().cut)._sorted()


@dataclass(frozen=True)
class Distinct:
    """Rows that differ in features or class, by hash; those that weigh nothing are left out.

    They are assigned to folds as ``Units`` says.
    """

    table: CodedTable
    rows: Rows  # class and weight of each
    words: Word  # (2, n), of the columns that are not constant
    constant: frozenset[str]  # columns in which all rows hold the same
    sampled: bool = False  # whether there are other rows

    def _sorted(self) -> Distinct:
        """In the order of their hashes."""
        order = np.lexsort((self.rows.codes, self.words[1], self.words[0]))
        rows = Rows(self.rows.codes[order], self.rows.weights[order], self.rows.classes)
        words = np.ascontiguousarray(self.words[:, order])
        return replace(self, table=self.table.take(order), rows=rows, words=words)

    @property
    def weight(self) -> Float:
        return self.rows.weights

    @cached_property
    def _units(self) -> Units:
        return Units(self.words, self.rows.codes, self.weight)

    @property
    def units(self) -> Int:
        """Of each row: (n,)."""
        return self._units.count

    def places(self, folds: int, repeat: int = 0) -> Int:
        """Where the first unit of each row goes: its fold is the place modulo ``folds``: (n,)."""
        return self._units.places(folds, repeat)

    def weigh_fold(self, place: Int, folds: int, fold: int, kept: int = 1, among: int = 1) -> Float:
        """The mass of each row in a fold, or in ``kept`` of every ``among`` units of it: (n,)."""
        return self._units.weigh_fold(place, folds, fold, kept, among)


def _weights(weights: Float) -> Float | None:
    return None if (weights == 1).all() else weights


def _levels(keys: list[list[object]]) -> Levels:
    return Levels(tuple((family, value) for family, value in keys))  # type: ignore[misc]
