"""Changes: one row asked again and again, with one column, or two, changed each time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from bayeskit.arrays import Array, Batch, Float, Int, Label, TableLike
from bayeskit.data.matrix import Matrix

CELLS = 4_000_000  # of the tables that are asked at once


@dataclass(frozen=True)
class Change:
    """The values to be tried in one column; None is a missing one. ``also`` is tried together with them in another."""

    column: str
    values: Sequence[Any]
    also: tuple[str, Sequence[Any]] | None = None  # another column, and as many values

    @property
    def each(self) -> list[tuple[str, Sequence[Label]]]:
        """Every column that is changed, with its values."""
        return [(self.column, self.values), *([self.also] if self.also else [])]

    def piece(self, start: int, end: int) -> Change:
        """Some of the values."""
        also = None if self.also is None else (self.also[0], self.also[1][start:end])
        return Change(self.column, self.values[start:end], also)

    @staticmethod
    def value_at(batch: Batch, row: int, column: str) -> Any:
        """What a row of a batch holds in a column, None where it is missing."""
        if isinstance(batch, Matrix):
            value = batch.dense(np.array([batch.positions[column]]))[row, 0].item()
        else:
            value = batch.column(column)[row].as_py()
        return None if value != value else value

    @staticmethod
    def whole(batch: Batch, column: str) -> bool:
        """Whether a column can hold whole numbers only."""
        return bool(pa.types.is_integer(batch.schema.field(column).type))


def ask(
    batch: Batch, row: int, changes: Sequence[Change], ask: Callable[[TableLike], tuple[Int, Float]]
) -> list[tuple[Int, Float]]:
    """The answers to a row with each value of each change: for each change two arrays, one entry for each value."""
    width = len(batch.schema.names) if isinstance(batch, Matrix) else batch.num_columns
    pieces: list[list[tuple[Int, Float]]] = [[] for _ in changes]
    for some in _chunks(changes, max(1, CELLS // max(width, 1))):
        answers = ask(_table(batch, row, [change for _, change in some]))
        ends = np.cumsum([len(change.values) for _, change in some])[:-1]
        for (i, _), *parts in zip(some, *(np.split(answer, ends) for answer in answers), strict=True):
            pieces[i].append((parts[0], parts[1]))
    return [(np.concatenate([a for a, _ in each]), np.concatenate([b for _, b in each])) for each in pieces]


def _chunks(changes: Sequence[Change], most: int) -> Iterator[list[tuple[int, Change]]]:
    """Changes by number, as many together as there may be rows; one with too many values in pieces."""
    some: list[tuple[int, Change]] = []
    room = most
    for i, change in enumerate(changes):
        for start in range(0, len(change.values), most):
            piece = change.piece(start, start + most)
            if some and len(piece.values) > room:
                yield some
                some, room = [], most
            some.append((i, piece))
            room -= len(piece.values)
    if some:
        yield some


def _table(batch: Batch, row: int, changes: Sequence[Change]) -> Any:
    """The row once for each value of each change."""
    counts = [len(change.values) for change in changes]
    start = np.cumsum([0, *counts])
    if isinstance(batch, Matrix):
        x: Array = np.repeat(batch.slice(row, 1).dense().astype(np.float64), start[-1], axis=0)
        for change, first in zip(changes, start.tolist(), strict=False):
            for name, values in change.each:
                mine = [np.nan if v is None else v for v in values]
                x[first : first + len(mine), batch.positions[name]] = mine
        return x
    whole = pa.Table.from_batches([batch.slice(row, 1)]).take(np.zeros(start[-1], dtype=np.int64))
    columns: dict[str, list[Any]] = {}
    for change, first in zip(changes, start.tolist(), strict=False):
        for name, tried in change.each:
            if name not in columns:
                columns[name] = [Change.value_at(batch, row, name)] * int(start[-1])
            columns[name][first : first + len(tried)] = tried
    for name, values in columns.items():
        whole = whole.set_column(whole.column_names.index(name), name, pa.array(values))
    return whole
