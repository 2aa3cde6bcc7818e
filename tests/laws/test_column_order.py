"""The order of columns does not matter: ties go by name."""

import numpy as np
import pandas as pd
import pytest

import bayeskit as bk

MODELS = [
    bk.TAN(),
    bk.TAN(penalty=None),
    bk.KDB(k=2),
    bk.KDB(k=3, penalty=None),
    bk.AODE(),
    bk.AODE(parents=2),
    bk.AODE(n=2, parents=3),
    bk.NetworkBayes(),
    bk.NetworkBayes(criterion="bdeu", search="tabu", augmented=False),
    bk.NetworkBayes(search="chow-liu"),
]


def table(seed, n=240):
    """Columns full of ties: copies, mirror images and equal columns of noise beside ones that hang together."""
    rng = np.random.default_rng(seed)
    y, a = rng.integers(0, 2, n), rng.integers(0, 3, n)
    b = np.where(rng.random(n) < 0.8, (a + y) % 3, rng.integers(0, 3, n))
    noise = rng.integers(0, 2, n)
    X = pd.DataFrame({"b": b, "copy": b, "a": a, "mirror": 2 - b, "one": noise, "two": noise, "z": (a + b) % 2})
    X = X.astype(str).mask(rng.random((n, 7)) < 0.02 * seed, None)
    return X.assign(x=rng.normal(y, 1.0)), y


def orders(X, times=4):
    rng = np.random.default_rng(0)
    return [list(X.columns[::-1]), *([X.columns[j] for j in rng.permutation(X.shape[1])] for _ in range(times))]


def structure(model):
    (density,) = model.model_.density.densities
    if isinstance(model, bk.AODE):
        pairs = density.pairs if model.n == 2 else [(p,) for p in density.parents]
        return {frozenset(density.columns[j] for j in some) for some in pairs}
    return {name: frozenset(parents) for name, parents in density.name_families()}


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_posteriors_and_arcs_are_the_same(model, seed):
    X, y = table(seed)
    expected, arcs = model.fit(X, y).predict_log_proba(X), structure(model)
    for order in orders(X):
        assert structure(model.fit(X[order], y)) == arcs
        assert model.predict_log_proba(X[order]) == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("search", ["hill-climb", "tabu", "chow-liu"])
@pytest.mark.parametrize("holes", [0.0, 0.1])
def test_a_learned_network_is_the_same(search, holes):
    X, _ = table(0)
    X = X.drop(columns="x").mask(np.random.default_rng(1).random((len(X), 7)) < holes, None)
    if not holes:
        X = X.fillna("0")
    net = bk.learn_network(X, search=search)
    for order in orders(X, 2):
        other = bk.learn_network(X[order], search=search)
        assert set(other.edges) == set(net.edges)
        assert other.log_evidence(X[order]) == pytest.approx(net.log_evidence(X), rel=1e-12)
