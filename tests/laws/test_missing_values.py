"""Missing values are summed out of the model's own joint: every pattern of missing values against enumeration."""

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp

import bayeskit as bk
from bayeskit.structures import hidden
from chains import arcs

NAMES = ["a", "b", "c", "d", "e"]
FORK = [("class", n) for n in NAMES] + [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("d", "e")]
UNDER = [("a", "class"), ("b", "class"), ("class", "c"), ("a", "c"), ("c", "d"), ("e", "d"), ("b", "e")]
MODELS = [
    bk.TAN(penalty=None),
    bk.TAN(strength=1.5, backoff="even", penalty=None),
    bk.KDB(k=2, penalty=None),
    bk.KDB(k=3, penalty=None, backoff="class"),
    bk.NetworkBayes(FORK),
    bk.NetworkBayes(UNDER),
    bk.NetworkBayes(criterion="bic", augmented=False),
]


def table(seed, n=150):
    """Columns of 2 to 3 levels that hang together, some missing; classes 'no' and 'yes', weights from 0.5 to 3."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    codes, sizes = [rng.integers(0, 3, n)], [3, 2, 3, 2, 3]
    for size in sizes[1:]:
        before = codes[int(rng.integers(len(codes)))]
        codes.append(np.where(rng.random(n) < 0.7, before + y, rng.integers(0, size, n)) % size)
    X = pd.DataFrame(dict(zip(NAMES, codes, strict=True))).astype(str).mask(rng.random((n, 5)) < 0.1, None)
    return X, np.array(["no", "yes"])[y], rng.choice([0.5, 1.0, 3.0], n)


def fitted(model, seed):
    X, y, weight = table(seed)
    return model.fit(X, y, sample_weight=weight), pd.DataFrame(
        list(product("012", "01", "012", "01", "012")), columns=NAMES
    )


def patterns(every, rng):
    """One row of every pattern of missing values."""
    rows = every.iloc[rng.integers(0, len(every), 32)].reset_index(drop=True).astype(object)
    holes = np.array(list(product([False, True], repeat=5)))
    return rows.mask(holes, None), holes


def agreeing(every, row):
    return np.all([every[n] == v for n, v in row.items() if v is not None] or [np.ones(len(every), bool)], axis=0)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_every_pattern_is_that_of_enumeration(model, seed):
    model, every = fitted(model, seed)
    joint = model.predict_joint_log_proba(every)
    asked, _ = patterns(every, np.random.default_rng(seed))
    expected = [logsumexp(joint[agreeing(every, row)], axis=0) for row in asked.to_dict("records")]
    assert model.predict_joint_log_proba(asked) == pytest.approx(np.array(expected), rel=1e-12, abs=1e-12)


def test_a_missing_parent_is_not_what_its_margin_makes_of_each_child():
    """The classes differ in how children agree, which a sum for each child by itself does not see."""
    rng = np.random.default_rng(0)
    y, a = rng.integers(0, 2, (2, 4000))
    flips = rng.random((3, 4000)) < np.where(y, 0.1, 0.5)
    X = pd.DataFrame({"a": a, **{f"x{i}": np.where(flip, 1 - a, a) for i, flip in enumerate(flips)}}).astype(str)
    model = bk.TAN(strength=1e-9, backoff="class", smoothing=1e-9, penalty=None).fit(X, y)
    assert {p for parents in arcs(model).values() for p in parents} == {"a"}
    asked = pd.DataFrame({"a": [None], "x0": ["1"], "x1": ["1"], "x2": ["1"]})
    joint = []
    for c in (0, 1):
        of_class = X[y == c]
        share = [(of_class.a == v).mean() for v in "01"]
        given = [np.prod([(of_class[of_class.a == v][n] == "1").mean() for n in X.columns[1:]]) for v in "01"]
        joint.append((y == c).mean() * np.dot(share, given))
    assert model.predict_proba(asked)[0] == pytest.approx(np.array(joint) / sum(joint), rel=1e-6)
    margins = [(y == c).mean() * np.prod([(X[y == c][n] == "1").mean() for n in X.columns[1:]]) for c in (0, 1)]
    assert abs(model.predict_proba(asked)[0, 1] - margins[1] / sum(margins)) > 0.2


@pytest.mark.parametrize(
    "model", [bk.TAN(unseen="smooth", penalty=None), bk.KDB(k=2, unseen="smooth", penalty=None)], ids=repr
)
def test_a_level_never_seen_is_given_where_it_is_smoothed(model):
    model, every = fitted(model, 3)
    asked, _ = patterns(every, np.random.default_rng(3))
    asked = asked.assign(c="new")
    every = every.assign(c="new").drop_duplicates()
    joint = model.predict_joint_log_proba(every)
    expected = [logsumexp(joint[agreeing(every, row)], axis=0) for row in asked.to_dict("records")]
    assert model.predict_joint_log_proba(asked) == pytest.approx(np.array(expected), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(
    "model", [bk.TAN(weights="fitted", penalty=None), bk.KDB(weights="fitted", penalty=None)], ids=repr
)
def test_a_fitted_weight_multiplies_what_a_column_adds_to_those_given_before_it(model):
    model, every = fitted(model, 1)
    asked, _ = patterns(every, np.random.default_rng(1))
    weight, bias = model.model_.weighting.weight, model.model_.weighting.bias
    (density,) = model.model_.density.densities
    plain = replace(model.model_, weighting=None)
    joint = np.zeros((len(every), 2))
    plain.density.add(block_of(plain, every), joint)
    expected = []
    for row in asked.to_dict("records"):
        score, known = plain.log_prior() + bias, {}
        before = logsumexp(joint, axis=0)
        for j in density.order:
            known[NAMES[j]] = row[NAMES[j]]
            after = logsumexp(joint[agreeing(every, known)], axis=0)
            score = score + weight[j] * (after - before)
            before = after
        expected.append(score)
    assert model.predict_joint_log_proba(asked) == pytest.approx(np.array(expected), rel=1e-11, abs=1e-11)
    explained = model.explain(asked)
    assert explained.prior + explained.terms.sum(axis=1) == pytest.approx(np.array(expected), rel=1e-11, abs=1e-11)


def block_of(model, X):
    import pyarrow as pa

    return model.counted.block(pa.Table.from_pandas(X, preserve_index=False).to_batches()[0])


@pytest.mark.parametrize("model", [bk.TAN(penalty=None), bk.KDB(k=2, penalty=None)], ids=repr)
def test_terms_add_up_in_every_pattern(model):
    model, every = fitted(model, 2)
    asked, holes = patterns(every, np.random.default_rng(2))
    explained = model.explain(asked)
    whole = explained.prior + explained.terms.sum(axis=1)
    assert whole == pytest.approx(model.predict_joint_log_proba(asked), rel=1e-12, abs=1e-12)
    assert (explained.terms[holes] == 0).all()


def test_beyond_the_limit_a_column_says_what_it_says_by_itself_and_rows_are_counted(monkeypatch):
    model, every = fitted(bk.KDB(k=3, penalty=None), 0)
    single = every[:5].astype(object).where(np.eye(5, dtype=bool), None)  # one value each
    joint = model.predict_joint_log_proba(every)
    exact = np.array([logsumexp(joint[agreeing(every, row)], axis=0) for row in single.to_dict("records")])
    assert model.predict_joint_log_proba(single) == pytest.approx(exact, rel=1e-12)
    monkeypatch.setattr(hidden.NetworkedDensity, "most_cells", 2 * 3)  # one column and the classes
    model, _ = fitted(bk.KDB(k=3, penalty=None), 0)
    many = np.array([len(parents) > 1 for parents in (arcs(model)[n] for n in NAMES)])
    assert many.sum() == 3
    with pytest.warns(UserWarning, match="in 3 rows .* 6 cells"):
        found = model.predict_joint_log_proba(single)
    X, y, weight = table(0)
    alone = bk.NaiveBayes().fit(X, y, sample_weight=weight).predict_joint_log_proba(single)
    assert found == pytest.approx(np.where(many[:, None], alone, exact), rel=1e-12)
    assert not np.allclose(alone[many], exact[many], rtol=1e-6)


def test_a_thousand_children_of_a_missing_parent_do_not_underflow():
    rng = np.random.default_rng(0)
    y, a = rng.integers(0, 2, (2, 300))
    X = pd.DataFrame({"a": a, **{f"x{i:04}": a ^ (rng.random(300) < 0.2) for i in range(1200)}}).astype(int).astype(str)
    model = bk.NetworkBayes([("class", n) for n in X] + [("a", n) for n in X.columns[1:]]).fit(X, y)
    full = [model.predict_joint_log_proba(X[:3].assign(a=v)) for v in "01"]
    assert full[0].max() < -500
    assert model.predict_joint_log_proba(X[:3].assign(a=None)) == pytest.approx(logsumexp(full, axis=0), rel=1e-12)
