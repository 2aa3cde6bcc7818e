"""What wrong kinds, families, priors and other settings get, and that a failed call changes nothing."""

import re

import numpy as np
import pytest

import bayeskit as bk
from bayeskit.errors import BayeskitError, InputError, KindError, SchemaError
from bayeskit.families import Categorical, Gaussian
from bayeskit.smoothing import AddM, Laplace, MEstimate, ReplaceZeros

X = {"age": [20.0, 30.0, 40.0, 50.0], "town": ["A", "B", "A", "B"], "rank": [1, 2, 3, 1]}
Y = ["ill", "ill", "well", "well"]
NAN, INF = float("nan"), float("inf")


def says(*parts):
    return "(?s)" + "".join(f"(?=.*{re.escape(part)})" for part in parts)


WRONG = [
    ({"kinds": {"wealth": "nominal"}}, SchemaError, ["kinds", "'wealth'", "age, town, rank"]),
    ({"kinds": {"town": "categoric"}}, InputError, ["'town'", "'categoric'", "nominal"]),
    ({"kinds": {"town": 5}}, InputError, ["'town'", "5", "nominal"]),
    ({"kinds": {"town": "quantitative"}}, KindError, ["'town'", "text", "nominal"]),
    ({"kinds": {"town": "count"}}, KindError, ["'town'", "text", "nominal"]),
    ({"kinds": {"town": "ordinal"}}, InputError, ["'town'", "order", "kinds="]),
    ({"kinds": {"town": ["A", "C"]}}, InputError, ["'town'", "'B'", "A, C"]),
    ({"kinds": {"town": ["A", "B", "A"]}}, InputError, ["'town'", "twice"]),
    ({"kinds": {"town": ["A", "B", None]}}, InputError, ["'town'", "missing"]),
    ({"kinds": {"rank": "binary"}}, SchemaError, ["'rank'", "binary", "1, 2, 3", "nominal"]),
    ({"families": {"wealth": Gaussian()}}, SchemaError, ["families", "'wealth'", "age, town, rank"]),
    ({"families": {"town": Gaussian()}}, SchemaError, ["'town'", "nominal", "quantitative"]),
    ({"families": {"age": Categorical()}}, SchemaError, ["'age'", "quantitative", "nominal"]),
    ({"families": {("age", "wealth"): Gaussian()}}, SchemaError, ["families", "'wealth'"]),
    ({"families": {("age", "rank"): "Multinomial", "age": "Gaussian"}}, SchemaError, ["families", "'age'", "twice"]),
    ({"families": {("age", "age"): "Multinomial"}}, SchemaError, ["families", "'age'", "twice"]),
    ({"families": "Gausian"}, InputError, ["'Gausian'", "Gaussian"]),
    ({"families": {"age": "Gausian"}}, InputError, ["'age'", "'Gausian'", "Gaussian", "auto"]),
    ({"families": {"age": None}}, InputError, ["'age'", "None", "Gaussian"]),
    ({"families": {("age", "rank"): "Multinom"}}, InputError, ["('age', 'rank')", "'Multinom'", "Multinomial"]),
    ({"families": 5}, InputError, ["5", "Gaussian"]),
    ({"prior": "flat"}, InputError, ["'flat'", "uniform"]),
    ({"prior": {"ill": 1.0}}, InputError, ["prior", "'well'"]),
    ({"prior": {"ill": 0.5, "well": 0.4, "dead": 0.1}}, InputError, ["prior", "'dead'", "ill, well"]),
    ({"prior": {"ill": 0.5, "well": 0.6}}, InputError, ["prior", "1.1", "sum to one"]),
    ({"prior": [0.2, 0.3, 0.5]}, InputError, ["prior", "(3,)", "ill, well"]),
    ({"prior": [-0.5, 1.5]}, InputError, ["prior", "-0.5"]),
    ({"prior": [NAN, 1.0]}, InputError, ["prior", "nan"]),
    ({"prior": ["much", "little"]}, InputError, ["prior", "much"]),
    ({"prior": None}, InputError, ["prior"]),
    ({"unseen": "ignore"}, InputError, ["unseen", "'ignore'", "missing, smooth, error"]),
    ({"missing": "drop"}, InputError, ["missing", "'drop'", "'skip'"]),
    ({"missing": {"town": "drop"}}, InputError, ["'town'", "'drop'", "'skip'"]),
    ({"missing": {"wealth": "level"}}, SchemaError, ["missing", "'wealth'", "age, town, rank"]),
    ({"smoothing": -1}, InputError, ["-1", "above 0"]),
    ({"smoothing": NAN}, InputError, ["nan"]),
    ({"smoothing": INF}, InputError, ["inf"]),
    ({"smoothing": "laplace"}, InputError, ["smoothing", "'laplace'", "number"]),
    ({"smoothing": None}, InputError, ["smoothing", "None", "number"]),
    ({"smoothing": MEstimate(1, (0.5, 0.3, 0.2))}, InputError, ["3 entries", "2 levels"]),
    ({"n_jobs": 0}, InputError, ["n_jobs", "0"]),
    ({"n_jobs": "two"}, InputError, ["n_jobs", "'two'"]),
]


@pytest.mark.parametrize(("settings", "error", "said"), WRONG, ids=lambda v: str(v) if isinstance(v, dict) else "")
def test_a_wrong_setting_is_refused_with_its_name_and_value(settings, error, said):
    with pytest.raises(error, match=says(*said)):
        bk.NaiveBayes(**settings).fit(X, Y)


@pytest.mark.parametrize(("settings", "error", "said"), WRONG, ids=lambda v: str(v) if isinstance(v, dict) else "")
def test_a_failed_refit_keeps_the_old_model_and_its_answers(settings, error, said):
    model = bk.NaiveBayes().fit(X, Y)
    digest, classes, answer = model.model_.digest, model.classes_.tolist(), model.predict_proba(X)
    model.set_params(**settings)
    with pytest.raises(BayeskitError):
        model.fit({**X, "age": [1.0, 2.0, 3.0, 5.0]}, Y)
    assert model.model_.digest == digest
    model.set_params(**bk.NaiveBayes().get_params())
    assert model.classes_.tolist() == classes
    assert np.array_equal(model.predict_proba(X), answer)


@pytest.mark.parametrize("settings", [s for s, _, _ in WRONG], ids=str)
def test_a_failed_first_fit_leaves_the_classifier_unfitted(settings):
    model = bk.NaiveBayes(**settings)
    with pytest.raises(BayeskitError):
        model.fit(X, Y)
    assert not hasattr(model, "model_")


@pytest.mark.parametrize("make", [Laplace, MEstimate, AddM, ReplaceZeros])
@pytest.mark.parametrize("value", [0, -1, NAN, INF])
def test_smoothing_objects_take_numbers_above_zero_only(make, value):
    with pytest.raises(InputError, match=f"{make.__name__}.*{value}"):
        make(value)


@pytest.mark.parametrize("prior", [(0.5, 0.6), (-0.5, 1.5), ()])
def test_an_m_estimate_takes_probabilities_only(prior):
    with pytest.raises(InputError, match="prior"):
        MEstimate(1, prior)


def test_replace_zeros_knows_one_word():
    with pytest.raises(InputError, match=r"'quarter'.*'class'"):
        ReplaceZeros("quarter")


@pytest.mark.parametrize("ask", ["predict", "predict_proba", "predict_log_proba", "log_evidence", "explain"])
@pytest.mark.parametrize("prior", [{"ill": 1.0}, {"ill": 0.1, "dead": 0.9}, [0.5, 0.6], [1.0], "flat"], ids=str)
def test_a_wrong_prior_at_prediction_is_refused(ask, prior):
    model = bk.NaiveBayes().fit(X, Y)
    with pytest.raises(InputError, match="prior"):
        getattr(model, ask)(X, prior=prior)


def test_a_family_no_column_can_take_is_refused():
    with pytest.raises(InputError, match=r"no column.*Gaussian"):
        bk.NaiveBayes(families=Gaussian()).fit({"town": X["town"]}, Y)


def test_a_binary_column_refuses_its_third_level_later_and_stays():
    model = bk.NaiveBayes(kinds={"town": "binary"}).fit(X, Y)
    before = model.model_.digest
    with pytest.raises(SchemaError, match=says("'town'", "binary", "C", "nominal")):
        model.partial_fit({**X, "town": ["A", "C", "A", "B"]}, Y)
    with pytest.raises(SchemaError, match=says("'town'", "binary", "C", "nominal")):
        model.partial_fit({**X, "town": ["C", "C", "C", "C"]}, Y)
    assert model.model_.digest == before


def test_a_new_class_that_the_given_prior_lacks_is_refused_and_the_model_stays():
    model = bk.NaiveBayes(prior={"ill": 0.1, "well": 0.9}).fit(X, Y)
    before = model.model_.digest
    with pytest.raises(InputError, match=says("prior", "'dead'")):
        model.partial_fit(X, ["dead"] * 4)
    assert model.model_.digest == before
    assert model.predict_proba(X).shape == (4, 2)


def test_a_column_of_a_matrix_named_by_place_and_by_name_is_named_twice():
    with pytest.raises(SchemaError, match="families names the column 'x0' twice"):
        bk.NaiveBayes(families={0: "Gamma", "x0": "Gaussian"}).fit(np.ones((4, 2)), Y)
