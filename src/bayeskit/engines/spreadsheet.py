"""Spreadsheet: a sheet of an .xlsx or .ods file as a table, with types that hold for every value of a column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from bayeskit.engines.delimited import MOSTLY
from bayeskit.engines.fields import check_names_differ, is_text
from bayeskit.engines.files import Files
from bayeskit.engines.reading import Reading, is_place
from bayeskit.engines.workbook import Broken, Row, rows_of
from bayeskit.engines.workers import Streamed
from bayeskit.errors import InputError, SchemaError, warn

TYPES: Mapping[type, pa.DataType] = {
    float: pa.float64(),
    str: pa.string(),
    bool: pa.bool_(),
    datetime: pa.timestamp("ms"),
}
PORTION = 10_000  # rows that are brought into columns together
NUMBERS = r"^\s*[+-]?\d+([.,]\d+)?\s*$"
EXACT = 2.0**53  # whole numbers up to here are doubles of their own


class Spreadsheets(Streamed):
    """Sheets of files, read once and kept as a table in memory."""

    def __init__(self, n_jobs: int | None = None, rows: int | None = None) -> None:
        super().__init__(n_jobs, rows)
        self._tables: dict[Reading, pa.Table] = {}

    @staticmethod
    def takes(source: object) -> bool:
        return is_place(source, "sheets")

    def schema(self, source: object, known: Mapping[str, str] | None = None) -> pa.Schema:
        reading = Reading.of(source)
        self._tables[reading] = _table(reading, known or {})
        return self._tables[reading].schema

    @contextmanager
    def _batches(self, source: object, columns: Sequence[str], ordered: bool) -> Iterator[Iterator[pa.RecordBatch]]:
        reading = Reading.of(source)
        if reading not in self._tables:
            self.schema(source)
        yield iter(self._tables[reading].select(list(columns)).to_batches())


@dataclass
class _Column:
    """The values of a column so far, portion by portion, each of one type."""

    name: str
    parts: list[pa.Array] = field(default_factory=list)
    broken: int = 0

    def add(self, values: Sequence[object], nulls: tuple[str, ...]) -> None:
        """A portion more; of values of several types one array for each."""
        plain = [None if isinstance(v, Broken) or (isinstance(v, str) and v.strip() in nulls) else v for v in values]
        self.broken += sum(isinstance(v, Broken) for v in values)
        kinds = sorted({type(v) for v in plain} - {type(None)}, key=lambda kind: kind.__name__)
        if len(kinds) < 2:
            self.parts.append(_array(plain, kinds[0] if kinds else None))
            return
        each = [_array([v if type(v) is kind else None for v in plain], kind) for kind in kinds]
        self.parts.append(pa.StructArray.from_arrays(each, names=[kind.__name__ for kind in kinds]))

    def values(self, where: str, known: str | None) -> pa.ChunkedArray:
        """All values in one type: the one that they have, or text where they have several."""
        single = [part for part in self.parts if not pt.is_struct(part.type)]
        types = {part.type for part in single} - {pa.null()}
        if len(single) < len(self.parts) or len(types) > 1 or (known == "text" and types):
            return self._written(where, known)
        kind = types.pop() if types else pa.null()
        if known == "number" and is_text(kind):
            return self._written(where, known)
        whole = pa.chunked_array([part.cast(kind) for part in self.parts], kind)
        if pt.is_floating(kind):
            return _whole_numbers(whole)
        if pt.is_timestamp(kind) and pc.all(pc.equal(whole, pc.floor_temporal(whole, unit="day"))).as_py():
            return whole.cast(pa.date32())
        if is_text(kind) and known is None:
            self._note_numbers(where, whole)
        return whole

    def _written(self, where: str, known: str | None) -> pa.ChunkedArray:
        """The values of several types as texts, as one would write them."""
        texts, numbers, other = [], 0, None
        for part in self.parts:
            fields = part.flatten() if pt.is_struct(part.type) else [part]
            numbers += sum(len(f) - f.null_count for f in fields if pt.is_floating(f.type))
            other = other or next(
                (v for f in fields if not pt.is_floating(f.type) for v in _texts(f).drop_null().to_pylist()), None
            )
            texts.append(pc.coalesce(*map(_texts, fields)))
        found = pa.chunked_array(texts, pa.string())
        count = len(found) - found.null_count
        mostly = f"{numbers} of its {count} values are numbers; if {other!r} means missing, say so (--null)"
        if known == "number":
            raise InputError(f"{where} held numbers when the model was fitted and now has {other!r}; {mostly}")
        if known is None and count and numbers >= MOSTLY * count:
            warn(f"{where} is read as text because of {other!r}; {mostly}")
        elif known is None and numbers:
            warn(f"{where} holds numbers and other values ({other!r}); all are read as text")
        return found

    def _note_numbers(self, where: str, texts: pa.ChunkedArray) -> None:
        held = pc.drop_null(texts)
        if len(held) and pc.all(pc.match_substring_regex(held, NUMBERS)).as_py():
            warn(
                f"{where} holds numbers that are kept as text in the sheet, and is read as levels; if they are no "
                f"codes, convert them there"
            )


def _array(values: Sequence[object], kind: type | None) -> pa.Array:
    return pa.array(values, pa.null() if kind is None else TYPES[kind])


def _texts(values: pa.Array) -> pa.Array:
    """Values as one writes them: whole numbers without a point, days without a time."""
    if pt.is_floating(values.type):
        return pa.array([None if v is None else _decimal(v) for v in values.to_pylist()], pa.string())
    if pt.is_timestamp(values.type):
        days = [None if v is None else v.isoformat(" ").removesuffix(" 00:00:00") for v in values.to_pylist()]
        return pa.array(days, pa.string())
    return values.cast(pa.string())


def _decimal(number: float) -> str:
    return f"{number:.0f}" if abs(number) <= EXACT and number == int(number) else repr(number)


def _whole_numbers(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Numbers as integers where all of them are."""
    x = values.drop_null().to_numpy()
    return values.cast(pa.int64()) if len(x) and (np.abs(x) <= EXACT).all() and (x == np.floor(x)).all() else values


def _table(reading: Reading, known: Mapping[str, str]) -> pa.Table:
    """All sheets of a place one below the other, columns matched by name."""
    files, stack = Files.of(reading), _Stack(reading)
    names = {path: stack.add(path) for path in files.all}
    files.check_alike(lambda path: names[path])
    broken = {c.name: c.broken for c in stack.columns.values() if c.broken}
    if broken:
        bad = ", ".join(f"{n} of column {name!r}" for name, n in list(broken.items())[:5])
        warn(f"{reading.place}: cells with an error (#N/A, #DIV/0!) are read as missing: {bad}")
    kept = reading.kept(list(stack.columns))
    return pa.table({n: stack.columns[n].values(f"{reading.place}: column {n!r}", known.get(n) or None) for n in kept})


@dataclass
class _Stack:
    """Sheets one below the other."""

    reading: Reading
    columns: dict[str, _Column] = field(default_factory=dict)
    rows: int = 0

    def add(self, path: str) -> list[str]:
        """A sheet more; what its columns are called."""
        found, others = rows_of(path, self.reading.size, self.reading.sheet)
        names = _names(path, next(found, None))
        if others:
            warn(f"{path}: the first sheet is read; there are others (--sheet): {others}")
        for name in filter(None, names):
            self.columns.setdefault(name, _Column(name, [pa.nulls(self.rows)] if self.rows else []))
        for portion in _portions(found):
            _check_named(path, names, portion)
            self._add(names, portion)
            if sum(part.nbytes for column in self.columns.values() for part in column.parts) > self.reading.size:
                raise InputError(
                    f"{path}: its rows take more than {self.reading.memory} of memory; allow more (--memory), or save "
                    f"it as Parquet"
                )
        return [name for name in names if name]

    def _add(self, names: list[str], rows: list[tuple[int, Row]]) -> None:
        for j, name in enumerate(names):
            if name:
                values = [row[j] if j < len(row) else None for _, row in rows]
                self.columns[name].add(values, self.reading.nulls)
        for name in self.columns.keys() - set(names):
            self.columns[name].parts.append(pa.nulls(len(rows)))
        self.rows += len(rows)


def _names(path: str, head: tuple[int, Row] | None) -> list[str]:
    """The names of the columns, from the first row that holds something."""
    if head is None:
        raise InputError(f"{path}: the sheet is empty")
    held = [None if isinstance(v, Broken) else v for v in head[1]]
    names = ["" if v is None else _texts(_array([v], type(v)))[0].as_py().strip() for v in held]
    check_names_differ([name for name in names if name], f"{path}: ")
    if not any(names):
        raise SchemaError(f"{path}: row {head[0]} names no column; the first row that holds something must")
    return names


def _portions(rows: Iterator[tuple[int, Row]]) -> Iterator[list[tuple[int, Row]]]:
    portion: list[tuple[int, Row]] = []
    for row in rows:
        portion.append(row)
        if len(portion) == PORTION:
            yield portion
            portion = []
    if portion:
        yield portion


def _check_named(path: str, names: list[str], rows: list[tuple[int, Row]]) -> None:
    """Refuse a value where no column is named."""
    for number, row in rows:
        bare = [j for j, v in enumerate(row) if v is not None and (j >= len(names) or not names[j])]
        if bare:
            raise SchemaError(
                f"{path}: row {number} holds {str(row[bare[0]])[:40]!r} in column {letters(bare[0])}, which has no "
                f"name; the first row that holds something must name all columns: delete what stands above or beside "
                f"the table"
            )


def letters(place: int) -> str:
    """The name of a column of a sheet.

    >>> letters(0), letters(26)
    ('A', 'AA')
    """
    name = ""
    place += 1
    while place:
        place, digit = divmod(place - 1, 26)
        name = chr(65 + digit) + name
    return name
