"""Arrow: files in Arrow's own format, mapped into memory, checked and read as they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from bayeskit.arrays import Batch
from bayeskit.engines.fields import (
    check_names_differ,
    check_sound,
    declare_levels,
    name_damage,
    plain_batch,
    plain_type,
)
from bayeskit.engines.files import Files
from bayeskit.engines.reading import Reading, is_place
from bayeskit.engines.workers import Streamed
from bayeskit.errors import SchemaError


class ArrowFiles(Streamed):
    """Files or streams of record batches (IPC, Feather), one after the other."""

    @staticmethod
    def takes(source: object) -> bool:
        return is_place(source, "arrow")

    def schema(self, source: object, known: Mapping[str, str] | None = None) -> pa.Schema:
        reading = Reading.of(source)
        files = Files.of(reading)
        files.check_alike(lambda path: _schema(path).names)
        paths, schema = files.all, _schema(files.all[0])
        fields = [pa.field(name, schema.field(name).type) for name in reading.kept(schema.names)]
        bare = pa.schema(fields, schema.metadata)
        typed = declare_levels(bare, lambda name: (b.column(0).dictionary for b in self._read(paths, [name])))
        return pa.schema([f.with_type(plain_type(f.type)) for f in typed])

    @contextmanager
    def _batches(self, source: object, columns: Sequence[str], ordered: bool) -> Iterator[Iterator[pa.RecordBatch]]:
        yield self._read(Files.of(Reading.of(source)).all, list(columns))

    @staticmethod
    def _read(paths: Sequence[str], columns: list[str]) -> Iterator[pa.RecordBatch]:
        for path in paths:
            names = _schema(path).names
            if lacking := [name for name in columns if name not in names]:
                raise SchemaError(f"{path}: there is no column {lacking[0]!r} (there are: {', '.join(names)})")
            with _open(path) as reader:
                yield from (plain_batch(check_sound(batch.select(columns), path)) for batch in _each(reader, path))


def _schema(path: str) -> pa.Schema:
    """The columns of a file, whose names are texts that occur once."""
    with _open(path) as reader, name_damage(path):
        schema = reader.schema
        check_names_differ(schema.names, f"{path}: ")
        return schema


def _each(reader: Any, path: str) -> Iterator[pa.RecordBatch]:
    """The batches of a file, or of a stream that was saved as one."""
    if isinstance(reader, pa.ipc.RecordBatchStreamReader):
        while True:
            with name_damage(path):
                try:
                    batch = reader.read_next_batch()
                except StopIteration:
                    return
            yield batch
    for number in range(reader.num_record_batches):
        with name_damage(path):
            batch = reader.get_batch(number)
        yield batch


@contextmanager
def _open(path: str) -> Iterator[Batch]:
    """A reader of the file or stream."""
    with name_damage(path):
        file = pa.memory_map(path)
    with file:
        with name_damage(path):
            whole = file.read(6) == b"ARROW1"
            file.seek(0)
            reader = pa.ipc.open_file(file) if whole else pa.ipc.open_stream(file)
        yield reader
