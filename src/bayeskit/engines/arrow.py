"""Arrow: files in Arrow's own format, mapped into memory and read as they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from bayeskit.engines.files import Files
from bayeskit.engines.reading import Reading, is_place
from bayeskit.engines.workers import Streamed
from bayeskit.errors import InputError, SchemaError


class ArrowFiles(Streamed):
    """Files or streams of record batches (IPC, Feather), one after the other."""

    @staticmethod
    def takes(source: Any) -> bool:
        return is_place(source, "arrow")

    def schema(self, source: Any, known: Mapping[str, str] | None = None) -> pa.Schema:
        reading = Reading.of(source)
        files = Files.of(reading)
        files.check_alike(_names)
        with _opened(files.all[0]) as (schema, _):
            return pa.schema([schema.field(name) for name in reading.kept(schema.names)])

    @contextmanager
    def _batches(self, source: Any, columns: Sequence[str], ordered: bool) -> Iterator[Iterator[pa.RecordBatch]]:
        yield self._read(Files.of(Reading.of(source)).all, list(columns))

    @staticmethod
    def _read(paths: Sequence[str], columns: list[str]) -> Iterator[pa.RecordBatch]:
        for path in paths:
            with _opened(path) as (schema, batches):
                if lacking := [name for name in columns if name not in schema.names]:
                    raise SchemaError(
                        f"{path}: there is no column {lacking[0]!r} (there are: {', '.join(schema.names)})"
                    )
                yield from (batch.select(columns) for batch in batches)


def _names(path: str) -> list[str]:
    with _opened(path) as (schema, _):
        return list(schema.names)


@contextmanager
def _opened(path: str) -> Iterator[tuple[pa.Schema, Iterator[pa.RecordBatch]]]:
    """The schema and the batches of a file, or of a stream that was saved as one."""
    try:
        with pa.memory_map(path) as file:
            if file.read(6) == b"ARROW1":
                whole = pa.ipc.open_file(file)
                yield whole.schema, map(whole.get_batch, range(whole.num_record_batches))
            else:
                file.seek(0)
                stream = pa.ipc.open_stream(file)
                yield stream.schema, iter(stream)
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path}: {error}") from error
