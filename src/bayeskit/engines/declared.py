"""Declared: what the type of a column says of its levels, kept in the metadata of an Arrow field."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.types as pt

from bayeskit.engines.types import is_level
from bayeskit.errors import SchemaError

LEVELS = b"bayeskit:levels"


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
        told = json.dumps({"ordered": self.ordered, "levels": self.levels}, default=float)
        return field.with_metadata({LEVELS: told.encode()})

    @classmethod
    def of(cls, field: pa.Field) -> Declared | None:
        """What a field declares, if anything."""
        if LEVELS not in (field.metadata or {}):
            return None
        try:
            told = json.loads(field.metadata[LEVELS])
            return cls(tuple(told["levels"]), bool(told["ordered"]))
        except (ValueError, TypeError, KeyError) as error:
            raise SchemaError(f"column {field.name!r} declares its levels in a way that cannot be read") from error


def declaring(schema: pa.Schema, dictionaries: Callable[[str], Iterable[pa.Array]]) -> pa.Schema:
    """The fields with what their dictionaries declare: an order, or the categories that pandas says it wrote.

    ``dictionaries`` gives those of a column's chunks; no other of them is asked for.
    """
    counts = _counts(schema)
    return pa.schema([_declaring(f, counts.get(f.name), dictionaries) for f in schema])


def _declaring(f: pa.Field, count: int | None, dictionaries: Callable[[str], Iterable[pa.Array]]) -> pa.Field:
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
        told = {str(c["field_name"]): c["metadata"] for c in columns if c["pandas_type"] == "categorical"}
        return {name: int(about["num_categories"]) for name, about in told.items()}
    except (ValueError, TypeError, KeyError, AttributeError):  # a note by another hand says nothing
        return {}


def unlike(names: list[str], where: str = "") -> list[str]:
    """The names, refused if one occurs twice.

    >>> unlike(["a", "b"])
    ['a', 'b']
    """
    if len(set(names)) < len(names):
        doubled = next(n for n in names if names.count(n) > 1)
        raise SchemaError(f"{where}column name {doubled!r} occurs twice; rename one of them")
    return names
