"""Xlsx: sheets of Office Open XML (ECMA-376, part 1, section 18), read row by row and written batch by batch."""

from __future__ import annotations

import math
import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from html import escape
from typing import Any, BinaryIO

import pyarrow as pa

from bayeskit.engines.workbook import COLUMNS, ROWS, Broken, Row, Workbook
from bayeskit.errors import InputError

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

        def text(characters: str) -> None:
            if inside["t"] and not inside["rPh"]:  # how a text is pronounced is no part of it
                words.append(characters)

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

    def text(self, characters: str) -> None:
        if self._reads:
            self._value.append(characters)

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


LONGEST = 32_767  # characters of a cell
EXACT = 2**53
EPOCH = datetime(1899, 12, 30)
CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)")
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
PARTS = {
    "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    f'<Override PartName="/xl/workbook.xml" ContentType="{TYPE}.sheet.main+xml"/>'
    f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{TYPE}.worksheet+xml"/>'
    f'<Override PartName="/xl/styles.xml" ContentType="{TYPE}.styles+xml"/></Types>',
    "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="rId1" '
    f'Type="{RELATIONS}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{RELATIONS}"><sheets>'
    '<sheet name="answers" sheetId="1" r:id="rId1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}/relationships">'
    f'<Relationship Id="rId1" Type="{RELATIONS}/worksheet" Target="worksheets/sheet1.xml"/>'
    f'<Relationship Id="rId2" Type="{RELATIONS}/styles" Target="styles.xml"/></Relationships>',
    "xl/styles.xml": f'<styleSheet xmlns="{MAIN}"><fonts count="2"><font/><font><b/></font></fonts>'
    '<fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill>'
    '</fills><borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs>'
    '<cellXfs count="4"><xf/><xf fontId="1" applyFont="1"/><xf numFmtId="14" applyNumberFormat="1"/>'
    '<xf numFmtId="22" applyNumberFormat="1"/></cellXfs>'
    '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>',
}
SHEET = (
    f'<worksheet xmlns="{MAIN}"><sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" '
    'activePane="bottomLeft" state="frozen"/></sheetView></sheetViews><sheetData>'
)
BOLD, DAY, TIME = ' s="1"', ' s="2"', ' s="3"'


def write_xlsx(file: BinaryIO, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> int:
    """The batches as a sheet with a first row of names; how many rows it has."""
    if len(schema) > COLUMNS:
        raise InputError(f"a sheet has at most {COLUMNS:,} columns, and there are {len(schema):,}; write Parquet")
    rows = 0
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in PARTS.items():
            archive.writestr(zipfile.ZipInfo(name), XML + part, zipfile.ZIP_DEFLATED)
        with archive.open(zipfile.ZipInfo("xl/worksheets/sheet1.xml"), "w", force_zip64=True) as sheet:
            sheet.write((XML + SHEET).encode())
            sheet.write(f"<row>{''.join(_text(name, BOLD) for name in schema.names)}</row>".encode())
            for batch in batches:
                rows += batch.num_rows
                if rows >= ROWS:
                    raise InputError(f"a sheet has at most {ROWS - 1:,} rows of answers; write .parquet or .csv")
                columns = [column.to_pylist() for column in batch.columns]
                lines = (f"<row>{''.join(map(_cell, row))}</row>" for row in zip(*columns, strict=True))
                sheet.write("".join(lines).encode())
            sheet.write(b"</sheetData></worksheet>")
    return rows


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return f'<c t="b"><v>{value:d}</v></c>'
    if isinstance(value, int) and abs(value) <= EXACT:
        return f"<c><v>{value}</v></c>"
    if isinstance(value, float):
        return f"<c><v>{value!r}</v></c>" if math.isfinite(value) else "<c/>"
    if isinstance(value, datetime):
        since = value.replace(tzinfo=None) - EPOCH
        return f"<c{TIME}><v>{since.total_seconds() / 86_400!r}</v></c>"
    if isinstance(value, date):
        return f"<c{DAY}><v>{(value - EPOCH.date()).days}</v></c>"
    return "<c/>" if value is None else _text(str(value))


def _text(text: str, style: str = "") -> str:
    if len(text) > LONGEST:
        raise InputError(f"a cell of a sheet holds at most {LONGEST:,} characters, and one text has {len(text):,}")
    whole = CONTROLS.sub(lambda sign: f"_x{ord(sign[0]):04X}_", text)
    return f'<c t="inlineStr"{style}><is><t xml:space="preserve">{escape(whole, quote=False)}</t></is></c>'
