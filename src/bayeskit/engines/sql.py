"""Words of SQL: names and texts quoted, and the table that a piece of SQL gives."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

import pyarrow as pa

from bayeskit.engines.fields import check_names_differ
from bayeskit.errors import InputError, SchemaError

ONE = "a query is one SELECT, and nothing else is run; write it as that"
BEGINS = re.compile(rb"(select|with|values|table)\b|\(", re.IGNORECASE)


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


def quote(name: str) -> str:
    """
    >>> print(quote('he said "hi"'))
    "he said ""hi\"""
    """
    return '"' + name.replace('"', '""') + '"'


def subquery(query: str) -> str:
    """One query as a table; it may end in a comment.

    >>> subquery("select 1;")
    '(select 1\\n)'
    """
    return f"({query.strip().rstrip(';')}\n)"


def check_one(query: str, where: str) -> None:
    """Refuse what is no SELECT, or more than one statement: it would end the brackets of ``subquery``.

    DuckDB splits any dialect of SQL into tokens; what they mean is left to the database.
    """
    import duckdb

    text = query.encode()
    tokens = [text[at:] for at, kind in duckdb.tokenize(query) if kind != duckdb.token_type.comment]
    while tokens and tokens[-1][:1] == b";":
        tokens.pop()
    depths = accumulate((t[:1] == b"(") - (t[:1] == b")") for t in tokens)
    if not tokens or not BEGINS.match(tokens[0]) or min(depths) < 0 or any(t[:1] == b";" for t in tokens):
        raise InputError(f"{where}: {ONE}")


def check_sql_names(path: str, names: Sequence[str]) -> None:
    """Refuse names that SQL would not tell apart, and rename silently."""
    if "" in names:
        raise SchemaError(f"{path}: column {list(names).index('') + 1} has no name; give it one in the first line")
    check_names_differ(names, f"{path}: ", folded=True)
