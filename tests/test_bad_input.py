"""What bad tables, labels, weights and files get: a named error that says what, where and what to do."""

import datetime as dt
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import bayeskit as bk
from bayeskit.errors import InputError, KindError, SchemaError

X = {"age": [20.0, 30.0, 40.0, 50.0], "town": ["A", "B", "A", "B"]}
Y = ["ill", "ill", "well", "well"]


def fitted(**settings):
    return bk.NaiveBayes(**settings).fit(X, Y)


def says(*parts):
    """A pattern that asks for all parts, in any order."""
    return "(?s)" + "".join(f"(?=.*{re.escape(part)})" for part in parts)


# -- tables --------------------------------------------------------------------------------------


EMPTY = {
    "numpy": np.empty((0, 2)),
    "pandas": pd.DataFrame({"age": pd.Series(dtype=float), "town": pd.Series(dtype=str)}),
    "arrow": pa.table({"age": pa.array([], pa.float64()), "town": pa.array([], pa.string())}),
    "polars": pl.DataFrame({"age": [], "town": []}, schema={"age": pl.Float64, "town": pl.String}),
    "mapping": {"age": [], "town": []},
}


@pytest.mark.parametrize("empty", EMPTY.values(), ids=EMPTY)
def test_a_table_without_rows_teaches_nothing(empty):
    with pytest.raises(InputError, match=says("0 sample", "(0, 2)")):
        bk.NaiveBayes().fit(empty, [])


@pytest.mark.parametrize("empty", EMPTY.values(), ids=EMPTY)
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_a_table_without_rows_cannot_be_asked_about(empty):
    with pytest.raises(InputError, match="0 sample"):
        fitted().predict(empty)


@pytest.mark.parametrize("table", [np.empty((4, 0)), pd.DataFrame(index=range(4)), np.empty((4, 0), dtype=object)])
def test_a_table_without_columns(table):
    with pytest.raises(InputError, match=says("0 feature")):
        bk.NaiveBayes().fit(table, Y)


def test_a_table_with_nothing_but_its_target():
    with pytest.raises(InputError, match=says("no column besides the target")):
        bk.NaiveBayes().fit(pd.DataFrame({"sick": Y}), "sick")


DAY = dt.date(2024, 5, 1)
ODD_COLUMNS = {
    "lists": [[1.0, 2.0], [3.0], [], [4.0]],
    "records": [{"a": 1}, {"a": 2}, {"a": 3}, {"a": 4}],
    "dates": [DAY] * 4,
    "moments": [dt.datetime(2024, 5, 1, 12)] * 4,
    "times": [dt.time(12)] * 4,
    "durations": [dt.timedelta(days=3)] * 4,
    "bytes": [b"a", b"b", b"c", b"d"],
}


@pytest.mark.parametrize("kind", ODD_COLUMNS)
@pytest.mark.parametrize("make", [pa.table, pl.DataFrame, pd.DataFrame, dict], ids=lambda make: make.__module__)
def test_columns_of_neither_numbers_nor_levels_are_refused_by_name(make, kind):
    table = make({"age": X["age"], "odd": ODD_COLUMNS[kind]})
    with pytest.raises(KindError, match=says("'odd'", "leave it out")):
        bk.NaiveBayes().fit(table, Y)


@pytest.mark.parametrize("dtype", ["datetime64[D]", "timedelta64[s]"])
def test_a_matrix_of_dates_is_refused(dtype):
    with pytest.raises(KindError, match=says(dtype[:9], "convert")):
        bk.NaiveBayes().fit(np.zeros((4, 2), dtype=dtype), Y)


def test_a_dictionary_of_dates_is_refused_by_name():
    with pytest.raises(KindError, match=says("'day'", "date32")):
        bk.NaiveBayes().fit(pa.table({"day": pa.array([DAY] * 4).dictionary_encode()}), Y)


@pytest.mark.parametrize("table", [pd.DataFrame({"odd": [1, "a", 2, "b"]}), {"odd": [1, {"a": 1}, 2, 3]}])
def test_a_column_that_mixes_types_is_refused_by_name(table):
    with pytest.raises(KindError, match=says("odd", "convert")):
        bk.NaiveBayes().fit(table, Y)


@pytest.mark.parametrize("infinite", [np.inf, -np.inf])
@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table, dict], ids=lambda make: make.__module__)
def test_infinite_values_are_refused_in_fit_and_predict(make, infinite):
    table = make({"age": [20.0, None, infinite, 50.0], "town": X["town"]})
    model = fitted()
    before = model.model_.digest
    for call in (model.fit, model.partial_fit, model.forget):
        with pytest.raises(InputError, match=says("'age'", str(infinite), "row 2", "missing")):
            call(table, Y)
    for ask in (model.predict, model.predict_proba, model.log_evidence, model.explain):
        with pytest.raises(InputError, match=says("'age'", str(infinite))):
            ask(table)
    assert model.model_.digest == before


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, object])
def test_infinite_values_of_a_matrix_are_refused(dtype):
    x = np.array([[1, 2], [3, np.inf], [5, 6], [7, 8]], dtype=dtype)
    with pytest.raises(InputError, match=says("'x1'", "inf", "row 1")):
        bk.NaiveBayes().fit(x, Y)


@pytest.mark.parametrize("j", [0, 1], ids=["a column that varies", "a constant column"])
@pytest.mark.parametrize("family", [None, "Gaussian", "Kernel"])
def test_infinite_values_of_any_column_are_refused_in_predict(j, family):
    rng = np.random.default_rng(4)
    x = np.column_stack([rng.normal(size=500), np.full(500, 3.0)])
    model = bk.NaiveBayes(families=family).fit(x, np.arange(500) % 2)
    x[77, j] = -np.inf
    for ask in (model.predict, model.predict_proba, model.predict_joint_log_proba, model.log_evidence, model.explain):
        with pytest.raises(InputError, match=says(f"'x{j}'", "-inf", "row 77")):
            ask(x)


def test_an_infinite_level_is_refused_by_the_name_of_its_column():
    with pytest.raises(InputError, match=says("'grade'", "inf")):
        bk.NaiveBayes(kinds={"grade": "nominal"}).fit({"grade": [1.0, 2.0, np.inf, 1.0]}, Y)


DOUBLED = {
    "pandas": pd.DataFrame([[1.0, 2.0]] * 4, columns=["a", "a"]),
    "pandas, number and text": pd.DataFrame([[1.0, 2.0]] * 4, columns=[7, "7"]),
    "arrow": pa.table([X["age"], X["age"]], names=["a", "a"]),
    "batch": pa.record_batch([pa.array(X["age"])] * 2, names=["a", "a"]),
    "mapping": {7: X["age"], "7": X["age"]},
    "records": [{7: 1.0, "7": 2.0}] * 4,
}


@pytest.mark.parametrize("table", DOUBLED.values(), ids=DOUBLED)
def test_doubled_column_names_are_refused(table):
    with pytest.raises(SchemaError, match=says("twice", "rename")):
        bk.NaiveBayes().fit(table, Y)


def test_a_doubled_column_name_at_prediction_is_refused():
    table = pa.table([X["age"], X["age"], X["town"]], names=["age", "age", "town"])
    with pytest.raises(SchemaError, match=says("'age'", "twice")):
        fitted().predict(table)


def test_a_lacking_and_an_extra_column_are_named():
    with pytest.raises(SchemaError, match=says("unseen at fit time", "height", "now missing", "town")):
        fitted().predict({"age": [1.0], "height": [2.0]})
    with pytest.raises(SchemaError, match=says("unseen at fit time", "height")):
        fitted().partial_fit({**X, "height": [1.0] * 4}, Y)


def test_a_column_that_changed_its_type_is_named():
    with pytest.raises(KindError, match=says("'age'", "numbers", "string")):
        fitted().predict({"age": ["old"], "town": ["A"]})
    with pytest.raises(InputError, match=says("'age'", "kinds")):
        fitted().partial_fit({"age": ["old"] * 4, "town": X["town"]}, Y)


@pytest.mark.parametrize("table", [None, 5, [1.0, 2.0], np.zeros((2, 2, 2)), np.array([[1j]])])
def test_what_is_no_table_is_refused(table):
    with pytest.raises(InputError, match=r"2D array|Complex|None is no table"):
        bk.NaiveBayes().fit(table, [0, 1])


# -- labels and weights ----------------------------------------------------------------------------


@pytest.mark.parametrize("table", [X, pd.DataFrame(X), pa.table(X), pl.DataFrame(X)])
def test_an_unknown_target_is_named_with_the_columns_there_are(table):
    with pytest.raises(SchemaError, match=says("'sick'", "age", "town")):
        bk.NaiveBayes().fit(table, "sick")


def test_a_matrix_has_no_column_to_name():
    with pytest.raises(SchemaError, match=says("'sick'", "no names")):
        bk.NaiveBayes().fit(np.zeros((4, 2)), "sick")


BAD_LABELS = {
    "none": (None, "y"),
    "short": (Y[:3], "3"),
    "long": ([*Y, "ill"], "5"),
    "continuous": ([0.5, 1.5, 2.5, 0.5], "continuous"),
    "infinite": ([0.0, 1.0, np.inf, 1.0], "inf"),
    "all missing": ([None] * 4, "no row has a label"),
    "all NaN": ([np.nan] * 4, "no row has a label"),
    "two columns": (np.zeros((4, 2)), "1d"),
}


@pytest.mark.parametrize("case", BAD_LABELS)
def test_bad_labels_are_refused_and_the_model_stays(case):
    y, said = BAD_LABELS[case]
    model = fitted()
    before = model.model_.digest
    for call in (model.fit, model.partial_fit, model.forget):
        with pytest.raises(InputError, match=rf"(?s)(?=.*\by\b)(?=.*{said})"):
            call(X, y)
    assert model.model_.digest == before


@pytest.mark.parametrize("y", [[DAY] * 4, [[1]] * 3 + [[2, 3]], [1, "a", 2, "b"]], ids=["dates", "lists", "mixed"])
def test_labels_of_no_usable_type_are_refused(y):
    labels = np.empty(4, dtype=object)
    labels[:] = y
    with pytest.raises(KindError, match=r"\by\b"):
        bk.NaiveBayes().fit(X, labels)


BAD_WEIGHTS = {
    "negative": ([1, 1, -1, 1], "-1"),
    "NaN": ([1, 1, np.nan, 1], "nan"),
    "missing": ([1, 1, None, 1], "nan"),
    "infinite": ([1, 1, np.inf, 1], "inf"),
    "short": ([1, 1], "2 values"),
    "all zero": ([0, 0, 0, 0], "zero"),
    "two columns": (np.ones((4, 2)), "1d"),
    "unknown name": ("heft", "'heft'"),
}


@pytest.mark.parametrize("case", BAD_WEIGHTS)
def test_bad_weights_are_refused_and_the_model_stays(case):
    weights, said = BAD_WEIGHTS[case]
    model = fitted()
    before = model.model_.digest
    for call in (model.fit, model.partial_fit, model.forget):
        with pytest.raises(InputError, match=says("weight", said)):
            call(X, Y, sample_weight=weights)
    assert model.model_.digest == before


def test_weights_of_text_are_refused():
    with pytest.raises(KindError, match="weight"):
        bk.NaiveBayes().fit(X, Y, sample_weight=["a", "b", "c", "d"])
