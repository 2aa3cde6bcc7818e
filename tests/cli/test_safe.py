"""What a command writes never takes the place of its input, nor of a file of another kind unless told to."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

import bayeskit as bk

OVERWRITING = {  # the words, and the file that must survive them
    "answers over the rows": (["predict", "m.bayes", "rows.csv", "-o", "rows.csv"], "rows.csv"),
    "answers over the rows, forced": (["predict", "m.bayes", "rows.csv", "-o", "rows.csv", "--force"], "rows.csv"),
    "answers over one of many": (["predict", "m.bayes", "row*.csv", "-o", "rows.csv", "--force"], "rows.csv"),
    "answers over a row of a folder": (
        ["predict", "m.bayes", "folder", "-o", "folder/a.csv", "--force"],
        "folder/a.csv",
    ),
    "answers over what a query reads": (
        ["predict", "m.bayes", "--sql", "select * from 'rows.csv'", "-o", "rows.csv", "--force"],
        "rows.csv",
    ),
    "answers over a link to the rows": (["predict", "m.bayes", "rows.csv", "-o", "link.csv", "--force"], "rows.csv"),
    "answers over the costs": (
        ["predict", "m.bayes", "rows.csv", "--costs", "costs.csv", "-o", "costs.csv", "--force"],
        "costs.csv",
    ),
    "answers over another table": (["predict", "m.bayes", "rows.csv", "-o", "first.csv"], "first.csv"),
    "a model over the rows": (["fit", "rows.bayes", "-t", "diagnosis", "-o", "rows.bayes", "--force"], "rows.bayes"),
    "a model over a text": (["fit", "first.csv", "-t", "diagnosis", "-o", "text.bayes"], "text.bayes"),
    "a merged model over a part": (["merge", "m.bayes", "n.bayes", "-o", "m.bayes", "--force"], "m.bayes"),
    "a report over a page": (["report", "first.csv", "-t", "diagnosis", "-m", "naive", "-o", "page.html"], "page.html"),
    "a network over a table": (["network", "learn", "first.csv", "-o", "text.bif"], "text.bif"),
    "a drawing over a picture": (["network", "draw", "net.bif", "-o", "own.svg"], "own.svg"),
    "a demonstration over a page": (["demo", "-o", "page.html"], "page.html"),
}


@pytest.fixture
def files(model: str) -> None:
    rows = Path("first.csv").read_text().splitlines()
    for name in ("rows.csv", "rows.bayes", "folder/a.csv"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text("\n".join(rows[:20]) + "\n")
    os.symlink("rows.csv", "link.csv")
    Path("n.bayes").write_bytes(Path(model).read_bytes())
    Path("costs.csv").write_text(",a,b\ncold,0,1\nflu,1,0\npneumonia,1,0\n")
    for name in ("text.bayes", "text.bif", "page.html", "own.svg"):
        Path(name).write_text("<p>mine</p>")
    network = bk.Network(
        [("a", "b")], tables={"a": {"x": 0.5, "y": 0.5}, "b": {("x",): {"x": 1.0}, ("y",): {"x": 1.0}}}
    )
    bk.write_bif(network, "net.bif")


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(("words", "file"), OVERWRITING.values(), ids=list(OVERWRITING))
def test_inputs_and_other_files_stay(run: Any, words: list[str], file: str) -> None:
    before = Path(file).read_bytes()
    code, out, err = run(*words, *(["--keep", "id,diagnosis"] if words[0] == "predict" else []))
    assert (code, out) == (4, "")
    assert "never overwritten" in err or "--force" in err
    assert Path(file).read_bytes() == before


@pytest.mark.usefixtures("files")
def test_what_a_command_wrote_itself_is_replaced_and_force_replaces_the_rest(run: Any) -> None:
    for place in ("answers.csv", "answers.csv", "answers.parquet", "answers.parquet"):
        code, _, err = run("predict", "m.bayes", "rows.csv", "--keep", "id,diagnosis", "-o", place)
        assert (code, err) == (0, "")
    assert run("predict", "m.bayes", "rows.csv", "--keep", "id,diagnosis", "-o", "first.csv", "--force")[0] == 0
    for _ in range(2):
        assert run("fit", "second.csv", "-t", "diagnosis", "--ignore", "id")[0] == 0
        assert run("demo", "-o", "demo.html")[0] == 0
        assert run("network", "draw", "net.bif", "-o", "net.svg")[0] == 0


def test_a_fit_over_an_updated_model_says_that_its_journal_goes(run: Any) -> None:
    words = ("fit", "first.csv", "-t", "diagnosis", "--ignore", "id", "-o", "m2.bayes")
    assert "journal" not in run(*words)[2]
    assert "journal" not in run(*words)[2]
    assert run("update", "m2.bayes", "second.csv", "--ignore", "id")[0] == 0
    code, _, err = run(*words)
    assert code == 0
    assert "m2.bayes is replaced; it had been changed 1 times" in err


def test_learning_the_same_rows_twice_is_said(run: Any) -> None:
    assert run("fit", "first.csv", "-t", "diagnosis", "--ignore", "id", "-o", "m2.bayes")[0] == 0
    assert run("update", "m2.bayes", "second.csv", "--ignore", "id")[2] == ""
    Path("renamed.csv").write_bytes(Path("first.csv").read_bytes())
    assert "learned before" in run("update", "m2.bayes", "renamed.csv", "--ignore", "id")[2]
    assert run("forget", "m2.bayes", "renamed.csv", "--ignore", "id")[0] == 0
    assert "learned before" in run("update", "m2.bayes", "second.csv", "--ignore", "id")[2]


def test_forgetting_a_file_takes_its_name_out_of_the_journal(run: Any) -> None:
    assert run("fit", "first.csv", "-t", "diagnosis", "--ignore", "id", "-o", "m2.bayes")[0] == 0
    assert run("update", "m2.bayes", "second.csv", "--ignore", "id")[0] == 0
    journal = json.loads(run("inspect", "m2.bayes", "--json")[1])["journal"]
    assert [(e["operation"], e["file"], e["rows"]) for e in journal] == [
        ("fit", "first.csv", 300.0),
        ("update", "second.csv", 300.0),
    ]
    assert journal[1]["size"] == os.path.getsize("second.csv")
    assert run("forget", "m2.bayes", "second.csv", "--ignore", "id")[0] == 0
    journal = json.loads(run("inspect", "m2.bayes", "--json")[1])["journal"]
    assert [e.get("file") for e in journal] == ["first.csv", None, None]
    assert run("update", "m2.bayes", "second.csv", "--ignore", "id")[2] == ""
    assert b"second.csv" in Path("m2.bayes").read_bytes()


def test_a_folder_of_unrelated_files_is_no_table(run: Any) -> None:
    for name in ("first", "second"):
        Path(f"{name}.csv").rename(f"{name}.data")
    Path("lake").mkdir()
    Path("lake/people.csv").write_text("age,group\n1,a\n2,b\n")
    Path("lake/prices.csv").write_text("price,group\n1,a\n2,b\n")
    code, _, err = run("fit", "lake", "-t", "group")
    assert code == 3
    assert "different columns" in err
    assert run("fit", "lake/p*.csv", "-t", "group", "-o", "both.bayes")[0] == 0  # said by name, so meant
    Path("lake/.hidden").mkdir()
    Path("lake/prices.csv").rename("lake/.hidden/prices.csv")
    assert run("fit", "lake", "-t", "group")[0] == 0


PIPES = [  # each names a pipe into which nobody writes, or from which nobody reads
    *(["fit", f"pipe.{kind}", "-t", "diagnosis", "-o", "new.bayes"] for kind in ("csv", "parquet", "arrow", "feather")),
    *(
        ["fit", f"pipe.{kind}", "-t", "diagnosis", "-o", "new.bayes"]
        for kind in ("jsonl", "sqlite", "duckdb", "csv.gz")
    ),
    ["fit", "first.csv", "-t", "diagnosis", "-o", "pipe.bayes"],
    *([command, "pipe.bayes", "first.csv"] for command in ("update", "forget", "renew", "predict", "explain")),
    *([command, "m.bayes", "pipe.csv"] for command in ("update", "forget", "renew", "predict", "explain")),
    ["renew", "m.bayes", "first.csv", "-o", "pipe.bayes"],
    ["merge", "m.bayes", "pipe.bayes", "-o", "new.bayes"],
    ["merge", "m.bayes", "m.bayes", "-o", "pipe.bayes"],
    ["predict", "m.bayes", "first.csv", "-o", "pipe.csv"],
    ["predict", "m.bayes", "first.csv", "--costs", "pipe.csv"],
    *([command, "pipe.csv", "-t", "diagnosis", "-m", "naive"] for command in ("evaluate", "report", "compare")),
    ["report", "first.csv", "-t", "diagnosis", "-m", "naive", "-o", "pipe.html"],
    ["inspect", "pipe.bayes"],
    ["network", "learn", "pipe.csv", "-o", "new.bif"],
    ["network", "learn", "first.csv", "-o", "pipe.bif"],
    ["network", "query", "pipe.bif", "-t", "a"],
    ["network", "query", "pipe.bayes", "-t", "a"],
    ["network", "draw", "pipe.bif", "-o", "new.svg"],
]


@pytest.mark.usefixtures("model")
@pytest.mark.parametrize("words", PIPES, ids=" ".join)
def test_pipes_are_refused_before_they_are_opened(run: Any, words: list[str]) -> None:
    for word in words:
        if word.startswith("pipe."):
            os.mkfifo(word)
    previous = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.alarm(60)  # whoever opens one waits for ever
    try:
        code, _, err = run(*words)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)
    assert code in (2, 3, 4), err
    assert "not a regular file" in err or "no cost table" in err
    assert not Path("new.bayes").exists()
