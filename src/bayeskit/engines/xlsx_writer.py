"""Xlsx writer: batches of rows as one sheet, written as they come.

Texts are kept as texts, so that nothing in them is run as a formula.
"""

from __future__ import annotations

import math
import re
import zipfile
from collections.abc import Iterator
from datetime import date, datetime
from typing import BinaryIO
from xml.sax.saxutils import escape

import pyarrow as pa

from bayeskit.engines.workbook import COLUMNS, ROWS
from bayeskit.errors import InputError

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
    return f'<c t="inlineStr"{style}><is><t xml:space="preserve">{escape(whole)}</t></is></c>'
