"""NaiveBayes(backoff=): class densities mixed with that of all rows, against SciPy and refits."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp
from scipy.stats import norm

import bayeskit as bk


def table(n=80, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    X = pd.DataFrame({"x": rng.normal(y, 1.0), "z": np.exp(rng.normal(0.3 * y, 0.5)), "who": rng.choice(list("ab"), n)})
    X.loc[::9, "x"] = np.nan
    return X, y


def test_a_class_density_has_so_many_rows_of_the_pooled_one():
    X, y = table()
    x, rows = X["x"].to_numpy(), 2.5
    model = bk.NaiveBayes(backoff=rows).fit(X[["x"]], y)
    known = [x[(y == c) & ~np.isnan(x)] for c in range(3)]
    n = np.array([len(k) for k in known])
    asked = np.array([-3.0, 0.4, 2.0, 40.0])
    named = pd.DataFrame({"x": asked})
    f = np.column_stack([norm.logpdf(asked, k.mean(), k.std()) for k in known])
    pooled = logsumexp(f + np.log(n / n.sum()), axis=1, keepdims=True)
    backed = np.logaddexp(f + np.log(n), pooled + np.log(rows)) - np.log(n + rows)
    expected = backed + np.log([np.mean(y == c) for c in range(3)])
    assert model.predict_joint_log_proba(named) == pytest.approx(expected, rel=1e-9)


def test_no_value_speaks_against_a_class_without_bounds():
    X, y = table()
    far = X[:1].assign(x=60.0, z=None, who=None)
    odds = np.log(bk.NaiveBayes(backoff=1.0, prior="uniform").fit(X, y).predict_proba(far)[0])
    weights = [np.sum((y == c) & X["x"].notna()) for c in range(3)]
    best, worst = weights[np.argmax(odds)], weights[np.argmin(odds)]
    assert odds.max() - odds.min() <= np.log((sum(weights) + 1) * (worst + 1) / (best + 1))
    assert bk.NaiveBayes(prior="uniform").fit(X, y).predict_proba(far)[0].min() < 1e-200
    beyond = X[:2].assign(x=[1e200, -1e300])
    assert np.isfinite(bk.NaiveBayes(backoff=1.0).fit(X, y).predict_proba(beyond)).all()


def test_categories_and_holes_are_as_they_were():
    X, y = table()
    plain, backed = (bk.NaiveBayes(backoff=b).fit(X, y) for b in (0.0, 1.0))
    holes = X[:5].assign(x=None, z=None)
    np.testing.assert_array_equal(plain.predict_proba(holes), backed.predict_proba(holes))
    assert "backed off by 1 rows" in str(backed.schema_)


@pytest.mark.parametrize("families", [None, {"z": "LogNormal"}, {"x": "Gaussian", "z": "Gamma"}, {"z": "ZeroInflated"}])
def test_leaving_a_row_out_is_a_refit_without_it(families):
    X, y = table(40)
    settings = {"families": families, "backoff": 1.5}
    found = bk.evaluate(bk.NaiveBayes(**settings), X, y, bk.LeaveOneOut())
    assert found.computed == "algebra"
    alone = [
        bk.NaiveBayes(**settings).fit(X.drop(index=i), np.delete(y, i)).predict_proba(X.loc[[i]])[0] for i in X.index
    ]
    assert found.log_loss == pytest.approx(-np.mean(np.log([p[c] for p, c in zip(alone, y, strict=True)])), rel=1e-9)


def test_it_learns_forgets_and_is_kept_exactly(tmp_path):
    X, y = table()
    model = bk.NaiveBayes(backoff=1.0).fit(X[:50], y[:50])
    digest = model.model_.digest
    assert digest != bk.NaiveBayes().fit(X[:50], y[:50]).model_.digest
    model.partial_fit(X[50:], y[50:])
    assert model.model_.digest == bk.NaiveBayes(backoff=1.0).fit(X, y).model_.digest
    assert model.forget(X[50:], y[50:]).model_.digest == digest
    model.save(tmp_path / "m.bayes")
    np.testing.assert_array_equal(bk.load(tmp_path / "m.bayes").predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("backoff", [-1.0, "one", True, float("inf"), float("nan")])
def test_a_number_of_rows_is_asked_for(backoff):
    X, y = table()
    with pytest.raises(bk.errors.InputError, match="backoff="):
        bk.NaiveBayes(backoff=backoff).fit(X, y)
