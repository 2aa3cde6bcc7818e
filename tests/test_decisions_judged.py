"""What evaluate says of decisions is of those the model takes: against scikit-learn's metrics on plain refits."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier, StratifiedKFold, TunedThresholdClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import bayeskit as bk
from bayeskit.errors import InputError

X, CODES = load_breast_cancer(return_X_y=True)
X, CODES = X[:240, :6], CODES[:240]
Y = np.array(["ill", "well"])[CODES]
FOLDS = StratifiedKFold(4)
COSTS = {"ill": {"ill": 0, "well": 50}, "well": {"ill": 1, "well": 0}}
TREAT = {"ill": {"treat": 1, "wait": 50}, "well": {"treat": 5, "wait": 0}}


class Eager(ClassifierMixin, BaseEstimator):
    """Says ill from a probability of 0.1 on."""

    def fit(self, X, y):
        self.inner_ = bk.NaiveBayes().fit(X, y)
        self.classes_ = self.inner_.classes_
        return self

    def predict_proba(self, X):
        return self.inner_.predict_proba(X)

    def predict(self, X):
        return np.where(self.predict_proba(X)[:, 0] >= 0.1, "ill", "well")


def by_hand(model, y=Y):
    """What refits do, and their probabilities."""
    done, proba = np.empty(len(y), dtype=object), np.empty((len(y), len(np.unique(y))))
    for train, test in FOLDS.split(X, y):
        fitted = clone(model).fit(X[train], y[train])
        done[test], proba[test] = fitted.predict(X[test]), fitted.predict_proba(X[test])
    return done, proba


MODELS = [
    bk.RiskClassifier(bk.NaiveBayes(), COSTS),
    bk.RiskClassifier(bk.NaiveBayes(), threshold=0.9),
    bk.RiskClassifier(bk.NaiveBayes(), COSTS, reject=0.4),
    bk.RiskClassifier(bk.NaiveBayes(), TREAT),
    bk.RiskClassifier(bk.NaiveBayes(), outlier=-25.0, abstain="none"),
    FixedThresholdClassifier(bk.NaiveBayes(), threshold=0.9, pos_label="well", response_method="predict_proba"),
    TunedThresholdClassifierCV(bk.NaiveBayes(), cv=3),
    make_pipeline(StandardScaler(), bk.RiskClassifier(LogisticRegression(), COSTS)),
    Eager(),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda m: repr(m)[:60])
def test_confusion_and_its_measures_are_of_what_the_model_does(model):
    done, proba = by_hand(model)
    found = bk.evaluate(model, X, Y, bk.CrossValidation(FOLDS))
    actions = [*found.classes, *found.others]
    wanted = np.array([[np.sum((t == Y) & (done == a)) for a in actions] for t in found.classes])
    assert found.confusion.matrix.tolist() == wanted.tolist()
    assert wanted.sum() == len(Y)
    if np.isin(done, ["ill", "well"]).any():
        assert found.accuracy == pytest.approx(np.mean(done == Y), abs=1e-12)
        labels = done.astype(str)
        assert found.measures.value("mcc") == pytest.approx(metrics.matthews_corrcoef(Y, labels), abs=1e-12)
        assert found.measures.value("kappa") == pytest.approx(metrics.cohen_kappa_score(Y, labels), abs=1e-12)
        recall = metrics.recall_score(Y, labels, labels=["ill", "well"], average=None, zero_division=np.nan)
        assert list(found.confusion.sensitivity.values()) == pytest.approx(recall.tolist(), abs=1e-12)
        folds = [np.mean(done[test] == Y[test]) for _, test in FOLDS.split(X, Y)]
        assert found.measures.by_fold("accuracy") == pytest.approx(folds, abs=1e-12)
    else:
        assert np.isnan([found.accuracy, found.confusion.balanced_accuracy]).all()
    assert found.log_loss == pytest.approx(metrics.log_loss(Y, proba), abs=1e-12)
    assert found.auc == pytest.approx(metrics.roc_auc_score(Y == "well", proba[:, 1]), abs=1e-12)
    rows = found.frame("pandas", of="rows")
    assert rows["predicted"].tolist() == done.tolist()


def test_what_a_risk_classifier_does_is_priced_by_its_own_costs():
    model = bk.RiskClassifier(bk.NaiveBayes(), COSTS, reject=0.4, threshold=0.7)
    done, proba = by_hand(model)
    found = bk.evaluate(model, X, Y, bk.CrossValidation(FOLDS))
    cost = [0.4 if a == "abstain" else COSTS[t][a] for t, a in zip(Y, done, strict=True)]
    assert found.realised_cost == pytest.approx(np.mean(cost), abs=1e-12)
    ahead = [
        0.4 if a == "abstain" else p[0] * COSTS["ill"][a] + p[1] * COSTS["well"][a]
        for p, a in zip(proba, done, strict=True)
    ]
    assert found.expected_cost == pytest.approx(np.mean(ahead), abs=1e-12)
    assert 0 < np.sum(done == "abstain") < len(Y)
    assert found.coverage == pytest.approx(np.mean(done != "abstain"), abs=1e-12)
    assert found.covered_accuracy == pytest.approx(np.mean((done == Y)[done != "abstain"]), abs=1e-12)
    assert found.confusion.frame("pandas")["as abstain"].sum() == np.sum(done == "abstain")
    text = str(found)
    assert "abstain" in text
    assert "covered accuracy" in text


def test_actions_that_are_no_classes_are_priced():
    model = bk.RiskClassifier(bk.NaiveBayes(), TREAT)
    done, _ = by_hand(model)
    found = bk.evaluate(model, X, Y, bk.CrossValidation(FOLDS))
    cost = np.mean([TREAT[t][a] for t, a in zip(Y, done, strict=True)])
    assert found.others == ("treat", "wait")
    assert found.realised_cost == pytest.approx(cost, abs=1e-12)
    assert found.confusion.cost(TREAT) == pytest.approx(cost, abs=1e-12)
    assert np.isnan(found.accuracy)
    assert found.interval("accuracy").how
    shown = str(found.confusion)
    assert shown.startswith("no row was predicted as a class")
    assert "sensitivity" not in shown


def test_a_threshold_is_priced_by_the_costs_given():
    model = FixedThresholdClassifier(bk.NaiveBayes(), threshold=0.95, pos_label="well", response_method="predict_proba")
    done, _ = by_hand(model)
    found = bk.evaluate(model, X, Y, bk.CrossValidation(FOLDS), costs=COSTS)
    wanted = np.mean([COSTS[t][a] for t, a in zip(Y, done, strict=True)])
    assert found.realised_cost == pytest.approx(wanted, abs=1e-12)
    with pytest.raises(InputError, match="has no cost"):
        bk.evaluate(model, X, Y, bk.CrossValidation(FOLDS), costs=TREAT)


def test_a_plain_classifier_is_judged_by_its_classes_and_by_the_least_cost():
    found = bk.evaluate(bk.NaiveBayes(), X, Y, bk.CrossValidation(FOLDS), costs=COSTS)
    told = found.classes[np.argmax(found.proba, axis=1)]
    assert found.accuracy == pytest.approx(np.mean(told == Y), abs=1e-12)
    least = bk.decide(found.proba, COSTS, found.classes).action
    wanted = np.mean([COSTS[t][a] for t, a in zip(Y, least, strict=True)])
    assert found.realised_cost == pytest.approx(wanted, abs=1e-12)
    acting = bk.evaluate(bk.RiskClassifier(bk.NaiveBayes(), COSTS), X, Y, bk.CrossValidation(FOLDS))
    assert acting.realised_cost == pytest.approx(found.realised_cost, abs=1e-12)


@pytest.mark.parametrize("method", [bk.Holdout(), bk.LeaveOneOut(), bk.CrossValidation(3, repeats=2)], ids=str)
def test_every_method_judges_decisions(method):
    some = np.arange(0, 240, 4)
    model = bk.RiskClassifier(bk.NaiveBayes(), COSTS, threshold=0.7)
    found = bk.evaluate(model, X[some], Y[some], method)
    rows = found.frame("pandas", of="rows").dropna()
    if getattr(method, "repeats", 1) == 1:
        assert found.accuracy == pytest.approx(np.mean(rows["predicted"] == rows["true"]), abs=1e-12)
        assert found.coverage == pytest.approx(np.mean(rows["predicted"] != "abstain"), abs=1e-12)
    assert found.confusion.accuracy == pytest.approx(found.accuracy, abs=1e-12)


@pytest.mark.parametrize("plus", [False, True])
def test_a_bootstrap_has_one_accuracy_and_judges_decisions(plus):
    some = np.arange(0, 240, 4)
    model = bk.RiskClassifier(bk.NaiveBayes(), COSTS, threshold=0.7)
    found = bk.evaluate(model, X[some], Y[some], bk.Bootstrap632(10, plus=plus))
    assert found.confusion.accuracy == pytest.approx(found.accuracy, abs=1e-12)
    assert f"accuracy {found.accuracy:.2%}" in str(found)
    assert "abstain" in found.others
    plain = bk.evaluate(bk.NaiveBayes(), X[some], Y[some], bk.Bootstrap632(10, plus=plus))
    assert plain.confusion.accuracy == pytest.approx(plain.accuracy, abs=1e-12)


def test_comparisons_are_of_decisions():
    models = {"plain": bk.NaiveBayes(), "acting": bk.RiskClassifier(bk.NaiveBayes(), COSTS)}
    found = bk.compare(models, X, Y, bk.CrossValidation(FOLDS), by="accuracy")
    done, _ = by_hand(models["acting"])
    assert found["acting"].accuracy == pytest.approx(np.mean(done == Y), abs=1e-12)
    assert found.best == "plain"
    rows = bk.compare(models, X[::5], Y[::5], bk.LeaveOneOut(), by="accuracy")
    assert rows.difference("acting").value == pytest.approx(rows["acting"].accuracy - rows["plain"].accuracy, abs=1e-12)
    assert rows.difference("acting").how == "rows, paired t"


def test_a_fitted_model_is_judged_by_what_it_does_also_from_a_file(tmp_path):
    table = pd.DataFrame(X[:, :3], columns=list("abc")).assign(kind=Y)
    table.iloc[120:].to_parquet(tmp_path / "new.parquet")
    model = bk.RiskClassifier(bk.NaiveBayes(), COSTS, threshold=0.6).fit(table.iloc[:120, :3], Y[:120])
    here = bk.evaluate(model, table.iloc[120:], "kind", bk.AsFitted())
    there = bk.evaluate(model, tmp_path / "new.parquet", "kind", bk.AsFitted())
    done = model.predict(table.iloc[120:, :3])
    for found in (here, there):
        assert found.accuracy == pytest.approx(np.mean(done == Y[120:]), abs=1e-12)
        assert found.coverage == pytest.approx(np.mean(done != "abstain"), abs=1e-12)
    assert there.confusion.matrix.tolist() == here.confusion.matrix.tolist()
    assert there.realised_cost == pytest.approx(here.realised_cost, abs=1e-12)


def test_numbers_for_classes_stand_beside_actions_with_names(tmp_path):
    data, y = load_iris(return_X_y=True)
    model = bk.RiskClassifier(bk.NaiveBayes(), threshold=0.95)
    found = bk.evaluate(model, data, y, bk.CrossValidation(3))
    assert set(found.frame("pandas", of="rows")["predicted"]) == {"0", "1", "2", "abstain"}
    found.plot("confusion")
    page = tmp_path / "report.html"
    bk.report(found, page)
    text = page.read_text()
    assert "abstain" in text
    assert "Coverage" in text


def test_weights_reach_the_estimator_of_a_risk_classifier():
    weight = np.random.default_rng(1).choice([0.5, 1.0, 4.0], len(Y))
    found = bk.evaluate(MODELS[0], X, Y, bk.CrossValidation(FOLDS), sample_weight=weight)
    done = np.empty(len(Y), dtype=object)
    for train, test in FOLDS.split(X, Y):
        fitted = clone(MODELS[0]).fit(X[train], Y[train], sample_weight=weight[train])
        done[test] = fitted.predict(X[test])
    assert found.accuracy == pytest.approx(metrics.accuracy_score(Y, done, sample_weight=weight), abs=1e-12)
    assert (done != by_hand(MODELS[0])[0]).any()  # the weights matter
