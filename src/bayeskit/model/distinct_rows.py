"""Distinct: a labelled table with equal rows as one, in an order that depends on nothing but what rows hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from bayeskit.arrays import Array, Bool, Float, Int, LabelsLike, TableLike, WeightsLike
from bayeskit.data.block import Block
from bayeskit.data.encode import Roles, groups_of, weights_of
from bayeskit.data.hash_split import Word
from bayeskit.data.source import labels
from bayeskit.engines.engine import is_outside
from bayeskit.model.batch_predictor import BatchPredictor
from bayeskit.model.labelled_table import LabelledTable, Rows, take_rows
from bayeskit.model.model import Model
from bayeskit.model.open_table import OpenTable
from bayeskit.statistics.content import Content, Units
from bayeskit.statistics.exact import ExactSum


@dataclass(frozen=True)
class Keys:
    """What tells rows apart, and how much each weighs."""

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

    def distinct(self, most: int | None) -> tuple[Int, Keys]:
        """One row of each hash and class, by hash, and their keys with all that equal rows weigh.

        Of more different hashes than ``most`` the smallest are kept.
        """
        order = np.lexsort((self.code, self.words[1], self.words[0]))
        every = self.at(order)
        new = np.ones(len(order), dtype=bool)
        new[1:] = (every.words[:, 1:] != every.words[:, :-1]).any(axis=0)
        hashes = np.flatnonzero(new)
        stop = len(order) if most is None or len(hashes) <= most else int(hashes[most])
        begin = np.flatnonzero(new | (np.diff(every.code, prepend=-1) != 0))
        begin = begin[begin < stop]
        limbs = np.add.reduceat(every.weight.limbs[:stop], begin, axis=0)
        found = replace(every.at(begin), weight=ExactSum(limbs, every.weight.low).carry())
        return order[begin], found


@dataclass(frozen=True)
class Distinct:
    """Rows that differ in features or class, by hash; those that weigh nothing are left out.

    They are dealt to folds as ``Units`` says.
    """

    X: Any  # rows in memory, among them one of each
    index: Int  # (n,) where it is
    rows: Rows  # class and weight of each
    words: Word  # (2, n)
    constant: frozenset[str]  # columns in which all rows hold the same

    @classmethod
    def of(cls, sample: LabelledTable, model: Model, key: int = 0, most: int | None = None) -> Distinct:
        """Of rows in memory, read as a model reads them; of the ``most`` smallest hashes."""
        X, _, weight = sample.take(counted := np.flatnonzero(sample.rows.counted))
        table = BatchPredictor.of(model, X, "").table

        def blocks() -> Iterator[Block]:
            return table.engine.map(table.rows(model.structure.sparse), model.schema.names, lambda b, _: model.block(b))

        content = Content.varying(blocks(), key)
        words = np.concatenate([content.words(block) for block in blocks()], axis=1)
        rows, keys = Keys.of(words, sample.rows.codes[counted], weight).distinct(most)
        return cls(X, rows, _rows(keys, sample.rows.classes), keys.words, content.constant)

    @classmethod
    def read(cls, X: TableLike, y: LabelsLike, weight: WeightsLike, model: Model, most: int) -> Distinct:
        """The same of rows wherever they are: those of a file or relation are read in passes."""
        if not is_outside(X):
            return cls.of(LabelledTable.of(X, y, weight), model, most=most)
        table, classes = OpenTable.of(X, y, weight, None, model.counted.types), model.counted.domain.classes
        names, roles = model.schema.names, table.source.roles

        def read(batch: pa.RecordBatch, start: int) -> tuple[pa.Table, list[Block], Int, Float | None]:
            code, _, _ = groups_of(batch, roles, classes, 1)
            mass = weights_of(batch, roles)
            some = np.flatnonzero(code >= 0 if mass is None else (code >= 0) & (mass > 0))
            rows = take_rows(pa.Table.from_batches([batch.select(names)]), some).combine_chunks()
            blocks = [model.block(batch) for batch in rows.to_batches() if batch.num_rows]
            return rows, blocks, code[some].astype(np.int64), None if mass is None else mass[some]

        def batches() -> Iterator[tuple[pa.Table, list[Block], Int, Float | None]]:
            return table.engine.map(table.rows(False), table.columns(model.schema), read)

        content = Content.varying(block for _, blocks, _, _ in batches() for block in blocks)
        held, keys = [], []
        for rows, blocks, code, mass in batches():
            if not blocks:
                continue
            held.append(rows)
            keys.append(Keys.of(np.concatenate([content.words(block) for block in blocks], axis=1), code, mass))
            if sum(map(len, keys)) > 4 * most:
                held, keys = _fewer(held, keys, most)
        (rows,), (found,) = _fewer(held, keys, most)
        known = _rows(found, labels(classes.values, model.schema.label))
        return cls(rows, np.arange(len(found)), known, found.words, content.constant)

    @property
    def sample(self) -> LabelledTable:
        """The rows by themselves, in their order."""
        weight = None if (self.weight == 1).all() else self.weight
        return LabelledTable(take_rows(self.X, self.index), None, weight, self.rows, Roles(), {})

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
        """Where the first unit of each row is dealt: its fold is the place modulo ``folds``: (n,)."""
        return self._units.places(folds, repeat)

    def dealt(self, place: Int, folds: int, fold: int, kept: int = 1, among: int = 1) -> Float:
        """The mass of each row in a fold, or in ``kept`` of every ``among`` units of it: (n,)."""
        return self._units.dealt(place, folds, fold, kept, among)

    def some(self, most: int) -> Distinct:
        """About so many of its units, each class by its share."""
        total = int(self.units.sum())
        if total <= most:
            return self
        mass = self.dealt(self.places(1), 1, 0, most, total)
        some = np.flatnonzero(mass > 0)
        kept = Rows(self.rows.codes[some], mass[some], self.rows.classes)
        return replace(self, index=self.index[some], rows=kept, words=np.ascontiguousarray(self.words[:, some]))


def _rows(keys: Keys, classes: Array) -> Rows:
    return Rows(keys.code, keys.weight.to_float(), classes)


def _fewer(held: list[pa.Table], keys: list[Keys], most: int) -> tuple[list[pa.Table], list[Keys]]:
    rows, found = Keys.concatenate(keys).distinct(most)
    return [pa.concat_tables(held).take(pa.array(rows))], [found]
