"""Many classes and columns: batches follow them, and what does not fit into memory is refused before it is taken."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import bayeskit as bk
from bayeskit import memory
from bayeskit.engines import engine
from bayeskit.engines.spark import Spark
from bayeskit.errors import InputError, MemoryRefusal
from bayeskit.evaluation.score import PredictedRows
from bayeskit.evaluation.score_sums import ScoreSums
from bayeskit.model.model import Model
from bayeskit.networks.bif import parse
from bayeskit.reports import page

CLASSES, ROWS, MOST = 8, 100, 64


def table() -> pa.Table:
    rng = np.random.default_rng(3)
    y = np.arange(ROWS) % CLASSES
    return pa.table({"a": y + rng.normal(size=ROWS), "b": rng.choice(["u", "v"], ROWS), "y": [f"c{k}" for k in y]})


def answers(rows: Any, source: Any) -> dict[str, Any]:
    """What a model says of rows in memory and in a file, and how well it does."""
    model = bk.NaiveBayes().fit(rows, "y")
    judged = {
        "folds": bk.evaluate(bk.NaiveBayes(), rows, "y", bk.CrossValidation(3)).log_loss,
        "left out": bk.evaluate(bk.NaiveBayes(), rows, "y", bk.LeaveOneOut()).log_loss,
        "streamed": bk.evaluate(bk.NaiveBayes(), source, "y", bk.CrossValidation(3)).log_loss,
        "as fitted": bk.evaluate(model, source, "y", bk.AsFitted()).log_loss,
    }
    asked = rows.drop_columns(["y"])
    return judged | {
        "classes": model.predict(asked).tolist(),
        "proba": model.predict_proba(asked).tolist(),
        "file": model.predict_proba(source).tolist(),
        "frame": model.predict_frame(asked).to_pydict(),
        "terms": model.explain(asked).terms.tolist(),
    }


def test_batches_follow_the_classes(monkeypatch, tmp_path):
    """No block is asked for more answers than MOST, and the answers are the same."""
    rows, source = table(), tmp_path / "rows.csv"
    pyarrow.csv.write_csv(rows, source)
    wanted = answers(rows, source)
    sizes: list[int] = []
    posterior = Model.posterior

    def watched(self: Model, block: Any, *given: Any, **named: Any) -> Any:
        sizes.append(block.rows)
        return posterior(self, block, *given, **named)

    monkeypatch.setattr(engine, "MOST", MOST)
    monkeypatch.setattr(Model, "posterior", watched)
    found = answers(rows, source)
    assert max(sizes) <= MOST // CLASSES
    assert sum(sizes) >= 8 * ROWS
    for name, value in wanted.items():
        assert found[name] == (pytest.approx(value, rel=1e-12) if isinstance(value, float) else value), name


@pytest.mark.parametrize("width", [1, 20, 1000, 16_384, 100_000, 10**7])
def test_batches_follow_the_columns(width):
    assert 1 <= engine.batch_rows(width) <= max(1, engine.MOST // width)


PAIRED = bk.TAN(), bk.KDB(k=2), bk.AODE(), bk.NetworkBayes()
WIDE = [(model, kind) for model in PAIRED for kind in ("numbers", "levels")]


@pytest.mark.parametrize(("model", "kind"), [(bk.FullBayes(), "numbers"), *WIDE])
def test_pairs_of_many_columns_are_refused(monkeypatch, model, kind):
    """1,500 columns have 1,124,250 pairs, of about 1,000 bytes each: more than the 1 GB that is free here."""
    monkeypatch.setattr(memory, "free_memory", lambda: 10**9)
    X = np.random.default_rng(0).integers(0, 2, (6, 1500)).astype(float)
    X = X if kind == "numbers" else X.astype(str).astype(object)
    with pytest.raises(MemoryRefusal, match=r"take about \d\.\d GB, and 1\.0 GB are free"):
        model.fit(X, [0, 1] * 3)
    assert bk.NaiveBayes().fit(X, [0, 1] * 3).predict(X[:1]).shape == (1,)


def test_other_squares_are_refused(monkeypatch):
    """Covariances of neighbours, and confusions of many classes in many folds."""
    monkeypatch.setattr(memory, "free_memory", lambda: 10**6)
    monkeypatch.setattr(memory, "SMALL", 0)
    X = np.random.default_rng(0).normal(size=(12, 150))
    with pytest.raises(MemoryRefusal, match="covariances of every two of 150 columns"):
        bk.KNNBayes(metric="mahalanobis", k=2).fit(X, [0, 1] * 6).predict(X)
    with pytest.raises(MemoryRefusal, match="200 probabilities of 400 rows, 1 times, and confusions in 2 folds"):
        bk.evaluate(bk.NaiveBayes(), X[np.arange(400) % 12, :3], np.arange(400) % 200, bk.CrossValidation(2))


def test_structure_search_of_many_columns_is_refused(monkeypatch):
    monkeypatch.setattr(memory, "free_memory", lambda: 10**9)
    X = {f"v{j}": ["a", "b", "a"] for j in range(1500)}
    with pytest.raises(MemoryRefusal, match="scores of every two of 1,500 columns"):
        bk.learn_network(X)


def test_probabilities_that_do_not_fit_are_refused(monkeypatch):
    rows = table()
    model = bk.NaiveBayes().fit(rows, "y")
    monkeypatch.setattr(memory, "free_memory", lambda: 1000)
    monkeypatch.setattr(memory, "SMALL", 0)
    with pytest.raises(MemoryRefusal, match="8 probabilities of 100 rows"):
        model.predict_proba(rows)
    with pytest.raises(MemoryRefusal, match="terms of 2 columns and 8 classes for 100 rows"):
        model.explain(rows)
    assert len(model.predict(rows)) == ROWS


def test_a_page_has_a_bounded_number_of_classes(monkeypatch, tmp_path):
    found = bk.evaluate(bk.NaiveBayes(), table(), "y", bk.CrossValidation(3))
    monkeypatch.setattr(page, "MOST_CLASSES", CLASSES - 1)
    with pytest.raises(InputError, match="a page shows at most 7 classes, and this evaluation has 8"):
        bk.report(found, tmp_path / "page.html")
    assert list(tmp_path.iterdir()) == []


def _calls(variables: int) -> int:
    """Calls of Python functions while a chain of so many variables is read."""
    text = [f"variable v{i} {{ type discrete [ 2 ] {{ yes, no }}; }}" for i in range(variables)]
    text += ["probability ( v0 ) { table 0.25, 0.75; }"]
    text += [f"probability ( v{i} | v{i - 1} ) {{ (yes) 0.25, 0.75; (no) 0.5, 0.5; }}" for i in range(1, variables)]
    count = 0

    def tick(*_: Any) -> None:
        nonlocal count
        count += 1

    sys.setprofile(tick)
    try:
        parse("\n".join(text))
    finally:
        sys.setprofile(None)
    return count


def test_networks_are_read_in_linear_time():
    few, many = _calls(100), _calls(400)
    assert many < 4.4 * few


def test_a_limit_of_the_process_counts():
    """What ``ulimit -v`` allows is what there is."""
    script = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (4 << 30,) * 2)\n"
        "from bayeskit.memory import free_memory; print(free_memory())"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 4 << 30


@pytest.mark.parametrize("method", [bk.CrossValidation(3), bk.LeaveOneOut(), bk.Holdout(0.5)])
def test_evaluations_that_do_not_fit_are_refused_before_a_row_is_predicted(monkeypatch, method):
    """They were refused when the probabilities had been taken: 15 GB."""
    rows = table()
    monkeypatch.setattr(memory, "SMALL", 0)
    monkeypatch.setattr(memory, "free_memory", lambda: 16 * ROWS * CLASSES)
    monkeypatch.setattr(Model, "posterior", None)
    with pytest.raises(MemoryRefusal, match=r"8 probabilities of 100 rows, 1 times, and confusions in [13] folds"):
        bk.evaluate(bk.NaiveBayes(), rows, "y", method)


def test_confusions_of_few_rows_and_many_classes_are_not_filled():
    """By batches as at once, with weights; a batch fills few cells of the tables."""
    rng = np.random.default_rng(2)
    codes, fold, w = rng.integers(-1, 40, 200), rng.integers(-1, 3, 200), rng.random(200)
    rows = PredictedRows(codes, rng.dirichlet(np.ones(40), 200), w, rng.integers(0, 42, 200))
    whole, parts = ScoreSums.of(rows, fold, 3), ScoreSums.empty(3, 40)
    for some in np.array_split(np.arange(200), 7):
        parts = parts.add(rows.take(some), fold[some])
    table = np.zeros((3, 40, 42))
    used = (codes >= 0) & (fold >= 0)
    np.add.at(table, (fold[used], codes[used], rows.done[used]), w[used])
    for sums in (whole, parts):
        np.testing.assert_allclose(sums.confusion, table, rtol=1e-14)
    for field in dataclasses.fields(ScoreSums):
        np.testing.assert_allclose(getattr(parts, field.name), getattr(whole, field.name), rtol=1e-12)


@pytest.mark.parametrize("covariance", ["diagonal", "spherical"])
def test_variances_alone_need_no_room_for_pairs(covariance: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "free_memory", lambda: 10**9)
    x, y = np.random.default_rng(0).normal(size=(6, 9000)), [0, 1] * 3
    plain = bk.NaiveBayes().fit(x, y).predict_proba(x)
    found = bk.FullBayes(covariance=covariance).fit(x, y).predict_proba(x)
    if covariance == "diagonal":
        np.testing.assert_allclose(found, plain, atol=1e-9)
    with pytest.raises(MemoryRefusal, match=r"every two of 9,001 columns"):
        bk.FullBayes().fit(x, y)


def test_a_spark_frame_of_the_probabilities_of_many_classes_is_refused_by_name():
    """On a cluster 10,000 classes are learned and predicted; their probabilities took over ten minutes."""
    like = pa.schema({f"P(c{k})": pa.float64() for k in range(10_000)})
    with pytest.raises(InputError, match=r"Spark frame of 10,000 columns.*predict\(X\)"):
        Spark().frame(None, [], lambda batch: batch, like)
