"""What `exact_` claims, digests confirm; with exact=True nothing is held."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import bayeskit as bk
from bayeskit.errors import HeldWarning
from chains import levels, mixed

F = bk.families
KEEPING = [
    bk.TAN(exact=True),
    bk.TAN(exact=True, cuts="mdlp", weights="fitted"),
    bk.KDB(exact=True, missing="level"),
    bk.AODE(exact=True),
    bk.AODE(n=2, parents=3, exact=True),
    bk.AJE(exact=True, sets=5),
    bk.AJE(exact=True, weights=None),
    bk.CorrectedNaiveBayes(exact=True),
    bk.ProbabilityForest(exact=True, trees=10),
    bk.BoostedTrees(exact=True, trees=10),
    bk.NetworkBayes(exact=True),
    bk.NetworkBayes([("class", "a"), ("class", "x"), ("a", "b"), ("class", "b")], exact=True),
]
OTHERS = [
    bk.NaiveBayes(),
    bk.NaiveBayes(families="auto"),
    bk.NaiveBayes(families={"x": F.Kernel(), "z": F.Histogram()}),
    bk.NaiveBayes(weights="fitted"),
    bk.FullBayes(),
    bk.FullBayes(covariance="tied", missing="available"),
    bk.KNNBayes(metric="gower"),
    bk.TAN(),
    bk.KDB(),
    bk.AODE(),
    bk.AODE(n=2, parents=3),
    bk.AJE(weights=None),
    bk.NetworkBayes(),
    bk.NetworkBayes([("class", "a"), ("class", "b"), ("a", "b")]),
]


def many(n=2400):
    """More different numbers than bins have cells."""
    X, y = levels(n)
    rng = np.random.default_rng(0)
    x = rng.normal((y == "yes") * 1.0, 1.0)
    return X.assign(x=x, z=x + rng.normal(0, 0.3, n)), y


def digests(model, X, y, half):
    """Of one fit, of the first part, of batches, of what is left after forgetting, and merged; None where refused."""
    first, second = (X[:half], y[:half]), (X[half:], y[half:])
    whole, one, two = (clone(model).fit(*part) for part in ((X, y), first, second))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HeldWarning)
        batches = clone(model).fit(*first).partial_fit(*second)
        left = clone(model).fit(X, y).forget(*second)
    try:
        both = one + two
    except bk.errors.MergeError:
        both = None
    return whole, *(None if m is None else m.model_.digest for m in (whole, one, batches, left, both))


CASES = [
    *((model, mixed) for model in (*OTHERS, *KEEPING)),
    *((model, levels) for model in (*OTHERS, *KEEPING[:5]) if "'x'" not in repr(model)),
    *((model, many) for model in (*OTHERS[:3], bk.TAN(), bk.TAN(exact=True))),
]


@pytest.mark.parametrize(("model", "table"), CASES, ids=[f"{m!r} {t.__name__}" for m, t in CASES])
def test_nothing_is_claimed_that_digests_refute(model, table):
    X, y = many() if table is many else table(150)
    fitted, whole, one, batches, left, both = digests(model, X, y, len(X) * 2 // 3)
    told = fitted.exact_
    assert not told.learning or batches == whole
    assert not told.forgetting or left == one
    assert not told.merging or both == whole
    kept = model.get_params().get("exact", False)
    assert not kept or (told.held, told.lost) == ((), ())
    if table is not levels and isinstance(
        model, bk.TAN | bk.KDB | bk.AODE | bk.AJE | bk.CorrectedNaiveBayes | bk.NetworkBayes
    ):
        assert kept or any("cuts" in what for what in told.held)


def test_a_pool_holds_its_choices_and_says_it_once():
    X, y = mixed(80)
    model = bk.AutoBayes(max_candidates=3).fit(X, y)
    assert not model.exact_.forgetting
    with pytest.warns(HeldWarning, match="members.*renew") as told:
        model.forget(X[:5], y[:5])
    assert sum(issubclass(w.category, HeldWarning) for w in told) == 1


@pytest.mark.parametrize("model", KEEPING, ids=repr)
def test_rows_kept_or_not_the_model_is_the_same(model):
    X, y = mixed(150)
    if model.get_params().get("weights") == "fitted":
        model = clone(model).set_params(weights=None)
    plain = clone(model).set_params(exact=False).fit(X, y)
    assert clone(model).fit(X, y).predict_log_proba(X) == pytest.approx(
        plain.predict_log_proba(X), rel=1e-12, abs=1e-12
    )


@pytest.mark.parametrize("model", KEEPING, ids=repr)
def test_order_split_weights_and_files_do_not_show(model, tmp_path):
    X, y = mixed(150)
    digest = clone(model).fit(X, y).model_.digest
    order = np.random.default_rng(0).permutation(len(X))
    made = clone(model).fit(X.iloc[order[:50]], y[order[:50]])
    for part in np.array_split(order[50:], 3):
        made.partial_fit(X.iloc[part], y[part])
    assert made.model_.digest == digest
    made.save(tmp_path / "kept.bayes")
    back = bk.load(tmp_path / "kept.bayes")
    assert back.model_.digest == digest
    assert np.array_equal(back.predict_proba(X), made.predict_proba(X))
    back.forget(X[:20], y[:20])
    assert back.model_.digest == clone(model).fit(X[20:], y[20:]).model_.digest
    twice = clone(model).fit(X, y, sample_weight=np.full(len(X), 2.0)).model_.digest
    assert clone(model).fit(pd.concat([X, X]), np.concatenate([y, y])).model_.digest == twice


def test_forgetting_says_what_remains_and_how_to_renew_it():
    X, y = mixed(200)
    with pytest.warns(HeldWarning, match=r"cuts of 2 columns of numbers.*renew\(X, y\).*exact=True"):
        bk.TAN().fit(X, y).forget(X[:10], y[:10])
    with pytest.warns(HeldWarning, match="weights of the columns; renew"):
        bk.NaiveBayes(weights="fitted").fit(X, y).forget(X[:10], y[:10])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bk.TAN(exact=True).fit(X, y).forget(X[:10], y[:10])
        bk.NaiveBayes().fit(X, y).forget(X[:10], y[:10])
        bk.TAN().fit(*levels(200)).forget(*(part[:10] for part in levels(200)))


def test_too_many_different_rows_are_refused_by_name(monkeypatch):
    X, y = mixed(200)
    monkeypatch.setattr("bayeskit.statistics.rows.CAP", 100)
    model = bk.TAN(exact=True).fit(X[:90], y[:90])
    before = model.model_.digest
    with pytest.raises(bk.errors.InputError, match="exact=True keeps every different row, here more than 100"):
        model.partial_fit(X[90:], y[90:])
    assert model.model_.digest == before
    with pytest.raises(bk.errors.InputError, match="exact=1"):
        bk.TAN(exact=1).fit(X, y)
