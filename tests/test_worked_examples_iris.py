"""Worked examples A: iris, as numbers and cut into levels; through the public names only."""

import math
from fractions import Fraction as F

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import bayeskit as bk
from printed import column_given, joint


def iris():
    """Sepal length and width of the UCI iris, setosa against the rest."""
    X = load_iris().data.copy()
    X[37] = (4.9, 3.1, 1.5, 0.1)
    X[34, 3] = 0.1
    return X[:, :2], np.repeat(["c1", "c2"], [50, 100])


def test_a1_full_bayes_of_iris():
    X, y = iris()
    model = bk.FullBayes(shrinkage=None).fit(X, y)
    assert [f"{p:.2f}" for _, _, p in model.summary().classes] == ["0.33", "0.67"]
    assert model.means_.round(3).tolist() == [[5.006, 3.418], [6.262, 2.872]]
    covariances = [[[0.122, 0.098], [0.098, 0.142]], [[0.435, 0.121], [0.121, 0.110]]]
    assert model.covariances_.round(3).tolist() == covariances
    at = [[6.75, 4.25]]
    densities = joint(model, at)[0] / [1 / 3, 2 / 3]
    assert [f"{p:.3e}" for p in densities] == ["4.914e-07", "2.589e-05"]
    assert [f"{p:.3e}" for p in joint(model, at)[0]] == ["1.638e-07", "1.726e-05"]
    assert model.predict(at).tolist() == ["c2"]


def discretised():
    """The iris in right-closed cells, by name."""
    X, y = iris()
    cuts = {"length": [0, 5.2, 6.1, 7.0, 10], "width": [0, 2.8, 3.6, 10]}
    names = {"length": ["very short", "short", "long", "very long"], "width": ["short", "medium", "long"]}
    return pd.DataFrame({n: pd.cut(X[:, j], cuts[n], labels=names[n]) for j, n in enumerate(cuts)}), y


def test_a4_joint_table_of_the_discretised_iris():
    X, y = discretised()
    counts = [
        [[1, 33, 5], [0, 3, 8], [0, 0, 0], [0, 0, 0]],
        [[6, 0, 0], [24, 15, 0], [13, 30, 0], [3, 7, 2]],
    ]
    model = bk.FullBayes(smoothing=0).fit(X, y)
    every = pd.DataFrame(
        [(a, b) for a in X["length"].cat.categories for b in X["width"].cat.categories], columns=["length", "width"]
    )
    found = joint(model, every).T * 150
    assert found.reshape(2, 4, 3) == pytest.approx(np.array(counts, dtype=float))
    at = pd.DataFrame({"length": ["short"], "width": ["medium"]})
    assert joint(model, at)[0] / [1 / 3, 2 / 3] == pytest.approx([0.06, 0.15])
    assert joint(model, at)[0] == pytest.approx([0.02, 0.10])
    assert model.predict(at).tolist() == ["c2"]


def test_a5_pseudo_counts_of_the_joint_table():
    X, y = discretised()
    at = pd.DataFrame({"length": ["long"], "width": ["long"]})
    assert joint(bk.FullBayes(smoothing=0).fit(X, y), at).tolist() == [[0.0, 0.0]]
    model = bk.FullBayes(smoothing=1).fit(X, y)
    assert joint(model, at)[0] / [1 / 3, 2 / 3] == pytest.approx([1 / 62, 1 / 112])
    assert [f"{p:.2e}" for p in joint(model, at)[0]] == ["5.38e-03", "5.95e-03"]
    assert model.predict(at).tolist() == ["c2"]


def test_a2_gaussian_naive_bayes_of_iris():
    X, y = iris()
    model = bk.NaiveBayes().fit(X, y)
    at = [[6.75, 4.25]]
    densities = np.prod(column_given(model, at), axis=0)
    assert [f"{p:.3e}" for p in densities] == ["3.998e-07", "9.597e-05"]
    assert joint(model, at)[0] == pytest.approx(densities * [1 / 3, 2 / 3], rel=1e-12)
    assert model.predict(at).tolist() == ["c2"]


def test_a3_nearest_neighbours_of_iris():
    """(6.7, 3.3) occurs twice: counting both, the printed radius sqrt(1.025) is the sixth distance, not the fifth."""
    X, y = iris()
    model, at = bk.KNNBayes(k=5).fit(X, y), [[6.75, 4.25]]
    around = model.neighbors(at)
    assert sorted(np.repeat(around.labels, around.weights.astype(int))) == ["c1", "c2", "c2", "c2", "c2"]
    assert around.radius[0] == pytest.approx(math.sqrt(0.965), rel=1e-12)
    assert bk.KNNBayes(k=6).fit(X, y).neighbors(at).radius[0] == pytest.approx(math.sqrt(1.025), rel=1e-12)
    assert model.predict_proba(at)[0] == pytest.approx([1 / 5, 4 / 5], rel=1e-12)
    assert model.predict_proba(at, prior="uniform")[0] == pytest.approx([1 / 3, 2 / 3], rel=1e-12)
    assert model.predict(at).tolist() == ["c2"]


def test_a4_discretised_iris_has_the_printed_counts():
    X, y = iris()
    cells = bk.Discretizer(cuts={"x0": [5.2, 6.1, 7.0], "x1": [2.8, 3.6]}).fit_transform(X).astype(int)
    counts = {c: np.zeros((4, 3), dtype=int) for c in ("c1", "c2")}
    for (a, b), c in zip(cells, y, strict=True):
        counts[c][a, b] += 1
    assert counts["c1"].tolist() == [[1, 33, 5], [0, 3, 8], [0, 0, 0], [0, 0, 0]]
    assert counts["c2"].tolist() == [[6, 0, 0], [24, 15, 0], [13, 30, 0], [3, 7, 2]]


def test_a5_pseudo_counts_of_the_discretised_iris():
    X, y = iris()
    words = np.array(["very short", "short", "long", "very long"]), np.array(["short", "medium", "long"])
    cut = [w[np.digitize(x, c, right=True)] for x, c, w in zip(X.T, ([5.2, 6.1, 7.0], [2.8, 3.6]), words, strict=True)]
    model = bk.NaiveBayes().fit({"length": cut[0], "width": cut[1]}, y)
    at = {"length": ["long"], "width": ["long"]}
    exact = [F(50, 150) * F(0 + 1, 50 + 4) * F(13 + 1, 50 + 3), F(100, 150) * F(43 + 1, 100 + 4) * F(2 + 1, 100 + 3)]
    assert joint(model, at)[0] == pytest.approx([float(p) for p in exact], rel=1e-14)
    assert [f"{p:.4e}" for p in joint(model, at)[0]] == ["1.6306e-03", "8.2151e-03"]
    assert model.predict(at).tolist() == ["c2"]
