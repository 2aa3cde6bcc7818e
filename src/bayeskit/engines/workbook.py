"""Workbook: the parts of an .xlsx or .ods file, read as a stream of rows with what each cell holds.

Nothing is run and nothing followed: of a formula only the value that was saved with it is read, macros and links to
other files are not looked at, and a document type, by which XML could name other files or grow without end, is refused.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any
from xml.parsers import expat

from bayeskit.errors import InputError

CHUNK = 1 << 16
COLUMNS = 16_384  # of a sheet, at most
ROWS = 1 << 20
OLD = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # how files of earlier versions and protected ones begin

DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    OSError,
    ValueError,
    OverflowError,
    struct.error,
)

Row = list[Any]  # numbers, texts, truth values, dates; None is empty
Start = Callable[[str, Mapping[str, str]], None]
End = Callable[[str], None]


@dataclass(frozen=True)
class Broken:
    """A cell whose formula has no value, such as #N/A."""

    sign: str


@dataclass(frozen=True)
class Workbook:
    """A file, opened; ``room`` bounds the bytes that its parts may have once unpacked."""

    path: str
    room: int

    @contextmanager
    def open(self) -> Iterator[zipfile.ZipFile]:
        """The file as an archive, once it is known that it can be unpacked."""
        with open(self.path, "rb") as file:
            begin = file.read(8)
        if begin == OLD:
            raise InputError(
                f"{self.path}: it is protected by a password, or of an Excel before 2007; open it and save it as "
                f".xlsx, without a password"
            )
        try:
            with zipfile.ZipFile(self.path) as archive:
                size = sum(part.file_size for part in archive.infolist())
                if size > self.room:
                    raise InputError(
                        f"{self.path}: it unpacks to {size / 1e6:,.0f} MB, and {self.room / 1e6:,.0f} MB may be used; "
                        f"allow more (--memory {-(-4 * size // 10**9)}GB), or save it as CSV or Parquet"
                    )
                yield archive
        except DAMAGE as error:
            if isinstance(error, InputError | FileNotFoundError | PermissionError):
                raise
            raise self.refusal(str(error)) from error

    def refusal(self, why: str) -> InputError:
        """The refusal of a file that is not what its name says."""
        reason = " ".join(why.split())[:160]
        return InputError(f"{self.path}: it is damaged, or not a spreadsheet ({reason}); save it anew")

    @contextmanager
    def part(self, archive: zipfile.ZipFile, name: str) -> Iterator[IO[bytes]]:
        """One part of the archive."""
        try:
            with archive.open(name) as file:
                yield file
        except KeyError as error:
            raise self.refusal(f"it has no part {name}") from error

    def parse(self, file: IO[bytes], start: Start, end: End, text: Callable[[str], None]) -> Iterator[None]:
        """A part of XML fed to handlers by local names, piece by piece: after each the rows so far can be taken."""
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True

        def refuse(*_: object) -> None:
            raise self.refusal("it has a document type, which spreadsheets do not have")

        parser.StartDoctypeDeclHandler = refuse
        parser.StartElementHandler = lambda name, given: start(_local(name), {_local(k): v for k, v in given.items()})
        parser.EndElementHandler = lambda name: end(_local(name))
        parser.CharacterDataHandler = text
        read = 0
        try:
            while chunk := file.read(CHUNK):
                read += len(chunk)
                if read > self.room:
                    raise self.refusal("it unpacks to more than it says")
                parser.Parse(chunk, False)
                yield
            parser.Parse(b"", True)
        except expat.ExpatError as error:
            raise self.refusal(f"its XML: {error}") from error
        yield


def _local(name: str) -> str:
    return name.rpartition(" ")[2]


def pick(workbook: Workbook, sheets: list[str], wanted: str | None) -> int:
    """The number of the sheet that was asked for by its name or number (from 1), the first unless given."""
    if not sheets:
        raise workbook.refusal("it has no sheet")
    if wanted is None:
        return 0
    if wanted in sheets:
        return sheets.index(wanted)
    if wanted.isdecimal() and 1 <= int(wanted) <= len(sheets):
        return int(wanted) - 1
    raise InputError(f"{workbook.path}: no sheet {wanted!r} (there are: {', '.join(sheets)}); choose one (--sheet)")


def rows_of(path: str, room: int, sheet: str | None) -> tuple[Iterator[tuple[int, Row]], str]:
    """The rows of a sheet that are not empty, each with its number from 1, and what other sheets there are."""
    from bayeskit.engines import ods, xlsx

    workbook = Workbook(path, room)
    with workbook.open() as archive:
        reader = ods if ods.CONTENT in archive.namelist() else xlsx
    sheets = reader.sheets(workbook)
    which = pick(workbook, sheets, sheet)
    others = [name for j, name in enumerate(sheets) if j != which]
    return reader.rows(workbook, which), ", ".join(others) if sheet is None else ""
