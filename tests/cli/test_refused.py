"""What is wrong is told in a line, and leaves files as they were."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

WRONG = {
    "a missing file": (["fit", "gone.csv", "-t", "x"], 4, r"gone\.csv: no such file"),
    "a missing database": (["fit", "gone.duckdb", "-t", "x"], 4, r"gone\.duckdb"),
    "a missing network": (["network", "query", "gone.bif", "-t", "x"], 4, r"gone\.bif"),
    "a folder for a network": (["network", "query", ".", "-t", "x"], 3, "folder|directory|regular"),
    "a missing cost table": (["predict", "m.bayes", "first.csv", "--costs", "gone.csv"], 4, r"gone\.csv"),
    "an unknown method": (["evaluate", "first.csv", "-t", "diagnosis", "--method", "magic"], 2, "bootstrap"),
    "an ending for a model": (["fit", "first.csv", "-t", "diagnosis", "-o", "m.pkl"], 2, r"\.bayes"),
    "an ending for a report": (["report", "first.csv", "-t", "diagnosis", "-o", "r.pdf"], 2, r"\.html"),
    "a folder as output": (["fit", "first.csv", "-t", "diagnosis", "-o", "folder.bayes"], 4, "a folder"),
    "a missing target": (["fit", "first.csv", "-t", "income"], 3, "no column is named 'income'"),
    "no target": (["fit", "first.csv"], 2, "--target"),
    "no source": (["fit", "-t", "x"], 2, "nothing to read"),
    "an unknown model": (["fit", "first.csv", "-t", "diagnosis", "-m", "magic"], 2, "naive"),
    "a setting of another model": (["fit", "first.csv", "-t", "diagnosis", "--set", "k=7"], 2, "no setting 'k'"),
    "a prior that is none": (["fit", "first.csv", "-t", "diagnosis", "--prior", "cold=x"], 2, "not a number"),
    "a folder to write to": (["fit", "first.csv", "-t", "diagnosis", "-o", "nowhere/m.bayes"], 4, "No such file"),
    "a model that is none": (["inspect", "first.csv"], 3, r"first\.csv"),
    "a missing model": (["update", "gone.bayes", "first.csv"], 4, r"gone\.bayes"),
    "columns never seen": (["predict", "m.bayes", "first.csv"], 3, r"(?s)unseen at fit time.*--ignore"),
    "an ending for answers": (
        ["predict", "m.bayes", "first.csv", "--keep", "id", "-o", "out.txt"],
        2,
        r"\.parquet or \.pq or \.csv or \.xlsx",
    ),
    "a key that is not there": (["predict", "m.bayes", "all.parquet", "--keep", "id,key"], 3, "'key'"),
    "folds of a holdout": (
        ["evaluate", "first.csv", "-t", "diagnosis", "--method", "holdout", "--folds", "3"],
        2,
        "--folds",
    ),
    "an arc that is none": (["network", "learn", "first.csv", "-o", "n.bif", "--required", "ab"], 2, "parent>child"),
    "a target for a table": (["evaluate", "first.csv"], 2, "--target"),
    "two tables": (["evaluate", "first.csv", "second.csv", "-t", "diagnosis"], 2, "no model file"),
    "a pool on a cluster": (["fit", "lake", "-t", "x", "-m", "auto", "--engine", "spark"], 2, "not learned on Spark"),
    "answers of a cluster without a place": (["predict", "m.bayes", "lake", "--engine", "spark"], 2, "--output"),
    "answers of a cluster in a file": (
        ["predict", "m.bayes", "lake", "--engine", "spark", "-o", "first.csv"],
        4,
        "there already",
    ),
    "an engine that is none": (["fit", "first.csv", "-t", "diagnosis", "--engine", "flink"], 2, "auto or spark"),
}


@pytest.mark.parametrize(("words", "code", "said"), WRONG.values(), ids=list(WRONG))
def test_what_is_wrong_is_told_in_a_line(run: Any, model: str, words: list[str], code: int, said: str) -> None:
    Path("folder.bayes").mkdir()
    found, out, err = run(*words)
    assert (found, out) == (code, "")
    assert re.search(said, err)
    assert "Traceback" not in err


def test_forgetting_rows_never_learned_leaves_the_file(run: Any, model: str) -> None:
    before = Path(model).read_bytes()
    Path("never.csv").write_text("age,temperature,pulse,cough,aches,diagnosis\n40,37,80,barking,true,cold\n")
    code, _, err = run("forget", model, "never.csv")
    assert (code, Path(model).read_bytes()) == (3, before)
    assert "barking" in err


def test_updating_with_a_bad_file_leaves_the_model(run: Any, model: str) -> None:
    before = Path(model).read_bytes()
    Path("bad.csv").write_text("age,temperature,pulse,cough,aches,diagnosis\n40,37,80,dry,true,cold\n41,37\n")
    assert run("update", model, "bad.csv")[0] == 3
    assert Path(model).read_bytes() == before
