"""Inside scikit-learn's own machinery, and MLflow's generic flavours: a test each."""

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.metrics import log_loss, make_scorer
from sklearn.model_selection import HalvingGridSearchCV, TunedThresholdClassifierCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import bayeskit as bk


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True, as_frame=True)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_set_output_names_the_columns(iris, kind):
    X, y = iris
    model = make_pipeline(bk.Discretizer(method="frequency"), bk.FeatureSelector()).set_output(transform=kind)
    found = model.fit(X, y).transform(X)
    assert type(found).__module__.split(".")[0] == kind
    assert list(found.columns) == model.get_feature_names_out().tolist()
    assert set(found.columns) <= set(X.columns)


def test_weights_and_priors_are_routed(iris):
    X, y = iris
    weights = np.arange(150) % 3 + 1
    prior = {0: 0.98, 1: 0.01, 2: 0.01}
    with config_context(enable_metadata_routing=True):
        model = bk.NaiveBayes().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        model.set_predict_proba_request(prior=True)
        whole = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), model).fit(
            X, y, sample_weight=weights
        )
        found = whole.predict_proba(X, prior=prior)
        scores = cross_validate(whole, X, y, cv=3, params={"sample_weight": weights}, return_estimator=True)
    scaled = StandardScaler().fit_transform(X)
    alone = bk.NaiveBayes().fit(scaled, y, sample_weight=weights)
    np.testing.assert_array_equal(found, alone.predict_proba(scaled, prior=prior))
    assert whole[-1].model_.digest == alone.model_.digest
    assert np.isfinite(scores["test_score"]).all()
    total = [one[-1].model_.weights.sum() for one in scores["estimator"]]
    assert sum(total) == pytest.approx(2 * weights.sum())  # each row was in two of three training sets, with its weight


def test_a_frozen_model_is_not_fitted_again(iris):
    X, y = iris
    model = bk.NaiveBayes().fit(X, y)
    frozen = FrozenEstimator(model).fit(X[:10], 1 - y[:10])
    assert clone(frozen).estimator.model_.digest == model.model_.digest
    np.testing.assert_array_equal(frozen.predict_proba(X), model.predict_proba(X))


def test_a_threshold_is_tuned():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    gain = make_scorer(lambda true, said: -np.sum((true == 0) & (said == 1)) * 5 - np.sum((true == 1) & (said == 0)))
    tuned = TunedThresholdClassifierCV(bk.NaiveBayes(), scoring=gain, cv=3).fit(X, y)
    plain = bk.NaiveBayes().fit(X, y)
    assert gain(tuned, X, y) >= gain(plain, X, y)
    said = np.where(plain.predict_proba(X)[:, 1] >= tuned.best_threshold_, 1, 0)
    np.testing.assert_array_equal(tuned.predict(X), said)


def test_settings_are_searched_by_halving(iris):
    X, y = iris
    grid = {"families": ["Gaussian", "Histogram", "Kernel"]}
    found = HalvingGridSearchCV(bk.NaiveBayes(), grid, cv=3, min_resources=30, random_state=0).fit(X, y)
    assert found.best_params_["families"] in grid["families"]
    assert found.n_iterations_ >= 2
    assert found.score(X, y) > 0.9


def test_what_is_permuted_costs_as_much_as_it_tells(iris):
    X, y = iris
    noise = X.assign(noise=np.random.default_rng(0).normal(size=150))
    model = bk.NaiveBayes().fit(noise, y)
    found = permutation_importance(model, noise, y, n_repeats=5, random_state=0, scoring="neg_log_loss")
    by_name = dict(zip(noise.columns, found.importances_mean, strict=True))
    assert by_name["petal width (cm)"] > 5 * abs(by_name["noise"])
    rng = np.random.RandomState(found.importances.shape[0])  # any permutation: the loss goes up
    shuffled = noise.assign(**{"petal width (cm)": rng.permutation(noise["petal width (cm)"])})
    assert log_loss(y, model.predict_proba(shuffled)) > log_loss(y, model.predict_proba(noise))


def test_partial_dependence_is_the_mean_over_rows(iris):
    X, y = iris
    model = bk.NaiveBayes().fit(X, y)
    found = partial_dependence(model, X, ["petal length (cm)"], grid_resolution=5, response_method="predict_proba")
    for i, value in enumerate(found["grid_values"][0]):
        mean = model.predict_proba(X.assign(**{"petal length (cm)": value})).mean(axis=0)
        np.testing.assert_allclose(found["average"][:, i], mean, atol=1e-12)


def test_mlflow_keeps_a_model_by_its_generic_flavours(iris, tmp_path):
    mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed")
    pytest.importorskip("mlflow.sklearn")
    X, y = iris
    mixed = X.assign(colour=np.array(["red", "blue", None], dtype=object)[(y + np.arange(150) // 7) % 3])
    model = bk.NaiveBayes().fit(mixed, y)
    place = str(tmp_path / "model")
    mlflow.sklearn.save_model(model, place, serialization_format="cloudpickle", pyfunc_predict_fn="predict_proba")
    again = mlflow.sklearn.load_model(place)
    assert again.model_.digest == model.model_.digest
    asked = mlflow.pyfunc.load_model(place).predict(mixed)
    np.testing.assert_array_equal(np.asarray(pd.DataFrame(asked)), model.predict_proba(mixed))
