"""Dates: columns of dates as features, which a model can count."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from bayeskit.engines.fields import Declared
from bayeskit.engines.reading import Reading
from bayeskit.engines.workers import Streamed
from bayeskit.errors import InputError, SchemaError

PARTS = ("year", "month", "weekday", "age")
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
YEAR = 365.2425  # days
DAY = 86_400_000  # milliseconds


def check_parts(parts: Sequence[str]) -> tuple[str, ...]:
    """The parts of a date that were asked for, refused if one is none.

    >>> check_parts(["year", "weekday"])
    ('year', 'weekday')
    """
    for part in parts:
        if part not in PARTS:
            raise InputError(f"dates: {part!r} is no part of a date here; choose of {', '.join(PARTS)}")
    return tuple(dict.fromkeys(parts))


def day_of(today: str) -> date:
    """The day at which ages are taken: the one given, or that of the clock."""
    try:
        return date.fromisoformat(today) if today else date.today()
    except ValueError as error:
        raise InputError(f"today={today!r}: write the day as 2026-12-31") from error


def is_date(t: pa.DataType) -> bool:
    return bool(pt.is_date(t) or pt.is_timestamp(t))


def date_fields(schema: pa.Schema, parts: Sequence[str], kept: Sequence[str] = ()) -> pa.Schema:
    """The fields of a table whose dates are turned into their parts: ``visit`` into ``visit.year`` and so on.

    Those in ``kept`` stay beside their parts.
    """
    fields: list[pa.Field] = []
    for f in schema:
        fields += [] if is_date(f.type) and f.name not in kept else [f]
        fields += _fields(f.name, parts) if is_date(f.type) else []
    names = [f.name for f in fields]
    if doubled := [name for name in names if names.count(name) > 1]:
        raise SchemaError(f"the table has a column {doubled[0]!r} already, as a part of a date is named; rename it")
    return pa.schema(fields)


def _fields(name: str, parts: Sequence[str]) -> list[pa.Field]:
    types = {"year": pa.int64(), "month": pa.string(), "weekday": pa.string(), "age": pa.float64()}
    levels = {"month": MONTHS, "weekday": WEEKDAYS}
    made = [(part, pa.field(f"{name}.{part}", types[part])) for part in parts]
    return [Declared(levels[part]).on(f) if part in levels else f for part, f in made]


def date_parts(rows: pa.Table | pa.RecordBatch, parts: Sequence[str], today: date, kept: Sequence[str] = ()) -> Any:
    """The rows with their dates turned into parts.

    >>> table = pa.table({"visit": [date(2024, 2, 29)], "y": [1]})
    >>> date_parts(table, ("year", "month", "weekday"), date(2026, 2, 28)).to_pylist()
    [{'visit.year': 2024, 'visit.month': 'Feb', 'visit.weekday': 'Thu', 'y': 1}]
    """
    columns: list[Any] = []
    for f, values in zip(rows.schema, rows.columns, strict=True):
        columns += [] if is_date(f.type) and f.name not in kept else [values]
        columns += [_part(values, part, today) for part in parts] if is_date(f.type) else []
    return type(rows).from_arrays(columns, schema=date_fields(rows.schema, parts, kept))


def _part(values: object, part: str, today: date) -> Any:
    if part == "year":
        return pc.year(values).cast(pa.int64())
    if part == "month":
        return pa.array(MONTHS).take(pc.subtract(pc.month(values), 1))
    if part == "weekday":
        return pa.array(WEEKDAYS).take(pc.day_of_week(values))
    since = pc.cast(pc.cast(values, pa.timestamp("ms"), safe=False), pa.int64())
    now = (today - date(1970, 1, 1)).days
    return pc.subtract(now / YEAR, pc.divide(pc.cast(since, pa.float64()), DAY * YEAR))


def parts_in(names: Sequence[str]) -> tuple[str, ...]:
    """The parts of dates that the columns of a model are named by.

    >>> parts_in(["visit.year", "visit.age", "town"])
    ('year', 'age')
    """
    found = {name.rpartition(".")[2] for name in names if name.rpartition(".")[0]}
    return tuple(part for part in PARTS if part in found)


class Dated(Streamed):
    """A source whose dates are turned into their parts as it is read; another engine reads it."""

    def __init__(self, inner: Streamed) -> None:
        super().__init__(inner.n_jobs, inner.rows)
        self._inner = inner
        self._base: dict[str, str] = {}  # which column a part is of

    @staticmethod
    def takes(source: object) -> bool:
        return False  # ``engine_for`` puts it around the engine that does

    def schema(self, source: object, known: Mapping[str, str] | None = None) -> pa.Schema:
        reading = Reading.of(source)
        parts = check_parts(reading.dates)
        kinds = {n: kind for n, kind in (known or {}).items() if n not in reading.kept_dates}  # found to be dates
        plain = self._inner.schema(source, kinds)
        self._base = {f"{f.name}.{part}": f.name for f in plain if is_date(f.type) for part in parts}
        return date_fields(plain, parts, reading.kept_dates)

    @contextmanager
    def _batches(self, source: object, columns: Sequence[str], ordered: bool) -> Iterator[Iterator[pa.RecordBatch]]:
        reading = Reading.of(source)
        parts, today = check_parts(reading.dates), day_of(reading.today)
        wanted = list(dict.fromkeys(self._base.get(name, name) for name in columns))
        with self._inner._batches(source, wanted, ordered) as batches:
            yield (date_parts(b, parts, today, reading.kept_dates).select(list(columns)) for b in batches)
