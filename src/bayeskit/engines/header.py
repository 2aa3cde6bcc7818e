"""Header: the first record of a CSV file, which names its columns and tells how it is written."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from pathlib import Path

from bayeskit.engines.encodings import advice, check_encoding, open_file
from bayeskit.engines.sql import check_sql_names
from bayeskit.errors import InputError

SEPARATOR = re.compile('\ufeff*"?sep=([,;\t|])"?[\r\n]*', re.IGNORECASE)
LINE_ENDS = (r"\n", r"\r\n", r"\r")


@dataclass(frozen=True)
class Header:
    """The first record of a file."""

    delimiter: str
    names: tuple[str, ...]
    line_end: str  # as DuckDB writes it; it would take one within a quoted name for that of all lines
    skip: int = 0  # lines that stand above it

    @classmethod
    def of(cls, path: str, encoding: str) -> Header:
        told, head = _first_record(path, encoding)
        line = head.rstrip("\r\n")
        bare = "".join(line.split('"')[::2])  # what stands outside of quotes
        delimiter = told or ("\t" if ".tsv" in Path(path).suffixes else max(",;\t|", key=bare.count))
        names = tuple(name.strip() for name in _fields(line, delimiter, path))
        check_sql_names(path, names)
        end = head[len(line) :].replace("\r", r"\r").replace("\n", r"\n")
        return cls(delimiter, names, end if end in LINE_ENDS else LINE_ENDS[0], bool(told))


def _first_record(path: str, encoding: str) -> tuple[str, str]:
    """The delimiter that a line above the names tells, as Excel writes it (sep=;), and the text up to the first line
    end outside of quotes, without byte-order marks."""
    if path.endswith(".zst"):
        raise InputError(f"{path}: CSV packed with Zstandard cannot be read; unpack it, or use gzip or Parquet")
    told = ""
    try:
        kind = "utf-8-sig" if check_encoding(encoding) == "utf-8" else encoding
        with open_file(path, "rt", encoding=kind, errors="surrogateescape", newline="") as file:
            head = str(file.readline())
            if named := SEPARATOR.fullmatch(head):
                told, head = named[1], str(file.readline())
            while head.count('"') % 2 and (line := str(file.readline())):  # a name may have a line end
                head += line
        head.encode(kind)  # what could not be read cannot be written
    except (UnicodeError, LookupError) as error:
        raise InputError(f"{path}: the first line is not {encoding} text; {advice(path)}") from error
    except (OSError, EOFError) as error:
        raise InputError(f"{path}: {error}") from error
    return told, head.lstrip("\ufeff")  # a second mark is none of a name


def _fields(line: str, delimiter: str, path: str) -> list[str]:
    before = csv.field_size_limit(max(len(line), csv.field_size_limit()))
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error as error:
        raise InputError(f"{path}: the first line does not name columns ({error}); mend it") from error
    finally:
        csv.field_size_limit(before)
