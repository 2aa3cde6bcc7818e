"""KNNBayes: counts, distances and densities against rows compared one by one, scikit-learn and refits."""

import copy
import math

import numpy as np
import pyarrow as pa
import pytest
from sklearn.neighbors import KNeighborsClassifier

import bayeskit as bk
from bayeskit.data.encode import Roles
from knn_reference import METRICS, counted, gap, mixed, numbers, pooled_root, rows_of, weighted_root


@pytest.mark.parametrize("metric", METRICS[:3])
@pytest.mark.parametrize("k", [1, 4, 500])
@pytest.mark.parametrize("columns", [1, 3, 20])
def test_counts_are_those_of_all_rows_as_far_as_the_kth(metric, k, columns):
    X, y = numbers(columns=columns)
    w = np.random.default_rng(1).integers(0, 4, len(y)).astype(float)
    asked = np.vstack([numbers(12, columns, seed=8)[0], X[:5]])
    for weight in (np.ones(len(y)), w, w / 3):
        model = bk.KNNBayes(k=k, metric=metric, prior="uniform").fit(X, y, sample_weight=weight)
        root = weighted_root(X, y, weight) if metric == "mahalanobis" else None
        distance = gap(metric, X, root)
        radius, proba = model.neighbors(asked).radius, model.predict_proba(asked)
        for i, x in enumerate(asked):
            near, known = counted(distance, X, y, weight, x, k)
            share = np.array([near[c] / weight[y == c].sum() for c in range(3)])
            assert proba[i] == pytest.approx(share / share.sum(), abs=1e-12)
            assert radius[i] == pytest.approx(known, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("holes", [0.0, 0.3])
@pytest.mark.parametrize("k", [1, 6])
def test_gower_of_mixed_tables_with_holes(k, holes):
    X, y = mixed(holes=holes)
    model = bk.KNNBayes(k=k, metric="gower", prior="uniform").fit(X, y)
    distance = gap("gower", X)
    proba = model.predict_proba(X)
    usable = {c: sum(y == c) for c in "abc"}
    for i, x in enumerate(rows_of(X)[:60]):
        near, _ = counted(distance, rows_of(X), y, np.ones(len(y)), x, k)
        if not holes:
            share = np.array([near[c] / usable[c] for c in "abc"])
            assert proba[i] == pytest.approx(share / share.sum(), abs=1e-12)
        else:
            assert set(np.flatnonzero(proba[i])) == {"abc".index(c) for c in near}
    assert np.isfinite(proba).all()


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_holes_scale_distances_up_to_the_columns_a_row_has(metric):
    X, y = numbers(columns=4)
    rng = np.random.default_rng(5)
    X[rng.random(X.shape) < 0.25] = np.nan
    asked = np.round(rng.normal(1, 1, (25, 4)), 1)
    asked[rng.random(asked.shape) < 0.3] = np.nan
    model = bk.KNNBayes(k=4, metric=metric).fit(X, y)
    found = model.neighbors(asked)
    for i, x in enumerate(asked):
        near, radius = counted(gap(metric, X), X, y, np.ones(len(y)), x, 4)
        mine = found[i]
        assert {c: mine.weights[mine.labels == c].sum() for c in near} == dict(near)
        assert mine.radius[0] == pytest.approx(radius, rel=1e-12, nan_ok=True)


@pytest.mark.parametrize("classes", [2, 3, 7])
@pytest.mark.parametrize("k", [2, 4, 6])
def test_of_classes_with_as_many_rows_around_the_first_is_taken(k, classes):
    """With the empirical prior counts decide, however unlike the classes are in size."""
    X, y = numbers(400, 2, classes, seed=k)
    y = np.minimum(y, np.random.default_rng(k).integers(0, classes, len(y)))
    model = bk.KNNBayes(k=k).fit(X, y)
    around = [counted(gap("euclidean", X), X, y, np.ones(len(y)), x, k)[0] for x in X[:70]]
    most = [min(c for c in near if near[c] == max(near.values())) for near in around]
    assert sum(list(near.values()).count(max(near.values())) > 1 for near in around) > 5
    assert model.predict(X[:70]).tolist() == most
    assert model.predict_proba(X[:70]).argmax(axis=1).tolist() == most


@pytest.mark.parametrize("columns", [2, 5, 40])
def test_without_ties_it_is_scikit_learns(columns):
    X, y = numbers(2500, columns, digits=12)
    asked = numbers(300, columns, seed=4, digits=12)[0]
    for metric in ("euclidean", "manhattan"):
        theirs = KNeighborsClassifier(7, metric=metric).fit(X, y)
        ours = bk.KNNBayes(k=7, metric=metric).fit(X, y)
        assert ours.predict_proba(asked) == pytest.approx(theirs.predict_proba(asked), abs=1e-12)


def test_far_from_zero_and_far_apart_matrix_products_are_checked():
    """Single precision tells none of these rows apart."""
    X, y = numbers(600, 30, digits=12)
    for shift, factor in ((1e9, 1.0), (0.0, 1e200), (0.0, 1e-200), (1e6, 1e-3)):
        moved = shift + X * factor
        truth = np.sort(np.linalg.norm((moved[:, None, :20] - moved[None, :50, :20]) / factor, axis=2), axis=0)[4]
        radius = bk.KNNBayes(k=5).fit(moved[:, :20], y).neighbors(moved[:50, :20]).radius
        assert radius / factor == pytest.approx(truth, rel=1e-9)


@pytest.mark.parametrize("settings", [{}, {"weights": "epanechnikov"}, {"pseudo": 1.0}], ids=str)
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "gower"])
@pytest.mark.parametrize("holes", [0.0, 0.2])
def test_leaving_a_row_out_is_a_refit_without_it(metric, settings, holes):
    X, y = mixed(60, holes=holes)
    X = X if metric == "gower" else X[["x", "n"]]
    w = np.random.default_rng(2).integers(1, 3, len(y)).astype(float)
    model = bk.KNNBayes(k=4, metric=metric, **settings).fit(X, y, sample_weight=w)
    table = pa.Table.from_pandas(X.assign(w=w, y=y), preserve_index=False)
    learned = model.model_.counted.block_with_classes(table.to_batches()[0], Roles("y", "w"))
    found = model.model_.posterior(learned, left_out=True)
    ends = {int(np.nanargmax(X[n])) for n in ("x", "n")} | {int(np.nanargmin(X[n])) for n in ("x", "n")}
    for i in sorted(set(range(0, 60, 6)) - ends):  # the ranges and deviations of the metric are held
        kept = np.arange(60) != i
        less = copy.deepcopy(model).forget(X[~kept], y[~kept], sample_weight=w[~kept])
        assert found[i] == pytest.approx(less.predict_proba(X[~kept])[0], abs=1e-10)
    assert np.isfinite(found).all()


def test_leaving_out_the_only_row_of_a_class():
    X, y = [[0.0], [1.0], [2.0], [9.0]], ["a", "a", "a", "b"]
    model = bk.KNNBayes(k=2).fit(X, y)
    table = pa.record_batch({"x0": [0.0, 1.0, 2.0, 9.0], "y": y})
    found = model.model_.posterior(model.model_.counted.block_with_classes(table, Roles("y")), left_out=True)
    assert found == pytest.approx(np.array([[1.0, 0.0]] * 4))


def test_priors_count():
    X, y = numbers()
    model = bk.KNNBayes(k=9).fit(X, y)
    near = model.neighbors([[0.7, 0.7, 0.7]])
    share = np.array([near.weights[near.labels == c].sum() for c in range(3)])
    assert model.predict_proba([[0.7, 0.7, 0.7]])[0] == pytest.approx(share / share.sum())
    prior = {0: 0.7, 1: 0.2, 2: 0.1}
    moved = share / np.bincount(y) * list(prior.values())
    assert model.predict_proba([[0.7, 0.7, 0.7]], prior=prior)[0] == pytest.approx(moved / moved.sum())


@pytest.mark.parametrize("metric", METRICS)
def test_log_evidence_is_the_density_of_the_ball(metric):
    X, y = numbers(columns=2, digits=12)
    x = np.array([[0.3, 0.9]])
    model = bk.KNNBayes(k=6, metric=metric).fit(X, y)
    r = model.neighbors(x).radius[0]
    span = np.ptp(X, axis=0)
    ball = {
        "euclidean": math.pi * r**2,
        "manhattan": 2 * r**2,
        "mahalanobis": math.pi * r**2 / abs(np.linalg.det(pooled_root(X, y))),
        "gower": 2 * (2 * r) ** 2 * span[0] * span[1],
    }
    assert model.log_evidence(x)[0] == pytest.approx(math.log(6 / len(y) / ball[metric]), rel=1e-9)


def test_a_ball_of_no_radius_takes_the_next_distance():
    model = bk.KNNBayes(k=2).fit([[1.0], [1.0], [3.0]], ["a", "a", "b"])
    assert model.log_evidence([[1.0]])[0] == pytest.approx(math.log(2 / 3 / 4.0))


def test_epanechnikov_and_pseudo_rows():
    X, y = [[0.0], [1.0], [2.0], [4.0]], ["a", "b", "b", "a"]
    near = bk.KNNBayes(k=3, weights="epanechnikov").fit(X, y)
    weights = 1 - np.array([0.5, 0.5, 1.5]) ** 2 / 3.5**2
    shares = [weights[0] / weights.sum(), weights[1:].sum() / weights.sum()]
    assert near.predict_proba([[0.5]])[0] == pytest.approx(shares)
    pseudo = bk.KNNBayes(k=1, pseudo=1.0).fit(X, y)
    assert pseudo.predict_proba([[0.1]])[0] == pytest.approx([1.5 / 2, 0.5 / 2])


def test_mutual_information_leaves_noise_out():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 600)
    X = np.column_stack([y + rng.normal(0, 0.3, 600), rng.normal(0, 100, (600, 8))])
    plain, scaled = bk.KNNBayes().fit(X[:400], y[:400]), bk.KNNBayes(scale="mutual_information").fit(X[:400], y[:400])
    assert scaled.score(X[400:], y[400:]) > 0.9 > 0.7 > plain.score(X[400:], y[400:])


@pytest.mark.parametrize("ties", [True, False])
@pytest.mark.parametrize("weighting", ["uniform", "epanechnikov"])
def test_smaller_numbers_of_neighbours_after_one_search_are_those_of_searches_of_their_own(weighting, ties):
    rng = np.random.default_rng(5)
    X = rng.integers(0, 4, (150, 2)).astype(float) if ties else rng.normal(size=(150, 3))
    y, w, sizes = rng.integers(0, 3, 150), rng.choice([0.5, 1.0, 2.0], 150), (1, 5, 15, 40)
    asked = np.vstack([X[:8], rng.normal(size=(12, X.shape[1]))])
    wide = bk.KNNBayes(k=40, weights=weighting, pseudo=1.0).fit(X, y, sample_weight=w)
    (density,) = wide.model_.density.densities
    blocks = wide._predictor(asked).blocks()
    found = np.concatenate([density.several(block, sizes) for block in blocks]) + wide.model_.log_prior()
    for i, k in enumerate(sizes):
        alone = bk.KNNBayes(k=k, weights=weighting, pseudo=1.0).fit(X, y, sample_weight=w).predict_log_proba(asked)
        posterior = found[:, i] - np.logaddexp.reduce(found[:, i], axis=1, keepdims=True)
        np.testing.assert_allclose(posterior, alone, atol=1e-12)
