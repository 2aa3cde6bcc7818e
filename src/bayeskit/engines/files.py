"""Files: a path or a pattern, what kind of files it names and how DuckDB is to read them."""

from __future__ import annotations

import csv
import glob
import gzip
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from bayeskit.errors import InputError, SchemaError

PARQUET = (".parquet", ".pq")
CSV = (".csv", ".tsv")
PACKED = (".gz", ".zst")
NUMBER = r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*"
TYPES = {  # each holds when every value matches; the first that fits is taken
    "BOOLEAN": r"(?i)\s*(true|false)\s*",
    "BIGINT": r"\s*[+-]?\d{1,18}\s*",
    "DOUBLE": rf"(?i){NUMBER}|\s*[+-]?(nan|inf|infinity)\s*",
    "DATE": r"\d{4}-\d\d-\d\d",
    "TIMESTAMP": r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d+)?)?",
}


@dataclass(frozen=True)
class Files:
    """The files of a path: one of that very name, or all that match it as a pattern."""

    path: str
    first: str
    ending: str

    @classmethod
    def of(cls, source: str | os.PathLike[str]) -> Files:
        path = os.fspath(source)
        endings = [s.lower() for s in Path(path).suffixes if s.lower() not in PACKED]
        ending = endings[-1] if endings else ""
        if ending not in PARQUET + CSV:
            known = ", ".join(PARQUET + CSV)
            raise InputError(f"{path}: cannot tell what kind of file this is; known endings: {known}")
        first = path if Path(path).exists() else min(glob.iglob(path, recursive=True), default=None)
        if first is None:
            raise InputError(f"{path}: no such file")
        if Path(first).is_dir():
            raise InputError(f"{path}: this is a folder; name the files in it, {path}/*{ending} for instance")
        if Path(first).stat().st_size == 0:
            raise InputError(f"{first}: the file is empty")
        return cls(path, first, ending)

    def table(self, connection: Any, known: Mapping[str, str]) -> Table:
        """How to read the files, columns matched by name."""
        if self.ending in PARQUET:
            _unlike(self.first, pq.read_schema(self.first).names)
            return Table(f"read_parquet({_literal(self._pattern)}, union_by_name=true)")
        return CsvFiles.of(self.all).typed(connection, known)

    @property
    def all(self) -> list[str]:
        return sorted(glob.iglob(self._pattern, recursive=True))

    @property
    def _pattern(self) -> str:
        return glob.escape(self.path) if self.path == self.first else self.path


@dataclass(frozen=True)
class Table:
    """The SQL that reads some files, and the columns that have no value in any of them."""

    sql: str
    empty: tuple[str, ...] = ()


@dataclass(frozen=True)
class CsvFiles:
    """CSV files read by their own header lines, as text first; types are judged by all of their values.

    DuckDB's own guess is not used: it takes types from a sample (and rounds the first 0.5 after twenty thousand
    integers), turns a file with one ragged row into a single column, and reads "no" as a boolean. The empty field and
    NA are null.
    """

    headers: Mapping[str, tuple[str, tuple[str, ...]]]  # file -> delimiter and names

    @classmethod
    def of(cls, paths: Sequence[str]) -> CsvFiles:
        headers = {}
        for path in paths:
            head = _first_line(path)
            delimiter = "\t" if ".tsv" in Path(path).suffixes else max(",;\t|", key=head.count)
            names = tuple(name.strip() for name in next(csv.reader([head], delimiter=delimiter), []))
            _unlike(path, names)
            headers[path] = (delimiter, names)
        return cls(headers)

    def typed(self, connection: Any, known: Mapping[str, str]) -> Table:
        """All files, with the narrowest type that holds every value of a column.

        A column known to hold text stays text, and one known to hold numbers may be without any.
        """
        names = list(dict.fromkeys(name for _, some in self.headers.values() for name in some))
        tests = ", ".join(
            f"bool_and(regexp_full_match({quoted(n)}, '{pattern}'))" for n in names for pattern in TYPES.values()
        )
        ((*found,),) = connection.execute(f"select {tests} from {self._read({})}").fetchall()
        types, empty = {}, []
        for j, name in enumerate(names):
            fits = found[j * len(TYPES) : (j + 1) * len(TYPES)]
            types[name] = next((t for t, fit in zip(TYPES, fits, strict=True) if fit), "VARCHAR")
            if known.get(name) == "text":
                types[name] = "VARCHAR"
            elif None in fits:  # no value to judge by
                types[name] = "DOUBLE" if known.get(name) == "number" else "VARCHAR"
                if name not in known:
                    empty.append(name)
        return Table(self._read(types), tuple(empty))

    def _read(self, types: Mapping[str, str]) -> str:
        return "(" + " union all by name ".join(self._one(path, types) for path in self.headers) + ")"

    def _one(self, path: str, types: Mapping[str, str]) -> str:
        delimiter, names = self.headers[path]
        columns = ", ".join(f"{_literal(n)}: {_literal(types.get(n, 'VARCHAR'))}" for n in names)
        return (
            f"select * from read_csv({_literal(glob.escape(path))}, auto_detect=false, header=true, "
            f"quote='\"', escape='\"', delim={_literal(delimiter)}, nullstr=['', 'NA'], columns={{{columns}}})"
        )


def _unlike(path: str, names: Sequence[str]) -> None:
    """Refuse names DuckDB would rename silently: it does not tell them apart by case."""
    folded = [name.casefold() for name in names]
    if "" in folded:
        raise SchemaError(f"{path}: column {folded.index('') + 1} has no name; give it one in the first line")
    if len(set(folded)) < len(folded):
        twice = [name for name in names if folded.count(name.casefold()) > 1]
        raise SchemaError(f"{path}: column names {' and '.join(map(repr, twice))} count as the same one; rename one")


def _first_line(path: str) -> str:
    if path.endswith(".zst"):
        raise InputError(f"{path}: CSV packed with Zstandard cannot be read; unpack it, or use gzip or Parquet")
    opened = gzip.open if path.endswith(".gz") else open
    try:
        with opened(path, "rt", encoding="utf-8-sig") as file:
            return str(file.readline()).rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: the file is not UTF-8 text ({error.reason}); convert it, with iconv for instance"
        ) from error


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
