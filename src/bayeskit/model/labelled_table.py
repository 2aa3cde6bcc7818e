"""LabelledTable: a labelled table in memory, of which some rows can be taken, or read from where it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from bayeskit.arrays import Array, Bool, ColumnLike, Float, Int, LabelsLike, TableLike, WeightsLike
from bayeskit.data.encode import Roles, groups_of, weights_of
from bayeskit.data.frame import as_list, is_array_only, is_sparse_matrix, kind_of
from bayeskit.data.hash_split import Word, splitmix
from bayeskit.data.levels import Levels
from bayeskit.data.matrix import Matrix
from bayeskit.data.source import labels, source
from bayeskit.engines.engine import engine_for, is_outside
from bayeskit.errors import InputError
from bayeskit.model.open_table import OpenTable


@dataclass(frozen=True)
class Rows:
    """What a method may know of the rows: their classes, weights and groups, never their features."""

    codes: Int  # (n,) class of each row, -1 without a label
    weights: Float  # (n,)
    classes: Array  # (K,) labels
    groups: Int | None = None  # (n,) rows of one group stay together

    def __len__(self) -> int:
        return len(self.codes)

    @cached_property
    def counted(self) -> Bool:
        """Rows that have a label and some weight; the others are predicted but neither learned nor judged."""
        return (self.codes >= 0) & (self.weights > 0)

    @cached_property
    def unweighted(self) -> bool:
        """Whether every row has weight 1."""
        return bool((self.weights == 1).all())


@dataclass(frozen=True)
class LabelledTable:
    """The table as it was given, with classes, weights and groups of its rows read out."""

    X: Any
    y: Any
    weight: Any
    rows: Rows
    roles: Roles
    beside: Mapping[str, pa.Array]  # labels and weights by the names of their roles

    @classmethod
    def of(
        cls, X: TableLike, y: LabelsLike, weight: WeightsLike = None, groups: object = None, least: int = 2
    ) -> LabelledTable:
        if y is None:
            raise InputError("requires y to be passed, but the target y is None: give the labels, or name their column")
        if is_outside(X):
            raise InputError("rows of a file or relation cannot be taken by number; evaluate() reads them in passes")
        if isinstance(groups, str):
            column = groups
            groups, X = _column(X, column), drop_columns(X, (column,))
        values = None if isinstance(y, str) else values_of(X)  # a column can be named of a table only
        X = X if values is None else values
        given = OpenTable.of(X if values is None else np.empty((len(values), 1)), y, weight, None).source
        n = given.rows.num_rows
        roles = given.roles
        batch = Matrix(np.empty((n, 0)), {name: _held(given.rows, name) for name in roles.names})
        codes, levels, _ = groups_of(batch, roles, Levels(), 1)
        weights = weights_of(batch, roles)
        weights = np.ones(n) if weights is None else weights
        if n and not weights.any():
            raise InputError("all sample weights are zero, so no row counts; give some that are above zero")
        heavy = np.bincount(codes[codes >= 0], weights[codes >= 0], minlength=len(levels)) > 0
        classes = levels.canonical(heavy)
        codes = np.append(levels.codes_in(classes), -1)[codes]
        if len(classes) < least:
            raise InputError(
                f"{f'column {y!r}' if isinstance(y, str) else 'y'} has "
                f"{'the one class ' + classes.show() if len(classes) else 'no class'}; "
                f"a classifier can be evaluated on two classes or more"
            )
        rows = Rows(codes.astype(np.int64), weights, labels(classes.values, given.label), _number_groups(groups, n))
        return cls(X, y, weight, rows, roles, batch.beside)

    @property
    def kind(self) -> str:
        return kind_of(self.X)

    @cached_property
    def features(self) -> Any:
        """X without target and weight, in a form that rows can be taken of."""
        if is_sparse_matrix(self.X):
            return self.X.tocsr()
        if is_array_only(self.X):
            return np.asarray(self.X)
        table = pa.table(dict(self.X)) if isinstance(self.X, Mapping) else self.X
        return drop_columns(table, [name for name in self.roles.names if not name.startswith(":")])

    def open(self, n_jobs: int | None, fold: ColumnLike | None = None) -> OpenTable:
        """The table opened again, with the fold of each row."""
        y, weight = (
            name if name is None or not name.startswith(":") else self.beside[name]
            for name in (self.roles.label, self.roles.weight)
        )
        return OpenTable.open(source(self.X, y, weight, fold), n_jobs)

    def take(self, rows: Int) -> tuple[Any, Array, Float | None]:
        """Features, labels and weights (None where none were given) of some rows, all of which have a label."""
        weights = None if self.weight is None else self.rows.weights[rows]
        plain = np.array(self.rows.classes.tolist())  # whole numbers beside missing ones came as objects
        every = len(rows) == len(self.rows.codes) and bool((np.diff(rows) > 0).all())
        return self.features if every else take_rows(self.features, rows), plain[self.rows.codes[rows]], weights


def values_of(X: Any) -> Any:
    """A list, array or series of values, of which a pipeline may make columns (texts into words); None for a table."""
    if isinstance(X, pa.Array | pa.ChunkedArray):
        return X.to_pylist()
    if isinstance(X, list | tuple):
        return X if len(X) and isinstance(X[0], str) else None
    if not (isinstance(X, np.ndarray) or kind_of(X) in ("pandas", "polars")) or len(X.shape) != 1:
        return None
    return X.to_list() if kind_of(X) == "polars" else X


def take_rows(X: Any, rows: Int) -> Any:
    """Some rows of a table."""
    if isinstance(X, list | tuple):
        return [X[i] for i in rows.tolist()]
    if not isinstance(X, pa.Table):
        return X.iloc[rows] if kind_of(X) == "pandas" else X[rows]
    if pa.string_view() in X.schema.types:  # which Arrow cannot take from
        plain = [f.with_type(pa.large_string()) if f.type == pa.string_view() else f for f in X.schema]
        X = X.cast(pa.schema(plain))
    return X.take(pa.array(rows))


def drop_columns(X: Any, names: Sequence[str]) -> Any:
    """A table without some of its columns."""
    if not names:
        return X
    if isinstance(X, pa.Table):
        return X.drop_columns(list(names))
    if isinstance(X, Mapping):
        return {name: column for name, column in X.items() if name not in names}
    if isinstance(X, list | tuple):
        return [{name: value for name, value in row.items() if name not in names} for row in X]
    return X.drop(columns=list(names)) if kind_of(X) == "pandas" else X.drop(list(names))


def _column(X: Any, name: str) -> Any:
    if isinstance(X, list | tuple):
        return [row.get(name) for row in X]
    try:
        return X[name]
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise InputError(f"groups={name!r} names no column of the table") from error


def _held(rows: Any, name: str) -> pa.Array:
    return rows.beside[name] if isinstance(rows, Matrix) else rows.column(name).combine_chunks()


def _number_groups(groups: object, n: int) -> Int | None:
    """Groups by number; any hashable names will do."""
    if groups is None:
        return None
    names = list(as_list(groups))
    if len(names) != n:
        raise InputError(f"groups has {len(names)} values, the table {n} rows")
    index = {name: code for code, name in enumerate(dict.fromkeys(names))}
    return np.array([index[name] for name in names], dtype=np.int64)


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
    portion: list[pa.RecordBatch] = []
    for batch in engine.map(X, schema.names, lambda batch, start: batch):
        portion.append(batch)
        if sum(b.num_rows for b in portion) >= PORTION:
            yield _table(portion, schema)
            portion = []
    if portion:
        yield _table(portion, schema)


def _table(batches: Sequence[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    """The batches as a table, with what the fields of the source declare."""
    table = pa.Table.from_batches(batches)
    declared = [f.with_metadata(schema.field(f.name).metadata) for f in table.schema]
    return pa.table(table.columns, schema=pa.schema(declared))


def _hashes(start: int, rows: int, seed: int) -> Word:
    return splitmix(splitmix(np.arange(start, start + rows, dtype=np.uint64)) ^ np.uint64(seed))


def _below(batch: pa.RecordBatch, words: Word, limit: np.uint64) -> tuple[pa.RecordBatch, Word]:
    below = words <= limit
    return batch.filter(pa.array(below)), words[below]


def _fewer(kept: list[tuple[pa.RecordBatch, Word]], most: int) -> tuple[np.uint64, list[tuple[pa.RecordBatch, Word]]]:
    """The rows of the smallest hashes; no two rows have the same."""
    every = np.concatenate([words for _, words in kept])
    limit = np.partition(every, most - 1)[most - 1]
    return limit, [_below(batch, words, limit) for batch, words in kept]
