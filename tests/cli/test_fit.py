"""fit, update, forget and merge."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

import bayeskit as bk

from .visits import FEATURES, HALF, digest


def test_fit_says_what_it_found(run: Any) -> None:
    code, out, _ = run("fit", "first.csv", "-t", "diagnosis", "--ignore", "id", "--json")
    told = json.loads(out)
    assert code == 0
    assert told["digest"] == digest(HALF)
    assert {c["name"]: c["kind"] for c in told["columns"]}["aches"] == "binary"
    assert [c["label"] for c in told["classes"]] == ["cold", "flu", "pneumonia"]


def test_settings_reach_the_model(run: Any) -> None:
    words = [
        "--prior",
        "cold=0.5,flu=0.3,pneumonia=1/5",
        "--kinds",
        "age=count,cough=none<dry<wet",
        "--smoothing",
        "0.5",
    ]
    words += [
        "--families",
        "temperature=Kernel,pulse=Histogram(bins=(60, 90))",
        "--missing",
        "level",
        "--set",
        "unseen=smooth",
    ]
    code, _, err = run("fit", "first.csv", "-t", "diagnosis", "--ignore", "id", "--json", *words)
    settings = bk.load("first.bayes").get_params()
    assert (code, err) == (0, "")
    assert settings["prior"] == {"cold": 0.5, "flu": 0.3, "pneumonia": 0.2}
    assert settings["kinds"] == {"age": "count", "cough": ("none", "dry", "wet")}
    assert (settings["smoothing"], settings["missing"], settings["unseen"]) == (0.5, "level", "smooth")
    assert settings["families"] == {"temperature": "Kernel", "pulse": "Histogram(bins=(60, 90))"}


MODELS = {"full": "FullBayes", "knn": "KNNBayes", "tan": "TAN", "kdb": "KDB", "aode": "AODE", "aje": "AJE"}


@pytest.mark.parametrize(("name", "public"), MODELS.items())
def test_models_are_found_by_name(run: Any, name: str, public: str) -> None:
    """Fitted, saved, and asked, whichever it is."""
    words = {"knn": ["--set", "k=3,metric=gower"], "kdb": ["--set", "k=3"]}.get(name, [])
    assert run("fit", "first.csv", "-t", "diagnosis", "--ignore", "id", "-m", name, "-q", *words) == (0, "", "")
    assert type(bk.load("first.bayes")).__name__ == public
    assert run("predict", "first.bayes", "all.parquet", "--keep", "id", "-o", "out.parquet", "-q") == (0, "", "")
    assert pq.read_metadata("out.parquet").num_rows == 600


def test_pooled_models_are_learned_saved_and_asked(run: Any, pool: str) -> None:
    assert run("predict", pool, "all.parquet", "--keep", "id", "--reasons", "2", "-o", "out.parquet", "-q")[0] == 0
    found = pq.read_table("out.parquet")
    expected = bk.load(pool).predict_proba(FEATURES.drop_columns(["diagnosis"]))
    assert found["P(flu)"].to_pylist() == pytest.approx(expected[:, 1].tolist())
    shares = bk.load(pool).explain(FEATURES.slice(0, 1)).evidence(0)[1:]
    assert found["reasons"][0].as_py().split("; ")[0].endswith(f"({max(shares, key=abs):+.2f})")
    assert run("explain", pool, "few.csv", "--row", "2")[1].startswith("row 2\n")
    code, _, err = run("predict", pool, "few.csv", "--evidence")
    assert (code, "has no density of rows" in err) == (3, True)


def test_pooled_models_learn_and_forget_in_their_file(run: Any, pool: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the members have counted is what it was, and the journal says what was done; rows come in portions."""
    monkeypatch.setattr("bayeskit.model.labelled_table.PORTION", 100)
    before = bk.load(pool)
    assert "learned 300 rows; the model has 420 rows" in run("update", pool, "second.csv", "--ignore", "id")[1]
    assert run("forget", pool, "second.csv", "--ignore", "id", "-q") == (0, "", "")
    after = bk.load(pool)
    assert after.reader_.model_.digest == before.reader_.model_.digest
    digests = [[m.classifier.model_.digest for m in model.members_] for model in (before, after)]
    assert digests[0] == digests[1]
    told = json.loads(run("inspect", pool, "--json")[1])
    assert [(line["operation"], line["rows"]) for line in told["journal"]] == [("update", 300), ("forget", 300)]
    assert told["candidates"][0]["weight"] > 0
    assert "forget  300 rows" in run("inspect", pool)[1]
    Path("never.csv").write_text("age,temperature,pulse,cough,aches,diagnosis\n40,37,80,barking,true,cold\n")
    held = Path(pool).read_bytes()
    assert (run("forget", pool, "never.csv")[0], Path(pool).read_bytes()) == (3, held)


def test_forgetting_says_what_remains_and_a_file_that_it_holds_rows(run: Any) -> None:
    learned = ["fit", "first.csv", "-t", "diagnosis", "--ignore", "id", "-m", "tan", "-q"]
    assert run(*learned) == (0, "", "")
    kept = Path("first.bayes").read_bytes()
    run("update", "first.bayes", "second.csv", "--ignore", "id", "-q")
    code, out, err = run("forget", "first.bayes", "second.csv", "--ignore", "id")
    assert (code, "what was chosen with them remains: the cuts of 3 columns of numbers" in out + err) == (0, True)
    assert "held as an earlier fit chose them: the cuts of 3 columns" in run("inspect", "first.bayes")[1]
    assert json.loads(run("inspect", "first.bayes", "--json")[1])["exact"]["rows_kept"] is False
    assert run(*learned, "--set", "exact=True", "-o", "kept.bayes") == (0, "", "")
    before = bk.load("kept.bayes").model_.digest
    run("update", "kept.bayes", "second.csv", "--ignore", "id", "-q")
    code, out, err = run("forget", "kept.bayes", "second.csv", "--ignore", "id")
    assert (code, "remains" in out + err) == (0, False)
    assert bk.load("kept.bayes").model_.digest == before
    assert "the file holds the rows learned" in run("inspect", "kept.bayes")[1]
    assert kept != Path("kept.bayes").read_bytes()


def test_pooled_models_learn_from_files(pool: str) -> None:
    alone = bk.AutoBayes(max_candidates=4).fit("few.csv", "diagnosis")
    assert [m.classifier.model_.digest for m in alone.members_] == [
        m.classifier.model_.digest for m in bk.load(pool).members_
    ]
    before = alone.reader_.model_.digest
    with pytest.raises(bk.errors.SchemaError, match="id"):
        alone.partial_fit("second.csv", "diagnosis")
    assert alone.reader_.model_.digest == before


def test_pooled_models_are_merged_if_they_see_rows_alike(run: Any, pool: str) -> None:
    assert run("merge", pool, pool, "-o", "twice.bayes", "-q") == (0, "", "")
    assert bk.load("twice.bayes").reader_.model_.counted.weight == 240
    csv.write_csv(FEATURES.slice(300, 120), "others.csv")
    run("fit", "others.csv", "-t", "diagnosis", "-m", "auto", "-o", "other.bayes", "-q")
    code, _, err = run("merge", pool, "other.bayes", "-o", "both.bayes")
    assert (code, "fit one and let it learn the other rows" in err) == (3, True)


def test_weights_count(run: Any) -> None:
    rows = "v,w,class\n1,2,a\n5,0.5,a\n9,1,b\n"
    Path("w.csv").write_text(rows)
    run("fit", "w.csv", "-t", "class", "--weight", "w", "-q")
    local = bk.NaiveBayes().fit(pa.table({"v": [1, 5, 9], "w": [2, 0.5, 1], "class": list("aab")}), "class", "w")
    assert bk.load("w.bayes").model_.digest == local.model_.digest


def test_a_query_of_a_database_is_learned(run: Any) -> None:
    with closing(sqlite3.connect("shop.sqlite")) as connection, connection:
        connection.execute("create table t (v real, class text)")
        connection.execute("create table u (v real, class text)")
        connection.executemany("insert into t values (?, ?)", [(1.0, "a"), (2.0, "a"), (7.0, "b"), (9.0, "b")])
    assert run("fit", "shop.sqlite", "--sql", "select * from t where v < 9", "-t", "class", "-q")[0] == 0
    assert bk.load("shop.bayes").model_.digest == bk.NaiveBayes().fit({"v": [1.0, 2.0, 7.0]}, list("aab")).model_.digest


def test_merge_writes_what_all_have_learned(run: Any, model: str) -> None:
    bk.NaiveBayes().fit(FEATURES.slice(300), "diagnosis").save("n.bayes")
    assert run("merge", model, "n.bayes", "-o", "both.bayes", "-q") == (0, "", "")
    assert bk.load("both.bayes").model_.digest == digest(FEATURES)


def test_bad_lines_left_out_are_told(run: Any) -> None:
    Path("bad.csv").write_text("v,class\n1,a\n2,a,x\n2,a\n7,b\n")
    assert run("fit", "bad.csv", "-t", "class", "--bad-lines", "skip", "-q") == (0, "", "")
    out = run("fit", "bad.csv", "-t", "class", "--bad-lines", "skip", "--json")[1]
    assert "1 bad line was left out" in json.loads(out)["notes"][0]
    assert "line 3" in run("fit", "bad.csv", "-t", "class", "--bad-lines", "skip")[2]
    assert run("fit", "bad.csv", "-t", "class")[0] == 3


def test_words_for_missing(run: Any) -> None:
    Path("gaps.csv").write_text("v,class\n1,a\n?,a\nNA,b\n7,b\n")
    run("fit", "gaps.csv", "-t", "class", "--null", "?", "--null", "NA", "-q")
    assert (
        bk.load("gaps.bayes").model_.digest
        == bk.NaiveBayes().fit({"v": [1, None, None, 7]}, list("aabb")).model_.digest
    )


NUMBERED = "x,y\n1,0\n2,0\n4,1\n5,1\n3,0\n"


@pytest.mark.parametrize(
    "written", [NUMBERED, NUMBERED.replace(",0", ",0.0").replace(",1\n", ",1.0\n")], ids=["0", "0.0"]
)
def test_classes_that_are_numbers_stay_what_they_are_and_are_named_as_written(
    run: Any, here: Path, written: str
) -> None:
    (here / "t.csv").write_text(written)
    (here / "more.csv").write_text(NUMBERED)
    (here / "costs.csv").write_text("class,0,1\n0,0,1\n1,5,0\n")
    assert run("fit", "t.csv", "-t", "y", "-o", "t.bayes", "--prior", "0=0.5,1=0.5")[0] == 0
    before = bk.load("t.bayes")
    for verb in ("update", "forget"):
        assert run(verb, "t.bayes", "more.csv")[0] == 0
        after = bk.load("t.bayes")
        assert (after.classes_.dtype, after.classes_.tolist()) == (before.classes_.dtype, before.classes_.tolist())
    words = ("predict", "t.bayes", "more.csv", "--prior", "0=0.25,1=0.75", "--costs", "costs.csv", "-o", "p.csv")
    code, _, err = run(*words)
    assert (code, err.count("bayeskit:")) == (0, 0)
    found = csv.read_csv("p.csv")
    assert found["action"].to_pylist() == [0, 0, 1, 1, 0]
