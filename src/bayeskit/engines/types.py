"""Types: what Arrow's types count as, for every engine."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt


def is_text(t: pa.DataType) -> bool:
    return bool(pt.is_string(t) or pt.is_large_string(t) or pt.is_string_view(t))


def is_number(t: pa.DataType) -> bool:
    return bool(pt.is_integer(t) or pt.is_floating(t) or pt.is_decimal(t))


def is_level(t: pa.DataType) -> bool:
    """Whether values of this type can be levels."""
    return is_text(t) or is_number(t) or bool(pt.is_boolean(t))


def plain_type(t: pa.DataType) -> pa.DataType:
    """What an extension type counts as: identifiers and JSON as text, truth values of a byte as truth values."""
    if isinstance(t, pa.UuidType):
        return pa.string()
    if isinstance(t, pa.JsonType):
        return t.storage_type
    return pa.bool_() if isinstance(t, pa.Bool8Type) else t


def plain_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with what its extension types count as."""
    if not any(isinstance(t, pa.BaseExtensionType) for t in batch.schema.types):
        return batch
    return pa.RecordBatch.from_arrays([plain_column(c) for c in batch.columns], names=batch.schema.names)


def plain_column(values: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """The values as what their extension type counts as."""
    t = values.type
    if not isinstance(t, pa.UuidType | pa.JsonType | pa.Bool8Type):
        return values
    if isinstance(values, pa.ChunkedArray):
        return pa.chunked_array([plain_column(chunk) for chunk in values.chunks], plain_type(t))
    if isinstance(t, pa.UuidType):
        return pa.array([None if v is None else str(v) for v in values.to_pylist()], pa.string())
    return pc.cast(values.storage, plain_type(t))
