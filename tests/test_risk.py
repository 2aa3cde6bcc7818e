"""RiskClassifier: least risk around any classifier, and when it abstains."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import check_estimator

import bayeskit as bk
from bayeskit.errors import BayeskitError

X, y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[y]
COSTS = bk.Costs(np.array([[0, 1, 9], [1, 0, 9], [1, 1, 0.0]]), [0, 1, 2])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("inner", [bk.NaiveBayes(), LogisticRegression()], ids=lambda e: type(e).__name__)
def test_scikit_learns_checks_pass(inner):
    results = check_estimator(bk.RiskClassifier(inner), on_skip=None, on_fail=None)
    assert [(r["check_name"], r["exception"]) for r in results if r["status"] not in ("passed", "skipped")] == []


@pytest.mark.parametrize("inner", [bk.NaiveBayes(), LogisticRegression(max_iter=1000)], ids=lambda e: type(e).__name__)
def test_zero_one_costs_are_the_classifier_itself(inner):
    alone = inner.fit(X, NAMES).predict(X)
    risky = bk.RiskClassifier(inner).fit(X, NAMES).predict(X)
    assert (alone == risky).all()
    assert risky.dtype == alone.dtype


def test_the_action_has_the_least_expected_cost():
    model = bk.RiskClassifier(bk.NaiveBayes(), COSTS).fit(X, y)
    expected = model.predict_proba(X) @ np.array([[0, 1, 9], [1, 0, 9], [1, 1, 0.0]])
    assert (model.predict(X) == expected.argmin(axis=1)).all()
    assert (model.predict(X) != bk.NaiveBayes().fit(X, y).predict(X)).any()


def test_it_abstains_above_the_cost_of_abstaining():
    model = bk.RiskClassifier(bk.NaiveBayes(), COSTS, reject=0.2, abstain="ask").fit(X, y)
    cost = (model.predict_proba(X) @ np.array([[0, 1, 9], [1, 0, 9], [1, 1, 0.0]])).min(axis=1)
    assert ((model.predict(X) == "ask") == (cost > 0.2)).all()
    assert (cost > 0.2).any()


def test_it_abstains_below_a_posterior_and_below_an_evidence():
    doubtful = bk.RiskClassifier(bk.NaiveBayes(), threshold=0.9).fit(X, y)
    assert (doubtful.abstained(X) == (doubtful.predict_proba(X).max(axis=1) < 0.9)).all()
    strange = bk.RiskClassifier(bk.NaiveBayes(), outlier=-50.0).fit(X, y)
    assert strange.predict([[5.0, 3.4, 1.5, 0.2], [500.0, 3.4, 1.5, 0.2]]).tolist() == [0, "abstain"]


def test_the_score_is_minus_the_mean_cost_so_that_searching_by_it_works():
    model = bk.RiskClassifier(bk.NaiveBayes(), COSTS, reject=0.2).fit(X, y)
    matrix = np.array([[0, 1, 9], [1, 0, 9], [1, 1, 0.0]])
    answers = model.predict(X)
    paid = [0.2 if a == "abstain" else matrix[t, a] for t, a in zip(y, answers, strict=True)]
    assert model.score(X, y) == pytest.approx(-np.mean(paid))
    search = GridSearchCV(
        bk.RiskClassifier(bk.NaiveBayes(), COSTS), {"estimator__prior": ["empirical", "uniform"]}, cv=3
    )
    assert search.fit(X, y).best_score_ <= 0


def test_bad_settings_are_refused():
    with pytest.raises(BayeskitError, match="gives no probabilities"):
        bk.RiskClassifier(LinearSVC()).fit(X, y)
    with pytest.raises(BayeskitError, match="no row for class 2"):
        bk.RiskClassifier(bk.NaiveBayes(), bk.Costs(np.eye(2), [0, 1])).fit(X, y)
    with pytest.raises(BayeskitError, match="threshold"):
        bk.RiskClassifier(bk.NaiveBayes(), threshold=2).fit(X, y)
    with pytest.raises(BayeskitError, match="log_evidence"):
        bk.RiskClassifier(LogisticRegression(max_iter=1000), outlier=0.0).fit(X, y).predict(X)
