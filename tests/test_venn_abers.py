"""Venn-Abers intervals: those of the venn-abers package, and of isotonic regression by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression
from sklearn.naive_bayes import GaussianNB

import bayeskit as bk
from bayeskit.decision.venn_abers import InductiveVennAbers, VennAbersMap
from bayeskit.errors import InputError

pytestmark = pytest.mark.filterwarnings("ignore")


def rows(n: int, classes: int, seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    return rng.normal(size=(n, 2)) + 0.7 * y[:, None], y


def test_the_interval_is_isotonic_regression_with_the_row_as_either_class() -> None:
    rng = np.random.default_rng(0)
    scores, label = rng.integers(0, 9, 40) / 4, rng.random(40) < 0.4
    found = InductiveVennAbers(scores, label)(np.array([-1.0, 0.25, 0.3, 1.5, 9.0]))
    for row, s in zip(found, (-1.0, 0.25, 0.3, 1.5, 9.0), strict=True):
        for k in (0, 1):
            whole = IsotonicRegression().fit(np.append(scores, s), np.append(label, k))
            assert row[k] == pytest.approx(whole.predict([s])[0], abs=1e-12)


@pytest.mark.parametrize("classes", [2, 3, 4])
def test_inductive_intervals_are_those_of_the_package(classes: int) -> None:
    package = pytest.importorskip("venn_abers.venn_abers", reason="venn-abers is not installed ([peers])")
    X, y = rows(400, classes, 1)
    fitted = GaussianNB().fit(X[:150], y[:150])
    cal, asked = fitted.predict_proba(X[150:300]), fitted.predict_proba(X[300:])
    mine = bk.VennAbers(fitted, "inductive").around(fitted, X[150:300], y[150:300])
    if classes == 2:
        theirs = package.VennAbers().fit(cal, y[150:300])
        merged, both = theirs.predict_proba(asked)
        np.testing.assert_allclose(mine.predict_interval(X[300:]), both, atol=1e-9)
    else:
        merged, both = package.predict_proba_prefitted_va(cal, y[150:300], asked)
        np.testing.assert_allclose(mine.predict_interval(X[300:]).transpose(1, 0, 2), both, atol=1e-9)
    np.testing.assert_allclose(mine.predict_proba(X[300:]), merged, atol=1e-9)


def test_cross_intervals_are_merged_as_in_the_package() -> None:
    package = pytest.importorskip("venn_abers.venn_abers", reason="venn-abers is not installed ([peers])")
    X, y = rows(240, 2, 2)
    theirs = package.VennAbersCalibrator(
        GaussianNB(var_smoothing=0), inductive=False, n_splits=4, shuffle=False, cv_ensemble=True
    )
    theirs.fit(X[:200], y[:200])
    wanted = theirs.predict_proba(X[200:])
    folds = np.zeros(200, dtype=int)
    from sklearn.model_selection import StratifiedKFold

    for f, (_, test) in enumerate(StratifiedKFold(4).split(X[:200], y[:200])):
        folds[test] = f
    mine = bk.VennAbers(bk.NaiveBayes(), folds=folds).fit(X[:200], y[:200])
    np.testing.assert_allclose(mine.predict_proba(X[200:]), wanted, atol=1e-9)


def test_leave_one_out_is_that_of_refits_by_scikit_learn() -> None:
    X, y = rows(60, 2, 3)
    logs = np.array(
        [
            GaussianNB(var_smoothing=0).fit(np.delete(X, i, 0), np.delete(y, i)).predict_log_proba(X[i : i + 1])[0]
            for i in range(60)
        ]
    )
    whole = VennAbersMap(logs, y, np.zeros(60, dtype=int))
    asked = rows(10, 2, 4)[0]
    wanted = whole.intervals([GaussianNB(var_smoothing=0).fit(X, y).predict_log_proba(asked)])[:, 0]
    found = bk.VennAbers(bk.NaiveBayes(), "loo").fit(X, y).predict_interval(asked)
    np.testing.assert_allclose(found, wanted, atol=1e-9)


def test_one_end_is_calibrated_whatever_the_model() -> None:
    """Mean of the end that the true class picks = share of the class: 150 tables of 60 rows, standard error 0.005."""
    rng = np.random.default_rng(5)
    gap = []
    for _ in range(150):
        y = rng.integers(0, 2, 60)
        X = rng.standard_t(2, (60, 1)) + y[:, None]
        model = bk.VennAbers(bk.NaiveBayes(), "inductive", calibration_size=0.5).fit(X[:50], y[:50])
        both = model.predict_interval(X[50:])
        gap.append((both[np.arange(10), y[50:]] - y[50:]).mean())
    assert abs(np.mean(gap)) < 4 * np.std(gap) / np.sqrt(len(gap))


def test_bad_input_is_refused_by_name() -> None:
    X, y = rows(30, 2, 0)
    with pytest.raises(InputError, match="choose one of cross, inductive, loo"):
        bk.VennAbers(bk.NaiveBayes(), "split").fit(X, y)
    with pytest.raises(InputError, match="ask estimator_"):
        bk.VennAbers(bk.NaiveBayes()).fit(X, y).predict_proba(X, prior="uniform")
    with pytest.raises(InputError, match="give more rows of it"):
        bk.VennAbers(bk.NaiveBayes(), "inductive").fit(X, np.where(np.arange(30) < 1, "rare", "usual"))
    with pytest.raises(InputError, match="method='inductive'"):
        bk.VennAbers(bk.NaiveBayes()).around(bk.NaiveBayes().fit(X, y), X, y)


def test_a_fold_without_a_class_says_little_of_it() -> None:
    """With rows of one class alone the regression with the new row as 0 is 0, and as 1 what the new row adds."""
    X, y = rows(40, 3, 5)
    y[:] = np.where(np.arange(40) == 7, 2, y % 2)  # one row of the last class
    model = bk.VennAbers(bk.NaiveBayes(), folds=4).fit(X, y)
    p = model.predict_proba(X)
    assert np.isfinite(p).all()
    np.testing.assert_allclose(p.sum(axis=1), 1)
    alone = InductiveVennAbers(np.array([0.1, 0.4]), np.array([False, False]))
    np.testing.assert_allclose(alone(np.array([0.0, 0.2, 0.9])), [[0, 1 / 3], [0, 1 / 2], [0, 1]])
