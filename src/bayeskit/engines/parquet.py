"""Parquet: what Arrow's types of the columns were when the files were written, where Parquet has none of its own."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.types as pt

from bayeskit.engines.declared import Declared, declaring
from bayeskit.engines.sound import damage_told
from bayeskit.engines.types import is_level, is_text, plain_type

WRITTEN = b"ARROW:schema"


def parquet_fields(paths: Sequence[str]) -> dict[str, pa.Field]:
    """Columns that Parquet stores as something else: categories, durations and truth values of a byte.

    A category of numbers is stored as numbers; its field says that it is one. The levels of an ordered category, and of
    one that pandas wrote, are those of the dictionary that stands in the file.
    """
    found: dict[str, pa.Field] = {}
    for path in paths:
        with damage_told(path):
            written = _written(path)
        for f in written:
            t = f.type
            if f.name in found:
                continue
            if pt.is_duration(t) or isinstance(t, pa.Bool8Type):
                found[f.name] = pa.field(f.name, plain_type(t))
            elif pt.is_dictionary(t) and is_level(t.value_type):
                told = Declared.of(f) or (None if is_text(t.value_type) else Declared())
                found |= {f.name: told.on(pa.field(f.name, t.value_type))} if told is not None else {}
    return found


def _written(path: str) -> pa.Schema:
    """The schema of the Arrow table that was written, with what its dictionaries declare."""
    written = (pq.read_metadata(path).metadata or {}).get(WRITTEN)
    if written is None:
        return pa.schema([])
    schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(written)))
    bare = pa.schema([pa.field(f.name, f.type) for f in schema], schema.metadata)
    return declaring(bare, lambda name: _dictionaries(path, name))


def _dictionaries(path: str, name: str) -> Iterator[pa.Array]:
    with pq.ParquetFile(path) as file:
        for group in range(min(file.num_row_groups, 1)):
            for chunk in file.read_row_group(group, columns=[name]).column(0).chunks:
                if pt.is_dictionary(chunk.type):
                    yield chunk.dictionary
