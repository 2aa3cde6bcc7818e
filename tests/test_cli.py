"""The bayeskit command, as a user types it."""

from __future__ import annotations

import json
import os
import pty
import re
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv
from sklearn.metrics import log_loss, roc_auc_score

import bayeskit as bk
from bayeskit.cli.app import main
from bayeskit.cli.example import clinic
from bayeskit.estimators.gathering import gathered

VISITS = clinic(600).append_column("id", pa.array([f"{i:04d}" for i in range(600)]))
FEATURES = VISITS.drop_columns(["id"])
HALF = FEATURES.slice(0, 300)
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(bk.__file__).parents[1]), "OMP_NUM_THREADS": "1"}


def typed(*words: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own."""
    command = [sys.executable, "-m", "bayeskit.cli", *words]
    return subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, **options)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the visits in two parts."""
    monkeypatch.chdir(tmp_path)
    for name, begin in (("first", 0), ("second", 300)):
        csv.write_csv(VISITS.slice(begin, 300), tmp_path / f"{name}.csv")
    pq.write_table(VISITS, tmp_path / "all.parquet")
    return tmp_path


@pytest.fixture
def run(here: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Any:
    """The command in this process: exit code, standard output, standard error."""

    def call(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["bayeskit", *words])
        with pytest.raises(SystemExit) as left:
            main()
        sys.stdout.flush()
        return (left.value.code or 0, *capfd.readouterr())

    return call


@pytest.fixture
def model(here: Path) -> str:
    bk.NaiveBayes().fit(HALF, "diagnosis").save(here / "m.bayes")
    return "m.bayes"


@pytest.fixture
def pool(here: Path) -> str:
    csv.write_csv(FEATURES.slice(0, 120), "few.csv")
    bk.AutoBayes(max_candidates=4).fit(FEATURES.slice(0, 120), "diagnosis").save(here / "auto.bayes")
    return "auto.bayes"


def digest(*parts: pa.Table) -> str:
    return bk.NaiveBayes().fit(pa.concat_tables(parts), "diagnosis").model_.digest


# -- in a process of its own ----------------------------------------------------------------------


def test_a_user_learns_updates_forgets_and_predicts(here: Path) -> None:
    fit = typed("fit", "first.csv", "--target", "diagnosis", "--ignore", "id")
    assert (fit.returncode, fit.stderr) == (0, "")
    assert "learned; the model has 300 rows; saved in first.bayes" in fit.stdout
    update = typed("update", "first.bayes", "second.csv", "--ignore", "id", "--json")
    assert json.loads(update.stdout)["digest"] == digest(FEATURES)
    forget = typed("forget", "first.bayes", "second.csv", "--ignore", "id", "--quiet")
    assert (forget.returncode, forget.stdout, forget.stderr) == (0, "", "")
    assert bk.load("first.bayes").model_.digest == digest(HALF)
    predict = typed("predict", "first.bayes", "second.csv", "--keep", "id", "-o", "out.csv")
    assert (predict.returncode, predict.stdout) == (0, "300 rows answered in out.csv\n")


PEAK = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def test_several_million_rows_pass_through_little_memory(tmp_path: Path) -> None:
    """105 different rows, each as often as its remainders occur together: the model is that of as many weights."""
    rows = 3_000_000
    duckdb.sql(f"select i % 7 as a, (i % 5) / 2 as x, 'c' || (i % 3) as class from range({rows}) t(i)").write_parquet(
        str(tmp_path / "many.parquet")
    )
    i = np.arange(105)
    weight = rows // 105 + (i < rows % 105)
    few = pa.table({"a": i % 7, "x": (i % 5) / 2, "class": [f"c{k % 3}" for k in i], "w": weight.astype(float)})
    expected = bk.NaiveBayes().fit(few, "class", sample_weight="w")
    for line in ("fit many.parquet -t class", "predict many.bayes many.parquet -o out.parquet"):
        command = [sys.executable, "-m", "bayeskit.cli", *line.split(), "-q", "--memory", "500MB"]
        # asked by a small process: that of the tests may be larger, and a child begins with the size of its parent
        small = [sys.executable, "-c", PEAK, *command]
        used = subprocess.run(small, env=ENVIRONMENT, cwd=tmp_path, capture_output=True, text=True, check=True)
        assert int(used.stdout) < 700_000  # KB
    assert bk.load(tmp_path / "many.bayes").model_.digest == expected.model_.digest
    found = pq.read_table(tmp_path / "out.parquet", columns=["P(c1)"])["P(c1)"].to_numpy()
    np.testing.assert_array_equal(found, expected.predict_proba(few.drop_columns(["w"]))[np.arange(rows) % 105, 1])


def test_help_rule_inspect_and_predict_never_load_scikit_learn(model: str) -> None:
    spy = "import sys\nfrom bayeskit.cli.app import main\ntry: main()\nfinally: print('sklearn' in sys.modules)"
    for words in (
        ["--help"],
        ["fit", "--help"],
        ["rule", "--prior", "0.5", "--likelihood", "1", "--evidence", "1"],
        ["inspect", model],
        ["predict", model, "all.parquet", "--keep", "id", "-o", "out.csv", "--reasons", "2", "--evidence"],
    ):
        found = subprocess.run([sys.executable, "-c", spy, *words], env=ENVIRONMENT, capture_output=True, text=True)
        assert found.stdout.splitlines()[-1] == "False", words


def test_standard_input_is_read_and_standard_output_written(here: Path, model: str) -> None:
    asked = subprocess.run(
        [sys.executable, "-m", "bayeskit.cli", "predict", model, "-", "--keep", "id"],
        env=ENVIRONMENT,
        input=(here / "all.parquet").read_bytes(),
        capture_output=True,
    )
    lines = asked.stdout.decode().splitlines()
    assert lines[0] == '"id","prediction","P(cold)","P(flu)","P(pneumonia)"'
    assert len(lines) == 601
    assert lines[1].startswith('"0000",')


@pytest.mark.parametrize(
    ("more", "said"),
    [([], "rows/s"), (["-m", "auto", "--set", "max_candidates=1"], "fit 1 of 1")],
    ids=["rows", "fits"],
)
def test_progress_is_shown_on_a_terminal_only(here: Path, more: list[str], said: str) -> None:
    words = ["fit", "all.parquet", "-t", "diagnosis", "--ignore", "id", *more]
    leader, follower = pty.openpty()
    shown = subprocess.run(
        [sys.executable, "-m", "bayeskit.cli", *words],
        env={**ENVIRONMENT, "TERM": "xterm"},
        stdout=subprocess.PIPE,
        stderr=follower,
    )
    os.close(follower)
    told = os.read(leader, 100_000).decode()
    os.close(leader)
    assert shown.returncode == 0
    assert said in told
    assert typed(*words).stderr == ""


def test_an_interrupted_pipe_is_no_error(here: Path, model: str) -> None:
    line = f"{sys.executable} -m bayeskit.cli predict {model} all.parquet --keep all | head -1"
    found = subprocess.run(["bash", "-o", "pipefail", "-c", line], env=ENVIRONMENT, capture_output=True, text=True)
    assert "Traceback" not in found.stderr
    assert found.stdout.count("\n") == 1


def test_a_shell_completes_commands() -> None:
    asked = {"_BAYESKIT_COMPLETE": "complete_bash", "COMP_WORDS": "bayeskit fo", "COMP_CWORD": "1"}
    line = "import sys; sys.argv = ['bayeskit']; from bayeskit.cli.app import main; main()"
    found = subprocess.run([sys.executable, "-c", line], env=ENVIRONMENT | asked, capture_output=True, text=True)
    assert found.stdout.split() == ["forget"]


# -- what each command does -----------------------------------------------------------------------


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
    assert found["reasons"][0].as_py().split()[1].rstrip(",") == f"{max(shares):+.2f}"
    assert run("explain", pool, "few.csv", "--row", "2")[1].startswith("row 2\n")
    code, _, err = run("predict", pool, "few.csv", "--evidence")
    assert (code, "has no density of rows" in err) == (3, True)


def test_pooled_models_learn_and_forget_in_their_file(run: Any, pool: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the members have counted is what it was, and the journal says what was done; rows come in portions."""
    monkeypatch.setattr("bayeskit.estimators.gathering.PORTION", 100)
    before = bk.load(pool)
    assert "learned 300 rows; the model has 420 rows" in run("update", pool, "second.csv", "--ignore", "id")[1]
    assert run("forget", pool, "second.csv", "--ignore", "id", "-q") == (0, "", "")
    after = bk.load(pool)
    assert after.encoder_.model_.digest == before.encoder_.model_.digest
    digests = [[m.classifier.model_.digest for m in model.members_] for model in (before, after)]
    assert digests[0] == digests[1]
    told = json.loads(run("inspect", pool, "--json")[1])
    assert [(line["operation"], line["rows"]) for line in told["journal"]] == [("update", 300), ("forget", 300)]
    assert told["candidates"][0]["weight"] > 0
    assert "forget  300 rows" in run("inspect", pool)[1]
    Path("never.csv").write_text("age,temperature,pulse,cough,aches,diagnosis\n40,37,80,barking,true,cold\n")
    held = Path(pool).read_bytes()
    assert (run("forget", pool, "never.csv")[0], Path(pool).read_bytes()) == (3, held)


def test_pooled_models_learn_from_files(pool: str) -> None:
    alone = bk.AutoBayes(max_candidates=4).fit("few.csv", "diagnosis")
    assert [m.classifier.model_.digest for m in alone.members_] == [
        m.classifier.model_.digest for m in bk.load(pool).members_
    ]
    before = alone.encoder_.model_.digest
    with pytest.raises(bk.errors.SchemaError, match="id"):
        alone.partial_fit("second.csv", "diagnosis")
    assert alone.encoder_.model_.digest == before


def test_pooled_models_are_merged_if_they_see_rows_alike(run: Any, pool: str) -> None:
    assert run("merge", pool, pool, "-o", "twice.bayes", "-q") == (0, "", "")
    assert bk.load("twice.bayes").encoder_.model_.counted.weight == 240
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
    assert (seventh["row"], eighth["row"]) == (7, 8)
    assert seventh["probability"]["flu"] == bk.load(model).predict_proba(FEATURES.slice(7, 1))[0, 1]
    assert [p["column"] for p in seventh["parts"]] == list(FEATURES.column_names[:-1])
    _, out, _ = run("explain", model, "all.parquet", "--ignore", "id", "--row", "7", "--top", "2")
    assert out.startswith("row 7\n")
    assert "(rest)" in out
    code, _, err = run("explain", model, "all.parquet", "--ignore", "id", "--row", "600")
    assert (code, "no row 600" in err) == (3, True)


def test_inspect_shows_the_journal(run: Any, model: str) -> None:
    assert "no update since it was fitted" in run("inspect", model)[1]
    run("update", model, "second.csv", "--ignore", "id", "-q")
    run("forget", model, "second.csv", "--ignore", "id", "-q")
    told = json.loads(run("inspect", model, "--json")[1])
    assert [(line["operation"], line["rows"]) for line in told["journal"]] == [("update", 300), ("forget", 300)]
    assert told["digest"] == digest(HALF)
    assert told["target"] == "diagnosis"


def test_report_writes_a_page(run: Any, here: Path) -> None:
    words = ("report", "first.csv", "-t", "diagnosis", "--ignore", "id", "-m", "naive", "--folds", "3", "-o", "p.html")
    code, out, _ = run(*words, "--title", "Visits", "--json")
    page = (here / "p.html").read_text(encoding="utf-8")
    alone = json.loads(run("evaluate", *words[1:-2], "--json")[1])
    assert code == 0
    assert json.loads(out)["measures"] == alone["measures"]
    assert "<h1>Visits</h1>" in page
    assert 'id="program"' in page


def test_report_leaves_learned_rows_out_when_asked_to(run: Any, here: Path) -> None:
    words = ("report", "first.csv", "-t", "diagnosis", "--ignore", "id", "-m", "knn", "--set", "metric=gower", "-q")
    assert run(*words, "-o", "with.html")[0] == run(*words, "--no-rows", "-o", "without.html")[0] == 0
    assert "rows=False" in (here / "without.html").read_text(encoding="utf-8")
    assert (here / "without.html").stat().st_size < (here / "with.html").stat().st_size


def test_report_pools_models_of_a_sample_of_many_rows(run: Any, here: Path) -> None:
    words = ("report", "all.parquet", "-t", "diagnosis", "--ignore", "id", "--set", "max_candidates=2")
    told = json.loads(run(*words, "--method", "holdout", "--sample", "150", "--json")[1])
    assert told["model"] == "AutoBayes"
    assert "150 of 600 rows were drawn at random" in told["notes"][0]
    assert sum(sum(row.values()) for row in told["confusion"].values()) == 50
    assert (here / "report.html").stat().st_size > 10_000


def test_a_sample_is_the_same_whatever_the_batches_are(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of the smallest hashes, in their order; another seed draws others."""
    found, rows = gathered(here / "all.parquet", most=50)
    monkeypatch.setattr("bayeskit.engines.duckdb.ROWS", 64)
    assert gathered(here / "all.parquet", most=50)[0].equals(found)
    ids = found["id"].to_pylist()
    assert (rows, len(set(ids)), ids) == (600, 50, sorted(ids))
    assert gathered(here / "all.parquet", most=50, seed=1)[0]["id"].to_pylist() != ids
    assert gathered(here / "all.parquet")[0].num_rows == 600


def test_a_sample_is_drawn_from_everywhere(here: Path) -> None:
    """Each row about as often as another: 40 samples of 150 in 600 rows, 10 times each on average, deviation 2.7."""
    times = Counter(
        i for seed in range(40) for i in gathered(here / "all.parquet", most=150, seed=seed)[0]["id"].to_pylist()
    )
    assert sum(times.values()) == 6000
    assert len(times) >= 598
    assert max(times.values()) <= 25


@pytest.mark.parametrize("unpacked", [8, 10**9], ids=["in memory", "in passes"])
def test_a_model_file_is_judged_by_new_rows(
    run: Any, model: str, unpacked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By hand: every row of the second half asked, and compared with the truth."""
    monkeypatch.setattr("bayeskit.cli.places.UNPACKED", unpacked)
    told = json.loads(run("evaluate", model, "second.csv", "--ignore", "id", "--json")[1])
    second = FEATURES.slice(300)
    truth, fitted = second["diagnosis"].to_pylist(), bk.load(model)
    right = sum(a == b for a, b in zip(fitted.predict(second), truth, strict=True))
    found = {m["measure"]: m["value"] for m in told["measures"]}
    assert found["accuracy"] == pytest.approx(right / 300)
    assert found["log_loss"] == pytest.approx(log_loss(truth, fitted.predict_proba(second)))
    area = roc_auc_score(truth, fitted.predict_proba(second), multi_class="ovr")
    assert found["auc"] == pytest.approx(area, abs=1e-3)


def test_a_model_file_is_judged_by_classes_it_never_learned(run: Any, model: str) -> None:
    """A class without probability is a wrong answer; texts that look like numbers stay what the model learned."""
    Path("new.csv").write_text("age,temperature,pulse,cough,aches,diagnosis\n40,37,80,7,true,cold\n40,39,80,,,plague\n")
    told = json.loads(run("evaluate", model, "new.csv", "--json")[1])
    assert sum(told["confusion"]["plague"].values()) == 1
    assert told["confusion"]["plague"]["plague"] == 0
    for words in (["--folds", "3"], ["-m", "tan"], ["--smoothing", "0"]):
        assert "judged as it is" in run("evaluate", model, "new.csv", *words)[2]


def test_evaluate_judges_by_rows_left_out(run: Any) -> None:
    """Beside sixty models, each fitted without one row."""
    few = FEATURES.slice(0, 60)
    csv.write_csv(few, "few.csv")
    code, out, _ = run("evaluate", "few.csv", "-t", "diagnosis", "--method", "loo", "--json")
    told = json.loads(out)
    right = 0
    for i, label in enumerate(few["diagnosis"].to_pylist()):
        others = bk.NaiveBayes().fit(pa.concat_tables([few.slice(0, i), few.slice(i + 1)]), "diagnosis")
        right += others.predict(few.slice(i, 1))[0] == label
    assert code == 0
    assert sum(row[label] for label, row in told["confusion"].items()) == right
    assert next(m["value"] for m in told["measures"] if m["measure"] == "accuracy") == pytest.approx(right / 60)


def test_a_query_is_judged(run: Any, model: str) -> None:
    query = "select * exclude (id) from 'all.parquet' where id >= '0300'"
    words = ["evaluate", "--sql", query, "-t", "diagnosis", "--method", "holdout", "--json"]
    assert sum(sum(row.values()) for row in json.loads(run(*words)[1])["confusion"].values()) == 100
    found = json.loads(run("evaluate", model, "--sql", query, "--json")[1])
    assert sum(sum(row.values()) for row in found["confusion"].values()) == 300


def test_large_files_are_judged_in_passes(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every row is tested once, in the fold that the hash of its key says, whatever the batches are."""
    words = ["evaluate", "all.parquet", "-t", "diagnosis", "--groups", "id", "--folds", "5", "--json"]
    monkeypatch.setattr("bayeskit.cli.places.UNPACKED", 10**9)
    code, out, err = run(*words)
    told = json.loads(out)
    assert (code, err) == (0, "")
    assert sum(sum(row.values()) for row in told["confusion"].values()) == 600
    assert json.loads(run(*words)[1]) == told


def test_compare_ranks_models_on_the_same_folds(run: Any) -> None:
    code, out, _ = run(
        "compare", "first.csv", "-t", "diagnosis", "--ignore", "id", "-m", "naive,tan", "--folds", "3", "--json"
    )
    told = json.loads(out)
    assert code == 0
    assert {line["model"] for line in told["models"]} == {"naive", "tan"}
    losses = [line["log_loss"] for line in told["models"]]
    assert losses == sorted(losses)
    alone = json.loads(run("evaluate", "first.csv", "-t", "diagnosis", "--ignore", "id", "--folds", "3", "--json")[1])
    assert told["each"]["naive"]["confusion"] == alone["confusion"]


SPRINKLER = """network garden { }
variable rain { type discrete [ 2 ] { no, yes }; }
variable wet { type discrete [ 2 ] { no, yes }; }
probability ( rain ) { table 0.75, 0.25; }
probability ( wet | rain ) { (no) 0.9, 0.1; (yes) 0.2, 0.8; }
"""


def test_a_network_answers(run: Any) -> None:
    """P(rain | wet) = 0.25 x 0.8 / (0.25 x 0.8 + 0.75 x 0.1) = 8/11."""
    Path("garden.bif").write_text(SPRINKLER)
    found = json.loads(run("network", "query", "garden.bif", "-t", "rain", "--evidence", "wet=yes", "--json")[1])
    assert found == pytest.approx({"no": 3 / 11, "yes": 8 / 11})
    for words in (["-t", "snow"], ["-t", "rain", "--evidence", "wet=soaked"], ["-t", "rain", "--evidence", "snow=yes"]):
        code, _, err = run("network", "query", "garden.bif", *words)
        assert (code, "it has:" in err) == (3, True)


def test_a_network_is_drawn(run: Any) -> None:
    Path("garden.bif").write_text(SPRINKLER)
    assert run("network", "draw", "garden.bif", "-o", "garden.svg", "-q") == (0, "", "")
    assert Path("garden.svg").read_text().startswith("<svg")
    assert run("network", "draw", "garden.bif", "-o", "garden.png")[0] == 3


@pytest.mark.parametrize("ending", ["bif", "bayes"])
def test_a_network_is_learned_from_a_table(run: Any, ending: str) -> None:
    """Two columns that go together and one that does not; 27 and 9 of 36 rows, and pseudo-counts of one."""
    lines = [f"{a},{a if i else 'x'},{c}\n" for a in "xy" for c in "uvw" for i in range(6)]
    Path("t.csv").write_text("a,b,c\n" + "".join(lines))
    code, out, _ = run("network", "learn", "t.csv", "-o", f"t.{ending}", "--forbidden", "b>a", "--json")
    assert (code, json.loads(out)["edges"]) == (0, [["a", "b"]])
    found = json.loads(run("network", "query", f"t.{ending}", "-t", "b", "--evidence", "a=y", "--json")[1])
    assert found == pytest.approx({"x": (3 + 1) / (18 + 2), "y": (15 + 1) / (18 + 2)})


def test_rule(run: Any) -> None:
    """A cough in a cold, exactly."""
    _, out, _ = run("rule", "--prior", "ill=1/100,well=99/100", "--likelihood", "ill=9/10,well=9/100", "--json")
    assert json.loads(out) == {"ill": 10 / 109, "well": 99 / 109}
    assert run("rule", "--prior", "1/50000", "--likelihood", "1/2", "--evidence", "1/20")[1] == "posterior  0.0002\n"


def test_the_demonstration_runs(run: Any) -> None:
    code, out, _ = run("demo")
    assert code == 0
    assert "through DuckDB" in out
    assert "the same model" in out


# -- what is refused -------------------------------------------------------------------------------

WRONG = {
    "a missing file": (["fit", "gone.csv", "-t", "x"], 3, r"gone\.csv: no such file"),
    "a missing target": (["fit", "first.csv", "-t", "income"], 3, "no column is named 'income'"),
    "no target": (["fit", "first.csv"], 2, "--target"),
    "no source": (["fit", "-t", "x"], 3, "nothing to read"),
    "an unknown model": (["fit", "first.csv", "-t", "diagnosis", "-m", "magic"], 3, "naive"),
    "a setting of another model": (["fit", "first.csv", "-t", "diagnosis", "--set", "k=7"], 3, "no setting 'k'"),
    "a prior that is none": (["fit", "first.csv", "-t", "diagnosis", "--prior", "cold=x"], 3, "not a number"),
    "a folder to write to": (["fit", "first.csv", "-t", "diagnosis", "-o", "nowhere/m.bayes"], 4, "No such file"),
    "a model that is none": (["inspect", "first.csv"], 3, r"first\.csv"),
    "a missing model": (["update", "gone.bayes", "first.csv"], 3, r"gone\.bayes"),
    "columns never seen": (["predict", "m.bayes", "first.csv"], 3, r"(?s)unseen at fit time.*--ignore"),
    "an ending for answers": (
        ["predict", "m.bayes", "first.csv", "--keep", "id", "-o", "out.xlsx"],
        3,
        r"\.parquet or \.csv",
    ),
    "a key that is not there": (["predict", "m.bayes", "all.parquet", "--keep", "id,key"], 3, "'key'"),
    "folds of a holdout": (
        ["evaluate", "first.csv", "-t", "diagnosis", "--method", "holdout", "--folds", "3"],
        3,
        "--folds",
    ),
    "an arc that is none": (["network", "learn", "first.csv", "-o", "n.bif", "--required", "ab"], 3, "parent>child"),
    "a target for a table": (["evaluate", "first.csv"], 2, "--target"),
    "two tables": (["evaluate", "first.csv", "second.csv", "-t", "diagnosis"], 3, "no model file"),
    "a pool on a cluster": (["fit", "lake", "-t", "x", "-m", "auto", "--engine", "spark"], 3, "not learned on Spark"),
    "answers of a cluster without a place": (["predict", "m.bayes", "lake", "--engine", "spark"], 3, "--output"),
    "answers of a cluster in a file": (
        ["predict", "m.bayes", "lake", "--engine", "spark", "-o", "first.csv"],
        3,
        "there already",
    ),
    "an engine that is none": (["fit", "first.csv", "-t", "diagnosis", "--engine", "flink"], 3, "auto or spark"),
}


@pytest.mark.parametrize(("words", "code", "said"), WRONG.values(), ids=list(WRONG))
def test_what_is_wrong_is_told_in_a_line(run: Any, model: str, words: list[str], code: int, said: str) -> None:
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
