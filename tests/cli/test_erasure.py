"""forget and renew: what is left in a model file, and how it is chosen anew."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import csv

import bayeskit as bk
from traces import GONE, ROWS, check_erased, part, people


@pytest.fixture
def parts(here: Path) -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
    """The rows to forget and those that are left, as tables and as files of both and each."""
    table = people()
    gone, left = part(table, 0, GONE), part(table, GONE)
    for name, rows in (("all", table), ("gone", gone), ("left", left)):
        csv.write_csv(pa.table(rows), here / f"{name}.csv")
    return gone, left


def check_file(gone: Any, left: Any) -> None:
    data = Path("m.bayes").read_bytes()
    assert b"gone.csv" not in data
    check_erased(data, gone, left, "the file")


@pytest.mark.parametrize("model", ["auto", "kdb", "knn"])
def test_a_model_file_has_nothing_of_rows_it_forgot(run: Any, parts: Any, model: str) -> None:
    settings = {"auto": ["--set", "max_candidates=8"], "knn": ["--set", "metric=gower"], "kdb": []}[model]
    fit = ["-t", "class", "-m", model, *settings, "-o", "m.bayes", "-q"]
    assert run("fit", "all.csv", *fit)[0] == 0
    code, _, err = run("forget", "m.bayes", "gone.csv")
    assert code == 0
    assert ("bayeskit renew" in err) == (model != "knn")
    check_file(*parts)
    assert run("fit", "left.csv", *fit)[0] == 0
    assert run("update", "m.bayes", "gone.csv", "-q")[0] == 0
    assert run("forget", "m.bayes", "gone.csv", "-q")[0] == 0
    check_file(*parts)


def test_renewing_gives_the_model_of_the_rows_left(run: Any, parts: Any) -> None:
    for name in ("all", "left"):
        assert run("fit", f"{name}.csv", "-t", "class", "-m", "kdb", "-q")[0] == 0
    run("forget", "all.bayes", "gone.csv", "-q")
    wanted = bk.load("left.bayes").model_.digest
    held = Path("all.bayes").read_bytes()
    code, out, _ = run("renew", "all.bayes", "left.csv", "-o", "new.bayes", "--json")
    assert (code, json.loads(out)["digest"], json.loads(out)["model"]) == (0, wanted, "new.bayes")
    assert Path("all.bayes").read_bytes() == held
    code, out, _ = run("renew", "all.bayes", "left.csv")
    assert (code, f"chose anew from {ROWS - GONE} rows" in out) == (0, True)
    assert bk.load("all.bayes").model_.digest == wanted
    assert [line.operation for line in bk.load("all.bayes").model_.journal] == ["fit", "forget", "renew"]


def test_other_rows_are_refused_and_the_file_stays(run: Any, parts: Any) -> None:
    run("fit", "left.csv", "-t", "class", "-m", "tan", "-o", "m.bayes", "-q")
    held = Path("m.bayes").read_bytes()
    for rows in ("all.csv", "gone.csv"):
        code, _, err = run("renew", "m.bayes", rows)
        assert (code, "not the rows that the model has" in err) == (3, True)
    code, _, err = run("renew", "m.bayes", "left.csv", "-o", "left.csv")
    assert (code, "left.csv" in err) == (2, True)
    assert Path("m.bayes").read_bytes() == held
