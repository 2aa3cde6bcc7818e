"""Predictions as a frame, as a file, or on a cluster: answers beside the columns to keep."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, Protocol, runtime_checkable

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import csv

from bayeskit.arrays import ColumnNames, FilePath, Float, Frame, PriorLike, TableLike
from bayeskit.data.block import Block
from bayeskit.data.frame import convert_frame, kind_of
from bayeskit.engines.engine import MOST, answering
from bayeskit.engines.fields import is_text
from bayeskit.engines.files import rows_of
from bayeskit.engines.xlsx import write_xlsx
from bayeskit.errors import InputError, warn
from bayeskit.explain.answers import Answers
from bayeskit.model.batch_predictor import BatchPredictor
from bayeskit.model.model import Model
from bayeskit.replacement import replace_on_success

FORMULA = r"^[=+\-@\t\r\n]"  # how texts begin that spreadsheets run
FORMS = {  # by the ending of a file's name
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".xlsx": "xlsx",
    ".jsonl": "json lines",
    ".ndjson": "json lines",
}
GROUP = 1 << 17  # rows of a Parquet row group


@runtime_checkable
class FrameEngine(Protocol):
    """An engine whose executors work answers out where the rows are."""

    def frame(self, rows: object, columns: object, answers: object, schema: pa.Schema) -> Frame:
        """A frame of answers."""


def predict_frame(asked: BatchPredictor, X: TableLike, keep: ColumnNames, prior: PriorLike, wanted: object) -> Frame:
    """The kind of frame X was (a Spark frame stays where it is), else an Arrow table."""
    table, answers = asked.table, _answers(asked, keep, prior, wanted)
    engine = answering(table.engine, len(answers.columns), len(answers.model.classes))
    if isinstance(engine, FrameEngine):
        step = answers if asked.pool is None else _pool_on_executors(asked.pool, answers, prior)
        return engine.frame(table.source.rows, answers.columns, step, answers.schema)
    return convert_frame(pa.Table.from_batches(_batches(asked, answers, prior), answers.schema), kind_of(X))


def _pool_on_executors(pool: object, answers: Answers, prior: PriorLike) -> Callable[[pa.RecordBatch], pa.RecordBatch]:
    """What executors, which have no scikit-learn, need to answer as a pool does."""
    from bayeskit.ensemble.on_executors import PoolAnswers
    from bayeskit.estimators.auto import AutoBayes

    if not isinstance(pool, AutoBayes) or answers.reasons or answers.evidence:
        what = "reasons and evidence of a pool are" if isinstance(pool, AutoBayes) else f"{type(pool).__name__} is"
        raise InputError(
            f"{what} not worked out on executors, which have no scikit-learn; bring the rows here (toArrow), or fit "
            f"one model"
        )
    return PoolAnswers.of(answers, replace(pool.ensemble_, prior=pool.prior), prior)


def predict_file(
    asked: BatchPredictor,
    path: FilePath | BinaryIO,
    keep: ColumnNames = (),
    prior: PriorLike = None,
    form: str | None = None,
    **wanted: Any,
) -> int:
    """The answers written batch by batch to a file, whole or not at all; how many rows it has.

    ``path`` may be an open binary file. ``form`` is "csv", "parquet", "xlsx", "json" (an array of records), "json
    lines" or "safe csv", which a spreadsheet does not run; what the name says unless given, CSV where there is none.
    """
    digits = wanted.pop("digits", None)
    answers = _answers(asked, keep, prior, wanted)
    batches = _batches(asked, answers, prior)
    if digits is not None:
        batches = (_round(batch, len(answers.keep), digits) for batch in batches)
    if not isinstance(path, str | os.PathLike):
        return WRITERS[form or "csv"](path, answers.schema, batches)
    name = os.fspath(path)
    write = WRITERS.get(form or FORMS.get(Path(name).suffix.lower(), ""))
    if write is None:
        raise InputError(f"{name}: answers are written to {', '.join(FORMS)} files; choose one of these endings")
    with replace_on_success(name) as file:
        rows = write(file, answers.schema, batches)
        if (expected := rows_of(asked.table.source.rows)) not in (None, rows):
            raise InputError(f"{expected} rows were to be answered, but {rows} were; the source has changed, ask again")
    return rows


def _round(batch: pa.RecordBatch, kept: int, digits: int) -> pa.RecordBatch:
    """The numbers of the answers to so many places; columns that were kept stay as they are."""
    columns = [
        pc.round(c, digits) if j >= kept and pa.types.is_floating(c.type) else c for j, c in enumerate(batch.columns)
    ]
    return pa.record_batch(columns, schema=batch.schema)


def _parquet(file: BinaryIO, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> int:
    repeating = [f.name for f in schema if not pa.types.is_floating(f.type)]  # probabilities seldom repeat
    with pq.ParquetWriter(file, schema, use_dictionary=repeating) as writer:
        for group in _group_batches(batches):
            writer.write_table(pa.Table.from_batches(group), row_group_size=GROUP)
    file.seek(0)
    return int(pq.read_metadata(file).num_rows)


def _group_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[list[pa.RecordBatch]]:
    """Batches by row groups of a size that reads well."""
    group: list[pa.RecordBatch] = []
    for batch in batches:
        group.append(batch)
        rows = sum(b.num_rows for b in group)
        if rows >= GROUP or rows * batch.num_columns >= MOST:
            yield group
            group = []
    if group:
        yield group


def _csv(file: BinaryIO, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> int:
    if nested := [f.name for f in schema if pa.types.is_nested(f.type)]:
        raise InputError(f"column {nested[0]!r} holds lists or structs, which CSV has no place for; write Parquet")
    rows = 0
    with csv.CSVWriter(file, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
            rows += batch.num_rows
    return rows


def _json(file: BinaryIO, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> int:
    """An array with a line for each row."""
    rows = 0
    for record in _records(batches):
        file.write(b",\n" if rows else b"[\n")
        file.write(record)
        rows += 1
    file.write(b"\n]\n")
    return rows


def _json_lines(file: BinaryIO, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> int:
    rows = 0
    for rows, record in enumerate(_records(batches), 1):  # noqa: B007
        file.write(record + b"\n")
    return rows


def _records(batches: Iterator[pa.RecordBatch]) -> Iterator[bytes]:
    """Each row as JSON; numbers that it does not have are null, and what it has no type for is text."""
    for batch in batches:
        for row in batch.to_pylist():
            known = {n: None if isinstance(v, float) and not math.isfinite(v) else v for n, v in row.items()}
            yield json.dumps(known, ensure_ascii=False, default=str).encode()


def _safe_csv(file: BinaryIO, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> int:
    """CSV whose texts a spreadsheet does not take for formulas: ' stands before those that begin as one.

    Numbers stay as they are, with their signs.
    """
    count = 0

    def safe(texts: pa.Array) -> pa.Array:
        nonlocal count
        runs = pc.match_substring_regex(texts, FORMULA)
        count += int(pc.sum(runs).as_py() or 0)
        return pc.if_else(runs, pc.binary_join_element_wise("'", texts, ""), texts)

    names = safe(pa.array(schema.names, pa.string())).to_pylist()
    fields = [f.with_type(pa.string()) if _is_text(f.type) else f for f in schema]
    wanted = pa.schema([f.with_name(name) for f, name in zip(fields, names, strict=True)])

    def of(batch: pa.RecordBatch) -> pa.RecordBatch:
        columns = [safe(c.cast(pa.string())) if _is_text(c.type) else c for c in batch.columns]
        return pa.record_batch(columns, schema=wanted)

    rows = _csv(file, wanted, map(of, batches))
    warn(f"{count:,} texts that a spreadsheet would run begin with ' in the answers")
    return rows


def _is_text(t: pa.DataType) -> bool:
    return is_text(t.value_type if pa.types.is_dictionary(t) else t)


WRITERS: Mapping[str, Callable[[BinaryIO, pa.Schema, Iterator[pa.RecordBatch]], int]] = {
    "parquet": _parquet,
    "csv": _csv,
    "safe csv": _safe_csv,
    "json": _json,
    "json lines": _json_lines,
    "xlsx": write_xlsx,
}


def some_rows(asked: BatchPredictor, first: int, count: int) -> pa.Table:
    """A few rows of a source, from one (its number from 0) on, with the columns of the fit."""
    table = asked.table
    found: list[pa.RecordBatch] = []
    seen = 0
    for batch in table.engine.map(table.source.rows, asked.model.schema.names, lambda batch, start: batch):
        here = batch.slice(max(first - seen, 0), count - sum(b.num_rows for b in found))
        found += [here] if here.num_rows else []
        seen += batch.num_rows
        if seen >= first + count:
            break
    if not found:
        raise InputError(f"there is no row {first + 1}: the source has {seen} rows")
    return pa.Table.from_batches(found)


def _answers(asked: BatchPredictor, keep: ColumnNames, prior: PriorLike, wanted: Any) -> Answers:
    if not isinstance(asked.table.fields, pa.Schema):
        raise InputError("a matrix has no columns to name; use predict_proba, or give a frame")
    return Answers.of(asked.model, asked.table.fields, keep, prior, **wanted)


def _batches(asked: BatchPredictor, answers: Answers, prior: PriorLike) -> Iterator[pa.RecordBatch]:
    if asked.pool is not None:
        return _pool_answers(asked, answers, prior)

    def step(model: Model, block: Block, prior: Float, batch: pa.RecordBatch, start: int) -> pa.RecordBatch:
        return answers.of_block(block, batch)

    return asked.steps(None, step, columns=answers.columns)


def _pool_answers(asked: BatchPredictor, answers: Answers, prior: PriorLike) -> Iterator[pa.RecordBatch]:
    """The answers of a pool of models."""
    pool, table = asked.pool, asked.table

    def step(batch: pa.RecordBatch, start: int) -> pa.RecordBatch:
        rows = pa.Table.from_batches([batch]).select(list(answers.model.schema.names))
        explained = pool.explain(rows, prior=prior) if answers.reasons else None
        evidence = pool.log_evidence(rows, prior) if answers.evidence else None
        sets = None if answers.coverage is None else pool.predict_set(rows, answers.coverage)
        novelty = pool.novelty(rows) if answers.novelty else None
        return answers.beside(batch, pool.predict_proba(rows, prior), evidence, explained, sets, novelty)

    engine = answering(table.engine, len(answers.columns), len(answers.model.classes))
    return engine.map(table.source.rows, answers.columns, step)
