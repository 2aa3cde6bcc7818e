"""DuckDB: files that need not fit in memory, and relations of the user's own connection."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import pyarrow as pa

from bayeskit.engines.engine import R, batch_rows
from bayeskit.engines.files import Files, Table, quoted
from bayeskit.engines.workers import map_batches, reduce_batches, workers
from bayeskit.errors import InputError

Result = TypeVar("Result")
ROWS = 1 << 14  # at most in a batch: DuckDB keeps several of them ready, with texts in full


class DuckDB:
    """A path, a glob or a relation, streamed as Arrow batches with only the columns asked for.

    In CSV files the empty field and ``NA`` are null, and a type is the narrowest that holds all values of a column.
    """

    outside = True

    def __init__(self, n_jobs: int | None = None, rows: int | None = None, memory: str = "512MB") -> None:
        self.n_jobs = n_jobs
        self.rows = rows
        self.memory = memory
        self._tables: dict[str, Table] = {}  # of each path; for CSV it takes a pass to find
        self._known: dict[str, str] = {}

    @staticmethod
    def takes(source: Any) -> bool:
        return isinstance(source, str | os.PathLike) or type(source).__name__ == "DuckDBPyRelation"

    def schema(self, source: Any, known: Mapping[str, str] | None = None) -> pa.Schema:
        self._known = dict(known or {})
        with self._relation(source, ordered=True) as relation:
            found = relation.limit(0).to_arrow_table().schema
        empty = self._tables[os.fspath(source)].empty if isinstance(source, str | os.PathLike) else ()
        return pa.schema([f.with_type(pa.null()) if f.name in empty else f for f in found])

    def reduce(self, source: Any, columns: Sequence[str], empty: R) -> R:
        with self._batches(source, columns, ordered=False) as batches:
            return reduce_batches(batches, empty, self.n_jobs)

    def map(self, source: Any, columns: Sequence[str], step: Callable[[Any, int], Result]) -> Iterator[Result]:
        with self._batches(source, columns, ordered=True) as batches:
            yield from map_batches((batch for batch in batches if batch.num_rows), step, self.n_jobs)

    @contextmanager
    def _batches(self, source: Any, columns: Sequence[str], ordered: bool) -> Iterator[Iterator[pa.RecordBatch]]:
        with self._relation(source, ordered) as relation:
            wanted = relation.project(", ".join(map(quoted, columns)))
            with _told(source):
                yield wanted.to_arrow_reader(self.rows or min(batch_rows(len(columns)), ROWS))

    @contextmanager
    def _relation(self, source: Any, ordered: bool) -> Iterator[Any]:
        """The source as a relation; files get a connection of their own, closed and cleaned up after."""
        if not isinstance(source, str | os.PathLike):
            yield source
            return
        import duckdb

        path = os.fspath(source)
        files = Files.of(path)
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
                with _told(source):
                    if path not in self._tables:
                        self._tables[path] = files.table(connection, self._known)
                    relation = connection.sql(f"select * from {self._tables[path].sql}")
                yield relation


@contextmanager
def _told(source: Any) -> Iterator[None]:
    """What DuckDB says of a file it cannot read, as an error that names the file."""
    import duckdb

    try:
        yield
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        if not isinstance(source, str | os.PathLike):
            raise
        said = " ".join(line.strip() for line in str(error).splitlines()[:3])
        raise InputError(f"{os.fspath(source)}: {said}") from error
