"""What an analyst without Python does: spreadsheets, encodings, dates, drift, pictures, pages, and what is refused."""

from __future__ import annotations

import json
import re
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

import bayeskit as bk
from bayeskit.engines.xlsx import write_xlsx

from .visits import FEATURES, HALF, VISITS

DAYS = [date(2024, 1, 1) + timedelta(days=i) for i in range(300)]


@pytest.fixture
def sheets(here: Path, model: str) -> Path:
    """Visits as a sheet, rows that have moved, and visits with dates."""
    seen = HALF.append_column("seen", pa.array(DAYS))
    moved = FEATURES.drop_columns(["diagnosis"]).to_pandas()
    moved["temperature"] += 1
    for name, table in (
        ("visits.xlsx", HALF),
        ("seen.xlsx", seen),
        ("moved.xlsx", pa.Table.from_pandas(moved, preserve_index=False)),
    ):
        with open(here / name, "wb") as file:
            write_xlsx(file, table.schema, iter(table.to_batches()))
    csv.write_csv(seen, here / "seen.csv")
    return here


def test_sheets_in_and_out(run: Any, sheets: Path) -> None:
    assert run("fit", "visits.xlsx", "-t", "diagnosis", "-o", "s.bayes", "-q") == (0, "", "")
    assert bk.load("s.bayes").model_.digest == bk.load("m.bayes").model_.digest
    assert run("predict", "m.bayes", "visits.xlsx", "-o", "out.xlsx", "--reasons", "2", "--round", "3", "-q")[0] == 0
    assert run("predict", "m.bayes", "visits.xlsx", "-o", "out.xlsx", "-q")[0] == 0  # its own answers are replaced
    assert run("predict", "m.bayes", "visits.xlsx", "-o", "moved.xlsx", "-q")[0] == 4
    found = [
        json.loads(line)
        for line in run("predict", "m.bayes", "visits.xlsx", "--round", "3", "--format", "jsonl")[1].splitlines()
    ]
    expected = bk.load("m.bayes").predict_proba(HALF).round(3)
    assert [row["P(flu)"] for row in found] == expected[:, 1].tolist()


def test_dates_are_features_and_predict_knows(run: Any, sheets: Path) -> None:
    for name in ("seen.xlsx", "seen.csv"):
        code, _, err = run("fit", name, "-t", "diagnosis", "-o", "d.bayes")
        assert code == 3
        assert "--dates year,month,weekday,age" in err
        words = ("--dates", "year,month,age", "--today", "2026-01-01")
        assert run("fit", name, "-t", "diagnosis", "-o", "d.bayes", *words, "-q") == (0, "", "")
        names = bk.load("d.bayes").model_.schema.names
        assert names[-3:] == ("seen.year", "seen.month", "seen.age")
        kept = ("--keep", "seen", "--today", "2026-01-01", "-o", "out.parquet", "-q")
        assert run("predict", "d.bayes", name, *kept) == (0, "", "")
        assert pq.read_table("out.parquet")["seen"].to_pylist()[:2] == DAYS[:2]
        assert run("forget", "d.bayes", name, "--today", "2026-01-01", "-q")[0] == 3  # all rows: nothing would be left
    rows = bk.date_features(HALF.append_column("seen", pa.array(DAYS)), ["year", "month", "age"], "2026-01-01")
    assert rows["seen.month"][31].as_py() == "Feb"
    assert rows["seen.age"][0].as_py() == pytest.approx(731 / 365.2425)
    assert bk.NaiveBayes().fit(rows, "diagnosis").model_.digest == bk.load("d.bayes").model_.digest


def test_text_of_excel(run: Any, here: Path, model: str) -> None:
    """Semicolons, decimal commas, a first line that names the separator, codes with zeros, and old encodings."""
    body = "ort;plz;wert;klasse\r\n" + "".join(
        f"{'Köln' if i % 2 else '€uro'};{i % 9:05d};{i % 7},5;{'ja' if i % 3 else 'nein'}\r\n" for i in range(60)
    )
    for encoding in ("cp1252", "utf-16"):
        (here / "x.csv").write_bytes(f"sep=;\r\n{body}".encode(encoding))
        code, _, err = run("fit", "x.csv", "-t", "klasse", "--decimal", ",", "-o", "x.bayes")
        assert (code, f"--encoding {encoding}" in err) == (3, True)
        code, _, err = run("fit", "x.csv", "-t", "klasse", "--decimal", ",", "--encoding", encoding, "-o", "x.bayes")
        assert code == 0
        assert re.search("'plz' has numbers that begin with 0.*read as levels", err)
        domain = bk.load("x.bayes").model_.counted.domain
        assert domain.levels["plz"].values[0] == "00000"
        assert set(domain.levels["ort"].values) == {"Köln", "€uro"}
        how = ("--decimal", ",", "--encoding", encoding, "-q")
        assert run("predict", "x.bayes", "x.csv", *how)[0] == 0
    (here / "costs.csv").write_text("class;treat;wait\ncold;1,5;0\nflu;0;10\npneumonia;0;50\n")
    assert bk.Costs("costs.csv").matrix[0].tolist() == [1.5, 0]
    assert run("predict", "m.bayes", "first.csv", "--keep", "id", "--costs", "costs.csv", "-q")[0] == 0


def test_drift_for_schedulers(run: Any, sheets: Path) -> None:
    code, out, _ = run("drift", "m.bayes", "moved.xlsx", "--fail-on", "large,classes", "-o", "drift.html", "--json")
    found = json.loads(out)
    assert code == 5
    assert found["columns"][0]["name"] == "temperature"
    assert "large" in found["failed_on"]
    assert "PSI" in (sheets / "drift.html").read_text()
    assert run("drift", "m.bayes", "moved.xlsx", "-q") == (0, "", "")
    assert run("drift", "m.bayes", "second.csv", "--ignore", "id", "--fail-on", "any,unseen", "-q") == (0, "", "")
    assert run("drift", "m.bayes", "m.bayes", "--fail-on", "any")[0] == 0


def test_pictures_and_pages(run: Any, sheets: Path, pool: str) -> None:
    rows = ("second.csv", "--ignore", "id")
    assert run("plot", "m.bayes", "--column", "age", "-o", "age.svg", "-q") == (0, "", "")
    first = (sheets / "age.svg").read_bytes()
    assert run("plot", "m.bayes", "--column", "age", "-o", "age.svg", "-q") == (0, "", "")
    assert (sheets / "age.svg").read_bytes() == first
    assert run("plot", pool, "few.csv", "--row", "2", "-o", "row.png", "-q") == (0, "", "")
    assert (sheets / "row.png").read_bytes().startswith(b"\x89PNG")
    assert run("nomogram", "m.bayes", "--class", "flu", "--rival", "cold", "-o", "n.svg", "-q")[0] == 0
    _, out, _ = run("counterfactual", "m.bayes", *rows, "--row", "4", "--count", "2", "--hold", "age", "--json")
    changes = json.loads(out)["changes"]
    assert {line["row"] for line in changes} <= {4, 5}
    assert "age" not in {line["column"] for line in changes}
    assert run("explain", "m.bayes", *rows, "--row", "3", "--count", "2", "-o", "pages", "-q")[0] == 0
    page = (sheets / "pages" / "row-4.html").read_text()
    proba = bk.load("m.bayes").predict_proba(FEATURES.drop_columns(["diagnosis"]).slice(303, 1)).max()
    assert f"with probability {proba:.4f}" in page
    assert "What would change it" in page
    assert VISITS["id"][303].as_py() not in page


def test_what_to_ask_for(run: Any, sheets: Path, pool: str) -> None:
    (sheets / "gaps.csv").write_text("age,temperature,pulse,cough,aches\n41,,,,False\n41,39.9,120,wet,True\n")
    (sheets / "costs.csv").write_text("class,rest,treat\ncold,0,2\nflu,3,1\npneumonia,50,1\n")
    words = ("ask", "m.bayes", "gaps.csv", "--costs", "costs.csv", "--price", "temperature=0.1,cough=0.05")
    code, out, _ = run(*words, "--json")
    assert code == 0
    (found,) = json.loads(out)["rows"]
    row = {"age": [41], "temperature": [None], "pulse": [None], "cough": [None], "aches": [False]}
    wanted = bk.load("m.bayes").value_of_information(row, bk.Costs("costs.csv"), {"temperature": 0.1, "cough": 0.05})
    assert found["ask"] == wanted.best
    assert [line["net"] for line in found["columns"]] == pytest.approx(wanted.net.tolist())
    assert f"ask for {wanted.best}" in run(*words)[1]
    assert "nothing is worth asking for" in run(*words[:3], "--row", "2")[1]
    for wrong, said in (("scan=5", "prices name 'scan'"), ("cough", "--price"), ("cough=-1", "at least 0")):
        code, _, err = run(*words[:3], "--price", wrong)
        assert code in (2, 3)
        assert said in err


REFUSED = {
    "a cause to fail on": (["drift", "m.bayes", "first.csv", "--fail-on", "tuesday"], 2, "moderate, large, missing"),
    "a level of drift": (["drift", "m.bayes", "first.csv", "--level", "2"], 2, "between 0 and 1"),
    "drift of strange columns": (["drift", "m.bayes", "first.csv"], 3, "does not know these columns"),
    "a page of drift": (["drift", "m.bayes", "first.csv", "-o", "drift.pdf"], 2, r"\.html"),
    "a sheet that is not there": (["fit", "visits.xlsx", "-t", "diagnosis", "--sheet", "Two"], 3, "there are: answers"),
    "a part of a date": (["fit", "seen.csv", "-t", "diagnosis", "--dates", "hour"], 3, "year, month, weekday, age"),
    "dates without a word": (
        ["fit", "seen.csv", "-t", "diagnosis"],
        3,
        "'seen' has type .*--dates year,month,weekday,age",
    ),
    "groups of no column": (["report", "few.csv", "-t", "diagnosis", "--by", "sexe"], 3, "--by sexe: there is no such"),
    "a class against itself": (["nomogram", "m.bayes", "--class", "flu", "--rival", "flu"], 3, "its own rival"),
    "rows before the first": (
        ["counterfactual", "m.bayes", "visits.xlsx", "--row", "0"],
        2,
        "--row.*greater than or equal",
    ),
    "places after the point": (
        ["predict", "m.bayes", "visits.xlsx", "--round", "-2"],
        2,
        "--round.*greater than or equal",
    ),
    "a sample of fewer than none": (["report", "few.csv", "-t", "diagnosis", "--sample", "-5"], 2, "--sample.*greater"),
    "two pictures": (["plot", "m.bayes", "few.csv", "--column", "age", "-o", "a.svg"], 2, "and not both"),
    "a day": (["fit", "seen.csv", "-t", "diagnosis", "--today", "soon"], 3, "2026-12-31"),
    "an encoding": (["fit", "seen.csv", "-t", "diagnosis", "--encoding", "klingon"], 3, "cp1252"),
    "dates on a cluster": (["fit", "lake", "-t", "x", "--dates", "year", "--engine", "spark"], 2, "--engine spark out"),
    "an old sheet": (["fit", "old.xls", "-t", "x"], 3, r"save it as \.xlsx"),
    "a form of a file": (["predict", "m.bayes", "visits.xlsx", "-o", "a.csv", "--format", "json"], 2, "--format"),
    "a form of answers": (["predict", "m.bayes", "visits.xlsx", "--format", "xml"], 2, "csv, json, jsonl"),
    "a picture of nothing": (["plot", "m.bayes", "-o", "a.svg"], 2, "--column"),
    "a picture of no column of a pool": (["plot", "auto.bayes", "--column", "aga", "-o", "a.svg"], 3, "there are: age"),
    "a picture of no column": (["plot", "m.bayes", "--column", "aga", "-o", "a.svg"], 3, "there are: age"),
    "an ending of a picture": (["plot", "m.bayes", "--column", "age", "-o", "a.pdf"], 2, r"\.svg or \.png"),
    "a file that is no picture": (["plot", "m.bayes", "--column", "age", "-o", "notes.svg"], 4, "--force"),
    "a nomogram of three classes": (["nomogram", "m.bayes"], 3, "rival"),
    "a class that is none": (["nomogram", "m.bayes", "--class", "gout", "--rival", "cold"], 3, "'gout' is not a class"),
    "a row that is not there": (["counterfactual", "m.bayes", "visits.xlsx", "--row", "999"], 3, "there is no row 999"),
    "a page for several rows": (["explain", "m.bayes", "visits.xlsx", "--count", "2", "-o", "a.html"], 2, "folder"),
}


@pytest.mark.parametrize(("words", "code", "said"), REFUSED.values(), ids=list(REFUSED))
def test_what_is_refused_is_told(run: Any, sheets: Path, pool: str, words: list[str], code: int, said: str) -> None:
    (sheets / "old.xls").write_bytes(b"x")
    (sheets / "notes.svg").write_text("my notes")
    found, out, err = run(*words)
    assert (found, out) == (code, "")
    assert re.search(said, err), err
