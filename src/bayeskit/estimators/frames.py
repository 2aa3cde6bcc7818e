"""Predictions as a frame, as a file, or on a cluster: answers beside the columns to keep."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

from bayeskit.answers import Answers
from bayeskit.arrays import Float
from bayeskit.data.block import Block
from bayeskit.engines.files import rows_of
from bayeskit.errors import InputError
from bayeskit.estimators.intake import Intake
from bayeskit.frame import kind_of, turned
from bayeskit.model import Model
from bayeskit.replacement import replacing

GROUP = 1 << 17  # rows of a Parquet row group

if TYPE_CHECKING:
    from bayeskit.estimators.classifier import BayesClassifier


def predicted_frame(classifier: BayesClassifier, X: Any, keep: Any, prior: Any, wanted: Any) -> Any:
    """The kind of frame X was (a Spark frame stays where it is), else an Arrow table."""
    table, answers = _opened(classifier, X, keep, prior, wanted)
    if hasattr(table.engine, "frame"):
        return table.engine.frame(table.source.rows, answers.columns, answers, answers.schema)
    return turned(pa.Table.from_batches(_batches(classifier, table, answers, prior), answers.schema), kind_of(X))


def predicted_file(classifier: Any, X: Any, path: Any, keep: Any = (), prior: Any = None, **wanted: Any) -> int:
    """The answers written batch by batch to a Parquet or CSV file, whole or not at all; how many rows it has.

    ``path`` may be an open binary file, which gets CSV.
    """
    table, answers = _opened(_encoder(classifier), X, keep, prior, wanted)
    batches = _batches(classifier, table, answers, prior)
    if hasattr(path, "write"):
        return _csv(path, answers.schema, batches)
    name = os.fspath(path)
    write = {".parquet": _parquet, ".pq": _parquet, ".csv": _csv}.get(Path(name).suffix.lower())
    if write is None:
        raise InputError(f"{name}: answers are written to .parquet or .csv files; choose one of these endings")
    with replacing(name) as file:
        rows = write(file, answers.schema, batches)
        if (expected := rows_of(table.source.rows)) not in (None, rows):
            raise InputError(f"{expected} rows were to be answered, but {rows} were; the source has changed, ask again")
    return rows


def _parquet(file: BinaryIO, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> int:
    repeating = [f.name for f in schema if not pa.types.is_floating(f.type)]  # probabilities seldom repeat
    with pq.ParquetWriter(file, schema, use_dictionary=repeating) as writer:
        for some in _grouped(batches):
            writer.write_table(pa.Table.from_batches(some), row_group_size=GROUP)
    file.seek(0)
    return int(pq.read_metadata(file).num_rows)


def _grouped(batches: Iterator[pa.RecordBatch]) -> Iterator[list[pa.RecordBatch]]:
    """Batches by row groups of a size that reads well."""
    some: list[pa.RecordBatch] = []
    for batch in batches:
        some.append(batch)
        if sum(b.num_rows for b in some) >= GROUP:
            yield some
            some = []
    if some:
        yield some


def _csv(file: BinaryIO, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> int:
    if nested := [f.name for f in schema if pa.types.is_nested(f.type)]:
        raise InputError(f"column {nested[0]!r} holds lists or structs, which CSV has no place for; write Parquet")
    rows = 0
    with csv.CSVWriter(file, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
            rows += batch.num_rows
    return rows


def some_rows(classifier: Any, X: Any, first: int, count: int) -> pa.Table:
    """A few rows of a source, from one on, with the columns of the fit."""
    encoder = _encoder(classifier)
    table, wanted = encoder._asked(X), encoder.model_.schema.names
    found: list[pa.RecordBatch] = []
    seen = 0
    for batch in table.engine.map(table.source.rows, wanted, lambda batch, start: batch):
        here = batch.slice(max(first - seen, 0), count - sum(b.num_rows for b in found))
        found += [here] if here.num_rows else []
        seen += batch.num_rows
        if seen >= first + count:
            break
    if not found:
        raise InputError(f"there is no row {first}: the source has {seen} rows, the first is 0")
    return pa.Table.from_batches(found)


def _opened(classifier: BayesClassifier, X: Any, keep: Any, prior: Any, wanted: Any) -> tuple[Intake, Answers]:
    table = classifier._asked(X, keep)
    if not isinstance(table.fields, pa.Schema):
        raise InputError("a matrix has no columns to name; use predict_proba, or give a frame")
    return table, Answers.of(classifier.model_, table.fields, keep, prior, **wanted)


def _encoder(classifier: Any) -> BayesClassifier:
    """Who knows the columns: the classifier, or of a pool of them the one that reads rows."""
    return getattr(classifier, "encoder_", classifier)  # type: ignore[no-any-return]


def _batches(classifier: Any, table: Intake, answers: Answers, prior: Any) -> Iterator[pa.RecordBatch]:
    if _encoder(classifier) is not classifier:
        return _pooled(classifier, table, answers, prior)

    def step(model: Model, block: Block, prior: Float, batch: pa.RecordBatch, start: int) -> pa.RecordBatch:
        return answers.of_block(block, batch)

    return classifier._steps(table, None, step, columns=answers.columns)


def _pooled(classifier: Any, table: Intake, answers: Answers, prior: Any) -> Iterator[pa.RecordBatch]:
    """The answers of a pool of models."""
    if answers.evidence or answers.reasons:
        raise InputError(
            f"{type(classifier).__name__} pools several models: it has no evidence, and explain its reasons"
        )
    names = list(answers.model.schema.names)

    def step(batch: pa.RecordBatch, start: int) -> pa.RecordBatch:
        return answers.beside(batch, classifier.predict_proba(pa.Table.from_batches([batch]).select(names), prior))

    return table.engine.map(table.source.rows, answers.columns, step)
