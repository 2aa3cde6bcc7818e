"""Spreadsheets: what sheets hold, row by row; hostile files; answers as a sheet that other programs read."""

from __future__ import annotations

import io
import warnings
import zipfile
from collections.abc import Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import bayeskit as bk
from bayeskit.cli.example import clinic
from bayeskit.engines import spreadsheet
from bayeskit.engines.reading import Reading
from bayeskit.engines.xlsx import write_xlsx
from bayeskit.errors import BayeskitError, InputError, SchemaError
from bayeskit.model.labelled_table import read_rows

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATION = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
OFFICE = "urn:oasis:names:tc:opendocument:xmlns"


def xlsx(path: Path, rows: str, more: Mapping[str, str | bytes] | None = None, about: str = "") -> Path:
    """A workbook of one sheet, written by hand; ``about`` stands in the workbook."""
    parts: dict[str, str | bytes] = {
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{RELATION}">{about}<sheets>'
        '<sheet name="Data" sheetId="1" r:id="r1"/><sheet name="Other" sheetId="2" r:id="r2"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": "<Relationships>"
        f'<Relationship Id="r1" Type="{RELATION}/worksheet" Target="worksheets/sheet1.xml"/>'
        f'<Relationship Id="r2" Type="{RELATION}/worksheet" Target="/xl/worksheets/sheet2.xml"/>'
        f'<Relationship Id="r3" Type="{RELATION}/externalLink" Target="http://x.invalid/a.xlsx" TargetMode="External"/>'
        "</Relationships>",
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{MAIN}"><sheetData>{rows}</sheetData></worksheet>',
        "xl/worksheets/sheet2.xml": f'<worksheet xmlns="{MAIN}"><sheetData><row r="4"><c r="B4" t="inlineStr"><is>'
        '<t>z</t></is></c></row><row r="9"><c r="B9"><v>7</v></c></row></sheetData></worksheet>',
        **(more or {}),
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return path


def ods(path: Path, rows: str) -> Path:
    """The same of OpenDocument."""
    content = (
        f'<office:document-content xmlns:office="{OFFICE}:office:1.0" xmlns:table="{OFFICE}:table:1.0" '
        f'xmlns:text="{OFFICE}:text:1.0"><office:body><office:spreadsheet><table:table table:name="One">{rows}'
        "</table:table></office:spreadsheet></office:body></office:document-content>"
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("content.xml", content)
    return path


def text(value: str) -> str:
    return f'<c t="inlineStr"><is><t>{value}</t></is></c>'


def head(*names: str) -> str:
    return f"<row>{''.join(map(text, names))}</row>"


def read(path: Path, **how: Any) -> pa.Table:
    return read_rows(Reading(str(path), **how))[0]


def test_every_kind_of_cell_is_read(tmp_path: Path) -> None:
    shared = (
        f'<sst xmlns="{MAIN}"><si><t>plain</t></si><si><r><t>ri</t></r><r><t>ch</t></r><rPh><t>say</t></rPh></si>'
        "<si><t>a_x000A_b</t></si></sst>"
    )
    styles = (
        f'<styleSheet xmlns="{MAIN}"><numFmts><numFmt numFmtId="170" formatCode="[Red]dd\\-mm\\-yyyy;@"/>'
        '<numFmt numFmtId="171" formatCode="0.0 &quot;days&quot;"/></numFmts><cellStyleXfs><xf numFmtId="14"/>'
        '</cellStyleXfs><cellXfs><xf/><xf numFmtId="170"/><xf numFmtId="171"/><xf numFmtId="22"/></cellXfs>'
        "</styleSheet>"
    )
    rows = (
        head("whole", "number", "shared", "truth", "day", "moment", "formula", "unit", "gap")
        + '<row r="3"><c r="A3"><v>1</v></c><c r="B3"><v>0.5</v></c><c r="C3" t="s"><v>1</v></c>'
        '<c r="D3" t="b"><v>1</v></c>'
        '<c r="E3" s="1"><v>45351</v></c><c r="F3" s="3"><v>45351.75</v></c><c r="G3"><f>1+1</f><v>2</v></c>'
        '<c r="H3" s="2"><v>3</v></c><c r="I3" t="e"><v>#N/A</v></c></row>'
        '<row r="5"><c><v>-2</v></c><c><v>1e-3</v></c><c t="s"><v>2</v></c><c t="b"><v>0</v></c><c s="1"><v>1</v></c>'
        '<c s="3"><v>61</v></c><c t="str"><f>x</f><v>said</v></c><c r="I5"><v>4</v></c></row><row r="9"/>'
    )
    path = xlsx(tmp_path / "a.xlsx", rows, {"xl/sharedStrings.xml": shared, "xl/styles.xml": styles})
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        table = read(path)
    assert table.to_pylist() == [
        {
            "whole": 1,
            "number": 0.5,
            "shared": "rich",
            "truth": True,
            "day": date(2024, 2, 29),
            "moment": datetime(2024, 2, 29, 18),
            "formula": "2",
            "unit": 3,
            "gap": None,
        },
        {
            "whole": -2,
            "number": 0.001,
            "shared": "a\nb",
            "truth": False,
            "day": date(1900, 1, 1),
            "moment": datetime(1900, 3, 1),
            "formula": "said",
            "unit": None,
            "gap": 4,
        },
    ]
    said = " | ".join(str(w.message) for w in told)
    assert "there are others (--sheet): Other" in said
    assert "1 of column 'gap'" in said
    assert "holds numbers and other values ('said')" in said
    late = xlsx(
        tmp_path / "b.xlsx",
        rows,
        {"xl/sharedStrings.xml": shared, "xl/styles.xml": styles},
        '<workbookPr date1904="1"/>',
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert read(late)["day"][0].as_py() == date(2028, 3, 1)
    assert read(path, sheet="Other").to_pylist() == read(path, sheet="2").to_pylist() == [{"z": 7}]


def test_an_open_document_is_read(tmp_path: Path) -> None:
    def cell(kind: str, value: str, shown: str = "") -> str:
        told = f"office:value-type='{kind}' {value}"
        return f"<table:table-cell {told}><text:p>{shown}</text:p></table:table-cell>"

    names = "".join(cell("string", "", name) for name in "nsdb")
    values = (
        cell("float", "office:value='2'", "2,0")
        + cell("string", "", "x<text:s text:c='2'/>y")
        + cell("date", "office:date-value='2024-02-29'")
        + cell("boolean", "office:boolean-value='true'")
    )
    rows = (
        f"<table:table-row>{names}</table:table-row>"
        f"<table:table-row table:number-rows-repeated='3'>{values}</table:table-row>"
        "<table:table-row table:number-rows-repeated='1000000'>"
        "<table:table-cell table:number-columns-repeated='16384'/></table:table-row>"
    )
    row = {"n": 2, "s": "x  y", "d": date(2024, 2, 29), "b": True}
    assert read(ods(tmp_path / "a.ods", rows)).to_pylist() == [row] * 3


def test_a_sheet_teaches_what_the_table_does_and_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, path = clinic(300), tmp_path / "visits.xlsx"
    with open(path, "wb") as file:
        assert write_xlsx(file, table.schema, iter(table.to_batches())) == 300
    calls: list[str] = []
    plain = spreadsheet.rows_of
    monkeypatch.setattr(spreadsheet, "rows_of", lambda path, *more: calls.append(path) or plain(path, *more))
    for model in (bk.NaiveBayes(), bk.TAN()):
        calls.clear()
        assert model.fit(path, "diagnosis").model_.digest == type(model)().fit(table, "diagnosis").model_.digest
        assert len(calls) == 1
        calls.clear()
        np.testing.assert_array_equal(model.predict_proba(path), model.predict_proba(table.drop_columns(["diagnosis"])))
        assert len(calls) == 1


def test_types_hold_for_every_value(tmp_path: Path) -> None:
    """A number of 30,000 that has a text last, codes that begin with zero, and numbers that are kept as text."""
    body = "".join(f"<row><c><v>{i}</v></c>{text(f'{i % 7:04d}')}<c><v>1</v></c></row>" for i in range(12_000))
    path = xlsx(
        tmp_path / "a.xlsx", head("n", "zip", "late") + body + f"<row>{text('NA')}{text('0007')}{text('x')}</row>"
    )
    with pytest.warns(UserWarning, match=r"'late' is read as text because of 'x'"):
        table = read(path)
    assert [str(t) for t in table.schema.types] == ["int64", "string", "string"]
    assert table["n"].null_count == 1
    assert table["zip"][3].as_py() == "0003"
    assert table["late"][0].as_py() == "1"
    with pytest.raises(InputError, match=r"held numbers when the model was fitted and now has 'x'"):
        read_rows(Reading(str(path)), {"late": "number"})


BOMB = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]>'
HOSTILE = {
    "a document type": (head("a") + "<row><c><v>1</v></c></row>", BOMB, "document type"),
    "a cell too far right": (head("a") + '<row><c r="ZZZ2"><v>1</v></c></row>', "", "column 18278"),
    "a row too far down": (head("a") + '<row r="9999999"><c r="A9999999"><v>1</v></c></row>', "", "row 9999999"),
    "a text that is not there": (head("a") + '<row><c t="s"><v>4</v></c></row>', "", "names text '4'"),
    "a number that is none": (head("a") + "<row><c><v>1x</v></c></row>", "", "holds '1x'"),
    "an endless number": (head("a") + "<row><c><v>1e999</v></c></row>", "", "holds '1e999'"),
    "broken XML": (head("a") + "<row><c>", "", "its XML"),
    "a value beside the table": (
        head("a") + "<row><c><v>1</v></c><c><v>2</v></c></row>",
        "",
        "column B, which has no name",
    ),
    "two columns of a name": (head("a", "a"), "", "'a' occurs twice"),
    "nothing": ("", "", "the sheet is empty"),
}


@pytest.mark.parametrize(("rows", "before", "said"), HOSTILE.values(), ids=list(HOSTILE))
def test_hostile_sheets_are_refused(tmp_path: Path, rows: str, before: str, said: str) -> None:
    sheet = f'{before}<worksheet xmlns="{MAIN}"><sheetData>{rows}</sheetData></worksheet>'
    path = xlsx(tmp_path / "a.xlsx", "", {"xl/worksheets/sheet1.xml": sheet})
    with pytest.raises((InputError, SchemaError), match=said):
        read(path, sheet="1")


def test_files_that_unpack_to_too_much_are_refused(tmp_path: Path) -> None:
    path = xlsx(tmp_path / "a.xlsx", head("a") + "<row><c><v>1</v></c></row>" + " " * 30_000_000)
    assert path.stat().st_size < 100_000
    with pytest.raises(InputError, match="it unpacks to 30 MB, and 20 MB may be used; allow more"):
        read(path, memory="20MB")
    data = bytearray(path.read_bytes())
    place = data.rfind(b"xl/worksheets/sheet1.xml") - 46  # in the list of parts, where sizes are said
    data[place + 24 : place + 28] = (1000).to_bytes(4, "little")
    (tmp_path / "b.xlsx").write_bytes(data)
    with pytest.raises(InputError, match="damaged"):
        read(tmp_path / "b.xlsx", memory="20MB", sheet="1")
    one = "<table:table-cell office:value-type='float' office:value='1' table:number-columns-repeated='9999'/>"
    with pytest.raises(InputError, match="repeated"):
        read(ods(tmp_path / "c.ods", f"<table:table-row table:number-rows-repeated='999999'>{one}</table:table-row>"))


def test_what_is_no_sheet_is_told_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "old.xlsx").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"0" * 600)
    with pytest.raises(InputError, match=r"save it as \.xlsx, without a password"):
        read(tmp_path / "old.xlsx")
    for name in ("a.xls", "a.xlsb", "a.numbers"):
        (tmp_path / name).write_bytes(b"x")
        with pytest.raises(InputError, match=r"open it and save it as \.xlsx"):
            read(tmp_path / name)
    (tmp_path / "text.xlsx").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="damaged, or not a spreadsheet"):
        read(tmp_path / "text.xlsx")
    good = xlsx(tmp_path / "good.xlsm", head("a") + "<row><c><v>1</v></c></row>", {"xl/vbaProject.bin": b"macro"})
    with pytest.raises(InputError, match=r"no sheet 'Dta' \(there are: Data, Other\)"):
        read(good, sheet="Dta")
    assert read(good, sheet="Data").to_pylist() == [{"a": 1}]


def test_damaged_files_are_refused_and_never_crash(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    held = io.BytesIO()
    table = clinic(40)
    write_xlsx(held, table.schema, iter(table.to_batches()))
    rows = "<table:table-row><table:table-cell office:value-type='float' office:value='1'/></table:table-row>"
    wholes = {"a.xlsx": held.getvalue(), "a.ods": ods(tmp_path / "a.ods", rows).read_bytes()}
    for i in range(120):
        name = ("a.xlsx", "a.ods")[i % 2]
        data = bytearray(wholes[name])
        for _ in range(rng.integers(1, 5)):
            data[rng.integers(len(data))] = rng.integers(256)
        if i % 5 == 0:
            data = data[: rng.integers(len(data))]
        (tmp_path / name).write_bytes(data)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                read(tmp_path / name)
        except BayeskitError as error:
            assert name in str(error)  # noqa: PT017


def test_answers_are_a_sheet_that_others_read(tmp_path: Path) -> None:
    values = {
        "=name": ["=1+1", "a<b & c", " x ", "_x0041_", None],
        "number": [1.5, float("nan"), -1e300, 0.1, None],
        "whole": [1, -2, 2**60, 0, None],
        "truth": [True, False, None, True, False],
        "day": [date(2024, 2, 29), None, date(1999, 12, 31), date(1900, 3, 1), None],
        "moment": [datetime(2024, 2, 29, 18, 30), None, None, None, None],
    }
    table, path = pa.table(values), tmp_path / "out.xlsx"
    with open(path, "wb") as file:
        write_xlsx(file, table.schema, iter(table.to_batches()))
    expected = [
        {**row, "number": None if row["number"] != row["number"] else row["number"]} for row in table.to_pylist()
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # whole numbers beyond 2**53 are texts
        mine = read(path)
    assert [
        {**row, "whole": None if row["whole"] is None else int(row["whole"])} for row in mine.to_pylist()
    ] == expected
    openpyxl = pytest.importorskip("openpyxl")
    sheet = openpyxl.load_workbook(path).active
    told = [dict(zip(values, (cell.value for cell in row), strict=True)) for row in sheet.iter_rows(min_row=2)]
    for row in told:
        row["day"] = row["day"] and row["day"].date()
        row["whole"] = None if row["whole"] is None else int(row["whole"])
    assert [{**row, "=name": row["=name"]} for row in expected if row["=name"] != "_x0041_"] == [
        row for row in told if row["=name"] != "_x0041_" and "x005F" not in str(row["=name"])
    ]
    assert sheet["A2"].data_type == "inlineStr" or sheet["A2"].data_type == "s"
