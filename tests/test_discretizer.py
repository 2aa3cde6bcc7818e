"""Discretizer: cuts of frames, matrices, files and streams, and what stands before and after it."""

import copy

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.datasets import load_iris
from sklearn.naive_bayes import CategoricalNB
from sklearn.pipeline import make_pipeline

import bayeskit as bk
from bayeskit.errors import ForgetError, InputError, SchemaError
from bayeskit.families import Histogram


def mixed(rows=400):
    rng = np.random.default_rng(0)
    y = rng.choice(["no", "yes"], rows)
    age = np.round(rng.normal(40 + 15 * (y == "yes"), 6), 1)
    age[::9] = np.nan
    return pd.DataFrame({"age": age, "town": rng.choice(["A", "B"], rows)}, index=np.arange(rows) + 7), y


def test_a_frame_comes_back_with_intervals():
    X, y = mixed()
    found = bk.Discretizer(method="mdlp").fit(X, y)
    out = found.transform(X)
    assert out.columns.tolist() == found.get_feature_names_out().tolist() == ["age", "town"]
    assert out.index.equals(X.index)
    assert out["town"].tolist() == X["town"].tolist()
    cuts = found.cuts_["age"]
    known = pd.cut(X["age"], [-np.inf, *cuts, np.inf])
    assert out["age"].cat.codes.tolist() == known.cat.codes.tolist()
    assert out["age"].cat.ordered
    assert out["age"].isna().tolist() == X["age"].isna().tolist()
    assert out["age"].cat.categories.tolist() == found.intervals_["age"]
    assert found.intervals_["age"][0] == f"(-inf, {cuts[0]:g}]"


@pytest.mark.parametrize("make", [pl.from_pandas, lambda t: pa.Table.from_pandas(t, preserve_index=False)])
def test_other_frames_come_back_as_they_are(make):
    X, y = mixed()
    found = bk.Discretizer(method="mdlp").fit(X, y)
    given = make(X)
    out = found.transform(given)
    assert type(out) is type(given)
    column = out["age"].to_list() if isinstance(out, pl.DataFrame) else out["age"].to_pylist()
    assert column == [None if isinstance(v, float) else v for v in found.transform(X)["age"].tolist()]


def test_right_closed_cuts_in_a_matrix():
    found = bk.Discretizer(cuts=[1.0, 2.0]).fit([[0.0, 5.0]])
    out = found.transform([[1.0, np.nextafter(1.0, 2.0)], [2.0, np.nan], [2.5, -1e300]])
    assert np.array_equal(out, [[0, 1], [1, np.nan], [2, 0]], equal_nan=True)


def test_cuts_by_column_leave_the_others_to_the_method():
    X = pd.DataFrame({"a": [0.0, 1.0, 2.0, 10.0], "b": [0.0, 1.0, 2.0, 10.0]})
    found = bk.Discretizer(cuts={"a": [5.2, 6.1]}, bins=2).fit(X)
    assert found.cuts_ == {"a": (5.2, 6.1), "b": (5.0,)}
    assert found.intervals_["a"] == ["(-inf, 5.2]", "(5.2, 6.1]", "(6.1, inf)"]


@pytest.mark.parametrize("method", ["width", "frequency", "mdlp"])
def test_batches_files_and_threads_give_the_same_cuts(method, tmp_path):
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, 6000)
    X = pd.DataFrame({"a": rng.normal(y, 1), "b": rng.gamma(1.0 + y)})
    whole = bk.Discretizer(method=method).fit(X, y)
    parts = bk.Discretizer(method=method)
    for start in range(0, 6000, 700):
        parts.partial_fit(X[start : start + 700], y[start : start + 700])
    assert parts.cuts_ == whole.cuts_
    pq.write_table(pa.Table.from_pandas(X.assign(y=y), preserve_index=False), tmp_path / "t.parquet")
    file = bk.Discretizer(method=method, n_jobs=2).fit(tmp_path / "t.parquet", "y")
    assert file.cuts_ == whole.cuts_
    assert file.transform(tmp_path / "t.parquet")["a"].to_pylist() == whole.transform(X)["a"].tolist()


def test_weights_are_repetition_and_forgetting_is_a_refit():
    X, y = load_iris(return_X_y=True)
    w = np.random.default_rng(2).integers(0, 4, len(y))
    weighted = bk.Discretizer(method="mdlp").fit(X, y, sample_weight=w)
    repeated = bk.Discretizer(method="mdlp").fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    assert weighted.cuts_ == repeated.cuts_
    whole = bk.Discretizer(method="mdlp").fit(X, y)
    left = copy.deepcopy(whole).forget(X[100:120], y[100:120])
    kept = np.r_[0:100, 120:150]
    assert left.cuts_ == bk.Discretizer(method="mdlp").fit(X[kept], y[kept]).cuts_
    with pytest.raises(ForgetError):
        whole.forget([[99.0, 1.0, 1.0, 1.0]], [0])


def test_before_other_classifiers():
    X, y = load_iris(return_X_y=True)
    theirs = make_pipeline(bk.Discretizer(method="mdlp"), CategoricalNB()).fit(X, y)
    ours = make_pipeline(bk.Discretizer(method="mdlp"), bk.NaiveBayes(kinds="nominal")).fit(X, y)
    frame = pd.DataFrame(X, columns=list("abcd"))
    named = make_pipeline(bk.Discretizer(method="mdlp"), bk.NaiveBayes(kinds="nominal")).fit(frame, y)
    assert ours.predict_proba(X) == pytest.approx(theirs.predict_proba(X), rel=1e-12)
    assert named.predict_proba(frame) == pytest.approx(theirs.predict_proba(X), rel=1e-12)
    assert ours.score(X, y) > 0.93


def test_a_histogram_with_mdlp_uses_the_same_cuts():
    X, y = load_iris(return_X_y=True)
    model = bk.NaiveBayes(families={"x2": Histogram(bins="mdlp")}).fit(X, y)
    owner = next(d for d in model.model_.density.densities if d.columns == ("x2",))
    assert owner.cells[0].cuts[1:-1].tolist() == list(bk.Discretizer(method="mdlp").fit(X, y).cuts_["x2"])
    assert model.score(X, y) > 0.93


def test_set_output():
    X, y = load_iris(return_X_y=True)
    out = bk.Discretizer(bins=3).set_output(transform="pandas").fit_transform(X, y)
    assert out.columns.tolist() == ["x0", "x1", "x2", "x3"]
    assert set(out["x0"]) == {0.0, 1.0, 2.0}


def test_a_target_by_name_is_left_out():
    X, y = mixed()
    found = bk.Discretizer(method="mdlp").fit(X.assign(label=y), "label")
    assert found.cuts_ == bk.Discretizer(method="mdlp").fit(X, y).cuts_
    assert list(bk.Discretizer().fit(X.assign(label=np.arange(len(X)) / 7), "label").cuts_) == ["age"]


def test_a_constant_or_empty_column_is_one_interval():
    X = pd.DataFrame({"same": [3.0] * 4, "none": [np.nan] * 4})
    for method in ("width", "frequency", "mdlp"):
        found = bk.Discretizer(method=method).fit(X, [0, 1, 0, 1])
        assert found.intervals_ == {"same": ["(-inf, inf)"], "none": ["(-inf, inf)"]}
        assert found.transform(X)["none"].isna().all()


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"cuts": [2.0, 1.0]}, "ascending"),
        ({"cuts": {"age": [5.0, 5.0]}}, r"cuts\['age'\]"),
        ({"cuts": {"age": ["a"]}}, "numbers"),
        ({"cuts": {"age": [np.inf]}}, "finite"),
        ({"cuts": []}, "at least one cut"),
        ({"method": "best"}, "method='best'"),
        ({"bins": 0}, "bins=0"),
        ({"bins": 2.5}, r"bins=2\.5"),
    ],
    ids=str,
)
def test_bad_settings_are_named(settings, match):
    with pytest.raises(InputError, match=match):
        bk.Discretizer(**settings).fit(*mixed())


def test_bad_columns_are_named():
    X, y = mixed()
    with pytest.raises(SchemaError, match="'size'"):
        bk.Discretizer(cuts={"size": [1.0]}).fit(X)
    with pytest.raises(SchemaError, match="'town', which is nominal"):
        bk.Discretizer(cuts={"town": [1.0]}).fit(X)
    with pytest.raises(InputError, match="requires y"):
        bk.Discretizer(method="mdlp").fit(X)
    with pytest.raises(SchemaError, match="age"):
        bk.Discretizer().fit(X, y).transform(X[["town"]])
    with pytest.raises(InputError, match="infinite"):
        bk.Discretizer().fit(X.assign(age=np.inf), y)
