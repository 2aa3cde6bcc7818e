"""Rows read: rows of a file or relation brought into memory, for models that look at them again and again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from bayeskit.arrays import Int, TableLike
from bayeskit.data.hash_split import Word, splitmix
from bayeskit.engines.engine import engine_for

PORTION = 100_000  # rows


def read_rows(
    X: TableLike, known: Mapping[str, str] | None = None, most: int | None = None, seed: int = 0
) -> tuple[pa.Table, int]:
    """The rows as a table, and how many there were: all, or a random sample of at most so many, in their order.

    Drawn are the rows whose numbers have the smallest hashes: the same ones whatever the batches are. ``known`` says
    what columns hold, for sources that do not say it themselves.
    """
    engine = engine_for(X)
    schema = engine.schema(X, known)
    kept: list[tuple[pa.RecordBatch, Word]] = []
    limit, rows, drawn = np.uint64(2**64 - 1), 0, 0
    for batch, words in engine.map(X, schema.names, lambda batch, start: (batch, _hashes(start, batch.num_rows, seed))):
        rows += batch.num_rows
        kept.append(_below(batch, words, limit) if most else (batch, words))
        drawn += kept[-1][0].num_rows
        if most and drawn > 2 * most:
            limit, kept = _fewer(kept, most)
            drawn = most
    if most and drawn > most:
        _, kept = _fewer(kept, most)
    return _table([batch for batch, _ in kept], schema) if kept else schema.empty_table(), rows


def draw_rows(rows: int, most: int, seed: int = 0) -> Int:
    """The numbers, from 0, of the rows that a sample of so many takes, in order: (most,).

    >>> draw_rows(1000, 3).tolist() == sorted(draw_rows(1000, 3).tolist())
    True
    """
    words = _hashes(0, rows, seed)
    return np.sort(np.argpartition(words, most - 1)[:most])


def portions(X: TableLike, known: Mapping[str, str] | None = None) -> Iterator[pa.Table]:
    """The rows as tables of some size, one after the other."""
    engine = engine_for(X)
    schema = engine.schema(X, known)
    some: list[pa.RecordBatch] = []
    for batch in engine.map(X, schema.names, lambda batch, start: batch):
        some.append(batch)
        if sum(b.num_rows for b in some) >= PORTION:
            yield _table(some, schema)
            some = []
    if some:
        yield _table(some, schema)


def _table(batches: Sequence[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    """The batches as a table, with what the fields of the source declare."""
    table = pa.Table.from_batches(batches)
    told = [f.with_metadata(schema.field(f.name).metadata) for f in table.schema]
    return pa.table(table.columns, schema=pa.schema(told))


def _hashes(start: int, rows: int, seed: int) -> Word:
    return splitmix(splitmix(np.arange(start, start + rows, dtype=np.uint64)) ^ np.uint64(seed))


def _below(batch: pa.RecordBatch, words: Word, limit: np.uint64) -> tuple[pa.RecordBatch, Word]:
    some = words <= limit
    return batch.filter(pa.array(some)), words[some]


def _fewer(kept: list[tuple[pa.RecordBatch, Word]], most: int) -> tuple[np.uint64, list[tuple[pa.RecordBatch, Word]]]:
    """The rows of the smallest hashes; no two rows have the same."""
    every = np.concatenate([words for _, words in kept])
    limit = np.partition(every, most - 1)[most - 1]
    return limit, [_below(batch, words, limit) for batch, words in kept]
