"""RiskClassifier: least risk around any classifier, and when it abstains."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, StratifiedKFold, TunedThresholdClassifierCV, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import check_estimator

import bayeskit as bk
from bayeskit.errors import BayeskitError, InputError, KindError

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


# -- a cutoff chosen out of fold -------------------------------------------------------------------------------------


def overlapping(n, seed):
    """Four copies of one column, by which naive Bayes is too sure."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.3, "ill", "well")
    x = rng.normal((y == "ill") * 1.2, 1, n)
    return np.stack([x + rng.normal(0, 0.2, n) for _ in range(4)], axis=1), y


ACTIONS = {"ill": {"treat": 1, "wait": 9}, "well": {"treat": 3, "wait": 0}}


def test_the_cutoff_is_that_of_least_cost_out_of_fold():
    X, y = overlapping(400, 0)
    folds = StratifiedKFold(5)
    model = bk.RiskClassifier(bk.NaiveBayes(), ACTIONS, cutoff="out-of-fold", folds=folds).fit(X, y)
    p = cross_val_predict(GaussianNB(var_smoothing=0), X, y, cv=folds, method="predict_proba")[:, 1]  # of "well"

    def paid(cutoff):
        return np.mean([ACTIONS[t]["wait" if q >= cutoff else "treat"] for t, q in zip(y, p, strict=True)])

    assert paid(model.cutoff_) == pytest.approx(min(paid(t) for t in [0, *(np.sort(p) + 1e-12), 2]))
    assert paid(model.cutoff_) <= paid(8 / 11), "what the costs say of right probabilities"
    done = np.where(model.predict_proba(X)[:, 1] >= model.cutoff_, "wait", "treat")
    np.testing.assert_array_equal(model.predict(X), done)


def test_a_tuned_cutoff_pays_as_scikit_learns_does():
    """On 20,000 new rows: no dearer than TunedThresholdClassifierCV, both below what the costs alone decide."""
    X, y = overlapping(600, 1)
    new, truth = overlapping(20000, 2)

    def cost(done):
        names = {"ill": "treat", "well": "wait"}
        return np.mean([ACTIONS[t][names.get(a, a)] for t, a in zip(truth, done, strict=True)])

    def minus_cost(y_true, y_pred):
        return -np.mean([ACTIONS[t][{"ill": "treat", "well": "wait"}[a]] for t, a in zip(y_true, y_pred, strict=True)])

    theirs = TunedThresholdClassifierCV(GaussianNB(), scoring=make_scorer(minus_cost), thresholds=200).fit(X, y)
    tuned = bk.RiskClassifier(bk.NaiveBayes(), ACTIONS, cutoff="out-of-fold").fit(X, y)
    plain = bk.RiskClassifier(bk.NaiveBayes(), ACTIONS).fit(X, y)
    mine, others, untuned = (cost(m.predict(new)) for m in (tuned, theirs, plain))
    assert mine <= others * 1.02
    assert mine < untuned


def test_a_cutoff_is_kept_and_refused_where_it_says_nothing(tmp_path):
    X, y = overlapping(120, 3)
    model = bk.RiskClassifier(bk.NaiveBayes(), ACTIONS, cutoff="out-of-fold").fit(X, y)
    model.save(tmp_path / "m.bayes")
    loaded = bk.load(tmp_path / "m.bayes")
    assert loaded.cutoff_ == model.cutoff_
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    fixed = bk.RiskClassifier(bk.NaiveBayes(), ACTIONS, cutoff=0.0).fit(X, y)
    assert set(fixed.partial_fit(X, y).predict(X)) == {"wait"}
    with pytest.raises(KindError, match="tuned anew; fit"):
        model.forget(X[:5], y[:5])
    with pytest.raises(KindError, match="act by a cutoff"):
        model.predict_frame(X)
    for wrong in (1.5, -0.1, "auto", True, float("nan")):
        with pytest.raises(InputError, match="between 0 and 1, or 'out-of-fold'"):
            bk.RiskClassifier(bk.NaiveBayes(), ACTIONS, cutoff=wrong).fit(X, y)
    with pytest.raises(InputError, match="two classes and two actions, and there are 3 and 3"):
        bk.RiskClassifier(bk.NaiveBayes(), cutoff="out-of-fold").fit(np.vstack([X, X + 5]), [*y, *["odd"] * 120])
    dear = {"ill": {"treat": 1, "wait": 2}, "well": {"treat": 1, "wait": 2}}
    with pytest.raises(InputError, match="whatever the class is"):
        bk.RiskClassifier(bk.NaiveBayes(), dear, cutoff="out-of-fold").fit(X, y)
