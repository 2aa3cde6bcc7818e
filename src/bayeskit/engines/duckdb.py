"""DuckDB: files that need not fit in memory, and relations of the user's own connection."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import pyarrow as pa

from bayeskit.engines.engine import R, batch_rows
from bayeskit.engines.workers import map_batches, reduce_batches, workers
from bayeskit.errors import InputError

Result = TypeVar("Result")
NULLS = ("", "NA")
READERS = {
    ".parquet": "read_parquet({})",
    ".pq": "read_parquet({})",
    ".csv": "read_csv({}, nullstr=[{nulls}])",
    ".tsv": "read_csv({}, delim='\t', nullstr=[{nulls}])",
}


class DuckDB:
    """A path, a glob or a relation, streamed as Arrow batches with only the columns asked for.

    In CSV files the empty field and ``NA`` are null, and types are DuckDB's guess over the whole file.
    """

    def __init__(self, n_jobs: int | None = None, rows: int | None = None, memory: str = "512MB") -> None:
        self.n_jobs = n_jobs
        self.rows = rows
        self.memory = memory

    @staticmethod
    def takes(source: Any) -> bool:
        return isinstance(source, str | os.PathLike) or type(source).__name__ == "DuckDBPyRelation"

    def schema(self, source: Any) -> pa.Schema:
        with self._relation(source, ordered=True) as relation:
            return relation.limit(0).to_arrow_table().schema

    def reduce(self, source: Any, columns: Sequence[str], empty: R) -> R:
        with self._batches(source, columns, ordered=False) as batches:
            return reduce_batches(batches, empty, self.n_jobs)

    def map(self, source: Any, columns: Sequence[str], step: Callable[[Any], Result]) -> Iterator[Result]:
        with self._batches(source, columns, ordered=True) as batches:
            yield from map_batches(batches, step, self.n_jobs)

    @contextmanager
    def _batches(self, source: Any, columns: Sequence[str], ordered: bool) -> Iterator[Iterator[pa.RecordBatch]]:
        with self._relation(source, ordered) as relation:
            wanted = relation.project(", ".join(map(_quoted, columns)))
            yield wanted.to_arrow_reader(self.rows or batch_rows(len(columns)))

    @contextmanager
    def _relation(self, source: Any, ordered: bool) -> Iterator[Any]:
        """The source as a relation; files get a connection of their own, closed and cleaned up after."""
        if not isinstance(source, str | os.PathLike):
            yield source
            return
        import duckdb

        query = f"from {_reader(source)}"
        with TemporaryDirectory(prefix="bayeskit-") as spill:
            config = {
                "memory_limit": self.memory,
                "threads": workers(self.n_jobs),
                "temp_directory": spill,
                "preserve_insertion_order": ordered,
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
            }
            with duckdb.connect(":memory:", config=config) as connection:
                connection.execute("set enable_progress_bar = false; set lock_configuration = true")
                try:
                    relation = connection.sql(query)
                except duckdb.Error as error:
                    raise InputError(f"{os.fspath(source)}: {str(error).splitlines()[0]}") from error
                yield relation


def _reader(source: str | os.PathLike[str]) -> str:
    """The table function that reads these files."""
    path = os.fspath(source)
    suffixes = [s.lower() for s in Path(path).suffixes if s.lower() not in (".gz", ".zst")]
    call = READERS.get(suffixes[-1] if suffixes else "")
    if call is None:
        raise InputError(f"{path}: cannot tell what kind of file this is; known endings: {', '.join(READERS)}")
    if not any(c in path for c in "*?[") and not Path(path).exists():
        raise InputError(f"{path}: no such file")
    if "*" not in path and Path(path).stat().st_size == 0:
        raise InputError(f"{path}: the file is empty")
    return call.format(_literal(path), nulls=", ".join(map(_literal, NULLS)))


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
