"""Xlsx: sheets of Office Open XML, row by row (ECMA-376, part 1, section 18)."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from bayeskit.engines.workbook import COLUMNS, ROWS, Broken, Row, Workbook

DATES = {*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)}  # formats of dates that need no definition
QUOTED = re.compile(r'"[^"]*"|\\.|_.|\[(?!h+\]|m+\]|s+\])[^\]]*\]', re.IGNORECASE)
ESCAPED = re.compile("_x([0-9A-Fa-f]{4})_")
PLACE = re.compile(r"([A-Z]{1,3})(\d{1,7})")
RELATION = "id"  # of a sheet to its part


def sheets(workbook: Workbook) -> list[str]:
    """The names of the sheets of cells, in order."""
    with workbook.open() as archive:
        return [name for name, _ in _sheets(workbook, archive)]


def rows(workbook: Workbook, which: int) -> Iterator[tuple[int, Row]]:
    """The rows of a sheet that hold something, each with its number."""
    with workbook.open() as archive:
        _, part = _sheets(workbook, archive)[which]
        book = _Book(workbook, archive)
        sheet = _Sheet(book.texts(), book.dates(), book.epoch())
        with workbook.part(archive, part) as file:
            for _ in workbook.parse(file, sheet.start, sheet.end, sheet.text):
                if sheet.wrong:
                    raise workbook.refusal(sheet.wrong)
                yield from sheet.done
                sheet.done.clear()


def _sheets(workbook: Workbook, archive: zipfile.ZipFile) -> list[tuple[str, str]]:
    """The name and the part of each sheet of cells."""
    targets: dict[str, str] = {}
    found: list[tuple[str, str]] = []

    def relation(name: str, given: Mapping[str, str]) -> None:
        inside = name == "Relationship" and given.get("TargetMode") != "External"
        if inside and given.get("Type", "").endswith("/worksheet"):
            targets[given.get("Id", "")] = given.get("Target", "")

    def sheet(name: str, given: Mapping[str, str]) -> None:
        if name == "sheet" and given.get(RELATION) in targets:
            target = targets[given[RELATION]]
            part = target.lstrip("/") if target.startswith("/") else f"xl/{target}"
            found.append((given.get("name", ""), part))

    _each(workbook, archive, "xl/_rels/workbook.xml.rels", relation)
    _each(workbook, archive, "xl/workbook.xml", sheet)
    return found


def _each(workbook: Workbook, archive: zipfile.ZipFile, part: str, start: Any) -> None:
    with workbook.part(archive, part) as file:
        for _ in workbook.parse(file, start, lambda name: None, lambda text: None):
            continue


@dataclass(frozen=True)
class _Book:
    """What all sheets share."""

    workbook: Workbook
    archive: zipfile.ZipFile

    def texts(self) -> list[str]:
        """The texts that cells name by number."""
        if "xl/sharedStrings.xml" not in self.archive.namelist():
            return []
        found: list[str] = []
        words: list[str] = []
        inside = {"t": False, "rPh": False}

        def start(name: str, given: Mapping[str, str]) -> None:
            if name in inside:
                inside[name] = True
            elif name == "si":
                words.clear()

        def end(name: str) -> None:
            if name in inside:
                inside[name] = False
            elif name == "si":
                found.append(_plain("".join(words)))

        def text(some: str) -> None:
            if inside["t"] and not inside["rPh"]:  # how a text is pronounced is no part of it
                words.append(some)

        with self.workbook.part(self.archive, "xl/sharedStrings.xml") as file:
            for _ in self.workbook.parse(file, start, end, text):
                continue
        return found

    def dates(self) -> list[bool]:
        """Of each style whether it shows a number as a date or a time."""
        if "xl/styles.xml" not in self.archive.namelist():
            return []
        own: dict[str, bool] = {}
        found: list[bool] = []
        within = {"cellXfs": False}

        def start(name: str, given: Mapping[str, str]) -> None:
            if name == "numFmt":
                own[given.get("numFmtId", "")] = _is_date(given.get("formatCode", ""))
            elif name == "cellXfs":
                within[name] = True
            elif name == "xf" and within["cellXfs"]:
                number = given.get("numFmtId", "0")
                found.append(own.get(number, number.isdecimal() and int(number) in DATES))

        def end(name: str) -> None:
            if name in within:
                within[name] = False

        with self.workbook.part(self.archive, "xl/styles.xml") as file:
            for _ in self.workbook.parse(file, start, end, lambda text: None):
                continue
        return found

    def epoch(self) -> datetime:
        """The day before day 1; in the system of 1900 a day that never was is counted, so two days before it."""
        late = [False]

        def start(name: str, given: Mapping[str, str]) -> None:
            if name == "workbookPr" and given.get("date1904", "0") in ("1", "true"):
                late[0] = True

        _each(self.workbook, self.archive, "xl/workbook.xml", start)
        return datetime(1904, 1, 1) if late[0] else datetime(1899, 12, 30)


@dataclass
class _Sheet:
    """A sheet as its elements come in."""

    texts: list[str]
    dates: list[bool]
    epoch: datetime
    done: list[tuple[int, Row]] = field(default_factory=list)
    wrong: str = ""
    _row: Row = field(default_factory=list)
    _number: int = 0
    _place: int = -1
    _kind: str = ""
    _style: int = 0
    _value: list[str] = field(default_factory=list)
    _reads: bool = False
    _phonetic: bool = False

    def start(self, name: str, given: Mapping[str, str]) -> None:
        if name == "row":
            number = given.get("r", "")
            self._number = int(number) if number.isdecimal() and len(number) < 8 else self._number + 1
            self._row, self._place = [], -1
            if not 0 < self._number <= ROWS:
                self.wrong = f"row {self._number}"
        elif name == "c":
            place = PLACE.fullmatch(given.get("r", ""))
            self._place = _column(place[1]) if place else self._place + 1
            style = given.get("s", "0")
            self._kind, self._style = given.get("t", "n"), int(style) if style.isdecimal() and len(style) < 8 else 0
            self._value = []
            if self._place >= COLUMNS:
                self.wrong, self._place = f"a cell in column {self._place + 1}", 0
        elif name == "rPh":
            self._phonetic = True
        elif name in ("v", "t"):
            self._reads = not self._phonetic

    def text(self, some: str) -> None:
        if self._reads:
            self._value.append(some)

    def end(self, name: str) -> None:
        if name in ("v", "t"):
            self._reads = False
        elif name == "rPh":
            self._phonetic = False
        elif name == "c":
            value = self._read("".join(self._value))
            if value is not None and self._place >= 0:
                self._row.extend([None] * (self._place + 1 - len(self._row)))
                self._row[self._place] = value
        elif name == "row" and self._row:
            self.done.append((self._number, self._row))
            self._row = []

    def _read(self, text: str) -> Any:
        """What a cell holds; None if it is empty."""
        if text == "":
            return None
        if self._kind == "s":
            place = int(text) if text.isdecimal() and len(text) < 10 else -1
            if not 0 <= place < len(self.texts):
                self.wrong = f"a cell names text {text[:20]!r}, which is not there"
                return None
            return self.texts[place] or None
        if self._kind in ("str", "inlineStr"):
            return _plain(text)
        if self._kind == "b":
            return text in ("1", "true")
        if self._kind == "e":
            return Broken(text[:20])
        return self._date(text) if self._kind == "d" else self._number_of(text)

    def _number_of(self, text: str) -> Any:
        try:
            number = float(text)
        except ValueError:
            self.wrong = f"a cell of numbers holds {text[:20]!r}"
            return None
        if number - number != 0:  # neither number has a place in a sheet
            self.wrong = f"a cell of numbers holds {text[:20]!r}"
            return None
        shown_as_date = self._style < len(self.dates) and self.dates[self._style]
        if not shown_as_date or not 0 <= number < 2_958_466:  # the end of the year 9999
            return number
        if number < 1:  # a time of day
            return number
        early = number < 60 and self.epoch.year < 1900  # before the day that never was
        return self.epoch + timedelta(days=early, milliseconds=round(number * 86_400_000))

    def _date(self, text: str) -> Any:
        try:
            return datetime.fromisoformat(text.removesuffix("Z"))
        except ValueError:
            self.wrong = f"a cell of dates holds {text[:20]!r}"
            return None


def _column(letters: str) -> int:
    """
    >>> _column("A"), _column("AA")
    (0, 26)
    """
    place = 0
    for letter in letters:
        place = 26 * place + ord(letter) - 64
    return place - 1


def _plain(text: str) -> str:
    """A text without the escapes of signs that XML does not have."""
    return ESCAPED.sub(lambda found: chr(int(found[1], 16)), text) if "_x" in text else text


def _is_date(code: str) -> bool:
    """Whether a format shows a date or a time: it has such letters outside of quotes and colours.

    >>> _is_date("dd/mm/yyyy"), _is_date('0.00 "days"'), _is_date("[Red]0"), _is_date("[h]:mm")
    (True, False, False, True)
    """
    first = QUOTED.sub("", code).split(";")[0]
    return bool(re.search("[dmyhs]", first, re.IGNORECASE)) and "general" not in first.lower()
