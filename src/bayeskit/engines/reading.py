"""Reading: a table outside memory, where it is and how it is to be read."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bayeskit.errors import InputError, SchemaError

PARQUET = (".parquet", ".pq")
CSV = (".csv", ".tsv")
JSON = (".jsonl", ".ndjson", ".json")
ARROW = (".arrow", ".feather", ".ipc", ".arrows")
SHEETS = (".xlsx", ".xlsm", ".ods")
FILES = (*PARQUET, *CSV, *JSON, *ARROW, *SHEETS)
PACKED = (".gz", ".zst")
SERVERS = ("postgresql://", "postgres://")
DATABASES = {".duckdb": "duckdb", ".sqlite": "sqlite", ".sqlite3": "sqlite"}
MAGIC = {"sqlite": (0, b"SQLite format 3\0"), "duckdb": (8, b"DUCK")}  # of a ".db", whose name does not tell
SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]B)\s*", re.IGNORECASE)
UNITS = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


@dataclass(frozen=True)
class Reading:
    """A path, a pattern, a folder or a database, and what its files do not say themselves.

    ``query`` is SQL over a database, or over files it names. In CSV files ``nulls`` are the fields that mean a missing
    value, ``decimal`` the decimal mark, and lines that do not fit are an error or are left out, counted and told.

    >>> Reading("people.csv.gz").sort, Reading("postgresql://me:secret@host/db").shown
    ('files', 'postgresql://me:***@host/db')
    """

    place: str = ""
    query: str | None = None
    nulls: tuple[str, ...] = ("", "NA")
    decimal: str = "."
    encoding: str = "utf-8"
    bad_lines: str = "error"
    ignore: tuple[str, ...] = ()  # columns that are not there, as it were
    memory: str = "1GB"  # of the whole process, about
    sheet: str | None = None  # of a spreadsheet by its name or number; the first unless given
    dates: tuple[str, ...] = ()  # what dates are turned into: year, month, weekday, age
    kept_dates: tuple[str, ...] = ()  # which of them are columns besides
    today: str = ""  # the day at which ages are told, as 2026-12-31; that of the clock unless given
    watch: Callable[[int], object] | None = field(default=None, compare=False, repr=False)  # told the rows of a batch

    def __post_init__(self) -> None:
        if self.bad_lines not in ("error", "skip"):
            raise InputError(f"bad_lines={self.bad_lines!r}: choose 'error' or 'skip'")
        if self.decimal not in (".", ","):
            raise InputError(f"decimal={self.decimal!r}: choose '.' or ','")
        if self.query and self.sort == "files" and self.place:
            raise InputError(f"{self.place}: a query over files names them itself; leave the file out")
        if not SIZE.fullmatch(self.memory):
            raise InputError(f"memory={self.memory!r}: give a size such as 512MB or 2GB")

    @classmethod
    def of(cls, source: Any) -> Reading:
        return source if isinstance(source, Reading) else cls(os.fspath(source))

    def kept(self, names: Sequence[str]) -> list[str]:
        """The names that are not to be ignored, each of which must be there."""
        if absent := [name for name in self.ignore if name not in names]:
            raise SchemaError(f"{self.shown}: no column {absent[0]!r} to ignore (there are: {', '.join(names)})")
        return [name for name in names if name not in self.ignore]

    @property
    def shown(self) -> str:
        """The place for people, without a password."""
        return without_password(self.place) or "the query"

    @property
    def size(self) -> int:
        """The memory in bytes."""
        found = SIZE.fullmatch(self.memory)
        assert found is not None  # it was checked when it was given
        number, unit = found.groups()
        return int(float(number) * UNITS[unit.upper()])

    @property
    def sort(self) -> str:
        """Who reads it: "postgresql", "sqlite", "duckdb", "arrow", "sheets" or "files"."""
        if self.place.startswith(SERVERS):
            return "postgresql"
        ending = Path(self.place).suffix.lower()
        if ending == ".db":
            return next((sort for sort in MAGIC if self._begins(*MAGIC[sort])), "files")
        if ending in ARROW:
            return "arrow"
        if ending in SHEETS:
            return "sheets"
        return DATABASES.get(ending, "files")

    def _begins(self, offset: int, magic: bytes) -> bool:
        if not Path(self.place).is_file():
            return False
        with open(self.place, "rb") as file:
            file.seek(offset)
            return file.read(len(magic)) == magic


def place_of(source: object) -> str:
    """The place that a source names, as an error begins; nothing where rows are in memory.

    >>> place_of("people.csv"), place_of({"a": [1]})
    ('people.csv: ', '')
    """
    return f"{Reading.of(source).shown}: " if isinstance(source, str | os.PathLike | Reading) else ""


def is_place(source: object, *sorts: str) -> bool:
    """Whether this names a place of one of these sorts."""
    return isinstance(source, str | os.PathLike | Reading) and Reading.of(source).sort in sorts


def without_password(text: str) -> str:
    """Text with addresses in it, for people.

    >>> without_password("postgresql://me:secret@host/db")
    'postgresql://me:***@host/db'
    """
    return re.sub(r"(://[^:/@\s]*):[^@\s]*@", r"\1:***@", text)
