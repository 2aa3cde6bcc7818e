"""Leave-one-out of counts: as refitting without each row gives it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import bayeskit as bk
from bayeskit.data.source import source
from bayeskit.families import Bernoulli, Complement, Multinomial

FAMILIES = [
    Multinomial(),
    Multinomial(0.01),
    Multinomial(0),
    Complement(),
    Complement(0.2, norm=True),
    Bernoulli(),
    Bernoulli(0.01),
]
CLASSES = ["a", "b", "c", "lonely"]


def table(sort: str) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Rows twice over, a class of one row, an empty row, an empty column, and where asked holes and weights."""
    rng = np.random.default_rng(11)
    X = rng.poisson(0.7, (14, 6)).astype(float)
    X[3], X[:, 2] = 0, 0
    y = np.array([*rng.choice(["a", "b", "c"], 13), "lonely"])
    X, y = np.vstack([X, X[:4]]), np.concatenate([y, y[:4]])
    if sort == "fractions":
        X *= rng.random(X.shape)
    if sort == "holes":
        X[rng.random(X.shape) < 0.2] = np.nan
    weights = None if sort == "counts" else rng.choice([0.0, 0.1, 1.0, 2.5, 1e6], len(y))
    return X, y, weights


@pytest.mark.parametrize("family", FAMILIES, ids=str)
@pytest.mark.parametrize("sort", ["counts", "fractions", "holes"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_own_mass_is_taken_out_as_in_a_refit(family: Any, sort: str, form: Any) -> None:
    X, y, w = table(sort)

    def learned(rows: np.ndarray) -> Any:
        some = None if w is None else w[rows]
        return bk.NaiveBayes(families=family).partial_fit(form(X[rows]), y[rows], classes=CLASSES, sample_weight=some)

    everything = np.arange(len(y))
    model = learned(everything).model_
    given = source(form(X), y, w)
    block = model.counted.block_with_classes(given.rows, given.roles)
    found = np.zeros((len(y), len(CLASSES)))
    model.density.left_out.add(block, found)
    terms = model.density.left_out.terms(block)
    assert np.allclose(terms.sum(axis=1), found, rtol=1e-11, atol=1e-11)
    for i in everything:
        refit = learned(np.delete(everything, i)).model_
        known = np.zeros((1, len(CLASSES)))
        refit.density.add(refit.counted.block(source(form(X[[i]])).rows), known)
        assert np.allclose(found[i], known[0], rtol=1e-10, atol=1e-10)
