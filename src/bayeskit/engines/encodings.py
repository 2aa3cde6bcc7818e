"""Encodings: text files in any encoding, as DuckDB, which knows three, can read them."""

from __future__ import annotations

import codecs
import gzip
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

from bayeskit.errors import InputError

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
