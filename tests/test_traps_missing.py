"""Silent surprises of other libraries: values that are not there."""

from fractions import Fraction as F

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import stats

import bayeskit as bk

AGE = [20.0, None, 40.0, 50.0, 61.0, 33.0]
TOWN = ["A", "B", None, "B", "B", "A"]
Y = ["ill", "ill", "well", "well", "well", "ill"]
NAN = float("nan")


def posterior(*joint):
    return np.array([float(p / sum(joint)) for p in joint])


def objects(values, hole):
    return np.array([hole if v is None else v for v in values], dtype=object)


# The same table with every sort of hole.
MISSING = {
    "arrow null": pa.table({"age": AGE, "town": TOWN}),
    "arrow NaN": pa.table({"age": [NAN if v is None else v for v in AGE], "town": TOWN}),
    "absent key": [
        {k: v for k, v in (("age", a), ("town", t)) if v is not None} for a, t in zip(AGE, TOWN, strict=True)
    ],
    "None": {"age": objects(AGE, None), "town": objects(TOWN, None)},
    "NaN object": {"age": objects(AGE, NAN), "town": objects(TOWN, NAN)},
    "pd.NA object": pd.DataFrame({"age": objects(AGE, pd.NA), "town": objects(TOWN, pd.NA)}),
    "NaT object": pd.DataFrame({"age": objects(AGE, pd.NaT), "town": objects(TOWN, pd.NaT)}),
    "pandas": pd.DataFrame({"age": AGE, "town": TOWN}),
    "pandas nullable": pd.DataFrame({"age": pd.array(AGE, dtype="Float64"), "town": pd.array(TOWN, dtype="string")}),
    "pandas category": pd.DataFrame({"age": AGE, "town": pd.Categorical(TOWN)}),
    "polars null": pl.DataFrame({"age": AGE, "town": TOWN}),
    "polars NaN": pl.DataFrame({"age": [NAN if v is None else v for v in AGE], "town": TOWN}),
    "polars categorical": pl.DataFrame({"age": AGE, "town": TOWN}, schema={"age": pl.Float64, "town": pl.Categorical}),
}


@pytest.mark.parametrize("hole", MISSING)
def test_every_sort_of_hole_is_the_same(hole):
    model = bk.NaiveBayes().fit(MISSING[hole], Y)
    assert model.model_.digest == bk.NaiveBayes().fit(MISSING["arrow null"], Y).model_.digest
    ages = {"ill": [20.0, 33.0], "well": [40.0, 50.0, 61.0]}
    towns = {"ill": {"A": F(3, 5), "B": F(2, 5)}, "well": {"A": F(1, 4), "B": F(3, 4)}}
    joint = np.full((6, 2), 0.5)
    for k, c in enumerate(ages):
        density = stats.norm(np.mean(ages[c]), np.std(ages[c]))
        for i, (age, town) in enumerate(zip(AGE, TOWN, strict=True)):
            joint[i, k] *= (1 if age is None else density.pdf(age)) * (1 if town is None else float(towns[c][town]))
    expected = joint / joint.sum(axis=1, keepdims=True)
    assert model.predict_proba(MISSING[hole]) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, object])
def test_a_hole_in_a_matrix_is_dropped(dtype):
    x = np.array([[1, NAN], [2, 5], [NAN, 7], [4, 9]], dtype=dtype)
    model = bk.NaiveBayes().fit(x, [0, 0, 1, 1])
    terms = model.explain(x).terms
    assert not terms[0, 1].any()
    assert not terms[2, 0].any()
    assert terms[0, 0, 0] == pytest.approx(stats.norm(1.5, 0.5).logpdf(1), rel=1e-13)


def test_a_row_of_holes_has_the_prior_as_posterior_and_evidence_one():
    model = bk.NaiveBayes().fit(MISSING["pandas"], Y)
    row = {"age": [None], "town": [None]}
    assert model.predict_proba(row)[0] == pytest.approx([0.5, 0.5], rel=1e-15)
    assert model.log_evidence(row)[0] == pytest.approx(0, abs=1e-15)


ALL_MISSING = {
    "float NaN": np.full(6, NAN),
    "float32 NaN": np.full(6, NAN, dtype=np.float32),
    "None": [None] * 6,
    "pandas None": pd.Series([None] * 6, dtype=object),
    "pandas NA": pd.array([pd.NA] * 6, dtype="Int64"),
    "pandas string": pd.array([None] * 6, dtype="string"),
    "pandas category": pd.Categorical([None] * 6),
    "arrow null": pa.nulls(6),
    "arrow string": pa.nulls(6, pa.string()),
    "arrow double": pa.nulls(6, pa.float64()),
    "arrow dictionary": pa.nulls(6, pa.dictionary(pa.int8(), pa.string())),
}


@pytest.mark.parametrize("kind", ALL_MISSING)
def test_an_all_missing_column_is_accepted_and_says_nothing(kind):
    table = {"empty": ALL_MISSING[kind], "town": TOWN}
    model = bk.NaiveBayes().fit(table, Y)
    alone = bk.NaiveBayes().fit({"town": TOWN}, Y)
    assert np.array_equal(model.predict_proba(table), alone.predict_proba({"town": TOWN}))


@pytest.mark.parametrize("kind", ALL_MISSING)
def test_a_table_of_all_missing_columns_has_the_prior_as_posterior(kind):
    model = bk.NaiveBayes().fit({"empty": ALL_MISSING[kind]}, [*Y[:5], "well"])
    assert model.predict_proba({"empty": ALL_MISSING[kind]}) == pytest.approx(np.array([[2 / 6, 4 / 6]] * 6))


@pytest.mark.parametrize("values", [[1.0, 2.0, 3.0], ["u", "v", "u"], [True, False, True]], ids=str)
def test_an_undetermined_column_becomes_what_a_later_batch_has(values):
    grown = bk.NaiveBayes().fit({"late": [None] * 6, "town": TOWN}, Y)
    grown.partial_fit({"late": values, "town": TOWN[:3]}, Y[:3])
    whole = bk.NaiveBayes().fit({"late": [None] * 6 + values, "town": TOWN + TOWN[:3]}, Y + Y[:3])
    assert grown.model_.digest == whole.model_.digest


def test_an_undetermined_batch_adds_to_a_determined_column():
    grown = bk.NaiveBayes().fit({"age": AGE, "town": TOWN}, Y)
    grown.partial_fit({"age": [None] * 2, "town": [None] * 2}, ["ill", "dead"])
    whole = bk.NaiveBayes().fit({"age": [*AGE, None, None], "town": [*TOWN, None, None]}, [*Y, "ill", "dead"])
    assert grown.model_.digest == whole.model_.digest


def test_a_class_without_any_value_of_a_column_is_still_finite():
    model = bk.NaiveBayes().fit({"age": [1.0, 2.0, None, None], "town": ["A", "B", None, None]}, list("aabb"))
    proba = model.predict_proba({"age": [1.5, 900.0], "town": ["A", "C"]})
    assert np.isfinite(proba).all()
    assert proba.sum(axis=1) == pytest.approx([1, 1])


# -- missing as a level ----------------------------------------------------------------------------


def test_missing_as_a_level_of_a_category():
    model = bk.NaiveBayes(missing="level").fit({"town": TOWN}, Y)
    # levels A, B, missing: ill 2 1 0, well 0 2 1
    expected = [posterior(F(3, 6), F(1, 6)), posterior(F(2, 6), F(3, 6)), posterior(F(1, 6), F(2, 6))]
    assert model.predict_proba({"town": ["A", "B", None]}) == pytest.approx(np.array(expected), rel=1e-14)


def test_missing_as_a_level_of_a_number():
    model = bk.NaiveBayes(missing={"age": "level"}).fit({"age": AGE}, Y)
    # present, missing: ill 2 1, well 3 0
    assert model.predict_proba({"age": [None]})[0] == pytest.approx(posterior(F(2, 5), F(1, 5)), rel=1e-14)
    well = np.array([40, 50, 61])
    joint = stats.norm(26.5, 6.5).pdf(30) * 3 / 5, stats.norm(well.mean(), well.std()).pdf(30) * 4 / 5
    assert model.predict_proba({"age": [30.0]})[0] == pytest.approx(posterior(*joint), rel=1e-12)


def test_missing_as_a_level_by_column():
    model = bk.NaiveBayes(missing={"town": "level"}).fit({"age": AGE, "town": TOWN}, Y)
    terms = model.explain({"age": [None], "town": [None]}).terms[0]
    assert not terms[0].any()
    assert np.exp(terms[1]) == pytest.approx([1 / 6, 2 / 6], rel=1e-14)


# -- missing labels --------------------------------------------------------------------------------


LABELS = {
    "None": ["ill", None, "well", "well"],
    "NaN": np.array(["ill", NAN, "well", "well"], dtype=object),
    "pandas": pd.Series(["ill", None, "well", "well"]),
    "pandas category": pd.Series(["ill", None, "well", "well"], dtype="category"),
    "arrow": pa.array(["ill", None, "well", "well"]),
    "polars": pl.Series(["ill", None, "well", "well"]),
}


@pytest.mark.parametrize("kind", LABELS)
def test_rows_without_a_label_are_skipped_counted_and_reported(kind):
    with pytest.warns(UserWarning, match="1 of 4 rows"):
        model = bk.NaiveBayes().fit({"age": [1.0, 9.0, 3.0, 5.0]}, LABELS[kind])
    assert model.summary().unlabelled == 1
    rest = bk.NaiveBayes().fit({"age": [1.0, 3.0, 5.0]}, ["ill", "well", "well"])
    assert model.model_.digest == rest.model_.digest


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_nan_label_is_a_missing_label(dtype):
    with pytest.warns(UserWarning, match="1 of 4 rows"):
        model = bk.NaiveBayes().fit({"age": [1.0, 9.0, 3.0, 5.0]}, np.array([1, NAN, 0, 0], dtype=dtype))
    assert model.classes_.tolist() == [0, 1]
    assert model.classes_.dtype == dtype


def test_a_missing_label_in_a_named_column():
    table = pd.DataFrame({"age": [1.0, 9.0, 3.0, 5.0], "sick": ["ill", None, "well", "well"]})
    with pytest.warns(UserWarning, match="1 of 4 rows"):
        model = bk.NaiveBayes().fit(table, "sick")
    assert model.classes_.tolist() == ["ill", "well"]
