"""Silent surprises of other libraries: labels, priors and evidence."""

from fractions import Fraction as F

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import special, stats

import bayeskit as bk
from bayeskit.errors import InputError
from bayeskit.smoothing import AddM, Laplace, MEstimate, NoSmoothing, ReplaceZeros

X = {"c": ["u", "v", "u", "u"], "x": [1.0, 2.0, 5.0, 9.0]}


# -- labels ----------------------------------------------------------------------------------------


LABELS = {
    "int8": np.array([3, 3, -1, -1], dtype=np.int8),
    "uint64": np.array([3, 3, 2**63, 2**63], dtype=np.uint64),
    "int64": np.array([3, 3, -1, -1]),
    "bool": np.array([True, True, False, False]),
    "float32": np.array([3, 3, -1, -1], dtype=np.float32),
    "float64": np.array([3.0, 3.0, -1.0, -1.0]),
    "str": np.array(["b", "b", "a long one", "a long one"]),
    "object": np.array(["b", "b", "a", "a"], dtype=object),
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_come_back_in_the_type_they_went_in(kind):
    y = LABELS[kind]
    model = bk.NaiveBayes().fit(X, y)
    assert model.classes_.dtype == y.dtype
    assert model.classes_.tolist() == sorted(set(y.tolist()))
    assert model.predict(X).dtype == y.dtype
    assert model.predict(X).tolist() == y.tolist()


@pytest.mark.parametrize("kind", LABELS)
def test_labels_keep_their_type_through_a_file(kind, tmp_path):
    bk.NaiveBayes().fit(X, LABELS[kind]).save(tmp_path / "m.bayes")
    model = bk.load(tmp_path / "m.bayes")
    assert model.classes_.dtype == LABELS[kind].dtype
    assert model.predict(X).tolist() == LABELS[kind].tolist()


FRAMES = {
    "list of int": ([3, 3, 1, 1], "i"),
    "list of str": (["b", "b", "a", "a"], "U"),
    "tuple of bool": ((True, True, False, False), "b"),
    "pandas int": (pd.Series([3, 3, 1, 1]), "i"),
    "pandas nullable int": (pd.Series([3, 3, 1, 1], dtype="Int64"), "i"),
    "pandas category of text": (pd.Series(["b", "b", "a", "a"], dtype="category"), "O"),
    "pandas category of int": (pd.Series([3, 3, 1, 1], dtype="category"), "i"),
    "pandas str": (pd.Series(["b", "b", "a", "a"]), "O"),
    "pandas bool": (pd.Series([True, True, False, False]), "b"),
    "arrow": (pa.array([3, 3, 1, 1], pa.int16()), "i"),
    "arrow chunks": (pa.chunked_array([[3, 3], [1, 1]]), "i"),
    "polars": (pl.Series([3, 3, 1, 1]), "i"),
    "polars str": (pl.Series(["b", "b", "a", "a"]), "O"),
    "one column": (pd.DataFrame({"y": [3, 3, 1, 1]})["y"], "i"),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_labels_of_any_container_come_back_as_values(kind):
    y, letter = FRAMES[kind]
    values = y.to_pylist() if hasattr(y, "to_pylist") else list(y)
    model = bk.NaiveBayes().fit(X, y)
    assert model.classes_.dtype.kind == letter
    assert model.predict(X).tolist() == values
    assert all(type(v) in (int, str, bool) for v in model.classes_.tolist())


def test_an_unused_category_is_no_class():
    y = pd.Categorical(["b", "b", "a", "a"], categories=["z", "b", "a"])
    assert bk.NaiveBayes().fit(X, pd.Series(y)).classes_.tolist() == ["a", "b"]


def test_new_classes_may_arrive_in_any_batch():
    parts = bk.NaiveBayes().fit({k: v[:3] for k, v in X.items()}, ["b", "b", "c"])
    parts.partial_fit({k: v[3:] for k, v in X.items()}, ["a"])
    assert parts.classes_.tolist() == ["a", "b", "c"]
    assert parts.model_.digest == bk.NaiveBayes().fit(X, ["b", "b", "c", "a"]).model_.digest


def test_declared_classes_are_known_before_a_row_has_them():
    model = bk.NaiveBayes().partial_fit(X, ["b", "b", "a", "a"], classes=["a", "b", "c"])
    assert model.classes_.tolist() == ["a", "b", "c"]
    proba = model.predict_proba(X)
    assert np.isfinite(proba).all()
    assert proba[:, 2].tolist() == [0, 0, 0, 0]
    assert np.isfinite(model.predict_proba(X, prior="uniform")).all()


def test_ties_go_to_the_first_class():
    model = bk.NaiveBayes().fit([["u"], ["u"]], ["b", "a"])
    assert model.predict([["u"]]).tolist() == ["a"]


# -- priors ----------------------------------------------------------------------------------------


Y = ["well", "well", "well", "ill"]
LEVELS = {"c": X["c"]}  # ill: u 1; well: u 2, v 1
U = {"ill": F(2, 3), "well": F(3, 5)}  # Laplace, m = 2


def expected(ill, well):
    joint = [F(ill) * U["ill"], F(well) * U["well"]]
    return [float(p / sum(joint)) for p in joint]


PRIORS = {
    "empirical": ("empirical", (F(1, 4), F(3, 4))),
    "uniform": ("uniform", (F(1, 2), F(1, 2))),
    "mapping": ({"well": 0.75, "ill": 0.25}, (F(1, 4), F(3, 4))),
    "rare": ({"ill": 1e-6, "well": 1 - 1e-6}, (F(1, 10**6), 1 - F(1, 10**6))),
    "list": ([0.125, 0.875], (F(1, 8), F(7, 8))),
    "array": (np.array([0.125, 0.875]), (F(1, 8), F(7, 8))),
    "certain": ({"ill": 0, "well": 1}, (F(0), F(1))),
}


@pytest.mark.parametrize("kind", PRIORS)
def test_a_prior_is_given_at_construction_or_overridden_at_prediction(kind):
    prior, (ill, well) = PRIORS[kind]
    new = {"c": ["u"]}
    given = bk.NaiveBayes(prior=prior).fit(LEVELS, Y)
    assert given.predict_proba(new)[0] == pytest.approx(expected(ill, well), rel=1e-12)
    over = bk.NaiveBayes().fit(LEVELS, Y)
    before = over.model_.digest
    assert over.predict_proba(new, prior=prior)[0] == pytest.approx(expected(ill, well), rel=1e-12)
    assert np.exp(over.predict_log_proba(new, prior=prior)[0]) == pytest.approx(expected(ill, well), rel=1e-12)
    assert over.predict(new, prior=prior)[0] == ("ill" if expected(ill, well)[0] >= 0.5 else "well")
    assert over.model_.digest == before
    assert over.predict_proba(new)[0] == pytest.approx(expected(F(1, 4), F(3, 4)), rel=1e-14)


def test_a_given_prior_survives_a_file(tmp_path):
    for prior, (ill, well) in PRIORS.values():
        bk.NaiveBayes(prior=prior).fit(LEVELS, Y).save(tmp_path / "m.bayes")
        found = bk.load(tmp_path / "m.bayes").predict_proba({"c": ["u"]})[0]
        assert found == pytest.approx(expected(ill, well), rel=1e-12)


def test_the_empirical_prior_counts_every_labelled_row_even_without_values():
    model = bk.NaiveBayes().fit({"c": ["u", "v", None, None]}, ["a", "a", "b", "b"])
    assert model.predict_proba({"c": [None]})[0] == pytest.approx([0.5, 0.5], rel=1e-15)


# -- evidence --------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", [1.0, 0, Laplace(0.5), NoSmoothing(), MEstimate(3)], ids=repr)
def test_log_evidence_is_the_log_of_the_sum_of_joints(rule):
    model = bk.NaiveBayes(smoothing=rule).fit(X, ["a", "a", "b", "b"])
    p_u = {"1.0": (2 / 4, 3 / 4), "Laplace(alpha=0.5)": (1.5 / 3, 2.5 / 3), "MEstimate(m=3.0)": (2.5 / 5, 3.5 / 5)}
    u = np.array(p_u.get(repr(rule).replace(", prior=None", ""), (1 / 2, 1)))
    x = np.array([-3.0, 1.0, 4.5, 60.0])
    log = np.stack([stats.norm(m, s).logpdf(x) for m, s in ((1.5, 0.5), (7, 2))], axis=1) + np.log(u) + np.log(0.5)
    new = {"c": ["u"] * 4, "x": x}
    assert model.log_evidence(new) == pytest.approx(special.logsumexp(log, axis=1), rel=1e-12)
    assert np.array_equal(model.score_samples(new), model.log_evidence(new))


def test_the_evidence_of_all_levels_sums_to_one():
    model = bk.NaiveBayes(smoothing=0.3).fit({"c": X["c"], "d": ["p", "q", "p", "r"]}, Y)
    cells = [(c, d) for c in "uv" for d in "pqr"]
    table = {"c": [c for c, _ in cells], "d": [d for _, d in cells]}
    assert np.exp(model.log_evidence(table)).sum() == pytest.approx(1, rel=1e-13)


def test_log_evidence_takes_another_prior():
    model = bk.NaiveBayes().fit(LEVELS, Y)
    found = model.log_evidence({"c": ["u"]}, prior={"ill": 0.5, "well": 0.5})[0]
    assert np.exp(found) == pytest.approx(float((U["ill"] + U["well"]) / 2), rel=1e-14)


@pytest.mark.parametrize("rule", [ReplaceZeros(0.5), ReplaceZeros("class"), AddM(1)], ids=repr)
def test_rules_that_do_not_normalise_have_no_evidence(rule):
    model = bk.NaiveBayes(smoothing=rule).fit(LEVELS, Y)
    assert np.isfinite(model.predict_proba(LEVELS)).all()
    for ask in (model.log_evidence, model.score_samples):
        with pytest.raises(InputError, match=r"normalise.*Laplace"):
            ask(LEVELS)


def test_a_single_class_is_named_as_it_was_given():
    with pytest.warns(UserWarning, match=r"only one class \(0\) has been seen"):
        bk.NaiveBayes().fit([[1.0], [2.0]], [0, 0])


def test_a_column_with_the_index_of_the_frame_in_another_order_is_paired_by_position_and_said():
    frame, labels = pd.DataFrame({"x": [1.0, 2.0, 8.0, 9.0]}), pd.Series(list("aabb"))
    for moved in (labels.iloc[[3, 2, 1, 0]], labels.iloc[[1, 0, 3, 2]]):
        with pytest.warns(UserWarning, match=r"y has the index of the frame in another order.*by position"):
            assert bk.NaiveBayes().fit(frame, moved).predict(frame).tolist() == moved.tolist()
    weight = pd.Series([1.0, 2, 3, 4], index=[3, 2, 1, 0])
    with pytest.warns(UserWarning, match="sample_weight has the index"):
        bk.NaiveBayes().fit(frame, labels, sample_weight=weight)


@pytest.mark.filterwarnings("error")
def test_an_index_of_its_own_says_nothing_of_the_order():
    frame, labels = pd.DataFrame({"x": [1.0, 2.0, 8.0, 9.0]}), pd.Series(list("aabb"))
    bk.NaiveBayes().fit(frame, labels.set_axis([7, 8, 9, 10]))
    bk.NaiveBayes().fit(frame.iloc[::-1], labels.iloc[::-1])
    bk.NaiveBayes().fit(frame.set_axis(["a", 1, None, 2.5]), labels.set_axis([1, "a", None, 2.5]))
