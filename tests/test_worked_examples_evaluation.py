"""Worked examples on evaluation, by letter and number, through the public names only."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.metrics import accuracy_score
from sklearn.model_selection import LeaveOneOut, cross_val_predict
from sklearn.naive_bayes import GaussianNB

import bayeskit as bk
from bayeskit.evaluation.scores import SCORES

X, Y = load_iris(return_X_y=True)
GAUSSIAN = GaussianNB(var_smoothing=0)


def test_c5_confusion():
    table = bk.Confusion([[6954, 46], [412, 2588]], ["yes", "no"])
    assert f"{table.accuracy:.2%}" == "95.42%"
    assert table.error_rate == pytest.approx(1 - 0.9542)
    assert [f"{table.sensitivity[c]:.2%}" for c in ("yes", "no")] == ["99.34%", "86.27%"]
    assert [f"{table.specificity[c]:.2%}" for c in ("yes", "no")] == ["86.27%", "99.34%"]
    assert [f"{table.precision[c]:.2%}" for c in ("yes", "no")] == ["94.41%", "98.25%"]


def test_c6_holdout_of_a_third():
    found = bk.evaluate(bk.NaiveBayes(), X, Y, bk.Holdout())
    tested = ~np.isnan(found.proba).any(axis=1)
    assert tested.sum() == 50
    model = clone(GAUSSIAN).fit(X[~tested], Y[~tested])
    assert found.accuracy == pytest.approx(model.score(X[tested], Y[tested]))


def test_c6_repeated_holdout_is_a_mean():
    found = bk.evaluate(bk.NaiveBayes(), X, Y, bk.Holdout(repeats=20))
    each = found.frame("pandas", of="folds")["accuracy"]
    assert len(each) == 20
    assert found.accuracy == pytest.approx(each.mean())


def test_c6_ten_folds_stratified():
    fold = np.tile(np.arange(10), 15)
    found = bk.evaluate(bk.NaiveBayes(), X, Y, bk.CrossValidation(fold))
    right = 0
    for f in range(10):
        model = clone(GAUSSIAN).fit(X[fold != f], Y[fold != f])
        right += np.sum(model.predict(X[fold == f]) == Y[fold == f])
    assert found.accuracy == pytest.approx(right / 150)
    assert bk.CrossValidation().folds == 10
    assert bk.CrossValidation().stratified


def test_c6_leave_one_out():
    found = bk.evaluate(bk.NaiveBayes(), X, Y, bk.LeaveOneOut())
    wanted = cross_val_predict(GAUSSIAN, X, Y, cv=LeaveOneOut(), method="predict_proba")
    assert found.computed == "algebra"
    assert np.abs(found.proba - wanted).max() < 1e-10
    assert found.accuracy == pytest.approx(accuracy_score(Y, wanted.argmax(axis=1)))


def test_c6_632_bootstrap_is_a_mean_over_repeats():
    found = bk.evaluate(bk.NaiveBayes(), X, Y, bk.Bootstrap632(repeats=50))
    test = SCORES["accuracy"].of_sums(found.measures.each)
    apparent = accuracy_score(Y, GAUSSIAN.fit(X, Y).predict(X))
    assert found.measures.by_fold("accuracy") == pytest.approx(0.632 * test + 0.368 * apparent)
    assert found.accuracy == pytest.approx(np.mean(0.632 * test + 0.368 * apparent), abs=1e-2)  # it is a mean over rows
    assert 0.93 < found.accuracy < 0.98
    assert bk.Bootstrap632().repeats == 200


def test_e9_sensitivity_and_specificity_over_populations():
    rng = np.random.default_rng(0)

    def population(shift, rows):
        y = np.where(rng.random(rows) < 0.4, "ill", "well")
        return rng.normal((y == "ill")[:, None] * 2.0 + shift, 1.0, (rows, 3)), y

    finnish, german = population(0.0, 300), population(0.8, 200)
    mixed = tuple(np.concatenate(pair) for pair in zip(finnish, german, strict=True))
    given = {"Finnish": finnish, "German": german, "Mixed": mixed}
    found = bk.cross_population(bk.NaiveBayes(), given, positive="ill")
    table = found.frame("pandas").set_index(["train", "test"])
    assert len(table) == 9
    for train, (x, y) in given.items():
        model = clone(GAUSSIAN).fit(x, y)
        for test, (other, truth) in given.items():
            if train != test:
                said = model.predict(other)
                ill, well = truth == "ill", truth == "well"
                assert table.loc[(train, test), "sensitivity"] == pytest.approx(np.mean(said[ill] == "ill"))
                assert table.loc[(train, test), "specificity"] == pytest.approx(np.mean(said[well] == "well"))
        own = bk.evaluate(bk.NaiveBayes(), x, y, bk.CrossValidation(10)).confusion
        assert table.loc[(train, train), "sensitivity"] == pytest.approx(own.sensitivity["ill"])
        assert table.loc[(train, train), "specificity"] == pytest.approx(own.specificity["ill"])
    assert "Finnish" in str(found)
