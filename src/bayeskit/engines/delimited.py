"""Delimited: CSV files read by their own header lines, with types that hold for every value."""

from __future__ import annotations

import codecs
import csv
import glob
import gzip
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

from bayeskit.arrays import Connection
from bayeskit.engines.reading import PACKED, Reading
from bayeskit.engines.sql import Table, check_sql_names, literal, quote
from bayeskit.errors import InputError, warn

SEPARATOR = re.compile('\ufeff*"?sep=([,;\t|])"?[\r\n]*', re.IGNORECASE)
LINE_ENDS = (r"\n", r"\r\n", r"\r")
NATIVE = {"utf-8": "utf-8", "iso8859-1": "latin-1"}  # by Python's names; its UTF-16 has no byte-order mark
PIECE = 1 << 20  # characters
HEAD = 4096  # bytes that show what a file is


def check_encoding(encoding: str) -> str:
    """Python's name of an encoding; refused if there is none, or if it is none of texts.

    >>> check_encoding("windows-1252")
    'cp1252'
    """
    try:
        found = codecs.lookup(encoding)
        "".encode(encoding)
    except (LookupError, ValueError) as error:
        raise InputError(
            f"encoding={encoding!r} is not known; choose utf-8, cp1252 (Excel on Windows), utf-16 or latin-1"
        ) from error
    return found.name


def advice(path: str) -> str:
    """Which encoding a file that is no UTF-8 is likely to be in, and how to say so."""
    with open_file(path, "rb") as file:
        head = file.read(HEAD)
    wide = head[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) or head.count(0) > len(head) / 4
    name, why = ("utf-16", "as Excel's Unicode text is") if wide else ("cp1252", "as CSV of Excel on Windows is")
    return f"name its encoding (--encoding {name}, {why}), or convert it"


@contextmanager
def open_file(path: str, mode: str, **how: str) -> Iterator[IO[Any]]:
    """A file, also a packed one."""
    opened: Callable[..., IO[Any]] = gzip.open if path.endswith(".gz") else open
    with opened(path, mode, **how) as file:
        yield file


def as_native(path: str, encoding: str) -> tuple[str, str]:
    """A file in an encoding that DuckDB reads: itself, or a copy in UTF-8 that lasts as long as this process."""
    name = check_encoding(encoding)
    if name in NATIVE:
        return path, NATIVE[name]
    about = os.stat(path)
    _, copy = _copy_decoded(path, name, about.st_mtime_ns, about.st_size)
    return copy, "utf-8"


@lru_cache(maxsize=8)
def _copy_decoded(path: str, encoding: str, modified: int, size: int) -> tuple[TemporaryDirectory[str], str]:
    folder = TemporaryDirectory(prefix="bayeskit-")
    copy = str(Path(folder.name) / "text.csv")
    line = 1
    try:
        with (
            open_file(path, "rt", encoding=encoding, newline="") as file,
            open(copy, "w", encoding="utf-8", newline="") as out,
        ):
            while piece := file.read(PIECE):
                out.write(piece)
                line += piece.count("\n")
    except UnicodeError as error:
        raise InputError(f"{path}: from line {line} on there is text that is not {encoding}; {advice(path)}") from error
    return folder, copy


@dataclass(frozen=True)
class Header:
    """The first record of a file."""

    delimiter: str
    names: tuple[str, ...]
    line_end: str  # as DuckDB writes it; it would take one within a quoted name for that of all lines
    skip: int = 0  # lines that stand above it

    @classmethod
    def of(cls, path: str, encoding: str) -> Header:
        declared, head = _first_record(path, encoding)
        line = head.rstrip("\r\n")
        bare = "".join(line.split('"')[::2])  # what stands outside of quotes
        delimiter = declared or ("\t" if ".tsv" in Path(path).suffixes else max(",;\t|", key=bare.count))
        names = tuple(name.strip() for name in _fields(line, delimiter, path))
        check_sql_names(path, names)
        end = head[len(line) :].replace("\r", r"\r").replace("\n", r"\n")
        return cls(delimiter, names, end if end in LINE_ENDS else LINE_ENDS[0], bool(declared))


def _first_record(path: str, encoding: str) -> tuple[str, str]:
    """The delimiter that a line above the names gives, as Excel writes it (sep=;), and the text up to the first line
    end outside of quotes, without byte-order marks."""
    if path.endswith(".zst"):
        raise InputError(f"{path}: CSV packed with Zstandard cannot be read; unpack it, or use gzip or Parquet")
    declared = ""
    try:
        kind = "utf-8-sig" if check_encoding(encoding) == "utf-8" else encoding
        with open_file(path, "rt", encoding=kind, errors="surrogateescape", newline="") as file:
            head = str(file.readline())
            if named := SEPARATOR.fullmatch(head):
                declared, head = named[1], str(file.readline())
            while head.count('"') % 2 and (line := str(file.readline())):  # a name may have a line end
                head += line
        head.encode(kind)  # what could not be read cannot be written
    except (UnicodeError, LookupError) as error:
        raise InputError(f"{path}: the first line is not {encoding} text; {advice(path)}") from error
    except (OSError, EOFError) as error:
        raise InputError(f"{path}: {error}") from error
    return declared, head.lstrip("\ufeff")  # a second mark is none of a name


def _fields(line: str, delimiter: str, path: str) -> list[str]:
    before = csv.field_size_limit(max(len(line), csv.field_size_limit()))
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error as error:
        raise InputError(f"{path}: the first line does not name columns ({error}); mend it") from error
    finally:
        csv.field_size_limit(before)


WHOLE = r"[+-]?\d{1,19}"
NUMBER = r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"
TYPES = {  # each holds when every value matches; the first that fits is taken
    "BOOLEAN": r"(?i)\s*(true|false)\s*",
    "BIGINT": rf"\s*{WHOLE}\s*",
    "DOUBLE": rf"(?i)\s*({NUMBER}|[+-]?(nan|inf|infinity))\s*",
    "DATE": r"\d{4}-\d\d-\d\d",
    "TIMESTAMP": r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d+)?)?",
    "COMMA": r"\s*[+-]?(\d+,?\d*|,\d+)([eE][+-]?\d+)?\s*",
    "KEY": r"0|-?[1-9]\d{0,17}",
}
PLAIN = {"text": "VARCHAR", "number": "DOUBLE"}  # DuckDB would take "yes" for a truth value, too
SHOWN = 5
FIRST = 10_000  # rows that rule types out; one is taken only if all rows have it
WIDE = 200  # columns from which patterns would take too much memory
STACK = 500_000  # bytes of the memory for each column that is looked at together with others
VECTOR = 2048  # rows that DuckDB makes room for at a time
ROOM = 96_000  # bytes of the memory for so many rows of a column, twice that for text; DuckDB keeps them several times
FEW = 0.3  # of that a column takes with few rows: room that is not filled is no memory
DIGITS = 18  # of whole numbers that surely fit in 64 bits
CODE = r"0\d+\s*"
WHOLE_NUMBER = r"\s*[+-]?\d+\s*"
MOSTLY = 0.9  # share of numbers from which a column of text is reported


def check_room(reading: Reading, what: str, need: int) -> None:
    """Refuse what takes more memory than a reading may use."""
    if need > reading.size:
        raise InputError(
            f"{reading.place}: {what} need about {need / 1e9:.1f} GB, and {reading.memory} of memory may be used; "
            f"allow more (--memory {-(-need // 10**9)}GB), or use Parquet"
        )


@dataclass(frozen=True)
class _Seen:
    """What a pass over a column has found."""

    fits: Mapping[str, bool | None]  # by kind whether all values are of it; None where there are none
    coded: bool  # whether some whole number begins with a zero, as codes do
    damaged: bool
    long: bool  # whether some whole number has many digits
    count: int  # values
    numbers: int  # of them that are numbers
    other: str | None  # a value that is none
    rows: int

    @classmethod
    def of(cls, found: list[Any]) -> _Seen:
        width = len(TYPES)
        coded, damaged, long, *rest = found[width:]
        return cls(dict(zip(TYPES, found[:width], strict=True)), bool(coded), bool(damaged), bool(long), *rest)


NOTHING = _Seen(dict.fromkeys(TYPES), coded=False, damaged=False, long=False, count=0, numbers=0, other=None, rows=0)


@dataclass(frozen=True)
class Delimited:
    """CSV files as text first; the type of a column is the narrowest that holds all of its values.

    DuckDB's own guess is not used: it takes types from a sample (and rounds the first 0.5 after twenty thousand
    integers), turns a file with one ragged row into a single column, and reads "no" as a boolean.
    """

    reading: Reading
    headers: Mapping[str, Header]  # by file

    @classmethod
    def of(cls, paths: Sequence[str], reading: Reading) -> Delimited:
        headers = {path: Header.of(path, reading.encoding) for path in paths}
        made = cls(reading, headers)
        made._check_room(ROOM * len(made.names), made.most_rows)
        return made

    @property
    def most_rows(self) -> float:
        """No more rows than so many are in the files: a row has a byte for each column."""
        if any(path.endswith(PACKED) for path in self.headers):
            return math.inf
        return sum(Path(path).stat().st_size // len(header.names) for path, header in self.headers.items())

    @property
    def reserved(self) -> int:
        """Bytes that DuckDB makes room for and does not fill, as the files have few rows."""
        return 2 * ROOM * len(self.names) if self.most_rows < VECTOR else 0

    def _check_room(self, full: int, rows: float) -> None:
        """Refuse more columns than the memory has room for; ``full`` is what many rows of them take."""
        need = int(full * min(max(rows / VECTOR, FEW), 1))
        check_room(self.reading, f"{len(self.names):,} columns of CSV", need)

    @property
    def names(self) -> list[str]:
        every = (name for header in self.headers.values() for name in header.names)
        return [name for name in dict.fromkeys(every) if name not in self.reading.ignore]

    def with_types(self, connection: Connection, known: Mapping[str, str]) -> Table:
        """All files, with types; where it is known what every column holds, no pass is needed to find out."""
        names = self.names
        if all(known.get(name) in PLAIN for name in names) and self.reading.bad_lines == "error":
            return Table(self._read({name: PLAIN[known[name]] for name in names}))
        skip = ", store_rejects=true" * (self.reading.bad_lines == "skip")
        found = self._seen(connection, f"(from {self._read({})} limit {FIRST})", known, {})
        if skip or max(seen.rows for seen in found.values()) == FIRST:
            found = self._seen(connection, self._read({}, skip), known, found)
        if skip:
            self._tell(connection)
        types = {name: self._type(name, seen, known.get(name)) for name, seen in found.items()}
        rows = max(seen.rows for seen in found.values())
        self._check_room(sum(2 * ROOM if kind == "VARCHAR" else ROOM for kind in types.values()), rows)
        return Table(self._read(types), tuple(n for n, seen in found.items() if not seen.count and n not in known))

    def _seen(
        self, connection: Connection, rows: str, known: Mapping[str, str], first: Mapping[str, _Seen]
    ) -> dict[str, _Seen]:
        """What a pass finds about every column; what the first rows have ruled out need not be asked again."""
        names = self.names
        if len(names) > WIDE:
            return self._read_stacked(connection, rows, known, first)
        tests = ", ".join(test for n in names for test in self._tests(quote(n), known.get(n), first.get(n)))
        ((*found,),) = connection.execute(f"select {tests} from {rows}").fetchall()
        width = len(found) // len(names)
        return {name: _Seen.of(found[j * width : (j + 1) * width]) for j, name in enumerate(names)}

    def _read_stacked(
        self, connection: Connection, rows: str, known: Mapping[str, str], first: Mapping[str, _Seen]
    ) -> dict[str, _Seen]:
        """The same of many columns, those with the same questions one below the other.

        DuckDB keeps every pattern of every column in memory, about a megabyte each: 1,000 columns took 15 GB.
        """
        most = max(1, self.reading.size // STACK)
        alike: dict[tuple[str, ...], list[str]] = {}
        for name in self.names:
            alike.setdefault(tuple(self._tests("v", known.get(name), first.get(name))), []).append(name)
        seen: dict[str, _Seen] = {}
        for tests, names in alike.items():
            for stacked in (names[j : j + most] for j in range(0, len(names), most)):
                values = f"unnest([{', '.join(map(quote, stacked))}]) as v, unnest(range({len(stacked)})) as j"
                found = connection.execute(
                    f"select j, {', '.join(tests)} from (select {values} from {rows}) group by j"
                ).fetchall()
                by_column = {j: _Seen.of(row) for j, *row in found}
                seen |= {name: by_column.get(j, NOTHING) for j, name in enumerate(stacked)}
        return seen

    def _tests(self, column: str, known: str | None, first: _Seen | None) -> list[str]:
        """What to find out about a column, as ``_Seen`` has it."""
        out = {"text": set(TYPES), "key": set(TYPES) - {"KEY"}}.get(known or "", {"KEY"})
        out |= {kind for kind, fits in (first.fits if first else {}).items() if fits is False}
        number = f"regexp_full_match({column}, {literal(TYPES[self._number])})"
        maybe = known == "number" or first is None or 2 * first.numbers >= first.count  # else why it is text is plain
        long = f"length({column}) > {DIGITS} and regexp_full_match({column}, {literal(WHOLE_NUMBER)})"
        coded = f"length({column}) > 1 and regexp_full_match({column}, {literal(CODE)})"
        return [
            *("false" if kind in out else _test(kind, pattern, column) for kind, pattern in TYPES.items()),
            "false" if self._number in out else f"bool_or(starts_with({column}, '0') and {coded})",
            f"bool_or(contains({column}, chr(0)))",
            "false" if self._number in out else f"bool_or({long})",
            f"count({column})",
            f"count(*) filter (where {number})" if maybe else "0",
            f"min({column}) filter (where not {number})" if maybe else "null",
            "count(*)",
        ]

    @property
    def _number(self) -> str:
        return "COMMA" if self.reading.decimal == "," else "DOUBLE"

    def _type(self, name: str, seen: _Seen, known: str | None) -> str:
        """A column known to hold text stays text, a key stays as it is, and one known for numbers may be empty."""
        where, fits = f"{self.reading.place}: column {name!r}", seen.fits
        if seen.damaged:
            raise InputError(f"{where} holds NUL characters; the file is damaged")
        if known == "text":
            return "VARCHAR"
        if known == "key":
            return "BIGINT" if fits["KEY"] else "VARCHAR"
        if not seen.count:
            return "DOUBLE" if known == "number" else "VARCHAR"
        if fits["COMMA"] and not fits["DOUBLE"] and self._number == "DOUBLE":
            raise InputError(
                f"{where} has numbers with commas; if they are decimal marks, "
                f"read it with decimal=',' (--decimal ,), else take them out"
            )
        order = ("BOOLEAN", "BIGINT", self._number, "DATE", "TIMESTAMP")
        kind = next(("DOUBLE" if kind == self._number else kind for kind in order if fits[kind]), "VARCHAR")
        mostly = (
            f"{seen.numbers} of its {seen.count} values are numbers; if {seen.other!r} means missing, say so (--null)"
        )
        if seen.coded and not known and kind in ("BIGINT", "DOUBLE"):
            warn(
                f"{where} has numbers that begin with 0, as codes do, so it is read as levels; if they are numbers, "
                f"write them without the zeros"
            )
            return "VARCHAR"
        if known == "number" and kind == "VARCHAR":
            raise InputError(f"{where} held numbers when the model was fitted and now has {seen.other!r}; {mostly}")
        if kind == "VARCHAR" and seen.numbers >= MOSTLY * seen.count:
            warn(f"{where} is read as text because of {seen.other!r}; {mostly}")
        if kind == "DOUBLE" and seen.long:
            warn(f"{where} has whole numbers of more than {DIGITS} digits, rounded to the nearest double")
        return kind

    def _tell(self, connection: Connection) -> None:
        """Say which lines were left out."""
        bad = connection.execute(
            "select file_path, line, first(error_message) from reject_errors "
            "join reject_scans using (scan_id, file_id) group by file_path, line order by file_path, line"
        ).fetchall()
        if bad:
            shown = "; ".join(f"{path} line {line}: {why.splitlines()[0]}" for path, line, why in bad[:SHOWN])
            more = f"; and {len(bad) - SHOWN} more" if len(bad) > SHOWN else ""
            lines = f"{len(bad)} bad lines were" if len(bad) > 1 else "1 bad line was"
            warn(f"{lines} left out ({shown}{more})")

    def _read(self, types: Mapping[str, str], more: str = "") -> str:
        return "(" + " union all by name ".join(self._one(path, types, more) for path in self.headers) + ")"

    def _one(self, path: str, types: Mapping[str, str], more: str) -> str:
        header = self.headers[path]
        columns = ", ".join(f"{literal(n)}: {literal(types.get(n, 'VARCHAR'))}" for n in header.names)
        nulls = ", ".join(map(literal, self.reading.nulls))
        place, encoding = as_native(path, self.reading.encoding)
        return (
            f"select * from read_csv({literal(glob.escape(place))}, auto_detect=false, header=true, "
            f"hive_partitioning=false, quote='\"', escape='\"', delim={literal(header.delimiter)}, "
            f"new_line={literal(header.line_end)}, nullstr=[{nulls}], columns={{{columns}}}, "
            f"decimal_separator={literal(self.reading.decimal)}, encoding={literal(encoding)}, skip={header.skip}, "
            f"ignore_errors={self.reading.bad_lines == 'skip'}{more})"
        )


def _test(kind: str, pattern: str, column: str) -> str:
    """Whether every value of a column is of a kind; null where it has none."""
    fits = f"regexp_full_match({column}, {literal(pattern)})"
    if kind == "BIGINT":  # nineteen digits may be too many
        fits = f"(case when {fits} then try_cast({column} as bigint) is not null else false end)"
        return f"bool_and(case when {column} is null then null else {fits} end)"
    return f"bool_and({fits})"
