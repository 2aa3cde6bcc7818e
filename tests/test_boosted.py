"""BoostedTrees: growth against scikit-learn and brute force, where trees end, missing values, sizes, what is held."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import log_softmax, softmax
from sklearn.ensemble import HistGradientBoostingClassifier

import bayeskit as bk
from bayeskit import _core
from bayeskit.densities.density import reveal_terms
from bayeskit.errors import InputError, MergeError
from bayeskit.structures.boosted import Leafage


def boost(codes, label, base, ordered=True, trees=1, leaves=15, ridge=1.0, weight=None, held=None, patience=10):
    n, d = len(label), len(codes)
    flags = np.full(d, ordered, dtype=np.uint8), codes.max(axis=1).astype(np.uint8) + np.uint8(1)
    weight, held = np.ones(n) if weight is None else weight, np.zeros(n) if held is None else held
    settings = trees, leaves, 10.0, 0.1, ridge, patience
    return _core.boost_trees(codes, label.astype(np.int32), weight, held, np.asarray(base, float), *flags, *settings)


def scores(found, codes):
    """The sum over trees of what the leaves of rows say, after each tree: (trees, n, K)."""
    *trees, values = found
    leaf = np.empty((len(trees[0]) - 1, codes.shape[1]), dtype=np.int32)
    _core.find_leaves(codes, *trees, leaf)
    ends = [np.flatnonzero(trees[1][a:b] < 0) + a for a, b in zip(trees[0][:-1], trees[0][1:], strict=True)]
    return np.cumsum([values[at[line]] for at, line in zip(ends, leaf, strict=True)], axis=0)


def test_scores_of_two_classes_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 40, (5, 1500)).astype(np.uint8)
    odds = (codes[0] > 20) * 2.0 + (codes[1] > 10) * (codes[2] < 30) - 0.03 * codes[3]
    label = (rng.random(1500) < 1 / (1 + np.exp(-odds))).astype(int)
    share = label.mean()
    found = boost(codes, label, [0.0, np.log(share / (1 - share))], trees=25)
    peer = HistGradientBoostingClassifier(
        max_iter=25, max_leaf_nodes=15, min_samples_leaf=10, l2_regularization=1.0, early_stopping=False
    ).fit(codes.T.astype(float), label)
    mine = scores(found, codes)[-1] @ [-1.0, 1.0] + np.log(share / (1 - share))
    np.testing.assert_allclose(mine, peer.decision_function(codes.T.astype(float)), atol=1e-4)


def brute_force(codes, label, base, leaves, ordered, ridge=1.0, least=10.0):
    """The rows and steps of the leaves of one tree, every set of levels tried at every node: a gain for each class."""
    p = softmax(np.tile(base, (len(label), 1)), axis=1)
    slope, curve = p - np.eye(len(base))[label], p * (1 - p)

    def gain(rows):
        return (slope[rows].sum(axis=0) ** 2 / (curve[rows].sum(axis=0) + ridge)).sum()

    def best(rows):
        found = (0.0, None)
        for column in codes:
            there = np.unique(column[rows])
            if ordered:
                sets = [there[:i] for i in range(1, len(there))]
            else:
                sets = [there[[bool(i >> b & 1) for b in range(len(there))]] for i in range(1, 2 ** len(there) - 1)]
            for some in sets:
                side = np.isin(column[rows], some)
                if min(side.sum(), (~side).sum()) >= least:
                    more = gain(rows[side]) + gain(rows[~side]) - gain(rows)
                    if more > found[0] + 1e-7:
                        found = (more, (rows[side], rows[~side]))
        return found

    nodes = [(best(np.arange(len(label))), np.arange(len(label)))]
    while len(nodes) < leaves and max(found[0] for found, _ in nodes) > 0:
        at = max(range(len(nodes)), key=lambda i: nodes[i][0][0])
        for part in nodes.pop(at)[0][1]:
            nodes.append((best(part), part))
    out = np.empty((len(label), len(base)))
    for _, rows in nodes:
        out[rows] = -0.1 * slope[rows].sum(axis=0) / (curve[rows].sum(axis=0) + ridge)
    return out


@pytest.mark.parametrize("leaves", [2, 6, 15])
def test_a_tree_of_three_classes_is_that_of_brute_force(leaves):
    rng = np.random.default_rng(leaves)
    codes = rng.integers(0, 8, (4, 250)).astype(np.uint8)
    label = (codes[0] > 4).astype(int) + (codes[1] > 5) * (codes[2] > 2)
    label = np.where(rng.random(250) < 0.2, rng.integers(0, 3, 250), label)
    base = np.log(np.bincount(label) / 250)
    found = scores(boost(codes, label, base, leaves=leaves), codes)[0]
    np.testing.assert_allclose(found, brute_force(codes, label, base, leaves, ordered=True), rtol=1e-6, atol=1e-9)


def test_levels_of_two_classes_are_split_as_by_the_best_of_all_sets():
    """With one base for all rows, ordering levels by their step finds the best of the 2^m splits (Fisher 1958)."""
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 7, (1, 400)).astype(np.uint8)
    label = (rng.random(400) < rng.random(7)[codes[0]]).astype(int)
    found = scores(boost(codes, label, [0.0, 0.0], ordered=False, leaves=2, ridge=1e-9), codes)[0]
    by_hand = brute_force(codes, label, np.zeros(2), 2, ordered=False, ridge=1e-9)
    np.testing.assert_allclose(found @ [-1.0, 1.0], by_hand[:, 1], rtol=1e-6)


def test_trees_end_where_the_rows_held_out_are_predicted_best():
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 20, (4, 600)).astype(np.uint8)
    label = np.where(rng.random(600) < 0.3, rng.integers(0, 3, 600), (codes[0] > 9) + (codes[1] > 12) * 1)
    held, base = (np.arange(600) % 4 == 0).astype(float), np.log(np.bincount(label) / 600)
    tested = np.flatnonzero(held)
    every = log_softmax(scores(boost(codes, label, base, trees=150, weight=1 - held), codes) + base, axis=2)
    losses = -every[:, tested, label[tested]].mean(axis=1)
    assert len(losses) == 150
    for patience in (3, 10, 150):
        best = next((t for t in range(150) if (losses[t + 1 : t + 1 + patience] >= losses[t]).all()), 149)
        kept = boost(codes, label, base, trees=150, weight=1 - held, held=held, patience=patience)
        assert len(kept[0]) - 1 == best + 1 < 150


def table(n=600, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    X = pd.DataFrame(
        {
            "x": np.where(rng.random(n) < 0.1, np.nan, rng.normal(y, 1.0)),
            "town": rng.choice(["a", "b", "c", None], n),
            "z": rng.normal(size=n).round(1) + (y == 1),
            "one": 1.0,
        }
    )
    return X, np.array(["p", "q", "r"])[y]


def asked(model, X):
    (block,) = model._predictor(X).blocks()
    (density,) = model.model_.density.densities
    return density, block


def test_answers_are_the_prior_and_what_the_leaves_add():
    X, y = table()
    whole = X.assign(x=X.x.fillna(0.0), town=X.town.fillna("a"))
    model = bk.BoostedTrees(trees=20).fit(whole, y)
    density, block = asked(model, whole[:50])
    start, column, mask, child, _ = density.trees.arrays
    total = np.tile(np.log([np.mean(y == label) for label in model.classes_]), (50, 1))
    for i, codes in enumerate(density.trees.codes(block).T.tolist()):
        for begin in start[:-1].tolist():
            at = begin
            while column[at] >= 0:
                at = begin + int(child[at]) + 1 - (int(mask[at]) >> codes[column[at]] & 1)
            total[i] += density.shares[at]
    np.testing.assert_allclose(model.predict_log_proba(whole[:50]), log_softmax(total, axis=1), atol=1e-12)


def test_terms_are_what_revealing_columns_one_by_one_gives():
    X, y = table()
    model = bk.BoostedTrees(trees=20).fit(X, y)
    density, block = asked(model, X[:30])
    assert np.abs(density.left_over).max() > 1e-3
    np.testing.assert_allclose(density.terms(block), reveal_terms(density, block, 3), atol=1e-12)
    assert not density.terms(block)[:, density.columns.index("one")].any()
    nothing = pd.DataFrame({"x": [np.nan], "town": [None], "z": [np.nan], "one": [np.nan]})
    shares = [np.mean(y == label) for label in model.classes_]
    np.testing.assert_allclose(model.predict_proba(nothing)[0], shares, rtol=1e-12)


@pytest.mark.parametrize("classes", [2, 30])
def test_a_file_stays_below_two_megabytes(classes, tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, classes, 4000)
    X = rng.normal(y[:, None] % 7, 2.0, (4000, 6))
    model = bk.BoostedTrees(rate=0.02).fit(X, y)
    model.save(tmp_path / "trees.bayes")
    assert (tmp_path / "trees.bayes").stat().st_size < 2_000_000
    again = bk.load(tmp_path / "trees.bayes")
    np.testing.assert_array_equal(again.predict_proba(X[:50]), model.predict_proba(X[:50]))


def test_rows_are_learned_and_forgotten_in_the_leaves_and_trees_do_not_merge():
    X, y = table()
    model = bk.BoostedTrees(trees=20).fit(X[:400], y[:400])
    before = model.model_.digest
    assert "the trees and what their leaves say" in model.exact_.held
    more = model.partial_fit(X[400:].assign(town="new"), np.where(y[400:] == "p", "s", y[400:]))
    assert more.model_.digest != before
    assert np.isfinite(more.predict_log_proba(X)).all()
    with pytest.warns(bk.errors.HeldWarning):
        gone = more.forget(X[400:].assign(town="new"), np.where(y[400:] == "p", "s", y[400:]))
    assert gone.model_.digest == before
    with pytest.raises(MergeError):
        model.merge(bk.BoostedTrees(trees=20).fit(X[400:], y[400:]))


def test_nothing_to_tell_apart_gives_the_prior():
    X, y = table(200)
    assert np.ptp(bk.BoostedTrees().fit(X[["one"]], y).predict_proba(X[["one"]]), axis=0).max() == 0
    with pytest.warns(UserWarning, match="one class"):
        assert (bk.BoostedTrees().fit(X, ["a"] * 200).predict_proba(X) == 1).all()


@pytest.mark.parametrize("setting", [{"trees": 0}, {"trees": 2.5}, {"rate": 0.0}, {"rate": 1.5}])
def test_settings_that_make_no_sense_are_refused(setting):
    with pytest.raises(InputError, match=next(iter(setting))):
        bk.BoostedTrees(**setting).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize(
    ("classes", "values"), [((3, 3), "AACAPwAAgL8="), ((3, 4), "AACAPw=="), ((3, 4), "AACAfwAAgL8=")], ids=str
)
def test_values_that_no_growth_gives_are_refused(classes, values):
    X, y = table(200)
    trees = bk.BoostedTrees(trees=1).fit(X[["one"]], y).model_.structure.components[0][0].grown.trees
    with pytest.raises(InputError, match=r"do not fit the trees and classes|names? a class twice"):
        Leafage(trees, classes, values)
