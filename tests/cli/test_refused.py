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
    "a missing target": (["fit", "first.csv", "-t", "income"], 3, r"no column is named 'income' \(there are: "),
    "a target misspelt": (["fit", "first.csv", "-t", "Diagnosi"], 3, "'Diagnosi'; perhaps 'diagnosis'"),
    "a price of abstaining that is none": (
        ["predict", "m.bayes", "first.csv", "--keep", "id", "--reject", "nan"],
        3,
        "reject=nan: give the cost of leaving a row undecided",
    ),
    "no target": (["fit", "first.csv"], 2, "--target"),
    "no source": (["fit", "-t", "x"], 2, "nothing to read"),
    "an unknown model": (["fit", "first.csv", "-t", "diagnosis", "-m", "magic"], 2, "naive"),
    "two places to evaluate": (
        ["evaluate", "first.csv", "diagnosis"],
        2,
        "first.csv is no model file .*diagnosis is one place too many",
    ),
    "a setting of another model": (["fit", "first.csv", "-t", "diagnosis", "--set", "k=7"], 2, "no setting 'k'"),
    "a prior that is none": (["fit", "first.csv", "-t", "diagnosis", "--prior", "cold=x"], 2, "not a number"),
    "a folder to write to": (["fit", "first.csv", "-t", "diagnosis", "-o", "nowhere/m.bayes"], 4, "No such file"),
    "a model that is none": (["inspect", "first.csv"], 3, r"first\.csv"),
    "a missing model": (["update", "gone.bayes", "first.csv"], 4, r"gone\.bayes"),
    "columns never seen": (
        ["predict", "m.bayes", "first.csv"],
        3,
        r"(?s)does not know these columns:\n- id\n.*--ignore",
    ),
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
    "answers of a cluster without a place": (["predict", "m.bayes", "lake", "--engine", "spark"], 2, "--output"),
    "answers of a cluster in a file": (
        ["predict", "m.bayes", "lake", "--engine", "spark", "-o", "first.csv"],
        4,
        "there already",
    ),
    "an engine that is none": (["fit", "first.csv", "-t", "diagnosis", "--engine", "flink"], 2, "auto or spark"),
}


TABLES = {  # a file, what is asked of it, and the whole message
    "empty": ("", ["fit"], r"t\.csv: the file is empty"),
    "no rows": ("a,y\n", ["fit"], r"t\.csv: it has columns \(a\) but no rows; give a table with rows"),
    "no label": ("a,y\n1,\n2,\n", ["fit"], r"t\.csv: no row has a label; name the column that has the labels"),
    "no label to judge": (
        "a,y\n1,\n2,\n",
        ["report", "-m", "naive"],
        r"column 'y' has no class; .* two classes or more",
    ),
    "one class": (
        "a,y\n1,u\n2,u\n",
        ["report", "-m", "naive"],
        r"column 'y' has the one class u; .* two classes or more",
    ),
    "fractions": ("a,y\n1,0.5\n2,0.7\n", ["fit"], r"Target 'y' holds the fraction 0.5; .*cut it into intervals first"),
}


@pytest.mark.parametrize(("table", "words", "said"), TABLES.values(), ids=list(TABLES))
def test_a_table_that_cannot_be_learned_is_refused_in_plain_words(
    run: Any, here: Path, table: str, words: list[str], said: str
) -> None:
    (here / "t.csv").write_text(table, encoding="utf-8")
    code, out, err = run(words[0], "t.csv", "-t", "y", *words[1:])
    assert (code, out) == (3, "")
    assert re.fullmatch(f"bayeskit: {said}\n", err)


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
