"""What comes next: commands name one that can be run, and what cannot be written is said before the work."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bayeskit as bk
from bayeskit.cli import sources
from bayeskit.model.labelled_table import read_rows

from .visits import FEATURES

READ = ("first.csv", "--ignore", "id")
JUDGED = (*READ, "-t", "diagnosis", "-m", "naive")


def test_the_version_is_told(run: Any) -> None:
    assert run("--version") == (0, f"bayeskit {bk.__version__}\n", "")


@pytest.mark.parametrize(
    "words",
    [
        ("fit", *JUDGED),
        ("update", "m.bayes", *READ),
        ("forget", "m.bayes", "some.csv", "--ignore", "id"),
        ("renew", "m.bayes", *READ),
        ("merge", "m.bayes", "m.bayes", "-o", "both.bayes"),
        ("evaluate", *JUDGED),
        ("evaluate", "m.bayes", *READ),
        ("compare", *JUDGED),
        ("report", *JUDGED),
        ("report", *JUDGED, "--save", "saved.bayes"),
        ("predict", "m.bayes", *READ, "-o", "out.csv"),
        ("predict", "m.bayes", "first.csv", "--keep", "id", "-o", "out.csv"),
        ("predict", "m.bayes", "first.csv", "--keep", "all", "--reject", "0.2", "-o", "out.csv"),
        ("evaluate", *JUDGED, "--reject", "0.1"),
        ("explain", "m.bayes", *READ),
        ("counterfactual", "m.bayes", *READ),
        ("ask", "m.bayes", *READ),
        ("nomogram", "m.bayes", "--class", "flu", "--rival", "cold"),
        ("plot", "m.bayes", "--column", "age", "-o", "age.svg"),
        ("plot", "m.bayes", *READ, "-o", "row.png"),
        ("drift", "m.bayes", *READ),
        ("inspect", "m.bayes"),
        ("network", "learn", *READ, "--ignore", "age,temperature,pulse", "-o", "n.bayes"),
    ],
    ids=" ".join,
)
def test_the_next_command_runs(run: Any, model: str, here: Path, words: tuple[str, ...]) -> None:
    lines = (here / "first.csv").read_text().splitlines(keepends=True)
    (here / "some.csv").write_text("".join(lines[:20]))
    (here / "LEFT.csv").write_text("".join([lines[0], *lines[20:]]))
    code, out, err = run(*words)
    assert code == 0, err
    last = out.splitlines()[-1]
    assert last.startswith("next: bayeskit ")
    (here / "NEW.csv").write_bytes((here / "second.csv").read_bytes())
    following = shlex.split(last.split(" where ")[0])[2:]
    more = ["--ignore", "id"] if {"NEW.csv", "LEFT.csv"} & set(following) else []
    code, _, err = run(*following, *more)
    assert code == 0, err


def test_a_report_saves_what_it_judged(run: Any, here: Path) -> None:
    code, out, _ = run("report", *JUDGED, "--save", "judged.bayes", "--json")
    assert (code, json.loads(out)["model_file"]) == (0, "judged.bayes")
    saved = bk.load("judged.bayes")
    wanted = bk.NaiveBayes().fit(FEATURES.slice(0, 300), "diagnosis")
    assert saved.model_.digest == wanted.model_.digest
    assert saved.model_.digest in (here / "report.html").read_text(encoding="utf-8")
    assert saved.model_.journal[0].origin.file == "first.csv"


def test_a_report_saves_a_pool_of_a_sample(run: Any, here: Path) -> None:
    words = ("report", "all.parquet", "--ignore", "id", "-t", "diagnosis", "--method", "holdout", "--sample", "150")
    assert run(*words, "--set", "max_candidates=2", "--save", "pool.bayes", "-q")[0] == 0
    assert run("predict", "pool.bayes", "all.parquet", "-o", "out.csv", "--ignore", "id", "-q")[0] == 0
    found = bk.load("pool.bayes")
    drawn = read_rows(here / "all.parquet", most=150)[0].drop_columns(["id"])
    wanted = bk.AutoBayes(max_candidates=2).fit(drawn, "diagnosis").predict_proba(FEATURES)
    np.testing.assert_array_equal(found.predict_proba(FEATURES), wanted)


@pytest.mark.parametrize(
    ("words", "code", "why"),
    [
        (("report", *JUDGED, "--save", "model.pkl"), 2, "ends in .bayes"),
        (("report", *JUDGED, "--save", "first.csv"), 2, "ends in .bayes"),
        (("report", *JUDGED, "--save", "nowhere/m.bayes"), 4, "make the folder"),
        (("report", *JUDGED, "--interest", "measles"), 3, "'measles' is not a class"),
    ],
    ids=["ending", "input", "folder", "interest"],
)
def test_what_cannot_be_is_refused(run: Any, here: Path, words: tuple[str, ...], code: int, why: str) -> None:
    found = run(*words)
    assert found[0] == code
    assert why in found[2]
    assert not (here / "report.html").exists()


@pytest.mark.parametrize(
    "words", [("update", "m.bayes", *READ), ("report", *JUDGED), ("fit", *JUDGED, "-o", "m.bayes")], ids=" ".join
)
def test_a_folder_that_is_protected_is_told_before_the_work(
    run: Any, model: str, here: Path, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("rows were read")

    real = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK and real(path, mode))
    monkeypatch.setattr(sources, "_reading", never)
    code, _, err = run(*words)
    assert (code, "may not be written to" in err) == (4, True)
