"""report, evaluate and compare."""

from __future__ import annotations

import hashlib
import html
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyarrow import csv
from sklearn.metrics import confusion_matrix, log_loss, roc_auc_score

import bayeskit as bk
from bayeskit.engines.reading import without_password
from bayeskit.model.labelled_table import draw_rows, read_rows

from .visits import FEATURES, VISITS


def test_report_writes_a_page(run: Any, here: Path) -> None:
    words = ("report", "first.csv", "-t", "diagnosis", "--ignore", "id", "-m", "naive", "--folds", "3", "-o", "p.html")
    code, out, _ = run(*words, "--title", "Visits", "--json")
    page = (here / "p.html").read_text(encoding="utf-8")
    alone = json.loads(run("evaluate", *words[1:-2], "--json")[1])
    assert code == 0
    assert json.loads(out)["measures"] == alone["measures"]
    assert "<h1>Visits</h1>" in page
    assert 'id="program"' in page


def test_report_leaves_learned_rows_out_unless_asked_for_them(run: Any, here: Path) -> None:
    words = ("report", "first.csv", "-t", "diagnosis", "--ignore", "id", "-m", "knn", "--set", "metric=gower", "-q")
    assert run(*words, "--rows", "-o", "with.html")[0] == run(*words, "-o", "without.html")[0] == 0
    assert "(--rows, or rows=True in Python)" in (here / "without.html").read_text(encoding="utf-8")
    assert (here / "without.html").stat().st_size < (here / "with.html").stat().st_size


def card_of(page: str) -> str:
    return html.unescape(re.sub("<[^>]*>", " ", page[page.index('<section id="card">') : page.index("</main>")]))


def python_of(page: str) -> str:
    found: str = html.unescape(re.findall("<pre><code>(.*?)</code></pre>", page, re.DOTALL)[-1])
    return found


def test_the_card_says_where_a_page_comes_from(run: Any, here: Path) -> None:
    rows = ("first.csv", "-t", "diagnosis", "--ignore", "id", "-m", "naive", "--folds", "3", "--groups", "age")
    note = "For <triage> at the desk, beside the judgement of a nurse, never instead of it"
    code, _, _ = run("report", *rows, "--note", note, "-q")
    card = card_of((here / "report.html").read_text(encoding="utf-8"))
    assert code == 0
    assert f"Purpose  {note}" in card
    assert hashlib.sha256((here / "first.csv").read_bytes()).hexdigest() in card
    assert f"{(here / 'first.csv').stat().st_size:,}" in card
    assert "bayeskit report first.csv -t diagnosis --ignore id" in card
    assert f"--note '{note}'" in card
    assert re.search(r"Left out: id\s+not read \(--ignore\)", card)
    assert re.search(r"Left out: age\s+keeps rows together", card)


@pytest.mark.parametrize(
    "more",
    [
        ("-m", "naive", "--folds", "3", "--weight", "pulse"),
        ("-m", "tan", "--method", "holdout", "--sample", "150", "--seed", "4"),
        ("-m", "naive", "--costs", "costs.csv", "--families", "age=Kernel"),
    ],
    ids=["weights", "sample", "costs"],
)
def test_the_python_of_the_card_gives_the_same_figures(run: Any, here: Path, more: tuple[str, ...]) -> None:
    csv.write_csv(VISITS.filter(pc.is_valid(VISITS["pulse"])), here / "known.csv")
    (here / "costs.csv").write_text(",treat,wait\ncold,1,0\nflu,0,3\npneumonia,0,9\n")
    code, out, _ = run("report", "known.csv", "-t", "diagnosis", "--ignore", "id", *more, "--json")
    assert code == 0
    names: dict[str, Any] = {}
    source = python_of((here / "report.html").read_text(encoding="utf-8"))
    exec(source.replace("report(evaluate", "found = (evaluate"), names)
    wanted = {m["measure"]: m["value"] for m in json.loads(out)["measures"]}
    assert {m["measure"]: m["value"] for m in names["found"].frame("pyarrow").to_pylist()} == wanted


def test_warnings_and_samples_stand_on_the_page(run: Any, here: Path) -> None:
    words = ("report", "all.parquet", "-t", "diagnosis", "--ignore", "id", "-m", "tan", "--method", "holdout")
    _, _, err = run(*words, "--sample", "150")
    card = card_of((here / "report.html").read_text(encoding="utf-8"))
    assert "150 of 600 rows were drawn at random" in err
    assert "150 of 600 rows were drawn at random" in card
    assert "drawn at random from 600 rows" in card


def test_a_password_is_not_on_the_page() -> None:
    typed = "bayeskit report postgresql://me:se:cret@host/db --sql 'select * from t'"
    assert without_password(typed) == "bayeskit report postgresql://me:***@host/db --sql 'select * from t'"


def test_the_verdict_is_told(run: Any) -> None:
    code, out, _ = run("report", "first.csv", "-t", "diagnosis", "--ignore", "id", "-m", "naive")
    assert code == 0
    assert out.startswith("Right in ")
    assert "the page contains" in out
    told = json.loads(run("compare", "first.csv", "-t", "diagnosis", "--ignore", "id", "-m", "naive", "--json")[1])
    most = max(Counter(FEATURES.slice(0, 300)["diagnosis"].to_pylist()).values())
    assert told["baseline"]["accuracy"] == most / 300


def test_report_pools_models_of_a_sample_of_many_rows(run: Any, here: Path) -> None:
    words = ("report", "all.parquet", "-t", "diagnosis", "--ignore", "id", "--set", "max_candidates=2")
    told = json.loads(run(*words, "--method", "holdout", "--sample", "150", "--json")[1])
    assert told["model"] == "AutoBayes"
    assert "150 of 600 rows were drawn at random" in told["notes"][0]
    assert sum(sum(row.values()) for row in told["confusion"].values()) == 50
    assert (here / "report.html").stat().st_size > 10_000


def test_a_sample_is_the_same_whatever_the_batches_are(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of the smallest hashes, in their order; another seed draws others."""
    found, rows = read_rows(here / "all.parquet", most=50)
    monkeypatch.setattr("bayeskit.engines.duckdb.ROWS", 64)
    assert read_rows(here / "all.parquet", most=50)[0].equals(found)
    ids = found["id"].to_pylist()
    assert (rows, len(set(ids)), ids) == (600, 50, sorted(ids))
    assert read_rows(here / "all.parquet", most=50, seed=1)[0]["id"].to_pylist() != ids
    assert read_rows(here / "all.parquet")[0].num_rows == 600


def test_rows_of_a_sample_keep_their_numbers(here: Path) -> None:
    found, rows = read_rows(here / "all.parquet", most=50, seed=3)
    assert list(map(int, found["id"].to_pylist())) == draw_rows(rows, 50, 3).tolist()


def test_cases_of_a_sample_are_numbered_as_in_the_file(run: Any, here: Path) -> None:
    words = ("report", "all.parquet", "-t", "diagnosis", "--ignore", "id", "-m", "tan", "--method", "holdout", "--rows")
    assert run(*words, "--sample", "150", "-q")[0] == 0
    page = (here / "report.html").read_text(encoding="utf-8")
    for article in re.findall("<article.*?</article>", page, re.DOTALL):
        case = re.search(r'data-row="(\d+)".*?True class <b>(\w+)</b>', article, re.DOTALL)
        assert case is not None
        assert VISITS["diagnosis"][int(case[1]) - 1].as_py() == case[2]
        for name, value in re.findall(r'class="name">(age|temperature|pulse) <small>([\d.]+)</small>', article):
            assert float(value) == VISITS[name][int(case[1]) - 1].as_py()


def test_a_sample_is_drawn_from_everywhere(here: Path) -> None:
    """Each row about as often as another: 40 samples of 150 in 600 rows, 10 times each on average, deviation 2.7."""
    times = Counter(
        i for seed in range(40) for i in read_rows(here / "all.parquet", most=150, seed=seed)[0]["id"].to_pylist()
    )
    assert sum(times.values()) == 6000
    assert len(times) >= 598
    assert max(times.values()) <= 25


@pytest.mark.parametrize("unpacked", [8, 10**9], ids=["in memory", "in passes"])
def test_a_model_file_is_judged_by_new_rows(
    run: Any, model: str, unpacked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By hand: every row of the second half asked, and compared with the truth."""
    monkeypatch.setattr("bayeskit.cli.sources.UNPACKED", unpacked)
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


@pytest.mark.parametrize("measure", ["UNPACKED", "JUDGED"])  # large on disk, or small with many rows
def test_large_files_are_judged_in_passes(run: Any, measure: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every row is tested once, in the fold that the hash of its key says, whatever the batches are."""
    words = ["evaluate", "all.parquet", "-t", "diagnosis", "--groups", "id", "--folds", "5", "--json"]
    monkeypatch.setattr(f"bayeskit.cli.sources.{measure}", 10**9)
    monkeypatch.setattr("bayeskit.model.labelled_table.read_rows", None)  # which would read them into memory
    code, out, err = run(*words)
    told = json.loads(out)
    assert (code, err) == (0, "")
    assert sum(sum(row.values()) for row in told["confusion"].values()) == 600
    assert json.loads(run(*words)[1]) == told


def test_models_that_are_fitted_anew_are_compared_by_all_rows_of_a_file(run: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("bayeskit.cli.sources.JUDGED", 10**9)
    monkeypatch.setattr("bayeskit.cli.evaluate.REFITTED", 100)
    monkeypatch.setattr("bayeskit.model.labelled_table.read_rows", None)
    words = ["all.parquet", "-t", "diagnosis", "--groups", "id", "--folds", "2", "--json"]
    code, out, err = run("compare", *words, "-m", "naive,tan")
    assert (code, err) == (0, "")
    each = json.loads(out)["each"]
    assert [sum(sum(row.values()) for row in each[name]["confusion"].values()) for name in ("naive", "tan")] == [
        600
    ] * 2
    assert each["tan"]["confusion"] == json.loads(run("evaluate", *words, "-m", "tan")[1])["confusion"]


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


@pytest.mark.parametrize(
    "words", [["fit"], ["evaluate"], ["compare", "-m", "naive,tan"], ["report", "-m", "naive"]], ids=" ".join
)
def test_a_column_that_counts_the_rows_is_named_once_in_a_note(run: Any, here: Path, words: list[str]) -> None:
    order = VISITS.sort_by("diagnosis").drop_columns(["id"])  # sorted by class, a counter gives the class away
    csv.write_csv(order.append_column("nr", pa.array(range(1, order.num_rows + 1))), here / "counted.csv")
    code, _, err = run(words[0], "counted.csv", "-t", "diagnosis", *words[1:])
    assert (code, err) == (
        0,
        "note: column 'nr' counts the rows (1, 2, ...): it says where a row stands in this table, and nothing of new "
        "ones; leave it out (frame.drop; of a file, bk.Reading(path, ignore=[...]) or --ignore)\n",
    )
    assert run(words[0], "counted.csv", "-t", "diagnosis", *words[1:], "--ignore", "nr")[::2] == (0, "")
    csv.write_csv(
        order.append_column("nr", pa.array([str(i) + "n" for i in range(order.num_rows)])), here / "named.csv"
    )
    code, _, err = run(words[0], "named.csv", "-t", "diagnosis", *words[1:])
    assert (code, err.count("note: column 'nr' has another text in nearly every row"), err.count("\n")) == (0, 1, 1)


def test_a_confusion_of_many_classes_is_folded(run: Any, here: Path) -> None:
    rng = np.random.default_rng(2)
    k = rng.integers(0, 20, 1200)
    names = np.array([f"c{i:02d}" for i in range(20)])
    table = pa.table({"x": rng.normal(k, 0.2 + 0.05 * k), "y": rng.normal(k % 5, 1.0), "class": names[k]})
    csv.write_csv(table.slice(0, 600), here / "learn.csv")
    csv.write_csv(table.slice(600), here / "new.csv")
    assert run("fit", "learn.csv", "-t", "class", "-o", "m.bayes", "-q")[0] == 0
    code, out, _ = run("evaluate", "m.bayes", "new.csv")
    predicted = bk.load("m.bayes").predict(table.slice(600).drop_columns(["class"]))
    matrix = confusion_matrix(names[k[600:]], predicted, labels=names)
    wrong = matrix - np.diag(np.diagonal(matrix))
    head, *lines = out[out.index("true ") : out.index("\nnext:")].strip().splitlines()
    assert code == 0
    assert "of 20 classes the 15 with most mistakes" in out
    assert head.split("  ")[0] == "true"
    assert [line.split()[0] for line in lines] == names[np.argsort(-wrong.sum(axis=1), kind="stable")[:15]].tolist()
    for line in lines:
        name, weight, mistakes, other, sensitivity, *_ = line.split()
        i, j = (names.tolist().index(one) for one in (name, other))
        assert (int(weight), int(mistakes), wrong[i].max()) == (matrix[i].sum(), wrong[i].sum(), wrong[i, j])
        assert sensitivity == f"{matrix[i, i] / matrix[i].sum():.2%}"
