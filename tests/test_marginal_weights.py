"""Fitted weights change what columns count, not what their classes have."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer

import bayeskit as bk


@pytest.fixture(scope="module")
def table() -> tuple[pd.DataFrame, pd.Series]:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return X.iloc[:, :4], y


def test_means_and_deviations_are_those_of_the_classes(table: tuple[pd.DataFrame, pd.Series]) -> None:
    X, y = table
    model = bk.NaiveBayes(weights="fitted").fit(X, y)
    assert set(model.weights_) == set(X.columns)
    assert min(model.weights_.values()) < 0.9  # so the weights would show
    for name in X.columns:
        found = model.marginal(name)
        np.testing.assert_allclose(found.mean, X[name].groupby(y).mean(), rtol=1e-6)
        np.testing.assert_allclose(found.deviation, X[name].groupby(y).std(ddof=0), rtol=1e-4)
        assert found.weight == model.weights_[name]
    plain = {p["column"]: p for p in bk.NaiveBayes().fit(X, y).summary().parameters}
    for told in model.summary().parameters:
        assert told["bits"] == pytest.approx(plain[told["column"]]["bits"], rel=1e-12)


def test_points_of_a_nomogram_still_give_the_posterior(table: tuple[pd.DataFrame, pd.Series]) -> None:
    X, y = table
    model = bk.NaiveBayes(weights="fitted").fit(X, y)
    chart = model.nomogram(1)
    np.testing.assert_allclose(
        chart.probability(chart.points(X).sum(axis=1)), model.predict_proba(X)[:, 1], rtol=1e-9, atol=1e-12
    )
    (scale,) = [s for s in chart.scales if s.name == "mean texture"]
    asked = X.iloc[[0] * len(scale.values)].assign(**{"mean texture": scale.values})
    column = list(X.columns).index("mean texture")
    np.testing.assert_allclose(scale.points, chart.points(asked)[:, column], atol=1e-9)


def test_levels_of_joined_columns_have_the_shares_of_the_classes() -> None:
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, 900)
    X = pd.DataFrame({n: np.where(rng.random(900) < 0.6, y, rng.integers(0, 3, 900)).astype(str) for n in "abc"})
    model = bk.AJE().fit(X, y)
    for name in X.columns:
        found = model.marginal(name)
        shares = pd.crosstab(X[name], y, normalize="columns")
        np.testing.assert_allclose(found.shares, shares.loc[list(found.values)].to_numpy(), atol=0.02)


def test_weights_are_there_only_where_they_are_fitted() -> None:
    X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    with pytest.raises(AttributeError, match="weights_"):
        _ = bk.NaiveBayes().fit(X, y).weights_
    assert not hasattr(bk.NaiveBayes(weights="fitted"), "weights_")
