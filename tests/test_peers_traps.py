"""Silent surprises of other libraries, none of which may happen here: columns, their kinds and their names."""

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import stats
from sklearn.datasets import load_iris

import bayeskit as bk
from bayeskit.families import Categorical, Gaussian

RNG = np.random.default_rng(7)
BITS = RNG.integers(0, 2, 60)
AGE = RNG.normal(40, 9, 60)
LABEL = np.where(BITS + RNG.normal(0, 0.8, 60) > 0.5, "ill", "well")


@pytest.mark.parametrize("name", ["families", "smoothing", "independence", "errors", "NaiveBayes", "merge", "load"])
def test_a_public_name_means_the_same_at_first_and_second_use(name):
    code = f"import bayeskit as bk; first = bk.{name}; assert first is bk.{name}, (first, bk.{name})"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("use", ["families.Gaussian", "smoothing.Laplace", "errors.InputError"])
def test_public_modules_work_from_the_first_use(use):
    subprocess.run([sys.executable, "-c", f"import bayeskit as bk; bk.{use}"], check=True)


# -- kinds -----------------------------------------------------------------------------------------


CODINGS = {
    "1, 2": (1, 2),
    "0, 1": (0, 1),
    "-1, 1": (-1, 1),
    "a, b": ("a", "b"),
    "bool": (False, True),
    "0.5, 7": (0.5, 7.0),
}


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame, pa.table], ids=lambda make: make.__module__)
@pytest.mark.parametrize("coding", CODINGS.values(), ids=CODINGS)
def test_a_declared_binary_column_may_be_coded_in_any_way(coding, make):
    table = make({"flag": np.array(coding)[BITS], "age": AGE})
    model = bk.NaiveBayes(kinds={"flag": "binary"}).fit(table, LABEL)
    n = {c: [np.sum((c == LABEL) & (b == BITS)) for b in (0, 1)] for c in ("ill", "well")}
    table_part = np.array([[(n[c][b] + 1) / (sum(n[c]) + 2) for c in n] for b in BITS])
    ages = [stats.norm(AGE[c == LABEL].mean(), AGE[c == LABEL].std()).pdf(AGE) for c in n]
    joint = table_part * np.stack(ages, axis=1) * [sum(n[c]) / 60 for c in n]
    assert model.predict_proba(table) == pytest.approx(joint / joint.sum(axis=1, keepdims=True), rel=1e-12)


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64, np.float32, np.float64, object])
def test_a_binary_column_of_a_matrix_is_declared_by_position(dtype):
    expected = bk.NaiveBayes(kinds={"flag": "binary"}).fit({"flag": BITS, "age": np.arange(60)}, LABEL)
    x = np.column_stack([BITS + 1, np.arange(60)]).astype(dtype)
    model = bk.NaiveBayes(kinds={0: "binary"}).fit(x, LABEL)
    old = expected.predict_proba({"flag": BITS, "age": np.arange(60)})
    assert np.array_equal(model.predict_proba(x), old)


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint8, np.float32, np.float64])
def test_undeclared_integers_are_numbers(dtype):
    x = RNG.integers(0, 3, (60, 2)).astype(dtype)
    model = bk.NaiveBayes().fit(x, LABEL)
    assert [c.kind for c in model.schema_.columns] == ["quantitative"] * 2
    assert all("type" in c.why for c in model.schema_.columns)
    parts = [x[c == LABEL].astype(float) for c in ("ill", "well")]
    terms = np.stack([stats.norm(p.mean(axis=0), p.std(axis=0)).logpdf(x) for p in parts], axis=2)
    assert model.explain(x).terms == pytest.approx(terms, rel=1e-12)


def test_kinds_follow_the_type_not_the_values():
    kinds = {
        "number as text": (pa.array(["1", "2"] * 30), "nominal"),
        "flag": (pa.array([True, False] * 30), "binary"),
        "code": (pa.array([1, 2] * 30), "quantitative"),
        "category": (pa.array([1, 2] * 30).dictionary_encode(), "nominal"),
        "decimal": (pa.array([1, 2] * 30).cast(pa.decimal128(21, 2)), "quantitative"),
        "float": (pa.array([1.0, 2.0] * 30, pa.float16()), "quantitative"),
    }
    model = bk.NaiveBayes().fit(pa.table({name: values for name, (values, _) in kinds.items()}), LABEL)
    assert {c.name: c.kind for c in model.schema_.columns} == {name: kind for name, (_, kind) in kinds.items()}


def test_an_integer_column_given_categories_is_told_so_in_the_schema():
    model = bk.NaiveBayes(families={"flag": Categorical()}).fit({"flag": BITS, "age": AGE}, LABEL)
    column = model.schema_["flag"]
    assert column.kind == "nominal"
    assert "Categorical" in column.why


def test_the_schema_says_why():
    settings = {"kinds": {"flag": "binary"}, "families": {"age": Gaussian(predictive=True)}}
    model = bk.NaiveBayes(**settings).fit({"flag": BITS, "age": AGE, "town": LABEL}, LABEL)
    text = str(model.schema_)
    for said in ("flag", "binary", "declared", "age", "quantitative", "predictive=True", "town", "nominal", "string"):
        assert said in text


# -- columns that say little -----------------------------------------------------------------------


@pytest.mark.parametrize("family", [Gaussian(), Gaussian(predictive=True)], ids=["normal", "student"])
def test_a_noise_column_of_sd_1e6_leaves_the_others_alone(family):
    X, y = load_iris(return_X_y=True)
    noise = np.random.default_rng(0).normal(0, 1, (150, 1))
    plain = bk.NaiveBayes(families=family).fit(np.hstack([X, noise]), y)
    kept = bk.NaiveBayes(families=family).fit(np.hstack([X, noise * 1e6]), y)
    expected = plain.predict_proba(np.hstack([X, noise]))
    assert kept.predict_proba(np.hstack([X, noise * 1e6])) == pytest.approx(expected, rel=1e-9, abs=1e-14)
    assert kept.score(np.hstack([X, noise * 1e6]), y) == plain.score(np.hstack([X, noise]), y) > 0.93


@pytest.mark.parametrize("value", [3.0, 0.0, -1e300, 5e-324])
@pytest.mark.parametrize("family", [Gaussian(), Gaussian(predictive=True)], ids=["normal", "student"])
def test_a_constant_column_says_nothing_and_is_reported(value, family):
    table = {"age": AGE, "same": np.full(60, value)}
    model = bk.NaiveBayes(families=family).fit(table, LABEL)
    assert not model.explain({"age": AGE, "same": np.full(60, 12.0)}).terms[:, 1].any()
    alone = bk.NaiveBayes(families=family).fit({"age": AGE}, LABEL)
    assert np.array_equal(model.predict_proba(table), alone.predict_proba({"age": AGE}))
    assert "same" in model.summary().constant
    assert "age" not in model.summary().constant
    assert "constant" in str(model.summary())


def test_a_constant_column_of_levels_cancels():
    model = bk.NaiveBayes().fit({"flag": BITS, "same": ["a"] * 60}, LABEL)
    assert np.ptp(model.explain({"flag": BITS, "same": ["a"] * 60}).terms[:, 1]) == 0


def test_ten_thousand_columns():
    rng = np.random.default_rng(1)
    X, y = rng.normal(0, 1, (40, 10_000)), np.arange(40) % 2
    model = bk.NaiveBayes().fit(X, y)
    log = [stats.norm(X[y == c].mean(axis=0), X[y == c].std(axis=0)).logpdf(X).sum(axis=1) for c in (0, 1)]
    assert model.predict_joint_log_proba(X) == pytest.approx(np.stack(log, axis=1) + np.log(0.5), rel=1e-11)
    proba = model.predict_proba(X)
    assert np.isfinite(proba).all()
    assert proba.sum(axis=1) == pytest.approx(np.ones(40))


def test_ten_thousand_columns_of_levels():
    rng = np.random.default_rng(1)
    codes, y = rng.integers(0, 3, (40, 10_000)), np.arange(40) % 2
    table = pa.table({f"c{j}": pa.array(np.array(["a", "b", "c"])[codes[:, j]]) for j in range(10_000)})
    model = bk.NaiveBayes().fit(table, y)
    n = np.stack([[(codes[y == c] == v).sum(axis=0) for v in range(3)] for c in (0, 1)])  # (K, levels, columns)
    levels = np.array([np.any(codes == v, axis=0) for v in range(3)]).sum(axis=0)
    p = np.log(n + 1) - np.log(20 + levels)
    log = np.stack([p[c][codes, np.arange(10_000)].sum(axis=1) for c in (0, 1)], axis=1) + np.log(0.5)
    assert model.predict_joint_log_proba(table) == pytest.approx(log, rel=1e-11)


# -- names -----------------------------------------------------------------------------------------


def test_a_named_index_is_no_feature():
    frame = pd.DataFrame({"age": AGE, "flag": BITS}, index=pd.Index(np.arange(60) * 3, name="patient"))
    model = bk.NaiveBayes().fit(frame, LABEL)
    assert model.feature_names_in_.tolist() == ["age", "flag"]
    assert model.model_.digest == bk.NaiveBayes().fit(frame.reset_index(drop=True), LABEL).model_.digest
    assert model.predict_proba(frame.iloc[::-1]).shape == (60, 2)


def test_labels_are_matched_to_rows_by_position():
    frame, y = pd.DataFrame({"age": AGE}), pd.Series(LABEL, index=np.arange(60)[::-1])
    assert bk.NaiveBayes().fit(frame, y).model_.digest == bk.NaiveBayes().fit({"age": AGE}, LABEL).model_.digest


def test_integer_column_names_are_names():
    frame = pd.DataFrame({7: AGE, 3: BITS})
    model = bk.NaiveBayes(kinds={3: "binary"}).fit(frame, LABEL)
    assert [c.kind for c in model.schema_.columns] == ["quantitative", "binary"]
    assert np.array_equal(model.predict_proba(frame[[3, 7]]), model.predict_proba(frame))


def test_positional_column_names_are_no_names():
    frame = pd.DataFrame({0: AGE, 1: BITS})
    model = bk.NaiveBayes(kinds={1: "binary"}).fit(frame, LABEL)
    assert [c.kind for c in model.schema_.columns] == ["quantitative", "binary"]
    assert np.array_equal(model.predict_proba(np.column_stack([AGE, BITS])), model.predict_proba(frame))


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table, dict], ids=lambda make: make.__module__)
def test_columns_come_in_any_order(make):
    table = {"age": AGE, "flag": BITS.astype(bool), "town": LABEL}
    turned = make({name: table[name] for name in ("town", "age", "flag")})
    model = bk.NaiveBayes().fit(make(table), LABEL)
    expected = model.predict_proba(make(table))
    assert np.array_equal(model.predict_proba(turned), expected)
    both = bk.NaiveBayes().fit(make(table), LABEL).partial_fit(turned, LABEL)
    assert both.model_.digest == model.partial_fit(make(table), LABEL).model_.digest


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table, dict], ids=lambda make: make.__module__)
def test_the_label_column_is_ignored_at_prediction(make):
    table = {"age": AGE, "sick": LABEL, "flag": BITS}
    model = bk.NaiveBayes().fit(make(table), "sick")
    assert model.feature_names_in_.tolist() == ["age", "flag"]
    without = model.predict_proba(make({"age": AGE, "flag": BITS}))
    assert np.array_equal(model.predict_proba(make(table)), without)
    assert np.array_equal(model.predict_proba(make({**table, "sick": [None] * 60})), without)
