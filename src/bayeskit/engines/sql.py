"""Words of SQL: names and texts quoted, and the table that a piece of SQL gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from bayeskit.errors import SchemaError


@dataclass(frozen=True)
class Table:
    """The SQL of a table, the columns of it that have no value in any row, and what others are in Arrow's terms."""

    sql: str
    empty: tuple[str, ...] = ()
    fields: Mapping[str, pa.Field] = field(default_factory=dict)


def literal(text: str) -> str:
    """
    >>> literal("o'clock")
    "'o''clock'"
    """
    return "'" + text.replace("'", "''") + "'"


def quoted(name: str) -> str:
    """
    >>> print(quoted('he said "hi"'))
    "he said ""hi\"""
    """
    return '"' + name.replace('"', '""') + '"'


def subquery(query: str) -> str:
    """A query as a table; more than one statement is no table."""
    return f"({query.strip().rstrip(';')})"


def unlike(path: str, names: Sequence[str]) -> None:
    """Refuse names that SQL would not tell apart, and rename silently: it does not look at case."""
    folded = [name.casefold() for name in names]
    if "" in folded:
        raise SchemaError(f"{path}: column {folded.index('') + 1} has no name; give it one in the first line")
    if len(set(folded)) < len(folded):
        twice = [name for name in names if folded.count(name.casefold()) > 1]
        raise SchemaError(f"{path}: column names {' and '.join(map(repr, twice))} count as the same one; rename one")
