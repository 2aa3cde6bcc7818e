"""Ods: sheets of the OpenDocument format, row by row (ISO/IEC 26300)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from bayeskit.engines.workbook import COLUMNS, ROWS, Broken, Row, Workbook

CONTENT = "content.xml"


def sheets(workbook: Workbook) -> list[str]:
    """The names of the sheets, in order."""
    found: list[str] = []

    def start(name: str, given: Mapping[str, str]) -> None:
        if name == "table":
            found.append(given.get("name", ""))

    with workbook.open() as archive, workbook.part(archive, CONTENT) as file:
        for _ in workbook.parse(file, start, lambda name: None, lambda text: None):
            continue
    return found


def rows(workbook: Workbook, which: int) -> Iterator[tuple[int, Row]]:
    """The rows of a sheet that hold something, each with its number."""
    sheet = _Sheet(which)
    with workbook.open() as archive, workbook.part(archive, CONTENT) as file:
        for _ in workbook.parse(file, sheet.start, sheet.end, sheet.text):
            if sheet.wrong:
                raise workbook.refusal(sheet.wrong)
            yield from sheet.done
            sheet.done.clear()


@dataclass
class _Sheet:
    """A sheet as its elements come in; those of other sheets are passed over."""

    which: int
    done: list[tuple[int, Row]] = field(default_factory=list)
    wrong: str = ""
    _table: int = -1
    _row: Row = field(default_factory=list)
    _number: int = 0
    _rows: int = 1
    _place: int = 0
    _cell: Mapping[str, str] | None = None
    _paragraphs: list[str] = field(default_factory=list)
    _reads: bool = False
    _notes: int = 0

    def start(self, name: str, given: Mapping[str, str]) -> None:
        if name == "table":
            self._table += 1
        if self._table != self.which:
            return
        if name == "table-row":
            self._rows, self._row, self._place = self._times(given, "number-rows-repeated"), [], 0
        elif name in ("table-cell", "covered-table-cell"):
            self._cell, self._paragraphs = given, []
        elif name == "annotation":
            self._notes += 1
        elif name == "p" and self._cell is not None and not self._notes:
            self._paragraphs.append("")
            self._reads = True
        elif name == "s" and self._reads:  # so many spaces
            self._paragraphs[-1] += " " * min(self._times(given, "c"), 1000)

    def text(self, characters: str) -> None:
        if self._reads and not self._notes:
            self._paragraphs[-1] += characters

    def end(self, name: str) -> None:
        if self._table != self.which:
            return
        if name == "p":
            self._reads = False
        elif name == "annotation":
            self._notes = max(self._notes - 1, 0)
        elif name in ("table-cell", "covered-table-cell") and self._cell is not None:
            self._add(self._cell)
            self._cell = None
        elif name == "table-row":
            if self._row:
                if self._number + self._rows > ROWS or self._rows * len(self._row) > ROWS:
                    self.wrong = f"a row repeated {self._rows:,} times"
                    return
                self.done.extend((self._number + j, list(self._row)) for j in range(1, self._rows + 1))
                self._row = []
            self._number = min(self._number + self._rows, 2 * ROWS)

    def _times(self, given: Mapping[str, str], name: str) -> int:
        text = given.get(name, "1")
        return max(int(text), 1) if text.isdecimal() and len(text) < 9 else 1

    def _add(self, cell: Mapping[str, str]) -> None:
        times, value = self._times(cell, "number-columns-repeated"), self._read(cell)
        if value is not None:
            if self._place + times > COLUMNS:
                self.wrong = f"a cell in column {self._place + times:,}"
                return
            self._row.extend([None] * (self._place - len(self._row)))
            self._row.extend([value] * times)
        self._place = min(self._place + times, 2 * COLUMNS)

    def _read(self, cell: Mapping[str, str]) -> Any:
        """What a cell holds; None if it is empty."""
        kind, shown = cell.get("value-type"), "\n".join(self._paragraphs)
        try:
            if kind in ("float", "percentage", "currency"):
                number = float(cell.get("value", "nan"))
                if number - number != 0:
                    raise ValueError
                return number
            if kind == "boolean":
                return cell.get("boolean-value") == "true"
            if kind == "date":
                return datetime.fromisoformat(cell.get("date-value", "").removesuffix("Z"))
        except ValueError:
            self.wrong = f"a cell of type {kind} holds {(cell.get('value') or cell.get('date-value') or '')[:20]!r}"
            return None
        if kind is None and not shown:
            return None
        if shown.startswith(("#", "Err:")) and "formula" in cell:
            return Broken(shown[:20])
        return cell.get("string-value") or shown or None
