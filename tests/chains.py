"""Tables whose columns hang together, and the classifiers that see it."""

import numpy as np
import pandas as pd
import pytest

import bayeskit as bk

DENSE = [bk.TAN(), bk.KDB(k=1), bk.KDB(), bk.KDB(k=3), bk.AODE(), bk.AODE(n=2)]
every_classifier = pytest.mark.parametrize("model", [*DENSE, bk.AJE(weights=None), bk.CorrectedNaiveBayes()], ids=repr)


def levels(n=400, seed=0, holes=0.0):
    """A chain a - b - e given the class, and d which nothing tells of."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    a = rng.integers(0, 3, n)
    b = np.where(rng.random(n) < 0.8, (a + y) % 3, rng.integers(0, 3, n))
    e = np.where(rng.random(n) < 0.8, (b + 1) % 3, rng.integers(0, 3, n))
    X = pd.DataFrame({"a": a, "b": b, "e": e, "d": rng.integers(0, 2, n)}).astype(str)
    return X.mask(rng.random(X.shape) < holes, None), np.array(["no", "yes"])[y]


def mixed(n=400, seed=0):
    """The same with numbers beside the levels."""
    return with_numbers(*levels(n, seed, holes=0.1), seed)


def with_numbers(X, y, seed):
    """A column that tells the class, with missing values, and one that follows it."""
    n = len(y)
    rng = np.random.default_rng([seed, 1])
    x = rng.normal((y == "yes") * 2.0, 1.0)
    return X.assign(x=np.where(rng.random(n) < 0.1, np.nan, x), z=x + rng.normal(0, 0.3, n)), y


def arcs(model):
    (density,) = model.model_.density.densities
    return {name: tuple(p for p in parents if p) for name, parents in density.name_families() if name}
