"""NormalScores: against ranks and quantiles of SciPy; holes, weights, streams, kinds of tables."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm, rankdata
from sklearn.pipeline import make_pipeline

import bayeskit as bk


@given(st.lists(st.one_of(st.floats(-1e6, 1e6), st.sampled_from([0.0, 1.0, 2.5])), min_size=1, max_size=60))
def test_scores_are_normal_quantiles_of_mean_ranks(values):
    x = np.array(values)
    expected = norm.ppf((rankdata(x) - 0.5) / len(x))
    assert bk.NormalScores().fit_transform(x[:, None])[:, 0] == pytest.approx(expected, abs=1e-9)


def test_thousands_of_values_are_read_from_cells():
    x = np.random.default_rng(0).lognormal(size=20_000)
    expected = norm.ppf((rankdata(x) - 0.5) / len(x))
    found = bk.NormalScores().fit_transform(x[:, None])[:, 0]
    middle = np.abs(expected) < 2
    assert np.abs(found - expected)[middle].max() < 0.02
    assert np.abs(found - expected).max() < 0.5


def test_between_values_it_is_straight_and_beyond_them_level():
    scores = bk.NormalScores().fit([[0.0], [1.0], [3.0]])
    low, middle, high = norm.ppf([1 / 6, 3 / 6, 5 / 6])
    asked = scores.transform([[-9.0], [0.5], [2.0], [99.0]])[:, 0]
    assert asked == pytest.approx([low, (low + middle) / 2, (middle + high) / 2, high])


def test_what_is_missing_stays_missing_and_levels_pass():
    table = pd.DataFrame({"x": [1.0, None, 3.0], "who": ["a", None, "b"]}, index=[7, 8, 9])
    found = bk.NormalScores().fit_transform(table)
    assert found.index.tolist() == [7, 8, 9]
    assert found["who"].tolist()[::2] == ["a", "b"]
    assert found["x"].isna().tolist() == [False, True, False]
    assert bk.NormalScores().fit_transform(pd.DataFrame({"x": [np.nan, np.nan]})).isna().all().all()


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_frame_comes_back_as_its_kind(kind):
    found = bk.NormalScores().fit_transform(kind({"x": [1.0, 2.0, 4.0]}))
    assert type(found) is type(kind({"x": [1.0]}))
    assert np.asarray(found["x"]) == pytest.approx(norm.ppf([1 / 6, 3 / 6, 5 / 6]))


def test_weights_streams_and_forgetting():
    rng = np.random.default_rng(1)
    x, times = rng.integers(0, 50, (300, 1)) / 4, rng.integers(0, 3, 300)
    repeated = bk.NormalScores().fit(np.repeat(x, times, axis=0)).transform(x)
    np.testing.assert_allclose(bk.NormalScores().fit(x, sample_weight=times).transform(x), repeated)
    parts = bk.NormalScores().partial_fit(x[:100]).partial_fit(x[100:])
    np.testing.assert_array_equal(parts.transform(x), bk.NormalScores().fit(x).transform(x))
    np.testing.assert_array_equal(
        parts.forget(x[:100]).transform(x[100:]), bk.NormalScores().fit(x[100:]).transform(x[100:])
    )


def test_a_normal_density_gains_by_it_where_numbers_are_skew():
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 2000)
    X = np.exp(2 * (rng.normal(size=(2000, 3)) + 0.7 * y[:, None]))
    plain, scored = bk.FullBayes(), make_pipeline(bk.NormalScores(), bk.FullBayes())
    assert scored.fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > plain.fit(X[::2], y[::2]).score(X[1::2], y[1::2]) + 0.03
