"""CorrectedNaiveBayes: the optimum against a Newton method of its own, interactions, wide tables, what is held."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

import bayeskit as bk
from bayeskit.arrays import FRONT
from bayeskit.errors import InputError
from bayeskit.numerics.log_linear import AdditiveTables


def design(codes, sizes):
    """One column of ones and zeros for each level: missing and unseen ones have none."""
    parts = [(np.arange(size) == code[:, None]).astype(float) for code, size in zip(codes, sizes, strict=True)]
    return np.hstack(parts)


@pytest.mark.parametrize("classes", [2, 3])
def test_fitted_tables_are_the_optimum_of_the_penalised_likelihood(classes):
    rng = np.random.default_rng(classes)
    n, sizes = 60, [4, 3]
    codes = np.array([rng.integers(-1, size, n) for size in sizes], dtype=np.int32)
    label, mass = rng.integers(0, classes, n), rng.choice([1.0, 2.0, 0.5], n)
    base = rng.normal(size=(n, classes))
    offset = np.array([0, FRONT + 4, 2 * FRONT + 7])
    ridge, fused = np.full(offset[-1], 0.7), np.zeros(offset[-1])
    fused[FRONT : FRONT + 3] = 3.0
    rows = AdditiveTables(codes, offset, base, label, ridge, fused)
    found = rows.fit(mass)
    inner = np.r_[FRONT : FRONT + 4, 2 * FRONT + 4 : 2 * FRONT + 7]
    assert not np.delete(found, inner, axis=0).any()

    X = design(codes, sizes)
    differ = np.zeros((3, 7))
    differ[np.arange(3), np.arange(3)], differ[np.arange(3), np.arange(1, 4)] = -1, 1

    def objective(flat):
        table = flat.reshape(7, classes)
        scores = base + X @ table
        log = scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)
        return -mass @ log[np.arange(n), label] + 0.35 * (table**2).sum() + 1.5 * ((differ @ table) ** 2).sum()

    best = minimize(objective, np.zeros(7 * classes), method="BFGS", options={"gtol": 1e-9, "maxiter": 5000})
    np.testing.assert_allclose(found[inner].ravel(), best.x, atol=1e-3)
    assert objective(found[inner].ravel()) <= best.fun + 1e-6


def test_pairs_find_what_no_column_tells_alone():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 2, (400, 6)), columns=list("abcdef")).astype(str)
    y = (X.a == X.b).to_numpy() ^ (rng.random(400) < 0.1)
    train, test = slice(0, 300), slice(300, 400)
    with_pairs = bk.CorrectedNaiveBayes().fit(X[train], y[train])
    without = bk.CorrectedNaiveBayes(pairs=0).fit(X[train], y[train])
    assert with_pairs.score(X[test], y[test]) > 0.85 > 0.65 > without.score(X[test], y[test])
    told = with_pairs.explain(X[test])
    np.testing.assert_allclose(
        told.joint - np.logaddexp.reduce(told.joint, axis=1, keepdims=True), np.log(told.proba), atol=1e-9
    )
    assert without.model_.density.additive
    assert not with_pairs.model_.density.additive


def test_columns_that_repeat_each_other_are_not_counted_twice():
    """Ten copies of one column: naive Bayes multiplies its evidence by ten."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 600)
    said = np.where(rng.random(600) < 0.7, y, 1 - y)
    X = pd.DataFrame({f"copy {i}": said for i in range(10)}).astype(str)
    proba = bk.CorrectedNaiveBayes().fit(X, y).predict_proba(X)
    np.testing.assert_allclose(proba[said == 1, 1], y[said == 1].mean(), atol=0.02)
    assert bk.NaiveBayes().fit(X, y).predict_proba(X).max() > 0.99


def sparse_levels(n=600, d=200, seed=2):
    """Cells are one level or missing, and what is missing tells the class."""
    rng = np.random.default_rng(seed)
    weight = rng.normal(0, 1, d) * (rng.random(d) < 0.15)
    there = rng.random((n, d)) < 0.2
    y = (there @ weight + rng.normal(0, 0.5, n) > np.median(there @ weight)).astype(int)
    return pd.DataFrame(np.where(there, "yes", None), columns=[f"w{j}" for j in range(d)]), y, there


def test_two_hundred_columns_of_one_level_or_none():
    X, y, there = sparse_levels()
    train, test = slice(0, 400), slice(400, 600)
    model = bk.CorrectedNaiveBayes(missing="level").fit(X[train], y[train])
    rows, label = np.arange(200), y[test]
    ours = -np.log(model.predict_proba(X[test])[rows, label]).mean()
    logistic = LogisticRegression(max_iter=1000).fit(there[train], y[train])
    theirs = -np.log(logistic.predict_proba(there[test])[rows, label]).mean()
    assert ours < min(0.6, theirs + 0.02)


def test_rows_learned_later_are_counted_between_held_cuts(tmp_path):
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 300)
    X = pd.DataFrame({"x": rng.normal(y, 1.0), "town": rng.choice(["a", "b"], 300)})
    whole = bk.CorrectedNaiveBayes().fit(X, y)
    more = X.assign(town="c")[:40]
    grown = bk.CorrectedNaiveBayes().fit(X, y).partial_fit(more, y[:40])
    assert "the corrections of the columns" in grown.exact_.held
    with pytest.warns(bk.errors.HeldWarning):
        grown.forget(more, y[:40])
    np.testing.assert_allclose(grown.predict_proba(X), whole.predict_proba(X), atol=1e-12)
    whole.save(tmp_path / "model.bayes")
    again = bk.load(tmp_path / "model.bayes")
    np.testing.assert_array_equal(again.predict_proba(X), whole.predict_proba(X))
    assert again.model_.digest == whole.model_.digest


@pytest.mark.parametrize("setting", [{"bins": 1}, {"bins": 2.5}, {"pairs": -1}, {"pairs": "all"}])
def test_settings_that_make_no_sense_are_refused(setting):
    with pytest.raises(InputError, match=next(iter(setting))):
        bk.CorrectedNaiveBayes(**setting).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize("make", [bk.CorrectedNaiveBayes, bk.AJE, bk.ProbabilityForest, bk.BoostedTrees, bk.KDB])
@pytest.mark.parametrize("missing", ["skip", "level"])
def test_a_column_without_any_value_says_nothing(make, missing):
    rows = pd.DataFrame({"a": ["x", "y"] * 30, "none": pd.array([None] * 60, dtype="string")})
    y = ["p", "q"] * 25 + ["q", "p"] * 5
    both = (make(missing=missing).fit(some, y).predict_proba(some) for some in (rows, rows[["a"]]))
    np.testing.assert_array_equal(*both)
