"""What evaluation does with what it cannot use: a named error, or a documented answer."""

import re

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import Perceptron
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

import bayeskit as bk
from bayeskit.errors import BayeskitError, InputError, KindError, SchemaError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2))
Y = np.repeat(["ill", "well"], [4, 36])
X[:4] += 3


def says(*parts):
    return "(?s)" + "".join(f"(?=.*{re.escape(part)})" for part in parts)


class Liar(ClassifierMixin, BaseEstimator):
    """Probabilities that do not sum to one."""

    def __init__(self, value=0.7):
        self.value = value

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.full((len(X), len(self.classes_)), self.value)


COSTS = {"ill": {"ill": -10, "wait": 5}, "wait": {"ill": 1, "wait": 0}}


WRONG = [
    (lambda: bk.evaluate(bk.NaiveBayes(), X, ["ill"] * 40), InputError, ["one class", "ill", "two classes"]),
    (lambda: bk.evaluate(bk.NaiveBayes(), X, None), InputError, ["labels", "column"]),
    (lambda: bk.evaluate(bk.NaiveBayes(), X, Y[:30]), InputError, ["30", "40"]),
    (lambda: bk.evaluate(bk.NaiveBayes(), X, "town"), SchemaError, ["'town'"]),
    (lambda: bk.evaluate(bk.NaiveBayes(), X, Y, "loo"), InputError, ["'loo'", "LeaveOneOut"]),
    (lambda: bk.evaluate(bk.NaiveBayes(), X, Y, 2.5), InputError, ["2.5", "CrossValidation", "splitter"]),
    (lambda: bk.evaluate(bk.NaiveBayes, X, Y), KindError, ["NaiveBayes", "fit"]),
    (lambda: bk.evaluate(Perceptron(), X, Y), KindError, ["Perceptron", "probabilities", "Calibrated"]),
    (lambda: bk.evaluate(Liar(), X, Y), InputError, ["row 0", "0.7", "sum one"]),
    (lambda: bk.evaluate(Liar(np.nan), X, Y), InputError, ["row 0", "nan"]),
    (lambda: bk.evaluate(KNeighborsClassifier(), X, Y, sample_weight=np.ones(40)), InputError, ["KNei", "weight"]),
    (lambda: bk.evaluate(bk.NaiveBayes(), X, Y, bk.CrossValidation(41)), InputError, ["41 folds", "40"]),
    (lambda: bk.evaluate(bk.NaiveBayes(), X, Y, groups=np.arange(40) % 3), InputError, ["10 folds", "groups", "3"]),
    (lambda: bk.evaluate(bk.NaiveBayes(), X, Y, groups=[1, 2]), InputError, ["groups", "2", "40"]),
    (lambda: bk.evaluate(bk.NaiveBayes(), X, Y, groups="town"), InputError, ["groups", "'town'"]),
    (lambda: bk.evaluate(bk.NaiveBayes(), X, Y, bk.LeaveOneOut(), groups=Y), InputError, ["groups", "CrossValid"]),
    (lambda: bk.evaluate(bk.NaiveBayes(), X, Y, bk.CrossValidation([0, 1])), InputError, ["(2,)", "40"]),
    (lambda: bk.evaluate(bk.NaiveBayes(), X, Y, bk.CrossValidation(np.zeros(40))), InputError, ["one fold"]),
    (lambda: bk.evaluate(bk.NaiveBayes(), X, Y, bk.CrossValidation(np.full(40, np.nan))), InputError, ["row 0"]),
    (lambda: bk.evaluate(bk.NaiveBayes(), X, Y, bk.Holdout(0.001)), InputError, ["0.001", "none to test"]),
    (lambda: bk.evaluate(bk.NaiveBayes(), X, Y, costs=COSTS), InputError, ["'well'", "ill, wait"]),
    (lambda: bk.evaluate(bk.NaiveBayes(), X, Y, reject=np.nan), InputError, ["reject", "nan"]),
    (lambda: bk.evaluate(bk.NaiveBayes(), X, Y).coverage, InputError, ["coverage", "reject="]),
    (lambda: bk.evaluate(bk.NaiveBayes(), X, Y).expected_cost, InputError, ["expected_cost", "costs="]),
    (lambda: bk.evaluate(bk.NaiveBayes(), X, Y).interval("luck"), InputError, ["'luck'", "brier"]),
    (lambda: bk.evaluate(bk.NaiveBayes(), X, Y).frame(of="luck"), InputError, ["'luck'", "reliability"]),
    (lambda: bk.evaluate(bk.NaiveBayes(), X, Y).frame("excel"), InputError, ["'excel'", "polars"]),
    (lambda: bk.evaluate(bk.NaiveBayes(), X, Y).roc("luck"), InputError, ["'luck'", "ill, well"]),
    (lambda: bk.CrossValidation(1), InputError, ["folds=1", "2"]),
    (lambda: bk.CrossValidation(True), InputError, ["folds=True"]),
    (lambda: bk.CrossValidation(StratifiedKFold(), repeats=2), InputError, ["repeats"]),
    *(
        (
            lambda m=m: bk.evaluate(m, X[:2], ["ill", "well"], bk.Holdout(0.5)),
            InputError,
            ["no row is left", "LeaveOne"],
        )
        for m in (bk.AutoBayes(), bk.NaiveBayes(), bk.TAN())
    ),
    (lambda: bk.Holdout(1.5), InputError, ["1.5", "between 0 and 1"]),
    (lambda: bk.Holdout(repeats=0), InputError, ["repeats=0"]),
    (lambda: bk.Bootstrap632(0), InputError, ["repeats=0"]),
    (lambda: bk.compare({}, X, Y), InputError, ["nothing to compare"]),
    (lambda: bk.compare({"a": bk.NaiveBayes()}, X, Y, by="luck"), InputError, ["'luck'", "log_loss"]),
    (lambda: bk.cross_population(bk.NaiveBayes(), {}), InputError, ["(X, y)"]),
    (lambda: bk.cross_population(bk.NaiveBayes(), {"N": X}), InputError, ["'N'", "(X, y)"]),
    (lambda: bk.cross_population(bk.NaiveBayes(), {"N": (X, ["a"] * 40)}), InputError, ["'N'", "one class"]),
    (lambda: bk.cross_population(bk.NaiveBayes(), {"N": (X, Y)}, positive="sick"), InputError, ["'sick'"]),
    (lambda: bk.cross_population(Perceptron(), {"N": (X, Y)}), KindError, ["Perceptron"]),
    (lambda: bk.Confusion([[1, 2]], ["a", "b"]), InputError, ["2 labels", "(1, 2)"]),
    (lambda: bk.Confusion([[1, -2], [0, 1]], ["a", "b"]), InputError, ["at least 0"]),
    (lambda: bk.Confusion([[1, 2], [0, 1]], ["a", "a"]), InputError, ["twice"]),
    (lambda: bk.Confusion(np.eye(2), ["a", "b"]).interval("luck"), InputError, ["'luck'", "sensitivity"]),
    (lambda: bk.Confusion(np.eye(2), ["ill", "well"]).cost(COSTS), InputError, ["'well'", "ill, wait"]),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("call", "error", "parts"), WRONG)
def test_a_named_error(call, error, parts):
    with pytest.raises(error, match=says(*parts)) as caught:
        call()
    assert isinstance(caught.value, BayeskitError)


def test_a_class_with_fewer_rows_than_folds_is_tested_in_some_folds_with_a_warning():
    with pytest.warns(UserWarning, match=says("'ill'", "4 rows", "10 folds")):
        found = bk.evaluate(bk.NaiveBayes(), X, Y)
    assert np.isfinite(found.proba).all()
    assert found.confusion.matrix.sum(axis=1).tolist() == [4, 36]


@pytest.mark.parametrize("model", [bk.NaiveBayes(), GaussianNB()], ids=["algebra", "refit"])
def test_a_fold_that_loses_a_class_gives_it_no_probability_with_a_warning(model):
    fold = np.where(Y == "ill", 0, np.arange(40) % 2)
    with pytest.warns(UserWarning, match=says("'ill'", "no row in the training set")):
        found = bk.evaluate(model, X, Y, bk.CrossValidation(fold))
    assert (found.proba[fold == 0, 0] == 0).all()
    assert found.log_loss > -np.log(1e-15) * 4 / 41


def test_a_lost_class_with_a_given_prior_is_as_if_declared_but_never_seen():
    fold = np.where(Y == "ill", 0, np.arange(40) % 2)
    prior = {"ill": 0.5, "well": 0.5}
    with pytest.warns(UserWarning, match="no row in the training set"):
        found = bk.evaluate(bk.NaiveBayes(prior=prior), X, Y, bk.CrossValidation(fold))
    model = bk.NaiveBayes(prior=prior).partial_fit(X[fold == 1], Y[fold == 1], classes=["ill", "well"])
    assert np.abs(found.proba[fold == 0] - model.predict_proba(X[fold == 0])).max() < 1e-12


def test_leaving_out_the_only_row_of_a_class_gives_it_no_probability():
    y = np.where(np.arange(40) == 7, "rare", "usual")
    found = bk.evaluate(bk.NaiveBayes(), X, y, bk.LeaveOneOut())
    assert found.proba[7].tolist() == [0.0, 1.0]


def test_negative_costs_are_gains():
    table = bk.Confusion([[3, 1], [0, 4]], ["ill", "wait"])
    assert table.cost(COSTS) == pytest.approx((-30 + 5) / 8)


def test_a_class_never_predicted_has_no_precision():
    table = bk.Confusion([[0, 3], [0, 5]], ["ill", "well"])
    assert np.isnan(table.precision["ill"])
    assert table.sensitivity["ill"] == 0
    assert table.mcc == 0
    assert "-" in str(table)


def test_labels_may_be_missing_in_a_list():
    y = [None if i == 20 else int(i < 20) for i in range(40)]
    with pytest.warns(UserWarning, match="1 of 40 rows have no label"):
        found = bk.evaluate(GaussianNB(), X, y, bk.CrossValidation(4))
    assert found.confusion.weight == 39
    assert np.isfinite(found.proba).all()


def test_a_measure_that_does_not_exist_has_no_interval():
    with pytest.warns(UserWarning, match="'a' has 1 rows"):
        found = bk.evaluate(bk.NaiveBayes(), [[1.0], [2.0], [3.0]], ["a", "b", "b"], bk.CrossValidation(3))
    interval = found.interval("auc")
    assert np.isnan([interval.low, interval.high]).all()
    assert interval.how == "too few rows of a class"


def test_a_fitted_model_is_evaluated_without_a_change():
    model = bk.NaiveBayes().fit(X, Y)
    digest = model.model_.digest
    with pytest.warns(UserWarning, match="fewer than"):
        bk.evaluate(model, X, Y)
    assert model.model_.digest == digest


def test_settings_that_are_wrong_are_refused_as_in_fit():
    with pytest.raises(InputError, match="unseen='never'"):
        bk.evaluate(bk.NaiveBayes(unseen="never"), X, Y, bk.CrossValidation(4))
