"""KNNBayes on hard tables and with bad settings: finite answers or named errors."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris

import bayeskit as bk
from bayeskit.errors import InputError, SchemaError
from knn_reference import METRICS, mixed, numbers


@pytest.mark.parametrize("metric", METRICS)
def test_hard_tables_give_finite_answers(metric):
    rng = np.random.default_rng(0)
    y = np.array([0, 0, 0, 1, 1, 2])
    X = rng.normal(size=(6, 4))
    tables = {
        "more columns than rows": rng.normal(size=(6, 30)),
        "duplicate columns": np.column_stack([X, X]),
        "constant columns": np.column_stack([X, np.ones(6)]),
        "only constant columns": np.ones((6, 2)),
        "constant within classes": np.column_stack([X, y.astype(float)]),
        "huge": X * 1e300,
        "tiny": X * 5e-324,
        "huge and tiny": X * [1e300, 1e-300, 1.0, 5e-324],
        "an empty column": np.column_stack([X, np.full(6, np.nan)]),
        "nothing": np.full((6, 2), np.nan),
    }
    for name, table in tables.items():
        model = bk.KNNBayes(k=50, metric=metric).fit(table, y)
        asked = np.vstack([table, table + 1e5, np.full((1, table.shape[1]), np.nan)])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            proba = model.predict_proba(asked, prior="uniform")
            assert np.isfinite(model.log_evidence(asked)).all(), name
        assert np.isfinite(proba).all(), name
        assert proba.sum(axis=1) == pytest.approx(1), name


@pytest.mark.parametrize("metric", METRICS)
def test_a_row_without_values_gets_the_prior(metric):
    X, y = numbers()
    asked = np.full((2, 3), np.nan)
    model = bk.KNNBayes(metric=metric).fit(X, y)
    assert model.predict_proba(asked) == pytest.approx(np.tile(np.bincount(y) / len(y), (2, 1)))
    assert model.predict_proba(asked, prior=[0.2, 0.3, 0.5]) == pytest.approx(np.tile([0.2, 0.3, 0.5], (2, 1)))
    assert np.isnan(model.neighbors(asked).radius).all()


def test_k_larger_than_the_rows_takes_them_all():
    X, y = load_iris(return_X_y=True)
    assert bk.KNNBayes(k=10**6).fit(X, y).predict_proba(X[:2]) == pytest.approx(np.full((2, 3), 1 / 3))


@pytest.mark.parametrize("metric", METRICS[:3])
def test_a_metric_of_numbers_refuses_other_columns_by_name(metric):
    X, y = mixed()
    with pytest.raises(SchemaError, match=r"'town' is nominal.*gower"):
        bk.KNNBayes(metric=metric).fit(X[["x", "town"]], y)
    with pytest.raises(SchemaError, match=r"'x' has missing=\"level\".*gower"):
        bk.KNNBayes(metric=metric, missing="level").fit(X[["x"]], y)
    assert bk.KNNBayes(metric="gower", missing="level").fit(X, y).score(X, y) > 0.3


def test_levels_have_no_evidence():
    X, y = mixed()
    with pytest.raises(InputError, match="volume"):
        bk.KNNBayes(metric="gower").fit(X, y).log_evidence(X)


@pytest.mark.parametrize(
    "settings",
    [
        {"k": 0},
        {"k": 2.5},
        {"k": True},
        {"metric": "cosine"},
        {"scale": "range"},
        {"weights": "distance"},
        {"pseudo": -1},
        {"max_rows": 0},
        {"random_state": -1},
        {"random_state": None},
    ],
    ids=str,
)
def test_bad_settings_are_named(settings):
    with pytest.raises(InputError, match=f"{next(iter(settings))}="):
        bk.KNNBayes(**settings).fit(*numbers())
