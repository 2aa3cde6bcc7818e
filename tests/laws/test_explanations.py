"""Explanations add up to the posterior of every classifier; those of a pool are as large as its posterior can show."""

from dataclasses import replace
from functools import cache
from itertools import product

import mpmath
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.datasets import load_wine

import bayeskit as bk
from bayeskit.ensemble.ensemble import Ensemble, Search
from bayeskit.ensemble.pool import back_off_terms
from bayeskit.estimators.candidates import candidates
from bayeskit.model.open_table import OpenTable

MODELS = {
    "naive": lambda: bk.NaiveBayes(),
    "families chosen": lambda: bk.NaiveBayes(families="auto"),
    "weighted": lambda: bk.NaiveBayes(weights="fitted"),
    "full": lambda: bk.FullBayes(),
    "tied": lambda: bk.FullBayes(covariance="tied"),
    "neighbours": lambda: bk.KNNBayes(metric="gower", pseudo=1.0),
    "TAN": lambda: bk.TAN(),
    "KDB": lambda: bk.KDB(weights="fitted"),
    "AODE": lambda: bk.AODE(),
    "AJE": lambda: bk.AJE(sets=10),
    "corrected": lambda: bk.CorrectedNaiveBayes(),
    "forest": lambda: bk.ProbabilityForest(trees=10),
    "boosted": lambda: bk.BoostedTrees(trees=10),
    "corrected, no pairs": lambda: bk.CorrectedNaiveBayes(pairs=0),
    "network": lambda: bk.NetworkBayes(),
    "pool": lambda: bk.AutoBayes(),
}
SCORES = {"weighted", "neighbours", "KDB", "AJE", "corrected", "corrected, no pairs", "forest", "boosted", "pool"}


def table():
    """Three classes that single columns tell apart beyond what a double between 0 and 1 can show."""
    X, y = load_wine(return_X_y=True)
    X = pd.DataFrame(X[:, :6], columns=list("abcdef"))
    X["mark"] = y + np.random.default_rng(0).normal(0, 1e-3, len(y))
    X["colour"] = np.where(X["a"] > 13, "dark", "light")
    X.loc[::7, "b"] = np.nan
    return X, y


@cache
def fitted(name):
    X, y = table()
    model = MODELS[name]().fit(X, y)
    return model, X, y, model.explain(X)


@pytest.mark.parametrize("name", MODELS)
def test_terms_add_up_to_the_log_posterior(name):
    model, X, _, found = fitted(name)
    logs = model.predict_log_proba(X)
    gap = found.joint - found.joint[:, :1] - (logs - logs[:, :1])
    size = np.abs(found.prior).sum() + np.abs(found.terms).sum(axis=(1, 2))
    assert (np.abs(gap).max(axis=1) <= 1e-12 * size).all()


@pytest.mark.parametrize("name", MODELS)
def test_only_what_is_a_density_is_called_one(name):
    *_, found = fitted(name)
    assert ("log P(c, x)" in found.row(0)) == (name not in SCORES)
    assert ("score" in found.row(0)) == (name in SCORES)


def test_no_term_of_a_pool_is_larger_than_its_posterior_can_show():
    pool, X, y, found = fitted("pool")
    least = (np.bincount(y).min() + 0.5) / (len(y) + 1.5)
    bound = 2 * pool.pool_.weight.sum() * np.log((len(y) + 10) / least)
    assert np.ptp(found.terms, axis=2).max() <= bound
    seen = [X if m.view is None else m.view.matrix(pool.reader_.model_, X) for m in pool.members_]
    raw = [m.classifier.explain(rows).terms for m, rows in zip(pool.members_, seen, strict=True)]
    assert max(np.ptp(terms, axis=2).max() for terms in raw) > 1000  # what members say before they are backed off
    bits = [np.abs(found.evidence(i, unit="bits")).max() for i in range(0, len(y), 10)]
    assert max(bits) <= bound / np.log(2)


def test_terms_share_what_shows_between_two_classes():
    """Two terms for a class and one against it, by 30-digit arithmetic."""
    mpmath.mp.dps = 30
    prior, e, terms = [mpmath.mpf("0.7"), mpmath.mpf("0.3")], mpmath.mpf(1) / 100, [900, 300, -40]
    start = mpmath.log(prior[0] / prior[1])

    def describe_family(odds):
        p = 1 / (1 + mpmath.exp(-odds))
        return mpmath.log(((1 - e) * p + e * prior[0]) / ((1 - e) * (1 - p) + e * prior[1]))

    none, up, down, both = (describe_family(start + by) for by in (0, 1200, -40, 1160))
    rise, fall = (up - none + both - down) / 2, (down - none + both - up) / 2
    wanted = [float(rise * 900 / 1200), float(rise * 300 / 1200), float(fall)]
    logs = np.array([[float(-mpmath.log1p(mpmath.exp(-start - 1160))), float(-start - 1160)]])
    own = np.log(np.array([0.7, 0.3]))
    raw = np.array([[[t, 0.0] for t in terms]], dtype=float)
    base, found, rest = back_off_terms(own, raw, logs, own, 90.0, np.array([0]))
    np.testing.assert_allclose(base, 0.0, atol=1e-15)
    np.testing.assert_allclose(found[0, :, 0] - found[0, :, 1], wanted, rtol=1e-12)
    assert not rest.any()
    assert sum(wanted) == pytest.approx(float(both - none), rel=1e-12)


def alone(candidate, X, y):
    """A pool that has tried one candidate, and keeps what it gives whatever that is worth."""
    model = bk.AutoBayes(max_candidates=1).fit(X, y)
    search = Search(lambda facts: [replace(candidate, helps=lambda facts: "")])
    found = Ensemble.fit(bk.NaiveBayes(), OpenTable.of(X, y, None, None), search)
    weight = np.full(len(found.members), 0.7)
    return model._adopt(replace(found, pool=replace(found.pool, weight=weight)))


CANDIDATES = {c.name: c for c in candidates(None, "missing", (), 100)}


def candidate(name, *holed):
    return next(c for c in candidates(None, "missing", holed, 100) if c.name == name)


@pytest.mark.parametrize("name", CANDIDATES)
def test_every_candidate_gives_its_evidence_to_columns(name):
    X, y = table()
    X = X.iloc[::2].drop(columns="mark")
    pool = alone(candidate(name, "b", "colour"), X, y[::2])
    assert pool.members_
    asked = X[:20].assign(
        colour=["dark", "mauve", None, "light"] * 5, c=np.where(np.arange(20) % 3, X["c"][:20], np.nan)
    )
    found, logs = pool.explain(asked), pool.predict_log_proba(asked)
    assert set(found.parts) <= {*"abcdef", "colour", "(back-off)"}
    np.testing.assert_allclose(found.joint - found.joint[:, :1], logs - logs[:, :1], rtol=0, atol=1e-12)
    bound = 2 * pool.pool_.weight.sum() * np.log((len(X) + 10) / ((np.bincount(y[::2]).min() + 0.5) / (len(X) + 1.5)))
    assert np.ptp(found.terms, axis=2).max() <= bound


LEVELLED = [name for name, c in CANDIDATES.items() if c.view not in ("numbers", "scores")]


@pytest.mark.parametrize(("column", "name"), [*product("a", CANDIDATES), *product(["colour"], LEVELLED)])
def test_the_effect_of_the_only_column_is_the_answer(name, column):
    X, y = table()
    X = X[[column]].assign(one=1.0)
    pool = alone(candidate(name, column), X[::2], y[::2])
    found = pool.marginal(column)
    assert len(found.values) > 1
    rows = pd.DataFrame({name: found.values if name == column else 1.0 for name in X})
    logs, density = pool.predict_log_proba(rows), found.log_density
    given = np.log(found.prior) + density
    np.testing.assert_allclose(given - given[:, :1], logs - logs[:, :1], rtol=0, atol=1e-10)
    assert found.prior.sum() == pytest.approx(1)


def test_a_pairwise_effect_is_the_answer_where_there_are_two_columns():
    X, y = table()
    X = X[["a", "colour"]].assign(one=1.0)
    pool = bk.AutoBayes(fast=True).fit(X[::2], y[::2])
    assert len(pool.members_) > 1
    found = pool.pairwise("a", "colour")
    asked = product(*found.values)
    rows = pd.DataFrame(asked, columns=["a", "colour"]).assign(one=1.0)
    logs, together = pool.predict_log_proba(rows), found.together.reshape(len(rows), -1)
    np.testing.assert_allclose(together + np.log(found.prior), logs, rtol=0, atol=1e-10)
    marginal = pool.marginal("colour")
    assert list(marginal.values) == list(found.values[1])
    effect = marginal.log_density - found.alone[1]
    np.testing.assert_allclose(effect - effect[:, :1], 0, atol=1e-10)
    odds = together - (found.alone[0][:, None] + found.alone[1][None]).reshape(len(rows), -1)
    more = found.interaction.reshape(len(rows), -1)
    np.testing.assert_allclose(odds - odds[:, :1], more - more[:, :1], rtol=0, atol=1e-10)
    np.testing.assert_allclose(more.sum(axis=1), 0, atol=1e-12)
    np.testing.assert_allclose(found.frame("pandas")[["P(0)", "P(1)", "P(2)"]], np.exp(logs), rtol=1e-10)
    with pytest.raises(bk.errors.InputError, match="interaction with itself"):
        pool.pairwise("a", "a")


def test_whole_numbers_are_paired_as_whole_numbers():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"n": rng.poisson(3, 200), "level": rng.choice(list("ab"), 200)})
    found = bk.AutoBayes(fast=True).fit(X, rng.integers(0, 2, 200)).pairwise("n", "level")
    assert set(found.values[0]) <= set(X["n"])
    assert len(found.values[0]) > 3
    assert "interaction" in str(found)


LEVELS = {
    "forest": lambda: bk.ProbabilityForest(missing="level", trees=20),
    "boosted": lambda: bk.BoostedTrees(missing="level", trees=40, rate=0.5),
    "corrected": lambda: bk.CorrectedNaiveBayes(missing="level"),
    "KDB": lambda: bk.KDB(missing="level"),
}


@pytest.mark.parametrize("name", LEVELS)
def test_a_hidden_column_says_nothing_where_a_missing_value_is_a_level(name):
    X, y = table()
    X["b"] = np.where(y == 0, np.nan, X["b"])
    model = LEVELS[name]().fit(X, y)
    empty = pa.RecordBatch.from_pydict({n: pa.nulls(1, pa.string() if n == "colour" else pa.float64()) for n in X})
    block = model.model_.block(empty)
    names = np.array(model.model_.schema.names)
    nothing, missing = (model.model_.posterior(block.reveal(seen))[0] for seen in (names == "", names == "b"))
    np.testing.assert_allclose(nothing, np.bincount(y) / len(y), rtol=0.02)
    assert missing[0] > nothing[0] + 0.1


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "gower"])
@pytest.mark.parametrize("unseen", ["missing", "smooth"])
def test_stages_of_neighbours_are_what_revealing_columns_gives(metric, unseen):
    X, y = table()
    X["size"] = pd.cut(X["c"], 3, labels=["s", "m", "l"]).astype(str)
    X = X if metric == "gower" else X[list("abcdef")]
    kinds = {"size": ["s", "m", "l"]} if metric == "gower" else None
    scale = None if metric == "gower" else "deviation"
    made = bk.KNNBayes(k=7, metric=metric, scale=scale, weights="epanechnikov", pseudo=1.0, kinds=kinds, unseen=unseen)
    model = made.fit(X[20:], y[20:]).model_
    asked = X[:20].assign(**({"colour": ["mauve", "dark"] * 10} if metric == "gower" else {}))
    (density,) = model.density.densities
    block = model.block(pa.RecordBatch.from_pandas(asked, preserve_index=False))
    owner = {n: j // 2 for j, n in enumerate(X)}  # two columns at a time
    found = density.stages(block, owner)
    for stage in range(found.shape[1]):
        seen = np.array([owner[n] < stage for n in model.schema.names])
        by_mask = np.zeros(found[:, 0].shape)
        density.add(block.reveal(seen), by_mask)
        gaps = (a - a[:, :1] for a in (found[:, stage], by_mask))
        np.testing.assert_allclose(*gaps, rtol=0, atol=1e-11)
    assert np.abs(found[:, 1:]).max() > 0.1
