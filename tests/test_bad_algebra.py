"""Forgetting what was never learned and merging what does not belong together: refused, nothing changed."""

import re

import numpy as np
import pytest
from scipy import stats

import bayeskit as bk
from bayeskit.errors import ForgetError, InputError, MergeError
from bayeskit.families import Gaussian
from bayeskit.smoothing import AddM

X = {"age": [20.0, 30.0, 40.0, 50.0, 61.0], "town": ["A", "B", "A", "B", "B"]}
Y = ["ill", "ill", "well", "well", "well"]


def fitted(**settings):
    return bk.NaiveBayes(**settings).fit(X, Y)


def says(*parts):
    return "(?s)" + "".join(f"(?=.*{re.escape(part)})" for part in parts)


NEVER = {
    "class": ({"age": [20.0], "town": ["A"]}, ["dead"], ["'dead'", "ill, well"]),
    "level": ({"age": [20.0], "town": ["C"]}, ["ill"], ["'town'", "'C'", "A, B"]),
    "count": ({"age": [20.0, 30.0], "town": ["A", "A"]}, ["ill", "ill"], ["town"]),
    "too many rows": ({"age": [None] * 3, "town": [None] * 3}, ["ill"] * 3, ["cannot have been learned"]),
    "squares": ({"age": [40.0], "town": ["A"]}, ["ill"], ["'age'"]),  # 20^2 + 30^2 < 40^2
    "variance": ({"age": [31.0], "town": ["A"]}, ["ill"], ["'age'"]),  # 20^2 + 30^2 - 31^2 < (20 + 30 - 31)^2
    "remainder": ({"age": [20.0, 31.0], "town": ["A", "B"]}, ["ill"] * 2, ["'age'"]),  # no row, yet a sum
    "hole": ({"age": [None], "town": ["A"]}, ["ill"], ["'age'"]),
    "hole in levels": ({"age": [20.0], "town": [None]}, ["ill"], ["'town'"]),
}


@pytest.mark.parametrize("case", NEVER)
def test_rows_never_learned_are_not_forgotten(case):
    rows, labels, said = NEVER[case]
    model = fitted()
    before, answer = model.model_.digest, model.predict_proba(X)
    with pytest.raises(ForgetError, match=says(*said, "the model stays as it was")):
        model.forget(rows, labels)
    assert model.model_.digest == before
    assert np.array_equal(model.predict_proba(X), answer)


def test_more_weight_than_learned_is_not_forgotten():
    model = fitted()
    before = model.model_.digest
    with pytest.raises(ForgetError, match="stays as it was"):
        model.forget({"age": [20.0], "town": ["A"]}, ["ill"], sample_weight=[1.5])
    assert model.model_.digest == before


def test_an_impossible_variance_is_seen_even_among_huge_numbers():
    model = bk.NaiveBayes().fit(np.array([[1e15], [1e15 + 1], [1e15 + 2], [0.0]]), [0, 0, 0, 1])
    before = model.model_.digest
    with pytest.raises(ForgetError):  # 2 (0 + 1 + 4 - 2.25^2) < (0 + 1 + 2 - 2.25)^2, and the 1e15 cancels exactly
        model.forget(np.array([[1e15 + 2.25]]), [0])
    assert model.model_.digest == before


def test_what_sums_cannot_show_is_forgotten_as_asked():
    model = bk.NaiveBayes().fit(np.array([[0.0], [1.0], [2.0], [9.0]]), [0, 0, 0, 1])
    rest = model.forget(np.array([[2.125]]), [0])  # 2 (5 - 2.125^2) >= (3 - 2.125)^2
    mean, square = (3 - 2.125) / 2, (5 - 2.125**2) / 2
    density = stats.norm(mean, np.sqrt(square - mean**2)).logpdf(0.3)
    assert rest.explain([[0.3]]).terms[0, 0, 0] == pytest.approx(density, rel=1e-13)


def test_forgetting_everything_is_refused_and_the_model_stays():
    model = fitted()
    before = model.model_.digest
    with pytest.raises(InputError, match="nothing"):
        model.forget(X, Y)
    assert model.model_.digest == before


def test_a_new_kind_of_column_is_not_forgotten():
    model = fitted()
    before = model.model_.digest
    with pytest.raises(InputError, match=says("'age'")):
        model.forget({"age": ["old"], "town": ["A"]}, ["ill"])
    assert model.model_.digest == before


def test_forgetting_a_class_the_given_prior_needs_is_refused_and_the_model_stays():
    model = fitted(prior={"ill": 0.1, "well": 0.9})
    before = model.model_.digest
    with pytest.raises(InputError, match=says("prior", "'ill'")):
        model.forget({"age": [20.0, 30.0], "town": ["A", "B"]}, ["ill", "ill"])
    assert model.model_.digest == before
    assert model.predict_proba(X).shape == (5, 2)


def test_a_model_that_forgot_can_be_saved_and_loaded(tmp_path):
    model = fitted().forget({"age": [20.0], "town": ["A"]}, ["ill"])
    model.save(tmp_path / "less.bayes")
    assert bk.load(tmp_path / "less.bayes").model_.digest == model.model_.digest


OTHERS = {
    "column names": (lambda: bk.NaiveBayes().fit({"age": X["age"], "city": X["town"]}, Y), ["city", "town"]),
    "fewer columns": (lambda: bk.NaiveBayes().fit({"age": X["age"]}, Y), ["town"]),
    "kinds": (lambda: fitted(kinds={"town": ["A", "B"]}), ["'town'", "nominal", "ordinal"]),
    "types": (lambda: bk.NaiveBayes().fit({**X, "age": list("abcde")}, Y), ["'age'", "quantitative", "nominal"]),
    "families": (lambda: fitted(families={"age": Gaussian(predictive=True)}), ["'age'", "predictive"]),
    "smoothing": (lambda: fitted(smoothing=2.0), ["'town'", "2.0"]),
    "smoothing rule": (lambda: fitted(smoothing=AddM(1)), ["'town'", "AddM"]),
    "prior": (lambda: fitted(prior="uniform"), ["prior"]),
    "unseen": (lambda: fitted(unseen="smooth"), ["unseen"]),
    "missing": (lambda: fitted(missing="level"), ["missing"]),
}


@pytest.mark.parametrize("case", OTHERS)
def test_models_that_count_other_things_are_not_merged(case):
    make, said = OTHERS[case]
    mine, other = fitted(), make()
    before = mine.model_.digest, other.model_.digest
    for merge in (mine.merge, mine.__add__, lambda o: bk.merge([mine, o])):
        with pytest.raises(MergeError, match=says(*said)):
            merge(other)
    assert (mine.model_.digest, other.model_.digest) == before


def test_an_unfitted_model_is_not_merged():
    with pytest.raises(ValueError, match="not fitted"):
        fitted().merge(bk.NaiveBayes())


@pytest.mark.parametrize("other", [5, None, "model", object()])
def test_what_is_no_model_is_not_merged(other):
    with pytest.raises(TypeError):
        fitted() + other
    with pytest.raises((MergeError, TypeError), match="merge"):
        fitted().merge(other)


def test_merging_no_models_is_refused():
    with pytest.raises(InputError, match="at least one"):
        bk.merge([])


def test_labels_of_text_and_numbers_are_not_merged_silently():
    mine, other = fitted(), bk.NaiveBayes().fit(X, [0, 0, 1, 1, 1])
    merged = mine.merge(other)
    assert merged.classes_.tolist() == [0, 1, "ill", "well"]
    assert merged.classes_.dtype == object


@pytest.mark.parametrize("size", [1, 3])
def test_a_matrix_of_another_width_is_refused_and_the_model_stays(size):
    model = bk.NaiveBayes().fit(np.eye(2), [0, 1])
    before = model.model_.digest
    for call in (model.partial_fit, model.forget):
        with pytest.raises(InputError, match=says(f"{size} features", "2 features")):
            call(np.eye(size), list(range(size)))
    with pytest.raises(InputError, match=says(f"{size} features", "2 features")):
        model.predict(np.eye(size))
    assert model.model_.digest == before
