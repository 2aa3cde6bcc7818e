"""Every classifier has every public method of the classifiers of one model, or refuses by name, with advice."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bayeskit as bk
from bayeskit.errors import BayeskitError, KindError
from bayeskit.estimators.classifier import BayesClassifier
from bayeskit.estimators.wrapper import Refused

pytestmark = pytest.mark.filterwarnings("ignore")
RNG = np.random.default_rng(0)
Y = RNG.choice(["no", "yes"], 90)
X = pd.DataFrame({"x": RNG.normal(Y == "yes"), "z": RNG.normal(size=90)})
OTHER = (X[:60], Y[:60])
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "fit": (X, Y),
    "partial_fit": OTHER,
    "forget": OTHER,
    "renew": (X, Y),
    "marginal": ("x",),
    "nomogram": ("yes",),
    "calibrated": (X[::2], Y[::2]),
    "score": (X, Y),
    "log_prior": (),
    "summary": (),
    "value_of_information": (X[:1].assign(z=np.nan),),
}
INNER = re.compile(
    r"get_|set_|flips|count_spec|fold_spec|with_model|settings_to_save|spec|honest_log_proba|table_reader|program"
)
METHODS = sorted(
    name
    for name in dir(BayesClassifier)
    if not name.startswith("_") and not INNER.match(name) and callable(getattr(BayesClassifier, name))
)
CLASSIFIERS = {
    **{kind.__name__: kind for kind in (bk.NaiveBayes, bk.FullBayes, bk.KNNBayes, bk.TAN, bk.KDB, bk.AODE, bk.AJE)},
    "NetworkBayes": bk.NetworkBayes,
    "CorrectedNaiveBayes": bk.CorrectedNaiveBayes,
    "ProbabilityForest": lambda: bk.ProbabilityForest(trees=5),
    "BoostedTrees": lambda: bk.BoostedTrees(trees=5),
    "AutoBayes": lambda: bk.AutoBayes(max_candidates=2),
    "Calibrated": lambda: bk.Calibrated(bk.NaiveBayes()),
    "Calibrated pool": lambda: bk.Calibrated(bk.AutoBayes(fast=True), folds=2),
    "VennAbers": lambda: bk.VennAbers(bk.NaiveBayes()),
    "Conformal": lambda: bk.Conformal(bk.NaiveBayes()),
    "Conformal by folds": lambda: bk.Conformal(bk.Calibrated(bk.NaiveBayes()), method="cv+", folds=3),
    "RiskClassifier": lambda: bk.RiskClassifier(bk.NaiveBayes()),
    "RiskClassifier abstaining": lambda: bk.RiskClassifier(bk.Calibrated(bk.NaiveBayes()), reject=0.1),
}


def test_the_walk_sees_the_surface() -> None:
    assert {"explain", "forget", "merge", "save", "adapt_prior", "predict_frame", "log_evidence"} <= set(METHODS)
    public = {name for name in bk.__all__ if isinstance(getattr(bk, name), type)}
    named = {name.split()[0] for name in CLASSIFIERS}
    assert {name for name in public if hasattr(getattr(bk, name), "predict_proba")} - {"Network"} == named


@pytest.mark.parametrize("kind", sorted({name.split()[0] for name in CLASSIFIERS}))
def test_parameters_are_fields_and_what_is_refused_is_none(kind: str) -> None:
    made = fields(getattr(bk, kind))
    assert [f.name for f in made] == list(inspect.signature(getattr(bk, kind)).parameters)
    assert [f.name for f in made if isinstance(f.default, Refused)] == [], "annotate it as ClassVar[Any]"


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_method_answers_or_refuses_by_name(name: str, tmp_path: Any) -> None:
    model = CLASSIFIERS[name]().fit(X, Y)
    assert [c.name for c in model.schema_.columns] == ["x", "z"]
    before = model.predict_proba(X)
    for method in METHODS:
        given = {"merge": (model,), "save": (tmp_path / "m.bayes",)}.get(method, ARGUMENTS.get(method, (X[:5],)))
        asked = CLASSIFIERS[name]().fit(X, Y) if method in ("partial_fit", "forget", "renew", "fit") else model
        refusal = refused(asked, method, given)
        if isinstance(refusal, KindError):  # there is no such answer: who has none, why, and what to do
            assert re.match(r"\w+\(\): \w+ .+; .+", str(refusal)), (method, str(refusal))
            np.testing.assert_array_equal(asked.predict_proba(X), before)


def refused(model: Any, method: str, given: tuple[Any, ...]) -> Exception | None:
    """Why a method gives no answer; one of these rows and settings may be refused too."""
    try:
        getattr(model, method)(*given)
    except (BayeskitError, AttributeError) as error:  # as scikit-learn's own do where a setting takes a method away
        if not isinstance(error, BayeskitError) and method != "score_samples":
            raise
        return error
    return None


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_file_gives_the_classifier_back(name: str, tmp_path: Any) -> None:
    model = CLASSIFIERS[name]().fit(X, Y)
    adapted = [] if refused(model, "adapt_prior", (X[:20],)) else [model.adapt_prior(X[:20])]
    for one in (model, *adapted):
        one.save(tmp_path / "m.bayes")
        back = bk.load(tmp_path / "m.bayes")
        assert type(back) is type(model)
        np.testing.assert_array_equal(back.predict_proba(X), one.predict_proba(X))
        assert back.predict(X).tolist() == one.predict(X).tolist()
        back.save(tmp_path / "again.bayes")
        assert (tmp_path / "again.bayes").read_bytes() == (tmp_path / "m.bayes").read_bytes()


@pytest.mark.parametrize("name", ["AutoBayes", "Calibrated", "RiskClassifier"])
def test_an_adapted_prior_is_that_of_a_call(name: str) -> None:
    model = CLASSIFIERS[name]().fit(X, Y)
    adapted = model.adapt_prior(X[:30])
    new = dict(zip(model.classes_.tolist(), adapted.prior_shift_.new.tolist(), strict=True))
    np.testing.assert_allclose(adapted.predict_proba(X), model.predict_proba(X, prior=new), atol=1e-12)
    found = adapted.explain(X[:9])
    total = found.prior + found.terms.sum(axis=1)
    posterior = np.exp(total - np.logaddexp.reduce(total, axis=1, keepdims=True))
    np.testing.assert_allclose(posterior, adapted.predict_proba(X[:9]), atol=1e-9)


def test_costs_must_know_a_class_that_is_learned_later() -> None:
    costs = bk.Costs({"no": {"wait": 0, "act": 1}, "yes": {"wait": 5, "act": 0}})
    model = bk.RiskClassifier(bk.NaiveBayes(), costs).fit(X, Y)
    before = model.predict_proba(X)
    with pytest.raises(BayeskitError, match="no row for class 'maybe'"):
        model.partial_fit(X[:3], ["maybe", "no", "yes"])
    np.testing.assert_array_equal(model.predict_proba(X), before)
    whole = bk.RiskClassifier(bk.NaiveBayes(), costs).fit(X[:60], Y[:60]).partial_fit(X[60:], Y[60:])
    np.testing.assert_array_equal(whole.predict_proba(X), before)


def test_a_forgotten_class_leaves_the_biases_of_the_others() -> None:
    rng = np.random.default_rng(1)
    y = np.repeat(["a", "b", "c"], 40)
    rows = pd.DataFrame({"x": rng.normal(np.repeat([0, 1, 2], 40)), "z": rng.normal(size=120)})
    model = bk.AutoBayes(max_candidates=2).fit(rows, y)
    bias = model.pool_.bias
    model.forget(rows[80:], y[80:])
    assert model.classes_.tolist() == ["a", "b"]
    np.testing.assert_array_equal(model.pool_.bias, bias[:2])
