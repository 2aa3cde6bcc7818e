"""Calibration: maps against scikit-learn's, and the calibrated classifier's promises."""

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_expit, log_softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_iris, make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.utils.estimator_checks import check_estimator

import bayeskit as bk
from bayeskit.decision.calibration import METHODS as MAPS
from bayeskit.decision.calibration import calibration, choose_method, log_odds
from bayeskit.errors import BayeskitError
from bayeskit.families import Histogram

METHODS = ["temperature", "sigmoid", "isotonic"]


class Given(ClassifierMixin, BaseEstimator):
    """A classifier whose decision function is its input: what scikit-learn's calibrators are fed with."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X):
        return X[:, 0] if X.shape[1] == 1 else X

    def predict(self, X):
        return self.classes_[(X[:, 0] > 0).astype(int) if X.shape[1] == 1 else X.argmax(axis=1)]


def posteriors(classes, n=400, seed=0):
    """Overconfident log posteriors and the labels they are about."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n, classes))
    label = np.array([rng.choice(classes, p=p) for p in np.exp(log_softmax(scores, axis=1))])
    return log_softmax(3 * scores, axis=1), label


def peer(method, scores, label):
    inner = FrozenEstimator(Given().fit(scores, label))
    return CalibratedClassifierCV(inner, method=method).fit(scores, label).predict_proba(scores)


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_temperature_agrees_with_scikit_learn(classes):
    logs, label = posteriors(classes)
    scores = logs if classes > 2 else np.diff(logs)
    np.testing.assert_allclose(
        np.exp(calibration("temperature", logs, label)(logs)), peer("temperature", scores, label), atol=1e-5
    )


@pytest.mark.parametrize("classes", [2, 4])
def test_sigmoid_agrees_with_scikit_learn_on_log_odds(classes):
    logs, label = posteriors(classes)
    odds = log_odds(logs)
    scores = odds if classes > 2 else odds[:, 1:]
    np.testing.assert_allclose(
        np.exp(calibration("sigmoid", logs, label)(logs)), peer("sigmoid", scores, label), atol=1e-4
    )


def test_isotonic_blocks_are_those_of_pooling_adjacent_violators():
    logs, label = posteriors(2)
    odds = log_odds(logs)[:, 1]
    block = IsotonicRegression().fit(odds, label).predict(odds)
    found = np.exp(calibration("isotonic", logs, label)(logs))[:, 1]
    for value in np.unique(block):
        rows = block == value
        k, n = label[rows].sum(), rows.sum()
        share = found[rows]
        assert np.ptp(share) < 1e-12
        assert 0 < share[0] < 1
        if n > 30:  # small blocks may be lifted by their neighbours so that the map keeps rising
            assert share[0] == pytest.approx((k + 0.5) / (n + 1))


@pytest.mark.parametrize("method", METHODS)
def test_weights_are_repetitions(method):
    logs, label = posteriors(3, 60)
    weight = np.random.default_rng(1).integers(0, 4, 60)
    some = calibration(method, logs, label, weight.astype(float))(logs)
    again = calibration(method, np.repeat(logs, weight, axis=0), np.repeat(label, weight))(logs)
    np.testing.assert_allclose(some, again, atol=1e-5)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("classes", [2, 3])
def test_overconfident_probabilities_get_better(method, classes):
    X, y = make_classification(3000, 12, n_informative=4, n_redundant=6, n_classes=classes, random_state=classes)
    raw = bk.NaiveBayes().fit(X[:1000], y[:1000])
    for set_right in (
        raw.calibrated(X[1000:1500], y[1000:1500], method),
        bk.Calibrated(raw, method).fit(X[:1500], y[:1500]),
    ):
        before, after = (log_loss(y[1500:], m.predict_proba(X[1500:])) for m in (raw, set_right))
        assert after < before - 0.02
        np.testing.assert_allclose(set_right.predict_proba(X).sum(axis=1), 1)


@pytest.mark.parametrize("method", METHODS)
def test_explanations_add_up_to_the_calibrated_posterior(method):
    X, y = load_iris(return_X_y=True)
    model = bk.NaiveBayes().fit(X[::2], y[::2]).calibrated(X[1::2], y[1::2], method)
    for prior in (None, [0.2, 0.2, 0.6]):
        explained = model.explain(X, prior=prior)
        posterior = np.exp(log_softmax(explained.prior + explained.terms.sum(axis=1), axis=1))
        np.testing.assert_allclose(posterior, model.predict_proba(X, prior=prior), atol=1e-12)


def test_a_new_prior_acts_on_the_calibrated_posterior():
    X, y = load_iris(return_X_y=True)
    model = bk.Calibrated(bk.NaiveBayes()).fit(X, y)
    moved = model.predict_proba(X) * np.array([0.2, 0.2, 0.6]) * 3
    np.testing.assert_allclose(model.predict_proba(X, prior=[0.2, 0.2, 0.6]), moved / moved.sum(axis=1, keepdims=True))


def test_the_map_is_fitted_to_posteriors_no_row_helped_to_make():
    """Noise alone: a model judged on its own rows looks right, judged out of sample it must be cooled."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 30)), np.repeat([0, 1], 30)
    assert bk.Calibrated(bk.NaiveBayes()).fit(X, y).calibration_.weight < 0.2
    with pytest.warns(UserWarning, match=r"learned these very rows.*Calibrated\(model\)\.fit"):
        bk.NaiveBayes().fit(X, y).calibrated(X, y)


def test_it_is_an_estimator_of_its_own():
    X, y = load_iris(return_X_y=True)
    fitted = bk.Calibrated(bk.NaiveBayes(), "sigmoid").fit(X, y)
    np.testing.assert_allclose(fitted.estimator_.predict_proba(X), bk.NaiveBayes().fit(X, y).predict_proba(X))
    assert bk.evaluate(fitted, X, y, bk.CrossValidation(3)).computed == "refit"
    np.testing.assert_allclose(fitted.log_evidence(X), bk.NaiveBayes().fit(X, y).log_evidence(X))


def test_certain_posteriors_stay_numbers():
    with np.errstate(divide="ignore"):
        logs = np.log([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.5, 0.5]])
    for method in METHODS:
        assert np.isfinite(calibration(method, logs, np.array([0, 1, 1, 0]))(logs)).all()


def test_bad_input():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(BayeskitError, match="temperature, sigmoid, isotonic"):
        bk.NaiveBayes().fit(X, y).calibrated(X, y, "magic")
    with pytest.raises(BayeskitError, match="CalibratedClassifierCV"):
        bk.Calibrated(LogisticRegression()).fit(X, y)
    with pytest.raises(BayeskitError, match="classes"):
        bk.NaiveBayes().fit(X, y).calibrated(X[:100], y[:100])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("classifier", [bk.KNNBayes(), bk.FullBayes(), bk.NaiveBayes(families=Histogram(smoothing=0))])
def test_terms_add_up_where_a_class_is_impossible_or_nearly(classifier, method):
    """Neighbours that are all of one class, and odds beyond 700 nats, which no calibration tells from certainty."""
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[::3, :12], y[::3]
    X[:2] *= 30.0
    model = bk.Calibrated(classifier, method).fit(X, y)
    for top in (None, 3):
        explained = model.explain(X, top)
        assert np.isfinite(explained.terms).all()
        posterior = np.exp(log_softmax(explained.prior + explained.terms.sum(axis=1), axis=1))
        assert posterior == pytest.approx(model.predict_proba(X), abs=1e-12)


def shifted(seed=0):
    """Rows of two normal classes at a prior of one half, and 3,000 new rows at .05."""
    rng = np.random.default_rng(seed)
    old, new = np.arange(1000) % 2, (np.arange(3000) % 20 == 0).astype(int)
    X = [rng.normal(y[:, None] * 0.7, 1, (len(y), 3)) for y in (old, new)]
    return X[0], old, X[1], new


@pytest.mark.parametrize("model", [bk.NaiveBayes(), bk.TAN(), bk.AutoBayes(fast=True)], ids=lambda m: type(m).__name__)
def test_the_model_in_hand_is_calibrated_on_new_rows(model):
    X, y, X_new, y_new = shifted()
    fitted = model.fit(X, y)
    assert fitted.predict_proba(X_new)[:, 1].mean() > 0.2
    for method, off in (("sigmoid", 0.001), ("isotonic", 0.005)):  # blocks of (k + 1/2) of (n + 1) add a little
        made = fitted.calibrated(X_new, y_new, method)
        assert made.estimator_ is fitted
        assert made.predict_proba(X_new)[:, 1].mean() == pytest.approx(0.05, abs=off)
        explained = made.explain(X_new[:50])
        posterior = np.exp(log_softmax(explained.prior + explained.terms.sum(axis=1), axis=1))
        np.testing.assert_allclose(posterior, made.predict_proba(X_new[:50]), atol=1e-9)


def test_the_model_in_hand_is_calibrated_as_by_scikit_learn():
    """Of the log-odds scikit-learn's sigmoid is the same rule; its isotonic map has other values in small blocks."""
    X, y, X_new, y_new = shifted()
    fitted = bk.NaiveBayes().fit(X, y)
    odds = log_odds(fitted.predict_log_proba(X_new))[:, 1:]
    frozen = peer("sigmoid", odds, y_new)
    np.testing.assert_allclose(fitted.calibrated(X_new, y_new).predict_proba(X_new), frozen, atol=1e-4)
    plain = CalibratedClassifierCV(FrozenEstimator(fitted), method="sigmoid").fit(X_new, y_new).predict_proba(X_new)
    assert plain[:, 1].mean() == pytest.approx(frozen[:, 1].mean(), abs=1e-3)
    stepped = peer("isotonic", odds, y_new)
    found = fitted.calibrated(X_new, y_new, "isotonic").predict_proba(X_new)
    assert np.abs(found - stepped).mean() < 0.003


def test_a_prior_replaces_the_shares_of_the_rows_calibrated_on():
    X, y, X_new, y_new = shifted()
    made = bk.NaiveBayes().fit(X, y).calibrated(X_new, y_new)
    np.testing.assert_allclose(made.predict_proba(X_new, prior=[0.95, 0.05]), made.predict_proba(X_new), atol=1e-12)
    p = made.predict_proba(X_new) * [0.5 / 0.95, 0.5 / 0.05]
    np.testing.assert_allclose(made.predict_proba(X_new, prior="uniform"), p / p.sum(axis=1, keepdims=True), atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_a_pool_can_be_calibrated(method, tmp_path):
    X, y = load_iris(return_X_y=True)
    made = bk.Calibrated(bk.AutoBayes(fast=True), method, folds=3).fit(X[:, 2:], y)
    np.testing.assert_allclose(made.predict_proba(X[:, 2:]).sum(axis=1), 1)
    for prior in (None, [0.2, 0.2, 0.6]):
        explained = made.explain(X[::9, 2:], prior=prior)
        posterior = np.exp(log_softmax(explained.prior + explained.terms.sum(axis=1), axis=1))
        np.testing.assert_allclose(posterior, made.predict_proba(X[::9, 2:], prior=prior), atol=1e-9)
    found = bk.evaluate(made, X[:, 2:], y, bk.AsFitted())
    assert found.accuracy > 0.9
    assert bk.report(found, tmp_path / "report.html").stat().st_size > 10_000
    with pytest.raises(BayeskitError, match="no density of rows"):
        made.log_evidence(X[:, 2:])


def test_rows_to_calibrate_on_are_in_memory(tmp_path):
    X, y = load_iris(return_X_y=True)
    (tmp_path / "rows.csv").write_text("x,class\n1,a\n2,b\n")
    with pytest.raises(BayeskitError, match="rows in memory"):
        bk.NaiveBayes().fit(X, y).calibrated(tmp_path / "rows.csv", "class")


def said(n, classes, seed, power=2.5):
    """Log posteriors that are too sure, and classes."""
    rng = np.random.default_rng(seed)
    true = rng.dirichlet(np.ones(classes), n)
    label = np.array([rng.choice(classes, p=p) for p in true])
    return log_softmax(power * np.log(true) + np.linspace(0, 0.8, classes), axis=1), label


@pytest.mark.parametrize("method", ["beta", "quadratic"])
def test_maps_of_log_odds_are_logistic_regressions(method):
    """By scikit-learn without a penalty: a row with target t is t of a row of the class and 1 - t of another."""
    logs, label = said(400, 2, 0)
    s = logs[:, 1] - logs[:, 0]
    x = np.column_stack([log_expit(s), -log_expit(-s)] if method == "beta" else [s, s * s])
    many = label.sum()
    target = np.where(label == 1, (many + 1) / (many + 2), 1 / (400 - many + 2))
    model = LogisticRegression(C=np.inf, tol=1e-12, max_iter=10_000)
    model.fit(np.vstack([x, x]), np.repeat([1, 0], 400), np.concatenate([target, 1 - target]))
    found = calibration(method, logs, label)
    np.testing.assert_allclose(np.exp(found(logs)), model.predict_proba(x), atol=2e-5)


def test_vector_scaling_is_the_maximum_of_its_formula():
    logs, label = said(300, 3, 1)
    found = calibration("vector", logs, label)

    def loss(wb):
        logs_now = log_softmax(wb[:3] * logs + wb[3:], axis=1)
        return -logs_now[np.arange(300), label].sum() + 0.5 * (((wb[:3] - 1) ** 2).sum() + (wb[3:] ** 2).sum())

    best = minimize(loss, np.r_[np.ones(3), np.zeros(3)], method="BFGS", options={"gtol": 1e-6})
    np.testing.assert_allclose(np.r_[found.weight, found.bias], best.x, atol=1e-4)
    np.testing.assert_allclose(np.exp(found(logs)).sum(axis=1), 1)


@pytest.mark.parametrize("classes", [2, 4])
def test_auto_is_nearly_the_best_on_new_rows(classes):
    logs, label = said(600, classes, 2)
    new, true = said(4000, classes, 3)
    rows = np.arange(4000)
    chosen = choose_method(logs, label, np.ones(600))
    loss = {m: -calibration(m, logs, label)(new)[rows, true].mean() for m in MAPS}
    assert loss[chosen] < min(loss.values()) + 0.01, (chosen, loss)
    assert loss[chosen] < -new[rows, true].mean(), "it is better than no map"


def test_isotonic_steps_of_few_rows_are_warned_of():
    logs, label = said(100, 2, 4)
    with pytest.warns(UserWarning, match="below some hundred"):
        calibration("isotonic", logs, label)
    logs, label = said(600, 2, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        calibration("isotonic", logs, label)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", ["temperature", "isotonic"])
def test_scikit_learns_checks_pass(method):
    results = check_estimator(bk.Calibrated(bk.NaiveBayes(), method), on_skip=None, on_fail=None)
    assert [(r["check_name"], r["exception"]) for r in results if r["status"] not in ("passed", "skipped")] == []
    assert len(results) > 54


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator", [bk.NaiveBayes(), bk.AutoBayes(fast=True)])
def test_a_weight_is_as_many_copies_in_any_order(estimator):
    rng = np.random.default_rng(1)
    X, y = load_iris(return_X_y=True, as_frame=True)
    X, y, weight = X[::3].round(0), y[::3].to_numpy(), rng.integers(0, 4, 50)
    often = rng.permutation(np.repeat(np.arange(50), weight))
    one = bk.Calibrated(estimator, "sigmoid").fit(X, y, weight)
    other = bk.Calibrated(estimator, "sigmoid").fit(X.iloc[often], y[often])
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))
    with pytest.raises(BayeskitError, match="9 folds need at least as many rows, there are 6"):
        bk.Calibrated(estimator, folds=9).fit(X[::10], y[::10], np.array([1, 2, 1, 1, 1]))


def test_weights_that_are_all_zero_are_named():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(BayeskitError, match="all sample weights are zero"):
        bk.Calibrated(bk.NaiveBayes()).fit(X, y, np.zeros(len(y)))
    with pytest.raises(BayeskitError, match="all sample weights are zero"):
        bk.evaluate(bk.NaiveBayes(), X, y, sample_weight=np.zeros(len(y)))
