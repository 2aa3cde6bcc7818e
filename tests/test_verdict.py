"""The baseline of every measure, and the sentences a page begins with."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.dummy import DummyClassifier
from sklearn.metrics import accuracy_score, balanced_accuracy_score, log_loss, matthews_corrcoef

import bayeskit as bk
from bayeskit.reports.verdict import Verdict


@pytest.mark.parametrize("method", [bk.CrossValidation(3), bk.LeaveOneOut(), bk.Holdout(0.4)], ids=str)
def test_the_baseline_is_that_of_a_dummy_classifier(method):
    X, y = load_breast_cancer(return_X_y=True)
    found = bk.evaluate(bk.NaiveBayes(), X, y, method)
    tested = np.isfinite(found.proba[:, 0])
    X, y = X[tested], y[tested]
    dummy = DummyClassifier(strategy="prior").fit(X, y)
    p, said = dummy.predict_proba(X), dummy.predict(X)
    base = found.baseline
    assert base.value("accuracy") == pytest.approx(accuracy_score(y, said))
    assert base.value("error_rate") == pytest.approx(1 - accuracy_score(y, said))
    assert base.value("balanced_accuracy") == pytest.approx(balanced_accuracy_score(y, said))
    assert base.value("mcc") == matthews_corrcoef(y, said) == 0
    assert base.value("log_loss") == pytest.approx(log_loss(y, p))
    assert base.value("brier") == pytest.approx(np.mean(((p - np.eye(2)[y]) ** 2).sum(axis=1)))
    assert base.value("ece") == pytest.approx(0, abs=1e-12)
    assert base.value("auc") == 0.5


def test_the_baseline_takes_weights_and_costs():
    """Weights 1 and 3: shares 1/4 and 3/4; "drop" costs 3/4 * 2, "keep" 1/4 * 8; undecided is dearer than drop."""
    X, y = np.arange(40.0)[:, None], np.array(["a", "b"] * 20)
    costs = {"a": {"keep": 8.0, "drop": 0.0}, "b": {"keep": 0.0, "drop": 2.0}}
    weight = np.where(y == "a", 1.0, 3.0)
    found = bk.evaluate(bk.NaiveBayes(), X, y, bk.CrossValidation(2), costs=costs, reject=1.75, sample_weight=weight)
    assert found.baseline.value("accuracy") == pytest.approx(0.75)
    assert found.baseline.value("realised_cost") == pytest.approx(1.5)
    assert found.baseline.value("expected_cost") == pytest.approx(1.5)
    assert found.baseline.value("coverage") == 1.0


def test_the_baseline_stands_beside_every_measure():
    X, y = load_iris(return_X_y=True)
    found = bk.evaluate(bk.NaiveBayes(), X, y, bk.CrossValidation(3))
    shown = found.frame("pandas").set_index("measure")["baseline"]
    assert shown.drop("calibration_slope").notna().all()
    assert np.isnan(shown["calibration_slope"]), "probabilities that never change have no slope"
    assert "baseline" in str(found)
    compared = bk.compare(
        {"naive": bk.NaiveBayes(), "tied": bk.FullBayes(covariance="tied")}, X, y, bk.CrossValidation(3)
    )
    assert compared.baseline["accuracy"] == pytest.approx(1 / 3)
    assert compared.baseline["log_loss"] == pytest.approx(np.log(3))
    last = str(compared).splitlines()[-1].split()
    assert last[0] == "(baseline)"
    assert {"0.3333", "1.0986"} <= set(last)


def told(model, X, y, **settings):
    return Verdict(bk.evaluate(model, X, y, bk.CrossValidation(5), **settings), "sort")


def normal(n, apart, seed=0):
    """Two normal classes with equal variance, of which naive Bayes is the true model."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return rng.normal(apart * y, 1.0)[:, None], np.array(["no", "yes"])[y]


def test_what_predicts_and_is_calibrated_can_be_trusted():
    verdict = told(bk.FullBayes(covariance="tied"), *normal(4000, 2.0))
    first = verdict.sentences[0]
    assert verdict.trusted
    assert f"Right in {100 * verdict.evaluation.accuracy:.1f} %" in first
    assert "where always saying “no” is right in 50.0 %" in first
    assert f"can be trusted (ECE {verdict.evaluation.ece:.3f})" in first


def test_noise_does_not_predict():
    rng = np.random.default_rng(1)
    verdict = told(bk.NaiveBayes(), rng.normal(size=(300, 3)), rng.choice(["no", "yes"], 300))
    assert not verdict.predicts
    assert verdict.sentences[0].startswith("These columns do not predict sort")
    assert "more rows" in verdict.sentences[1]
    assert "--model auto" in verdict.sentences[1]


def test_few_rows_are_said_to_be_few():
    verdict = told(bk.FullBayes(covariance="tied"), *normal(60, 2.0, seed=3))
    assert verdict.predicts
    assert not verdict.trusted
    assert "60 rows are too few to be sure" in verdict.sentences[0] or "off by" in verdict.sentences[0]


def test_a_model_that_counts_a_column_many_times_is_too_sure():
    X, y = normal(2000, 1.0)
    verdict = told(bk.NaiveBayes(), np.repeat(X, 12, axis=1) + np.arange(12), y)
    assert "it is too sure of itself" in verdict.sentences[0]
    assert "can be trusted" not in verdict.sentences[0]
    assert verdict.sentences[2].startswith("Calibrated (in Python)")
    assert verdict.sentences[2].endswith("or try AutoBayes (--model auto).")


def test_a_rare_class_may_be_ranked_without_being_named():
    rng = np.random.default_rng(2)
    rare = rng.random(4000) < 0.04
    verdict = told(bk.FullBayes(covariance="tied"), rng.normal(rare * 1.0, 1.0)[:, None], np.where(rare, "ill", "well"))
    assert verdict.predicts
    assert "by that no better than chance explains, but it does rank the cases (AUC" in verdict.sentences[0]
    found = Verdict(verdict.evaluation, "sort", "ill").sentences[1]
    assert found.startswith(
        f"It finds {100 * verdict.evaluation.confusion.sensitivity['ill']:.1f} % of the {rare.sum()} "
    )
    assert found.endswith("From which probability on to act can be chosen below.")


def test_of_many_classes_the_one_that_is_found_least_is_named():
    y = np.repeat(["a", "b", "c"], [200, 200, 60])
    X = np.random.default_rng(3).normal(np.repeat([0.0, 4.0, 0.0], [200, 200, 60]), 1.0)[:, None]
    verdict = told(bk.FullBayes(covariance="tied"), X, y)
    share = verdict.evaluation.confusion.sensitivity["c"]
    assert share < 0.2
    assert f"It finds only {100 * share:.1f} % of the 60 cases of “c”." in verdict.sentences


def test_a_target_that_is_no_class_is_named():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(400, 1))
    years = told(bk.NaiveBayes(), x, np.rint(10 * x[:, 0]).astype(int) % 60).sentences
    assert any("different numbers of “sort” is a class of its own here; if it is a quantity, cut" in s for s in years)
    names = told(bk.NaiveBayes(), x, np.where(np.arange(400) < 300, np.arange(400), 0)).sentences
    assert any("“sort” looks like an identifier" in s for s in names)


def test_what_is_too_good_to_be_true_is_said():
    X, y = normal(400, 30.0)
    said = told(bk.NaiveBayes(), X, y).sentences
    assert any("make sure that no column was recorded after the outcome" in s for s in said)
    assert not any("make sure" in s for s in told(bk.NaiveBayes(), *normal(400, 2.0)).sentences)


def test_costs_are_part_of_the_verdict():
    X, y = normal(400, 2.0)
    costs = {"no": {"treat": 1.0, "wait": 0.0}, "yes": {"treat": 0.0, "wait": 4.0}}
    said = told(bk.NaiveBayes(), X, y, costs=costs).sentences
    assert "the best single answer for all rows would have cost 0.5000" in said[-1]  # treat: half of the rows, 1 each


def test_the_page_leads_with_it(tmp_path):
    X, y = normal(400, 2.0)
    found = bk.evaluate(bk.NaiveBayes(), pd.DataFrame({"x": X[:, 0], "<sort>": y}), "<sort>")
    page = bk.report(found, tmp_path / "p.html", note="For <triage> only").read_text(encoding="utf-8")
    head = page[page.index("<header>") : page.index("</header>")]
    assert "Predicting &lt;sort&gt;" in head
    assert "For &lt;triage&gt; only" in head
    assert "400 rows judged" in head
    assert "<time datetime=" in head
    assert f"Right in {100 * found.accuracy:.1f} %" in head
    assert f"baseline {100 * found.baseline.value('accuracy'):.1f} %" in page
