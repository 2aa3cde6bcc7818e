"""Fields: what Arrow's types count as, what they declare, and whether the data behind them may be read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from bayeskit.errors import BayeskitError, InputError, SchemaError

LEVELS = b"bayeskit:levels"
MANY = 4096  # values that are worth a look before Arrow's
Data = TypeVar("Data", pa.Table, pa.RecordBatch)


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


@dataclass(frozen=True)
class Declared:
    """Levels that a category has whether or not a row has them, and whether they are in order.

    An Arrow dictionary is no declaration: its chunks differ, and it may list what the rows happen to have, unless it is
    ordered or pandas made it of categories. The declaration lies in the field, so it stays with rows that are taken.

    >>> Declared(("low", "high"), True).on(pa.field("size", pa.string())).metadata
    {b'bayeskit:levels': b'{"ordered": true, "levels": ["low", "high"]}'}
    """

    levels: tuple[Any, ...] = ()  # none: a category whose levels only the rows tell
    ordered: bool = False

    def on(self, field: pa.Field) -> pa.Field:
        """The field with this declaration."""
        written = json.dumps({"ordered": self.ordered, "levels": self.levels}, default=float)
        return field.with_metadata({LEVELS: written.encode()})

    @classmethod
    def of(cls, field: pa.Field) -> Declared | None:
        """What a field declares, if anything."""
        if LEVELS not in (field.metadata or {}):
            return None
        try:
            written = json.loads(field.metadata[LEVELS])
            return cls(tuple(written["levels"]), bool(written["ordered"]))
        except (ValueError, TypeError, KeyError) as error:
            raise SchemaError(f"column {field.name!r} declares its levels in a way that cannot be read") from error


def declare_levels(schema: pa.Schema, dictionaries: Callable[[str], Iterable[pa.Array]]) -> pa.Schema:
    """The fields with what their dictionaries declare: an order, or the categories that pandas says it wrote.

    ``dictionaries`` gives those of a column's chunks; no other of them is asked for.
    """
    counts = _counts(schema)
    return pa.schema([_declare(f, counts.get(f.name), dictionaries) for f in schema])


def _declare(f: pa.Field, count: int | None, dictionaries: Callable[[str], Iterable[pa.Array]]) -> pa.Field:
    t = f.type
    if Declared.of(f) or not (pt.is_dictionary(t) and is_level(t.value_type) and (t.ordered or count)):
        return f
    last, levels = None, dict[Any, None]()
    for chunk in dictionaries(f.name):
        if last is None or not chunk.equals(last):
            levels |= dict.fromkeys(level for level in chunk.to_pylist() if level is not None)
        last = chunk
    return Declared(tuple(levels), t.ordered).on(f) if levels and (t.ordered or len(levels) == count) else f


def _counts(schema: pa.Schema) -> dict[str, int]:
    """How many categories columns had in pandas, as it notes in what it makes for Arrow and Parquet."""
    try:
        columns = json.loads((schema.metadata or {}).get(b"pandas", b"{}")).get("columns", [])
        categorical = {str(c["field_name"]): c["metadata"] for c in columns if c["pandas_type"] == "categorical"}
        return {name: int(about["num_categories"]) for name, about in categorical.items()}
    except (ValueError, TypeError, KeyError, AttributeError):  # a note by another hand says nothing
        return {}


def check_names_differ(names: Sequence[str], where: str = "", folded: bool = False) -> None:
    """Refuse names of which one occurs twice, ``folded`` also where only case distinguishes them, as in SQL.

    >>> check_names_differ(["a", "A"])
    >>> check_names_differ(["a", "A"], folded=True)
    Traceback (most recent call last):
    ...
    bayeskit.errors.SchemaError: column names 'a' and 'A' count as the same one; rename one
    """
    same = [name.casefold() for name in names] if folded else list(names)
    if len(set(same)) < len(same):
        twice = [name for name, of in zip(names, same, strict=True) if same.count(of) > 1]
        if folded:
            alike = " and ".join(map(repr, twice))
            raise SchemaError(f"{where}column names {alike} count as the same one; rename one")
        raise SchemaError(f"{where}column name {twice[0]!r} occurs twice; rename one of them")


def check_sound(data: Data, where: str) -> Data:
    """The data, once every offset, index and text in it has been found to be what it should be.

    Arrow believes its buffers: an offset beyond its buffer ends the process that follows it. What takes Arrow one value
    after the other is looked at many at a time first; where that finds anything odd, Arrow says what it is.
    """
    with name_damage(where):
        data.validate()
        for column in data.columns:
            for values in column.chunks if isinstance(column, pa.ChunkedArray) else (column,):
                if not _plainly_sound(values):
                    values.validate(full=True)
        check_names(data.schema)
    return data


def _plainly_sound(values: pa.Array) -> bool:
    """Whether texts are ASCII between offsets that ascend, or places lie in a dictionary that is sound.

    Buffers are known to be as long as the values need, first and last offset to lie in the texts.
    """
    kind, start, rows = values.type, values.offset, len(values)
    if rows < MANY:
        return False
    if pt.is_string(kind) or pt.is_large_string(kind):
        _, offsets, texts = values.buffers()
        width = np.dtype(np.int32 if pt.is_string(kind) else np.int64)
        ends = np.frombuffer(offsets, width, rows + 1, start * width.itemsize)
        if texts is None or not 0 <= ends[0] <= ends[-1] <= texts.size or (ends[1:] < ends[:-1]).any():
            return False
        held = np.frombuffer(texts, np.int8, int(ends[-1] - ends[0]), int(ends[0]))
        return not len(held) or int(held.min()) >= 0
    if pt.is_dictionary(kind):
        places = values.indices
        width = np.dtype(f"u{places.type.bit_width // 8}")  # what is negative lies beyond any dictionary
        found = np.frombuffer(places.buffers()[1], width, rows, places.offset * width.itemsize)
        values.dictionary.validate(full=True)
        return int(found.max()) < len(values.dictionary)
    return False


def check_names(fields: Iterable[pa.Field]) -> None:
    """Read every name, also of nested fields: Arrow decodes a name when it is asked for, and one may be no text."""
    for f in fields:
        _ = f.name
        check_names(f.type.field(i) for i in range(f.type.num_fields))


@contextmanager
def name_damage(where: str) -> Iterator[None]:
    """Whatever Arrow says of data that it cannot read, as an error that names them.

    Arrow lets errors of Python through where names are no text or numbers too large.
    """
    try:
        yield
    except BayeskitError:
        raise
    except (pa.ArrowException, OSError, ValueError, LookupError, TypeError, ArithmeticError, MemoryError) as error:
        message = " ".join(str(error).split())[:200] or type(error).__name__
        raise InputError(f"{where}: it is damaged, or not what its name says ({message}); get it anew") from error
