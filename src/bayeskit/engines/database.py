"""Database: tables and queries of SQLite and PostgreSQL, as Arrow through ADBC."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa

from bayeskit.arrays import Batch
from bayeskit.engines.duckdb import the_table
from bayeskit.engines.reading import Reading, is_place
from bayeskit.engines.sql import check_one, check_sql_names, literal, quote, subquery
from bayeskit.engines.workers import Streamed
from bayeskit.errors import InputError
from bayeskit.replacement import check_readable

TABLES = {
    "sqlite": "select name from sqlite_master where type in ('table', 'view') and name not like 'sqlite_%'",
    "postgresql": "select table_name from information_schema.tables "
    "where table_schema not in ('pg_catalog', 'information_schema')",
}
SAMPLES = {"text": "''", "real": "0.5", "integer": "0"}  # how a column's first value gives ADBC its type


class Database(Streamed):
    """A database on a server or in a SQLite file: the only table it has, or what a query says."""

    @staticmethod
    def takes(source: object) -> bool:
        return is_place(source, "sqlite", "postgresql")

    def schema(self, source: object, known: Mapping[str, str] | None = None) -> pa.Schema:
        with self._query(Reading.of(source), None) as (schema, _):
            return schema

    @contextmanager
    def _batches(self, source: object, columns: Sequence[str], ordered: bool) -> Iterator[Iterator[pa.RecordBatch]]:
        with self._query(Reading.of(source), columns) as (_, batches):
            yield batches

    @contextmanager
    def _query(
        self, reading: Reading, columns: Sequence[str] | None
    ) -> Iterator[tuple[pa.Schema, Iterator[pa.RecordBatch]]]:
        with _connect(reading) as connection, connection.cursor() as cursor:
            if reading.query is None:
                table = quote(the_table(reading, _all(cursor, TABLES[reading.sort]).column(0).to_pylist()))
            else:
                check_one(reading.query, reading.shown)
                table = f"{subquery(reading.query)} as the_query"
            opened = _sqlite if reading.sort == "sqlite" else _postgresql
            yield opened(cursor, table, reading, columns)


@contextmanager
def _connect(reading: Reading) -> Iterator[Batch]:
    try:
        driver = import_module(f"adbc_driver_{reading.sort}.dbapi")
        manager = import_module("adbc_driver_manager")
    except ImportError as error:
        raise InputError(f"{reading.shown}: reading a database needs ADBC; pip install 'bayeskit[sql]'") from error
    if reading.sort == "sqlite":
        check_readable(reading.place)  # it would be made
    try:
        with _address(reading) as place, driver.connect(place) as connection:
            if reading.sort == "postgresql":
                with connection.cursor() as cursor:
                    cursor.execute("set transaction read only")
            yield connection
    except (manager.Error, pa.ArrowException) as error:
        said = str(error).splitlines()[0].replace(reading.place, reading.shown)
        raise InputError(f"{reading.shown}: {said}") from error


@contextmanager
def _address(reading: Reading) -> Iterator[str]:
    """The address to read only; the signs of a file's name mean nothing in it, and nothing is written beside the file.

    SQLite makes an index of a write-ahead log, or writes into the one that is there, even to read: a file with a log is
    read from a copy of both. Where a file may have a log and has none nobody is writing, and it is read without locks.
    """
    if reading.sort != "sqlite":
        yield reading.place
        return
    path = Path(reading.place).resolve()
    log = Path(f"{path}-wal")
    with open(path, "rb") as file:
        logged = file.read(20)[18:] == b"\2\2"
    if os.path.lexists(log):
        check_readable(str(log))
        with TemporaryDirectory(prefix="bayeskit-") as folder:
            copy = Path(folder) / "copy.sqlite"
            with _check_unwritten(path, reading.shown):  # what is added to the log meanwhile is not read, or as a whole
                _copy(path, copy, reading.shown)
                _copy(log, Path(f"{copy}-wal"), reading.shown)
            yield f"{copy.as_uri()}?mode=ro"
    elif logged:
        with _check_unwritten(path, reading.shown):
            yield f"{path.as_uri()}?mode=ro&immutable=1"
    else:
        yield f"{path.as_uri()}?mode=ro"


@contextmanager
def _check_unwritten(path: Path, shown: str) -> Iterator[None]:
    """Refuse what was done if the file was written to meanwhile."""
    before = path.stat()
    yield
    after = path.stat()
    if (after.st_mtime_ns, after.st_size) != (before.st_mtime_ns, before.st_size):
        raise InputError(f"{shown}: the database was written to while it was read; read it again")


def _copy(path: Path, copy: Path, shown: str) -> None:
    try:
        shutil.copyfile(path, copy)
    except OSError as error:
        raise InputError(
            f"{shown}: a database with a write-ahead log is read from a copy in {copy.parent.parent}: "
            f"{(error.strerror or str(error)).lower()}; close what writes to it, or set TMPDIR to a folder with room"
        ) from error


def _choose(names: Sequence[str], reading: Reading, columns: Sequence[str] | None) -> list[str]:
    check_sql_names(reading.shown, names)
    return reading.kept(names) if columns is None else list(columns)


def _all(cursor: Any, query: str) -> pa.Table:
    cursor.execute(query)
    return cursor.fetch_arrow_table()


def _sqlite(
    cursor: Any, table: str, reading: Reading, columns: Sequence[str] | None
) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """One type for all values of a column, given by a first row that is none of the table's.

    In SQLite every value has a type of its own, and ADBC takes a column's from its first values. A column declared
    boolean that holds nothing but 0 and 1 is one.
    """
    names = _choose(_all(cursor, f"select * from {table} limit 0").column_names, reading, columns)
    tests = (f"typeof({{0}}) = '{t}'" for t in ("blob", *SAMPLES))
    asked = [f"max({test.format(quote(n))})" for test in (*tests, "{0} not in (0, 1)") for n in names]
    (row,) = (
        _all(cursor, f"select {', '.join(asked)} from {table}")
        .rename_columns(list(map(str, range(len(asked)))))
        .to_pylist()
    )
    blob, *held, other = np.array([bool(v) for v in row.values()]).reshape(-1, len(names))
    if blob.any():
        name = names[int(np.argmax(blob))]
        raise InputError(f"{reading.shown}: column {name!r} holds binary values; leave it out (--ignore {name})")
    kinds = [next((k for k, any_of in zip(SAMPLES, held, strict=True) if any_of[j]), "real") for j in range(len(names))]
    first = ", ".join(f"{SAMPLES[k]} as {quote(n)}" for n, k in zip(names, kinds, strict=True))
    rest = ", ".join(f"cast({quote(n)} as {k})" for n, k in zip(names, kinds, strict=True))
    declared = _booleans(cursor, table) if reading.query is None else {}
    cursor.execute(f"select {first} union all select {rest} from {table}")
    reader = cursor.fetch_record_batch()
    truth = [declared.get(n) and k == "integer" and not o for n, k, o in zip(names, kinds, other, strict=True)]
    schema = pa.schema(
        [pa.field(f.name, pa.bool_() if t else f.type) for f, t in zip(reader.schema, truth, strict=True)]
    )
    return schema, (batch.cast(schema) for batch in _without_first(reader))


def _booleans(cursor: object, table: str) -> dict[str, bool]:
    """Which columns of a SQLite table are declared boolean."""
    types = _all(
        cursor, f"select name, type from pragma_table_info({literal(table[1:-1].replace(chr(34) * 2, chr(34)))})"
    )
    return {n: t.upper() in ("BOOLEAN", "BOOL") for n, t in zip(*(c.to_pylist() for c in types.columns), strict=True)}


def _without_first(reader: Any) -> Iterator[pa.RecordBatch]:
    for i, batch in enumerate(reader):
        yield batch.slice(int(i == 0))


def _postgresql(
    cursor: Any, table: str, reading: Reading, columns: Sequence[str] | None
) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """Decimals as doubles, and what Arrow has no type for as text."""
    fields = {f.name: f for f in _all(cursor, f"select * from {table} limit 0").schema}
    shown = [f"{quote(n)}{_cast(fields[n])}" for n in _choose(list(fields), reading, columns)]
    cursor.execute(f"select {', '.join(shown)} from {table}")
    reader = cursor.fetch_record_batch()
    return pa.schema([f.remove_metadata() for f in reader.schema]), iter(reader)


def _cast(f: pa.Field) -> str:
    named = (f.metadata or {}).get(b"ADBC:postgresql:typname", b"")
    if named == b"numeric":
        return f"::float8 as {quote(f.name)}"
    unknown = isinstance(f.type, pa.BaseExtensionType) or pa.types.is_binary(f.type)
    return f"::text as {quote(f.name)}" if unknown else ""
