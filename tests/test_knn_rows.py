"""KNNBayes and its rows: learning, forgetting, merging, files, a capped sample, neighbours and folds."""

import copy

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import bayeskit as bk
from bayeskit.errors import ForgetError, InputError
from bayeskit.families import Histogram
from knn_reference import mixed, numbers


@pytest.mark.parametrize("metric", ["euclidean", "gower"])
def test_learning_forgetting_and_merging_are_by_rows(metric):
    X, y = mixed()
    X = X if metric == "gower" else X[["x", "n"]]
    whole = bk.KNNBayes(metric=metric).fit(X, y)
    half = np.arange(len(y)) % 2 == 0
    one, two = (bk.KNNBayes(metric=metric).fit(X[h], y[h]) for h in (half, ~half))
    assert (one + two).model_.digest == whole.model_.digest
    assert copy.deepcopy(one).partial_fit(X[~half], y[~half]).model_.digest == whole.model_.digest
    assert copy.deepcopy(whole).forget(X[half], y[half]).model_.digest == two.model_.digest
    shuffled = np.random.default_rng(0).permutation(len(y))
    assert bk.KNNBayes(metric=metric).fit(X.iloc[shuffled], y[shuffled]).model_.digest == whole.model_.digest
    with pytest.raises(ForgetError):
        two.forget(X[half], y[half])


@pytest.mark.parametrize("most", [None, 5])
def test_columns_without_a_value_so_far_find_their_kind_later(most):
    first = pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0], "town": [None] * 4, "size": [None] * 4})
    later = pd.DataFrame({"x": [5.0, 6.0, 7.0, 9.0], "town": list("abab"), "size": [1.0, 2.0, 3.0, 4.0]})
    parts = bk.KNNBayes(metric="gower", max_rows=most).fit(first, [0, 0, 1, 1]).partial_fit(later, [0, 1, 0, 1])
    whole = bk.KNNBayes(metric="gower", max_rows=most).fit(pd.concat([first, later]), [0, 0, 1, 1, 0, 1, 0, 1])
    assert parts.model_.digest == whole.model_.digest


def test_files_engines_and_threads(tmp_path):
    X, y = mixed(4000)
    whole = bk.KNNBayes(metric="gower", n_jobs=2).fit(X, y)
    table = pa.Table.from_pandas(X.assign(y=y), preserve_index=False)
    levels = table["grade"].combine_chunks().cast(pa.string())
    table = table.set_column(table.column_names.index("grade"), "grade", levels)
    kinds = {"grade": ["low", "mid", "high"]}
    local = bk.KNNBayes(metric="gower", kinds=kinds).fit(table, "y")
    database = duckdb.from_arrow(table)
    assert bk.KNNBayes(metric="gower", kinds=kinds).fit(database, "y").model_.digest == local.model_.digest
    assert local.model_.digest == whole.model_.digest
    local.save(tmp_path / "m.bayes")
    back = bk.load(tmp_path / "m.bayes")
    assert isinstance(back, bk.KNNBayes)
    assert back.model_.digest == local.model_.digest
    assert np.array_equal(back.predict_proba(X[:50]), local.predict_proba(X[:50]))


def test_a_capped_model_does_not_depend_on_order_or_split(tmp_path):
    X, y = mixed(3000)
    settings = {"metric": "gower", "max_rows": 400, "random_state": 7}
    whole = bk.KNNBayes(**settings).fit(X, y)
    order = np.random.default_rng(0).permutation(len(y))
    parts = bk.KNNBayes(**settings)
    for some in np.array_split(order, 7):
        parts.partial_fit(X.iloc[some], y[some])
    assert parts.model_.digest == whole.model_.digest
    threads = bk.KNNBayes(**settings, n_jobs=2).fit(X.iloc[order], y[order])
    assert threads.model_.digest == whole.model_.digest
    kept = whole.model_.density.densities[0].statistic.rows
    assert 300 < len(kept) <= 400
    other = bk.KNNBayes(metric="gower", max_rows=400, random_state=8).fit(X, y)
    assert other.model_.digest != whole.model_.digest
    whole.save(tmp_path / "m.bayes")
    assert bk.load(tmp_path / "m.bayes").model_.digest == whole.model_.digest


def test_a_sample_is_like_the_whole():
    X, y = numbers(20_000, 2, digits=12)
    model = bk.KNNBayes(max_rows=1000).fit(X, y)
    kept = model.model_.density.densities[0].statistic
    assert np.bincount(kept.rows.group) / 1000 == pytest.approx(np.bincount(y) / len(y), abs=0.05)
    assert kept.rows.numbers.mean(axis=0) == pytest.approx(X.mean(axis=0), abs=0.2)
    assert model.predict_proba(X[:3]).sum(axis=1) == pytest.approx(1)


def test_forgetting_what_a_sample_dropped_changes_the_counts_only():
    X, y = numbers(500, 2, digits=12)
    model = bk.KNNBayes(max_rows=100).fit(X, y)
    kept = model.model_.density.densities[0].statistic.rows.numbers
    dropped = np.flatnonzero(~(X[:, None] == kept[None]).all(axis=2).any(axis=1))[:50]
    model.forget(X[dropped], y[dropped])
    assert np.array_equal(model.model_.density.densities[0].statistic.rows.numbers, kept)
    assert model.model_.weights.sum() == 450
    model.forget(kept[:1], model.neighbors(kept[:1]).labels[:1])
    assert len(model.model_.density.densities[0].statistic.rows) == 99


def test_neighbors_are_the_learned_rows():
    X, y = mixed()
    model = bk.KNNBayes(k=3, metric="gower").fit(X, y)
    found = model.neighbors(X[:4])
    assert len(found) == 4
    for i in range(4):
        mine = found[i]
        assert mine.distances[0] == 0
        assert (np.diff(mine.distances) >= 0).all()
        assert mine.weights.sum() >= 3
        assert mine.radius[0] == pytest.approx(mine.distances[-1])
        own = [None if pd.isna(v) else v for v in X.iloc[i]]
        assert own in [list(row.values()) for row in mine.rows.to_pylist()]


def test_explain_has_one_part():
    X, y = numbers()
    model = bk.KNNBayes().fit(X, y)
    told = model.explain(X[:3], top=1)
    assert told.parts == ("neighbours",)
    assert told.terms.shape == (3, 1, 3)
    assert "neighbours" in str(told)
    joint = told.prior + told.terms[:, 0]
    assert np.exp(joint) / np.exp(joint).sum(axis=1, keepdims=True) == pytest.approx(model.predict_proba(X[:3]))


def test_unseen_levels():
    X, y = mixed(holes=0)
    strange = X[:20].assign(town="nowhere")
    model = bk.KNNBayes(metric="gower").fit(X, y)
    assert np.array_equal(model.predict_proba(strange), model.predict_proba(strange.assign(town=None)))
    smooth = bk.KNNBayes(metric="gower", unseen="smooth").fit(X, y)
    far = smooth.neighbors(strange[:1]).distances
    assert (far >= 1 / 5).all()
    with pytest.raises(InputError, match="nowhere"):
        bk.KNNBayes(metric="gower", unseen="error").fit(X, y).predict(strange)


@pytest.mark.parametrize("metric", ["euclidean", "gower"])
def test_folds_by_algebra_are_refits(metric):
    X, y = mixed(90)
    X = X if metric == "gower" else X[["x", "n"]]
    fold = np.arange(90) % 4
    found = bk.evaluate(bk.KNNBayes(metric=metric), X, y, bk.CrossValidation(folds=fold))
    assert found.computed == "algebra"
    for f in range(4):
        alone = bk.KNNBayes(metric=metric).fit(X[fold != f], y[fold != f]).predict_proba(X[fold == f])
        assert found.proba[fold == f] == pytest.approx(alone, abs=1e-12)


def test_leave_one_out_by_self_exclusion_is_brute_force():
    X, y = numbers(60, 2)
    found = bk.evaluate(bk.KNNBayes(k=3), X, y, bk.LeaveOneOut())
    assert found.computed == "algebra"
    for i in range(60):
        kept = np.arange(60) != i
        alone = bk.KNNBayes(k=3).fit(X[kept], y[kept]).predict_proba(X[i : i + 1])
        assert found.proba[i] == pytest.approx(alone[0], abs=1e-12)


def test_a_histogram_with_mdlp_is_left_out_by_refits():
    X, y = numbers(40, 2)
    found = bk.evaluate(bk.NaiveBayes(families=Histogram("mdlp")), X, y, bk.LeaveOneOut())
    assert found.computed == "refit"


def test_rows_learned_beyond_the_cap_can_be_forgotten():
    """A merge lowers the bound of the keys that are kept; rows above it are not looked for."""
    X, y = numbers(100, 2)
    model = bk.KNNBayes(max_rows=20).fit(X[:60], y[:60]).partial_fit(X[60:], y[60:])
    with pytest.warns(bk.errors.HeldWarning):
        model.forget(X[60:], y[60:])
    left = bk.KNNBayes(max_rows=20).fit(X[:60], y[:60])
    kept, first = (m.model_.features[m.model_.structure.components[0][0]].rows.numbers for m in (model, left))
    assert 0 < len(kept) < len(first) == 20
    assert {*map(tuple, kept)} < {*map(tuple, first)}
