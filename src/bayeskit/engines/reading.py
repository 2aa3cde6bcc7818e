"""Reading: a table outside memory, where it is and how it is to be read."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bayeskit.errors import InputError, SchemaError
from bayeskit.memory import read_size

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


@dataclass(frozen=True)
class Reading:
    """A table outside memory, with what its files do not say themselves; every method that takes a table takes it.

    Parameters
    ----------
    place : path or list of paths
        A file, a pattern (``"lake/*.parquet"``), a folder, a database or its address; or several files that are one
        table, columns matched by name.
    query : str, optional
        One SELECT over a database, or over files that it names.
    nulls : tuple of str, default ("", "NA")
        Fields of CSV files that mean a missing value.
    decimal : {".", ","}, default "."
        The decimal mark of CSV files.
    encoding : str, default "utf-8"
        That of CSV files.
    bad_lines : {"error", "skip"}, default "error"
        Lines of CSV files that do not fit are an error, or are left out, counted and reported.
    ignore : tuple of str, optional
        Columns to leave out.
    memory : str, default "1GB"
        About how much the whole process may use.
    sheet : str, optional
        That of a spreadsheet by its name or number; the first unless given.
    dates : tuple of str, optional
        What dates are turned into: "year", "month", "weekday", "age".
    kept_dates : tuple of str, optional
        Columns of dates that stay beside what they are turned into.
    today : str, optional
        The day at which ages are taken, as 2026-12-31; that of the clock unless given.
    watch : callable, optional
        Called with the number of rows of each batch that was read.
    more : tuple of str, optional
        Further files of the same table; a list as ``place`` sets it.

    Examples
    --------
    >>> import bayeskit as bk
    >>> bk.Reading("people.csv.gz", nulls=("", "?"), ignore=("id",)).shown
    'people.csv.gz'
    >>> bk.Reading("postgresql://me:secret@host/db").shown
    'postgresql://me:***@host/db'
    >>> bk.Reading(["north.csv", "south.csv", "west.csv"]).shown
    'north.csv and 2 more'
    """

    place: str = ""
    query: str | None = None
    nulls: tuple[str, ...] = ("", "NA")
    decimal: str = "."
    encoding: str = "utf-8"
    bad_lines: str = "error"
    ignore: tuple[str, ...] = ()
    memory: str = "1GB"
    sheet: str | None = None
    dates: tuple[str, ...] = ()
    kept_dates: tuple[str, ...] = ()
    today: str = ""
    watch: Callable[[int], object] | None = field(default=None, compare=False, repr=False)
    more: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        given: Any = self.place
        if isinstance(given, list | tuple) and not given:
            raise InputError("an empty list of files is no table; name a file at least")
        first, *others = map(os.fspath, given) if isinstance(given, list | tuple) else (os.fspath(given),)
        for name in ("nulls", "ignore", "dates", "kept_dates"):
            value: Any = getattr(self, name)
            object.__setattr__(self, name, (value,) if isinstance(value, str) else tuple(value))
        object.__setattr__(self, "place", first)
        object.__setattr__(self, "more", (*others, *self.more))
        if self.more and {one.sort for one in self.places} not in ({"files"}, {"arrow"}, {"sheets"}):
            raise InputError(f"{self.shown}: a list names files of one kind, and no databases; give one place")
        if self.bad_lines not in ("error", "skip"):
            raise InputError(f"bad_lines={self.bad_lines!r}: choose 'error' or 'skip'")
        if self.decimal not in (".", ","):
            raise InputError(f"decimal={self.decimal!r}: choose '.' or ','")
        if self.query and self.sort == "files" and self.place:
            raise InputError(f"{self.place}: a query over files names them itself; leave the file out")
        read_size(self.memory)

    @classmethod
    def of(cls, source: Any) -> Reading:
        """A reading from itself, a path or a list of paths.

        Parameters
        ----------
        source : Reading, path or list of paths
            Where the table is.
        """
        return source if isinstance(source, Reading) else cls(source)

    @property
    def places(self) -> tuple[Reading, ...]:
        """Each place of a list by itself."""
        return tuple(replace(self, place=place, more=()) for place in (self.place, *self.more))

    def kept(self, names: Sequence[str]) -> list[str]:
        """The names that are not to be ignored, each of which must be there.

        Parameters
        ----------
        names : sequence of str
            Those of all columns.
        """
        if absent := [name for name in self.ignore if name not in names]:
            raise SchemaError(f"{self.shown}: no column {absent[0]!r} to ignore (there are: {', '.join(names)})")
        return [name for name in names if name not in self.ignore]

    @property
    def shown(self) -> str:
        """The place for people, without a password."""
        more = f" and {len(self.more)} more" if self.more else ""
        return (without_password(self.place) or "the query") + more

    @property
    def size(self) -> int:
        """The memory in bytes."""
        return read_size(self.memory)

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
    return f"{Reading.of(source).shown}: " if _names_place(source) else ""


def is_place(source: object, *sorts: str) -> bool:
    """Whether this names a place of one of these sorts."""
    return _names_place(source) and Reading.of(source).sort in sorts


def _names_place(source: object) -> bool:
    """Whether it is a path, or a list of paths: texts in a list are paths if they end as files do.

    >>> _names_place(["north.csv", "south.csv"]), _names_place(["a text", "another"])
    (True, False)
    """
    if isinstance(source, list | tuple) and source:
        return all(isinstance(one, os.PathLike) or (isinstance(one, str) and ending_of(one) in FILES) for one in source)
    return isinstance(source, str | os.PathLike | Reading)


def ending_of(place: str) -> str:
    """The ending of a file, without that of its packing.

    >>> ending_of("people.csv.gz")
    '.csv'
    """
    endings = [s.lower() for s in Path(place).suffixes if s.lower() not in PACKED]
    return endings[-1] if endings else ""


def without_password(text: str) -> str:
    """Text with addresses in it, for people.

    >>> without_password("postgresql://me:secret@host/db")
    'postgresql://me:***@host/db'
    """
    return re.sub(r"(://[^:/@\s]*):[^@\s]*@", r"\1:***@", text)
