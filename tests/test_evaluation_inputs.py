"""What evaluate takes and shows: texts without columns, one accuracy, every picture of every method."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

import bayeskit as bk
from bayeskit.errors import InputError
from bayeskit.families import Multinomial

WORDS = ["offer", "win", "cash", "meeting", "agenda", "notes", "now", "please"]
RNG = np.random.default_rng(0)
SPAM = RNG.random(60) < 0.4
TEXTS = [" ".join(RNG.choice(WORDS, 6, p=[0.2, 0.2, 0.2, 0.1, 0.05, 0.05, 0.1, 0.1] if s else None)) for s in SPAM]
KIND = np.where(SPAM, "spam", "ham")
FOLDS = StratifiedKFold(3)

FORMS = {
    "list": list,
    "tuple": tuple,
    "array": np.array,
    "objects": lambda texts: np.array(texts, dtype=object),
    "series": lambda texts: pd.Series(texts, index=np.arange(60)[::-1]),
    "polars": pl.Series,
    "arrow": pa.array,
    "chunks": lambda texts: pa.chunked_array([texts[:7], texts[7:]]),
}
PIPELINES = [MultinomialNB(), bk.NaiveBayes(families=Multinomial()), bk.RiskClassifier(MultinomialNB(), threshold=0.8)]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("last", PIPELINES, ids=lambda m: type(m).__name__)
def test_texts_are_judged_as_scikit_learn_does(form, last):
    model = make_pipeline(CountVectorizer(), last)
    found = bk.evaluate(model, FORMS[form](TEXTS), KIND, bk.CrossValidation(FOLDS))
    wanted = cross_val_predict(model, TEXTS, KIND, cv=FOLDS, method="predict_proba")
    done = cross_val_predict(model, TEXTS, KIND, cv=FOLDS)
    assert np.abs(found.proba - wanted).max() <= 1e-12
    assert found.log_loss == pytest.approx(log_loss(KIND, wanted), abs=1e-12)
    assert found.accuracy == pytest.approx(np.mean(done == KIND), abs=1e-12)
    assert found.computed == "refit"


@pytest.mark.parametrize("method", [bk.Holdout(), bk.LeaveOneOut(), bk.Bootstrap632(3), bk.AsFitted()], ids=str)
def test_every_method_takes_texts(method, tmp_path):
    model = make_pipeline(CountVectorizer(), bk.NaiveBayes(families=Multinomial())).fit(TEXTS, KIND)
    found = bk.evaluate(model, TEXTS, KIND, method)
    assert 0.5 < found.accuracy <= 1
    assert found.model.predict(["win cash now"]).tolist() == ["spam"]
    bk.report(found, tmp_path / "report.html")


def test_texts_are_no_table_to_a_classifier_that_wants_one():
    with pytest.raises(InputError, match="2D"):
        bk.evaluate(bk.NaiveBayes(), TEXTS, KIND)
    with pytest.raises(InputError, match="60 texts is no table"):
        bk.evaluate(make_pipeline(CountVectorizer(), MultinomialNB()), TEXTS, "kind")


X, CODES = load_breast_cancer(return_X_y=True)
X, CODES = X[:90, :4], CODES[:90]
COSTS = {0: {0: 0, 1: 5}, 1: {0: 1, 1: 0}}
METHODS = [
    bk.CrossValidation(3),
    bk.CrossValidation(3, repeats=2),
    bk.Holdout(),
    bk.LeaveOneOut(),
    bk.Bootstrap632(4),
    bk.Bootstrap632(4, plus=True),
    bk.AsFitted(),
]
PICTURES = ["overview", "confusion", "roc", "reliability", "folds", "cost"]


@pytest.mark.filterwarnings("ignore:.*figures have been opened")
@pytest.mark.parametrize("method", METHODS, ids=str)
@pytest.mark.parametrize(
    "model",
    [bk.NaiveBayes(), bk.RiskClassifier(bk.NaiveBayes(), COSTS, reject=0.5)],
    ids=["plain", "risk"],
)
def test_every_picture_of_every_method(model, method):
    import matplotlib.pyplot as plt

    model = model.fit(X, CODES) if isinstance(method, bk.AsFitted) else model
    found = bk.evaluate(model, X, CODES, method)
    for name in PICTURES:
        assert found.plot(name) is not None
    plt.close("all")
    printed = [line.split()[1] for line in str(found).splitlines() if line.startswith("accuracy")]
    assert float(printed[1].rstrip("%")) == pytest.approx(100 * float(printed[0]), abs=0.01)


def test_the_cost_curve_is_of_the_costs_of_the_evaluation():
    found = bk.evaluate(bk.NaiveBayes(), X, CODES, bk.CrossValidation(3), costs=COSTS)
    shown, asked = found.plot("cost"), found.plot("cost", costs=COSTS)
    assert shown.cost.tolist() == asked.cost.tolist()
    plain = bk.evaluate(bk.NaiveBayes(), X, CODES, bk.CrossValidation(3)).plot("cost")
    wrong = np.mean((found.proba[:, 1] >= plain.threshold[5]) != CODES)
    assert plain.cost[5] == pytest.approx(wrong, abs=1e-12)
    iris = bk.evaluate(bk.NaiveBayes(), *load_iris(return_X_y=True), bk.CrossValidation(3))
    with pytest.raises(InputError, match="two classes, not 3"):
        iris.plot("cost")


@pytest.mark.parametrize("form", [dict, bk.Costs, lambda costs: pd.DataFrame(costs).T, lambda costs: [[0, 5], [1, 0]]])
@pytest.mark.parametrize("model", [bk.NaiveBayes(), bk.AutoBayes(fast=True)], ids=lambda m: type(m).__name__)
def test_a_frame_of_predictions_takes_costs_in_any_form(model, form):
    table = pd.DataFrame(X, columns=list("abcd"))
    found = model.fit(table, CODES).predict_frame(table, costs=form(COSTS))
    decision = bk.decide(model.predict_proba(table), bk.Costs(COSTS), model.classes_)
    assert found["action"].tolist() == decision.action.tolist()
    assert found["expected_cost"].to_numpy() == pytest.approx(decision.cost, abs=1e-12)
