"""predict, explain, inspect, rule and demo."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyarrow import csv

import bayeskit as bk

from .visits import FEATURES, HALF, VISITS, digest


def test_predict_gives_the_answers_of_the_model(run: Any, model: str) -> None:
    code, _, err = run("predict", model, "all.parquet", "--keep", "id", "--evidence", "-o", "out.parquet")
    found = pq.read_table("out.parquet")
    assert (code, err) == (0, "")
    assert found["id"].to_pylist() == VISITS["id"].to_pylist()
    assert found["P(flu)"].to_pylist() == bk.load(model).predict_proba(FEATURES)[:, 1].tolist()
    assert found["log_evidence"].to_pylist() == bk.load(model).log_evidence(FEATURES).tolist()


def test_answers_on_standard_output_may_be_json(run: Any, model: str) -> None:
    found = json.loads(run("predict", model, "all.parquet", "--keep", "id,pulse", "--json")[1])
    assert [row["id"] for row in found] == VISITS["id"].to_pylist()
    assert [row["pulse"] for row in found] == VISITS["pulse"].to_pylist()
    assert [row["P(flu)"] for row in found] == bk.load(model).predict_proba(FEATURES)[:, 1].tolist()


def test_predict_takes_costs_and_a_prior(run: Any, model: str) -> None:
    """Treating a cold costs 1, waiting with a pneumonia 100: treat where P(pneumonia) is above 1 %, about."""
    Path("costs.csv").write_text("class,treat,wait\ncold,1,0\nflu,1,0\npneumonia,0,100\n")
    prior = "cold=0.9,flu=0.09,pneumonia=0.01"
    run(
        "predict",
        model,
        "all.parquet",
        "--ignore",
        "id",
        "--costs",
        "costs.csv",
        "--prior",
        prior,
        "-o",
        "out.csv",
        "-q",
    )
    found = csv.read_csv("out.csv").to_pydict()
    for action, cost, p in zip(found["action"], found["expected_cost"], found["P(pneumonia)"], strict=True):
        assert action == ("treat" if 1 - p <= 100 * p else "wait")
        assert cost == pytest.approx(min(1 - p, 100 * p), abs=1e-12)
    given = {"cold": 0.9, "flu": 0.09, "pneumonia": 0.01}
    expected = bk.load(model).predict_proba(FEATURES, prior=given)[:, 2]
    assert found["P(pneumonia)"] == pytest.approx(expected.tolist(), abs=1e-15)


def test_explain_shows_one_row_that_adds_up(run: Any, model: str) -> None:
    _, out, _ = run("explain", model, "all.parquet", "--ignore", "id", "--row", "7", "--count", "2", "--json")
    seventh, eighth = json.loads(out)["rows"]
    assert (seventh["row"], eighth["row"]) == (7, 8)  # as in the file, from 1
    assert seventh["probability"]["flu"] == bk.load(model).predict_proba(FEATURES.slice(6, 1))[0, 1]
    assert [p["column"] for p in seventh["parts"]] == list(FEATURES.column_names[:-1])
    _, out, _ = run("explain", model, "all.parquet", "--ignore", "id", "--row", "7", "--top", "2")
    assert out.startswith("row 7\n")
    assert "(rest)" in out
    code, _, err = run("explain", model, "all.parquet", "--ignore", "id", "--row", "601")
    assert (code, "no row 601: the source has 600 rows" in err) == (3, True)


def test_inspect_shows_the_journal(run: Any, model: str) -> None:
    assert "no update since it was fitted" in run("inspect", model)[1]
    run("update", model, "second.csv", "--ignore", "id", "-q")
    run("forget", model, "second.csv", "--ignore", "id", "-q")
    told = json.loads(run("inspect", model, "--json")[1])
    assert [(line["operation"], line["rows"]) for line in told["journal"]] == [("update", 300), ("forget", 300)]
    assert told["digest"] == digest(HALF)
    assert told["target"] == "diagnosis"


def test_rule(run: Any) -> None:
    """A cough in a cold, exactly."""
    _, out, _ = run("rule", "--prior", "ill=1/100,well=99/100", "--likelihood", "ill=9/10,well=9/100", "--json")
    assert json.loads(out) == {"ill": 10 / 109, "well": 99 / 109}
    assert run("rule", "--prior", "1/50000", "--likelihood", "1/2", "--evidence", "1/20")[1].startswith(
        "posterior  0.0002\n\nnext: bayeskit "
    )


def test_the_demonstration_runs(run: Any) -> None:
    code, out, _ = run("demo")
    assert out.count("bayeskit ") >= 2  # what to try next
    assert code == 0
    assert "through DuckDB" in out
    assert "the same model" in out


def test_costs_without_a_class_are_refused_before_anything_is_written(run: Any, model: str) -> None:
    Path("costs.csv").write_text("class,treat,wait\ncold,1,0\nflu,1,0\n")
    code, out, err = run("predict", model, "all.parquet", "--ignore", "id", "--costs", "costs.csv")
    assert (code, out) == (3, "")
    assert "no row for class 'pneumonia'" in err


def test_rows_that_are_too_dear_to_decide_are_left_undecided(run: Any, model: str, here: Path) -> None:
    """Costs of 0 and 1 by hand: the least expected cost is 1 - max P, and at most the price of leaving a row."""
    code, out, _ = run("predict", model, "first.csv", "--keep", "id", "--reject", "0.1", "--json")
    assert code == 0
    rows = json.loads(out)
    sure = [max(value for name, value in row.items() if name.startswith("P(")) for row in rows]
    assert {p < 0.9 for p in sure} == {True, False}
    assert [row["action"] for row in rows] == [
        row["prediction"] if p >= 0.9 else None for row, p in zip(rows, sure, strict=True)
    ]
    assert [row["expected_cost"] for row in rows] == pytest.approx([min(1 - p, 0.1) for p in sure])
    (here / "costs.csv").write_text("true;rest;treat\ncold;0;2\nflu;3;1\npneumonia;50;1\n", encoding="utf-8")
    code, out, _ = run(
        "predict", model, "first.csv", "--keep", "id", "--costs", "costs.csv", "--reject", "0.8", "--json"
    )
    for row in json.loads(out):
        rest = 3 * row["P(flu)"] + 50 * row["P(pneumonia)"]
        treat = 2 * row["P(cold)"] + row["P(flu)"] + row["P(pneumonia)"]
        assert row["expected_cost"] == pytest.approx(min(rest, treat, 0.8))
        assert row["action"] == (None if min(rest, treat) > 0.8 else "rest" if rest <= treat else "treat")


def test_sets_of_classes_are_those_of_the_model(run: Any) -> None:
    run("fit", "all.parquet", "--target", "diagnosis", "--ignore", "id", "--coverage", "0.9", "-o", "sets.bayes")
    asked = ("--keep", "id", "--coverage", "0.95", "--novelty", "-o", "sets.parquet")
    code, _, err = run("predict", "sets.bayes", "all.parquet", *asked)
    assert (code, err) == (0, "")
    found, model = pq.read_table("sets.parquet"), bk.load("sets.bayes")
    wanted = model.predict_frame(FEATURES, coverage=0.95, novelty=True)
    assert found["set"].to_pylist() == wanted["set"].to_pylist()
    assert found["novelty"].to_pylist() == wanted["novelty"].to_pylist()


def test_a_model_without_a_promise_is_refused_by_name(run: Any, model: str) -> None:
    code, _, err = run("predict", model, "all.parquet", "--coverage", "0.9")
    assert code == 2
    assert "promises no coverage; fit it anew with --coverage" in err
