"""Fitted weights: against SciPy's own optimum, and what a weighted model still promises."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime, minimize
from scipy.special import log_softmax
from sklearn.datasets import load_iris, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_predict

import bayeskit as bk
from bayeskit.errors import BayeskitError
from bayeskit.numerics.log_linear import Evidence, mixture_weights


def random_evidence(seed, n=40, pieces=3, classes=3):
    rng = np.random.default_rng(seed)
    terms = np.log(rng.dirichlet(np.ones(classes), (n, pieces)))
    return terms, np.log(rng.dirichlet(np.ones(classes))), rng.integers(0, classes, n), rng.random(n)


def penalised(terms, base, label, mass, both, toward, pull, bias_pull):
    """The objective, written out."""
    j = terms.shape[1]
    score = np.einsum("j,njk->nk", both[:j], terms) + base + both[j:]
    loss = -(mass * log_softmax(score, axis=1)[np.arange(len(label)), label]).sum()
    return loss + pull / 2 * ((both[:j] - toward) ** 2).sum() + bias_pull / 2 * (both[j:] ** 2).sum()


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10_000))
def test_weights_are_the_optimum_of_the_penalised_likelihood(seed):
    terms, base, label, mass = random_evidence(seed)
    weight, bias = Evidence.of(terms, base, label, mass).fit(np.ones(3), 2.0, 1.0)

    def loss(both):
        return penalised(terms, base, label, mass, both, np.ones(3), 2.0, 1.0)

    best = minimize(loss, np.r_[np.ones(3), np.zeros(3)], bounds=[(0, None)] * 3 + [(None, None)] * 3, tol=1e-12)
    assert loss(np.r_[weight, bias]) <= best.fun + 1e-4
    assert (weight >= 0).all()


def test_the_curvature_is_the_second_derivative():
    terms, base, label, mass = random_evidence(1)
    seen, at = Evidence.of(terms, base, label, mass), np.r_[0.5, 1.0, 1.5, 0.1, -0.2, 0.0]
    slope = lambda both: approx_fprime(both, lambda b: penalised(terms, base, label, mass, b, 0, 0, 0), 1e-6)  # noqa: E731
    numeric = np.array([(slope(at + h) - slope(at - h)) / 2e-3 for h in 1e-3 * np.eye(6)])
    np.testing.assert_allclose(seen.curvature(at[:3], at[3:]), numeric, atol=1e-3)


def test_mixture_shares_are_the_optimum():
    p = np.random.default_rng(0).random((50, 3))
    found = mixture_weights(np.log(p), steps=5000)

    def loss(v):
        return -np.log(p @ (np.abs(v) / np.abs(v).sum())).sum()

    assert loss(found) <= min(loss(v) for v in np.random.default_rng(1).dirichlet(np.ones(3), 2000)) + 1e-6


MODELS = {
    "naive": lambda: bk.NaiveBayes(weights="fitted"),
    "TAN": lambda: bk.TAN(weights="fitted"),
    "KDB": lambda: bk.KDB(k=2, weights="fitted"),
    "AJE": lambda: bk.AJE(sets=20),
}


def doubled():
    """Each informative column three times over: naive Bayes counts its evidence three times."""
    X, y = make_classification(600, 4, n_informative=4, n_redundant=0, n_classes=2, random_state=3)
    return np.hstack([X, X + 1e-9, X * 2.0]), y


@pytest.mark.parametrize("name", MODELS)
def test_evidence_counted_more_than_once_is_weighed_down(name):
    X, y = doubled()
    plain = MODELS[name]().set_params(weights=None)
    losses = [log_loss(y, cross_val_predict(m, X, y, cv=4, method="predict_proba")) for m in (plain, MODELS[name]())]
    gained = 0.1 if name == "naive" else -0.01  # the others see that the columns say the same
    assert losses[1] < losses[0] - gained
    logistic = cross_val_predict(LogisticRegression(), X, y, cv=4, method="predict_proba")
    assert losses[1] < log_loss(y, logistic) + 0.15


@pytest.mark.parametrize("name", MODELS)
def test_explanations_of_weighted_models_add_up_under_any_prior(name):
    X, y = load_iris(return_X_y=True)
    table = pd.DataFrame(X, columns=["a", "b", "c", "d"]).assign(big=np.where(X[:, 0] > 6, "yes", "no"))
    table.loc[::7, "c"] = np.nan
    model = MODELS[name]().fit(table, y)
    for prior in (None, [0.6, 0.3, 0.1]):
        found = model.explain(table, prior=prior)
        proba = np.exp(log_softmax(found.prior + found.terms.sum(axis=1), axis=1))
        np.testing.assert_allclose(proba, model.predict_proba(table, prior=prior), atol=1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_weights_are_saved_with_the_model_and_in_its_digest(name, tmp_path):
    X, y = load_iris(return_X_y=True)
    model = MODELS[name]().fit(X, y)
    model.save(tmp_path / "m.bayes")
    again = bk.load(tmp_path / "m.bayes")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.model_.digest == model.model_.digest
    assert model.model_.digest != MODELS[name]().set_params(weights=None).fit(X, y).model_.digest


def test_weights_stay_when_more_is_learned_and_what_is_counted_can_be_forgotten():
    X, y = load_iris(return_X_y=True)
    model = bk.NaiveBayes(weights="fitted").fit(X[::2], y[::2])
    before = model.model_.weighting.weight, model.model_.digest
    model.partial_fit(X[1::2], y[1::2])
    np.testing.assert_array_equal(model.model_.weighting.weight, before[0])
    model.forget(X[1::2], y[1::2])
    assert model.model_.digest == before[1]


@pytest.mark.parametrize("name", MODELS)
def test_the_first_rows_of_partial_fit_are_a_fit(name):
    X, y = load_iris(return_X_y=True)
    whole, first = MODELS[name]().fit(X, y), MODELS[name]().partial_fit(X, y)
    assert first.model_.digest == whole.model_.digest
    declared = MODELS[name]().partial_fit(X, y, classes=[0, 1, 2, 3])
    np.testing.assert_array_equal(declared.model_.weighting.weight, whole.model_.weighting.weight)
    assert declared.predict_proba(X).shape == (150, 4)


@pytest.mark.filterwarnings("ignore:only one class")
def test_rows_of_one_class_fit_no_weights_and_that_is_said():
    X, y = load_iris(return_X_y=True)
    with pytest.warns(UserWarning, match="no weights are fitted"):
        model = bk.NaiveBayes(weights="fitted").partial_fit(X[:40], y[:40], classes=[0, 1, 2])
    assert model.model_.weighting is None


def test_scores_have_no_evidence_and_words_are_checked():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(BayeskitError, match="fitted weights"):
        bk.NaiveBayes(weights="fitted").fit(X, y).log_evidence(X)
    with pytest.raises(BayeskitError, match="weights='heavy'"):
        bk.NaiveBayes(weights="heavy").fit(X, y)
