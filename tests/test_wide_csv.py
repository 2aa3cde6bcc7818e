"""Files of many columns: the types of few, in little memory, or a refusal that says how much it would take."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bayeskit as bk
from bayeskit.engines import delimited
from bayeskit.engines.duckdb import DuckDB
from bayeskit.engines.reading import Reading
from bayeskit.errors import InputError

COLUMNS = {  # by what a column holds, before and after the first rows
    "whole": ["1", "2", "3", "4", "5", "6"],
    "late fraction": ["1", "2", "3", "4", "5", "0.5"],
    "number": ["1.5", "-2", "1e3", "", "NA", "inf"],
    "truth": ["true", "false", "true", "true", "false", "true"],
    "late word": ["1", "2", "3", "4", "5", "six"],
    "text": ["a", "b", "7", "c", "", "d"],
    "date": ["2020-01-01"] * 6,
    "time": ["2020-01-01 10:00"] * 6,
    "empty": [""] * 6,
    "late": ["", "", "", "", "", "3"],
    "long": ["1", "2", "3", "4", "5", "99999999999999999999"],
}
FIT = "import sys, bayeskit as bk; bk.NaiveBayes().fit(sys.argv[1], 'y')"
PEAK = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def table(folder: Path, columns: dict[str, list[str]]) -> Path:
    path = folder / "t.csv"
    lines = [list(columns), *zip(*columns.values(), strict=True)]
    path.write_text("".join(",".join(line) + "\n" for line in lines))
    return path


@pytest.mark.parametrize("known", [{}, {"number": "number", "text": "text", "whole": "key", "late": "number"}])
@pytest.mark.filterwarnings("ignore:.*(is read as text|whole numbers)")
def test_many_columns_have_the_types_of_few(
    tmp_path: Path, known: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = table(tmp_path, COLUMNS)
    monkeypatch.setattr(delimited, "FIRST", 4)
    few = DuckDB().schema(path, known)
    monkeypatch.setattr(delimited, "WIDE", 0)
    monkeypatch.setattr(delimited, "STACK", 500_000_000)  # two columns at a time
    assert DuckDB().schema(path, known).equals(few)
    assert str(few.field("late fraction").type) == "double"


def test_many_columns_without_a_row(tmp_path: Path) -> None:
    path = table(tmp_path, {f"x{j}": [] for j in range(300)})
    assert set(map(str, DuckDB().schema(path).types)) == {"null"}


def test_many_columns_are_read_in_little_memory(tmp_path: Path) -> None:
    """50 rows of 1,000 numbers took 15 GB."""
    x = np.random.default_rng(0).normal(size=(1000, 50))
    columns = {f"x{j}": [f"{v:.3f}" for v in x[j]] for j in range(1000)}
    path = table(tmp_path, {**columns, "y": ["a", "b"] * 25})
    # asked by a small process: a child begins with the size of its parent
    words = [sys.executable, "-c", PEAK, sys.executable, "-c", FIT, str(path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=600, check=True)
    assert int(done.stdout) < 700_000


def test_more_columns_than_memory_are_refused_before_they_are_read(tmp_path: Path) -> None:
    path = table(tmp_path, {f"x{j}": ["1", "2"] for j in range(2000)})
    with pytest.raises(InputError, match=r"t\.csv: 2,000 columns of CSV need about 0\.1 GB.*--memory 1GB.*Parquet"):
        bk.NaiveBayes().fit(Reading(str(path), memory="50MB"), "x0")
    words = table(tmp_path, {f"x{j}": ["one", "two"] for j in range(2000)})
    with pytest.raises(InputError, match=r"2,000 columns of CSV need about 0\.1 GB"):
        bk.NaiveBayes().fit(Reading(str(words), memory="100MB"), "x0")


@pytest.mark.parametrize(("rows", "memory"), [(2, "90MB"), (2100, "220MB")])
def test_memory_follows_the_rows_of_many_columns(tmp_path: Path, rows: int, memory: str) -> None:
    """Room for 2,048 rows is made of every column; with few rows it is not filled, and takes no memory."""
    path = table(tmp_path, {f"x{j}": ["one", "two"] * (rows // 2) for j in range(1200)})
    model = bk.NaiveBayes()
    if rows < delimited.VECTOR:
        assert model.fit(Reading(str(path), memory=memory), "x0").n_features_in_ == 1199
    else:
        with pytest.raises(InputError, match=r"1,200 columns of CSV need about 0\.2 GB"):
            model.fit(Reading(str(path), memory=memory), "x0")


@pytest.mark.parametrize("values", [["one", "two"], [1.5, 2.5], [True, False]])
def test_many_columns_of_json(tmp_path: Path, values: list[Any]) -> None:
    """From 200 columns alike on DuckDB would make one column of them, a mapping."""
    columns = {f"x{j}": values for j in range(300)} | {"y": values}
    rows = [{name: column[i] for name, column in columns.items()} for i in range(2)]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "t.json").write_text(json.dumps(rows))
    read = [DuckDB().schema(tmp_path / name) for name in ("t.jsonl", "t.json")]
    assert all(schema.names == list(columns) for schema in read)


def test_json_of_more_columns_than_memory_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps({f"x{j}": "one" for j in range(3000)}) + "\n")
    with pytest.raises(InputError, match=r"t\.jsonl: 3,000 columns of JSON need about 0\.2 GB.*--memory 1GB"):
        bk.NaiveBayes().fit(Reading(str(path), memory="60MB"), "x0")
    path.write_text("{}\n" + path.read_text())  # the first line does not tell
    with pytest.raises(InputError, match=r"t\.jsonl: 60MB of memory may be used, and it takes more.*--memory 1GB"):
        bk.NaiveBayes().fit(Reading(str(path), memory="60MB"), "x0")
