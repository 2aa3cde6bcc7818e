"""scikit-learn's contract, its tools around our classifier, and its classifiers as references."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_iris, make_blobs
from sklearn.ensemble import BaggingClassifier, VotingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import (
    GridSearchCV,
    LeaveOneOut,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
)
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder, StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import bayeskit as bk
from bayeskit.families import Gaussian
from bayeskit.smoothing import Laplace, MEstimate

MODELS = {
    "naive": bk.NaiveBayes(),
    "student": bk.NaiveBayes(families=Gaussian(predictive=True)),
    "kinds": bk.NaiveBayes(kinds="quantitative", prior="uniform"),
    "unseen, smoothing": bk.NaiveBayes(unseen="smooth", smoothing=MEstimate(2)),
    "back-off": bk.NaiveBayes(backoff=1.0),
    "missing is a level": bk.NaiveBayes(missing="level"),
    "threads": bk.NaiveBayes(n_jobs=2),
    "full": bk.FullBayes(),
    "tied": bk.FullBayes(covariance="tied", shrinkage=0.5, n_jobs=2),
    "full, what is available": bk.FullBayes(missing="available"),
}
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
ESTIMATORS = [
    *MODELS.values(),
    bk.TAN(),
    bk.KDB(cuts="mdlp", unseen="smooth"),
    bk.AODE(),
    bk.AODE(n=2),
    bk.AJE(n=2, cuts="frequency", weights=None, missing="level"),
    bk.NetworkBayes(),
    bk.NetworkBayes(search="chow-liu", cuts="mdlp", missing="level"),
    bk.KNNBayes(),
    bk.KNNBayes(metric="gower", max_rows=60),
    bk.KNNBayes(k=3, metric="mahalanobis", weights="epanechnikov", pseudo=1.0),
    bk.KNNBayes(metric="manhattan", scale="mutual_information", prior="uniform"),
    bk.FeatureSelector(),
    bk.FeatureSelector(method="forward"),
    bk.FeatureSelector(method="backward", criterion="error", n_features=1),
    bk.Discretizer(),
    bk.Discretizer(method="frequency", bins=4),
    bk.Discretizer(method="mdlp"),
    bk.Discretizer(cuts=[0.0, 1.0]),
    bk.NormalScores(),
    bk.AJE(),
    bk.CorrectedNaiveBayes(),
    bk.ProbabilityForest(trees=20),
    bk.BoostedTrees(),
    bk.NaiveBayes(weights="fitted"),
    bk.TAN(weights="fitted"),
    bk.AutoBayes(fast=True),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_check_estimator_has_no_failure_and_no_expected_one(estimator):
    results = check_estimator(estimator, on_skip=None, on_fail=None)
    assert [(r["check_name"], r["exception"]) for r in results if r["status"] not in ("passed", "skipped")] == []
    assert len(results) >= 54
    assert sum(r["status"] == "skipped" for r in results) <= 1


@every_model
def test_it_is_a_classifier_whose_arguments_have_names(model):
    assert is_classifier(model)
    with pytest.raises(TypeError):
        type(model)(Gaussian())


@every_model
def test_clone_keeps_settings_and_drops_what_was_learned(model):
    X, y = load_iris(return_X_y=True)
    model = clone(model).fit(X, y)
    fresh = clone(model)
    assert fresh.get_params() == model.get_params()
    assert not hasattr(fresh, "model_")
    with pytest.raises(NotFittedError):
        fresh.predict(X)
    assert fresh.fit(X, y).model_.digest == model.model_.digest


@every_model
def test_pickle_keeps_everything(model):
    X, y = load_iris(return_X_y=True)
    model = clone(model).fit(X[::2], y[::2])
    back = pickle.loads(pickle.dumps(model))
    assert back.model_.digest == model.model_.digest
    assert np.array_equal(back.predict_proba(X), model.predict_proba(X))
    back.partial_fit(X[1::2], y[1::2]).forget(X[1::2], y[1::2])
    assert back.model_.digest == model.model_.digest


def test_settings_are_not_touched_by_fit():
    kinds, prior = {"x0": "quantitative"}, {0: 0.2, 1: 0.3, 2: 0.5}
    X, y = load_iris(return_X_y=True)
    model = bk.NaiveBayes(kinds=kinds, prior=prior).fit(X, y)
    assert model.kinds is kinds
    assert model.prior is prior
    assert (kinds, prior) == ({"x0": "quantitative"}, {0: 0.2, 1: 0.3, 2: 0.5})


@pytest.mark.parametrize("number", [np.float32(0.5), np.float64(0.5), np.int64(2), np.int32(1), np.int64(0)], ids=repr)
def test_smoothing_takes_numbers_of_numpy(number):
    table, y = {"c": ["u", "v", "u", "u"]}, [0, 0, 1, 1]
    given = bk.NaiveBayes(smoothing=number).fit(table, y).predict_proba(table)
    plain = bk.NaiveBayes(smoothing=number.item()).fit(table, y).predict_proba(table)
    assert np.array_equal(given, plain)


# -- its tools -------------------------------------------------------------------------------------


def people(n=240):
    rng = np.random.default_rng(4)
    sick = rng.random(n) < 0.4
    age = rng.normal(40 + 12 * sick, 9)
    age[rng.random(n) < 0.1] = np.nan
    town = np.where(rng.random(n) < 0.2 + 0.5 * sick, "A", rng.choice(["B", "C"], n))
    return pd.DataFrame({"age": age, "town": town, "member": rng.random(n) < 0.5}), np.where(sick, "ill", "well")


def test_a_pipeline_of_frames():
    X, y = people()
    scale = ColumnTransformer([("scale", StandardScaler(), ["age"])], remainder="passthrough")
    scale.set_output(transform="pandas")
    piped = make_pipeline(scale, bk.NaiveBayes()).fit(X, y)
    last = piped[-1]
    assert [c.kind for c in last.schema_.columns] == ["quantitative", "nominal", "binary"]
    plain = bk.NaiveBayes().fit(X, y)
    assert piped.predict_proba(X) == pytest.approx(plain.predict_proba(X), rel=1e-9)


def test_feature_names_are_checked_as_scikit_learn_does():
    X, y = people()
    model = bk.NaiveBayes().fit(X[["age"]], y)
    assert model.feature_names_in_.tolist() == ["age"]
    assert model.n_features_in_ == 1
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X[["age"]].to_numpy())


def test_grid_search_over_smoothing_and_families():
    X, y = people()
    grid = {"smoothing": [0, 0.5, Laplace(2), MEstimate(3)], "families": [None, {"age": Gaussian(predictive=True)}]}
    search = GridSearchCV(bk.NaiveBayes(), grid, scoring="neg_log_loss", cv=4, error_score="raise").fit(X, y)
    assert len(search.cv_results_["params"]) == 8
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_estimator_.score(X, y) > np.mean(y == "well")


def test_grid_search_over_a_numpy_range():
    X, y = people()
    search = GridSearchCV(bk.NaiveBayes(), {"smoothing": np.arange(1, 4)}, cv=3, error_score="raise").fit(X, y)
    assert search.best_score_ > np.mean(y == "well")


def test_cross_val_predict_is_a_fit_on_the_other_folds():
    X, y = people()
    folds = StratifiedKFold(5)
    proba = cross_val_predict(bk.NaiveBayes(), X, y, cv=folds, method="predict_proba")
    for train, test in folds.split(X, y):
        alone = bk.NaiveBayes().fit(X.iloc[train], y[train]).predict_proba(X.iloc[test])
        assert np.array_equal(proba[test], alone)


def test_forgetting_a_fold_is_fitting_the_others():
    X, y = people()
    whole = bk.NaiveBayes().fit(X, y)
    for train, test in StratifiedKFold(5).split(X, y):
        left = copy.deepcopy(whole).forget(X.iloc[test], y[test])
        assert left.model_.digest == bk.NaiveBayes().fit(X.iloc[train], y[train]).model_.digest


def test_cross_validation_of_every_sort():
    X, y = load_iris(return_X_y=True)
    mine, theirs = bk.NaiveBayes(), GaussianNB(var_smoothing=0)
    assert cross_val_score(mine, X, y, cv=10) == pytest.approx(cross_val_score(theirs, X, y, cv=10))
    few = np.r_[0:10, 50:60, 100:110]
    assert cross_val_score(mine, X[few], y[few], cv=LeaveOneOut()).mean() > 0.8
    scores = cross_validate(mine, X, y, scoring=["accuracy", "neg_log_loss", "roc_auc_ovr"])
    assert all(np.isfinite(v).all() for v in scores.values())


@pytest.mark.parametrize("method", ["sigmoid", "isotonic", "temperature"])
def test_calibration(method):
    X, y = people()
    model = CalibratedClassifierCV(bk.NaiveBayes(), method=method, cv=3).fit(X, y)
    proba = model.predict_proba(X)
    assert np.isfinite(proba).all()
    assert proba.sum(axis=1) == pytest.approx(np.ones(len(X)))
    assert model.classes_.tolist() == ["ill", "well"]


def test_ensembles():
    X, y = load_iris(return_X_y=True)
    bag = BaggingClassifier(bk.NaiveBayes(), n_estimators=5, random_state=0).fit(X, y)
    vote = VotingClassifier([("a", bk.NaiveBayes()), ("b", GaussianNB())], voting="soft").fit(X, y)
    assert bag.score(X, y) > 0.9
    assert vote.score(X, y) > 0.9


def test_sample_weights_are_routed():
    X, y = people()
    weight = np.random.default_rng(1).integers(0, 4, len(y))
    with config_context(enable_metadata_routing=True):
        model = bk.NaiveBayes().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        piped = make_pipeline(model).fit(X, y, sample_weight=weight)
        search = GridSearchCV(model, {"smoothing": [1.0]}, cv=3, error_score="raise")
        search.fit(X, y, sample_weight=weight)
    repeated = bk.NaiveBayes().fit(X.loc[X.index.repeat(weight)], np.repeat(y, weight))
    assert piped[-1].model_.digest == repeated.model_.digest
    assert search.best_estimator_.model_.digest == repeated.model_.digest


# -- its classifiers as references -----------------------------------------------------------------


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("seed", range(4))
def test_gaussian_nb_agrees(seed, order):
    rng = np.random.default_rng(seed)
    X, y = make_blobs(300, n_features=6, centers=4, cluster_std=3, random_state=seed)
    X, w = np.asarray(X, order=order), rng.random(300) * 3
    for weight in (None, w):
        mine = bk.NaiveBayes().fit(X, y, sample_weight=weight)
        theirs = GaussianNB(var_smoothing=0).fit(X, y, sample_weight=weight)
        assert mine.predict_proba(X) == pytest.approx(theirs.predict_proba(X), rel=1e-10, abs=1e-14)
        assert mine.predict_joint_log_proba(X) == pytest.approx(theirs.predict_joint_log_proba(X), rel=1e-10)


@pytest.mark.parametrize("alpha", [1e-3, 0.5, 1.0, 7.0])
@pytest.mark.parametrize("seed", range(3))
def test_categorical_nb_agrees(seed, alpha):
    rng = np.random.default_rng(seed)
    X, y, w = rng.integers(0, 6, (300, 5)), rng.integers(0, 4, 300), rng.random(300)
    for weight in (None, w):
        theirs = CategoricalNB(alpha=alpha).fit(X, y, sample_weight=weight)
        for table in (X, X.astype(str)):
            mine = bk.NaiveBayes(kinds="nominal", smoothing=alpha).fit(table, y, sample_weight=weight)
            assert mine.predict_proba(table) == pytest.approx(theirs.predict_proba(X), rel=1e-10)
            assert mine.predict_joint_log_proba(table) == pytest.approx(theirs.predict_joint_log_proba(X), rel=1e-10)


def test_text_needs_no_encoder():
    X, y = people()
    texts = X[["town"]]
    theirs = make_pipeline(OrdinalEncoder(), CategoricalNB()).fit(texts, y)
    assert bk.NaiveBayes().fit(texts, y).predict_proba(texts) == pytest.approx(theirs.predict_proba(texts), rel=1e-12)
