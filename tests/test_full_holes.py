"""FullBayes fitted to rows with missing values: the likeliest mean and covariance, whatever finds them."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

import bayeskit as bk
from bayeskit.errors import InputError
from full_reference import left_out, log_densities


def holed(n=120, seed=0, share=0.25):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) @ [[1.0, 0.8, 0.2], [0.0, 0.6, -0.5], [0.0, 0.0, 1.0]] + [0, 2, -1]
    X[rng.random(X.shape) < share] = np.nan
    return X, rng.choice(["a", "b"], n)


def observed(X, mean, covariance):
    """The log likelihood of what is there."""
    total = 0.0
    for there in np.unique(~np.isnan(X), axis=0):
        rows = X[(~np.isnan(X) == there).all(axis=1)][:, there] - mean[there]
        part = covariance[np.ix_(there, there)]
        squares = np.einsum("ni,ni->", rows, np.linalg.solve(part, rows.T).T)
        total -= (squares + len(rows) * (np.linalg.slogdet(part)[1] + there.sum() * np.log(2 * np.pi))) / 2
    return total


def likeliest(X):
    """Mean and covariance by numerical optimisation over a Cholesky factor."""
    d = X.shape[1]
    low = np.tril_indices(d)

    def unpack(p):
        factor = np.zeros((d, d))
        factor[low] = p[d:]
        return p[:d], factor @ factor.T + 1e-12 * np.eye(d)

    start = np.concatenate([np.nanmean(X, axis=0), np.diag(np.nanstd(X, axis=0))[low]])
    best = minimize(lambda p: -observed(X, *unpack(p)), start, method="BFGS", options={"gtol": 1e-7, "maxiter": 500})
    return unpack(best.x)


@pytest.mark.parametrize("seed", [0, 1])
def test_em_finds_the_maximum_of_the_likelihood_of_what_is_there(seed):
    X, y = holed(60, seed)
    model = bk.FullBayes(shrinkage=None).fit(X, y)
    for k, label in enumerate("ab"):
        mean, covariance = likeliest(X[y == label])
        assert model.means_[k] == pytest.approx(mean, abs=1e-4)
        assert model.covariances_[k] == pytest.approx(covariance, abs=1e-4)
        best = observed(X[y == label], mean, covariance)
        assert observed(X[y == label], model.means_[k], model.covariances_[k]) >= best - 1e-8 * abs(best)


def test_complete_rows_need_no_steps():
    X, y = holed(share=0)
    model = bk.FullBayes(shrinkage=None).fit(X, y)
    assert model.means_[0] == pytest.approx(X[y == "a"].mean(axis=0), rel=1e-14)
    assert model.covariances_[0] == pytest.approx(np.cov(X[y == "a"].T, ddof=0), rel=1e-13)


def test_what_is_available_of_two_columns_is_their_covariance():
    X, y = holed()
    model = bk.FullBayes(shrinkage=None, missing="available").fit(X, y)
    rows = X[y == "a"]
    for i in range(3):
        assert model.means_[0, i] == pytest.approx(np.nanmean(rows[:, i]))
        for j in range(3):
            both = rows[~np.isnan(rows[:, i]) & ~np.isnan(rows[:, j])]
            assert model.covariances_[0, i, j] == pytest.approx(np.cov(both[:, i], both[:, j], ddof=0)[0, 1])


def many_patterns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 14))
    X[rng.random(X.shape) < 0.5] = np.nan
    return X, rng.choice(["a", "b"], 6000)


def test_too_many_patterns_of_holes_are_refused_with_a_way_out():
    X, y = many_patterns()
    with pytest.raises(InputError, match=r"patterns of missing values, more than 4096; pass missing='available'"):
        bk.FullBayes().fit(X, y)
    model = bk.FullBayes(missing="available").fit(X, y)
    assert np.isfinite(model.predict_log_proba(X[:100])).all()


def test_pairs_that_contradict_each_other_still_give_a_density():
    """Three columns seen two at a time, with correlations no table of complete rows could have."""
    t = np.linspace(-1, 1, 21)
    hole = np.full_like(t, np.nan)
    X = np.vstack([np.column_stack(c) for c in ((t, t, hole), (hole, t, t), (t, hole, -t))])
    y = np.tile(["a", "b", "a"], 21)
    model = bk.FullBayes(missing="available").fit(X, y)
    assert np.isfinite(model.predict_log_proba([[0.1, 0.2, 0.3]])).all()


def test_a_column_one_class_never_holds_takes_the_whole_column():
    X, y = holed(share=0.1)
    X[y == "b", 2] = np.nan
    model = bk.FullBayes().fit(X, y)
    assert model.means_[1, 2] == pytest.approx(np.nanmean(X[:, 2]))
    assert np.isfinite(model.predict_log_proba(X)).all()


def test_a_row_with_holes_is_left_out_as_a_refit_would():
    """Shares given, so that nothing but EM itself is at stake; the pooled target is held."""
    X, y = holed(30, share=0.15)
    frame = pd.DataFrame(X, columns=list("pqr"))
    found = left_out(bk.FullBayes(shrinkage=None), frame, y, np.ones(30))
    for i in range(0, 30, 3):
        kept = np.arange(30) != i
        less = bk.FullBayes(shrinkage=None).fit(frame[kept], y[kept])
        assert found[i] == pytest.approx(log_densities(less, frame[i : i + 1])[0], rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("settings", [{"missing": "available"}, {"shrinkage": "pooled"}], ids=str)
def test_what_cannot_leave_a_row_out_says_so_and_is_refitted(settings):
    X, y = holed(30)
    with pytest.raises(InputError, match=r"missing='available' or shrinkage='pooled'.*refit"):
        left_out(bk.FullBayes(**settings), pd.DataFrame(X, columns=list("pqr")), y, np.ones(30))
    assert bk.evaluate(bk.FullBayes(**settings), X, y, bk.LeaveOneOut()).computed == "refit"
