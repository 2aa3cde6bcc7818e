"""ProbabilityForest: growth, shares and stages against plain recursions, missing values, sizes, what is held."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

import bayeskit as bk
from bayeskit import _core
from bayeskit.data.schema import Schema
from bayeskit.densities.density import reveal_terms
from bayeskit.errors import InputError, MergeError
from bayeskit.statistics.leaves import TreeColumn
from bayeskit.structures.forest import NodeWeights, forest_density

GONE = 255


def impurity(label, weight, classes):
    """Weight times Gini impurity."""
    share = np.bincount(label, weight, minlength=classes)
    return share.sum() - (share**2).sum() / max(share.sum(), 1e-300)


def grown(codes, label, weight, classes, leaves):
    """Best-first growth by brute force over every cut of every column: the sets of rows in the leaves."""

    def best(rows):
        found = (-1.0, None)
        for column in codes:
            here = np.unique(column[rows])
            for low, _ in pairwise(here):
                left, right = rows[column[rows] <= low], rows[column[rows] > low]
                parts = impurity(label[left], weight[left], classes) + impurity(label[right], weight[right], classes)
                gain = impurity(label[rows], weight[rows], classes) - parts
                if gain > found[0] + 1e-9:
                    found = (gain, (left, right))
        return found if impurity(label[rows], weight[rows], classes) > 1e-9 else (-1.0, None)

    nodes = [(best(np.arange(len(label))), np.arange(len(label)))]
    while len(nodes) < leaves:
        at = max(range(len(nodes)), key=lambda i: nodes[i][0][0])
        if nodes[at][0][1] is None:
            break
        for part in nodes.pop(at)[0][1]:
            nodes.append((best(part), part))
    return {frozenset(rows.tolist()) for _, rows in nodes}


@pytest.mark.parametrize("leaves", [2, 5, 60])
def test_with_every_column_tried_trees_are_those_of_brute_force(leaves):
    rng = np.random.default_rng(leaves)
    n, classes = 60, 3
    codes = rng.integers(0, 9, (4, n)).astype(np.uint8)
    label = ((codes[0] > 4) + (codes[1] > 6) + (rng.random(n) < 0.2)).astype(np.int32)
    weight = rng.permutation(np.linspace(0.5, 2.5, n))  # no two splits are equally good
    ordered, sizes = np.ones(4, dtype=np.uint8), np.full(4, 9, dtype=np.uint8)
    trees = _core.grow_trees(codes, label, weight, ordered, sizes, classes, 1, 4, leaves, 1e-9, 3)
    leaf = np.empty((1, n), dtype=np.int32)
    _core.find_leaves(codes, *trees, leaf)
    found = {frozenset(np.flatnonzero(leaf[0] == i).tolist()) for i in range(leaf.max() + 1)}
    assert found == grown(codes, label, weight, classes, leaves)


def test_levels_of_two_classes_are_split_as_by_the_best_of_all_sets():
    """Ordering levels by the share of a class finds the best of the 2^m splits (Breiman et al. 1984)."""
    rng = np.random.default_rng(0)
    code = rng.integers(0, 7, 300).astype(np.uint8)
    label = (rng.random(300) < rng.random(7)[code]).astype(np.int32)
    none = np.zeros(1, dtype=np.uint8)
    trees = _core.grow_trees(code[None], label, np.ones(300), none, none + 7, 2, 1, 1, 2, 1e-9, 0)
    left = np.array([(int(trees[2][0]) >> int(level)) & 1 for level in code], dtype=bool)

    def after(side):
        return impurity(label[side], np.ones(side.sum()), 2) + impurity(label[~side], np.ones((~side).sum()), 2)

    every = [np.isin(code, [b for b in range(7) if some >> b & 1]) for some in range(1, 127)]
    assert after(left) == pytest.approx(min(after(side) for side in every))


def table(n=300, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    X = pd.DataFrame(
        {
            "x": np.where(rng.random(n) < 0.1, np.nan, rng.normal(y, 1.0)),
            "town": rng.choice(["a", "b", "c", None], n),
            "z": rng.normal(size=n).round(1),
            "one": 1.0,
        }
    )
    return X, np.array(["p", "q", "r"])[y]


def asked(model, X):
    (block,) = model._predictor(X).blocks()
    (density,) = model.model_.density.densities
    return density, block


def test_shares_are_those_of_a_recursion_from_the_root_down():
    X, y = table()
    model = bk.ProbabilityForest(trees=3, strength=0.7).fit(X, y)
    density, block = asked(model, X[:40])
    start, column, mask, child, majority = density.trees.arrays
    codes = density.trees.codes(asked(model, X)[1])
    labels = np.searchsorted(model.classes_, y)
    prior = (np.bincount(labels) + 0.5) / (len(labels) + 1.5)

    def reached(begin, node, rows, above, asking, part):
        """Of a row: its part times the shares of the leaves it reaches."""
        mine = (np.bincount(labels[rows], minlength=3) + 0.7 * above) / (len(rows) + 0.7)
        at = begin + node
        if column[at] < 0:
            return part * mine
        code = codes[column[at]]
        goes = np.array([majority[at] if c == GONE else int(mask[at]) >> int(c) & 1 for c in code[rows]], dtype=bool)
        sides = rows[goes], rows[~goes]
        own, share = asking[column[at]], len(sides[0]) / len(rows)
        parts = (share, 1 - share) if own == GONE else ((1.0, 0.0) if int(mask[at]) >> int(own) & 1 else (0.0, 1.0))
        each = zip(sides, parts, strict=True)
        return sum(
            reached(begin, child[at] + i, side, mine, asking, part * p) for i, (side, p) in enumerate(each) if p > 0
        )

    every = np.arange(len(y))
    by_hand = [
        np.mean([reached(b, 0, every, prior, asking, 1.0) for b in start[:-1].tolist()], axis=0)
        for asking in density.trees.codes(block).T
    ]
    np.testing.assert_allclose(density.mean(density.trees.codes(block)), by_hand, rtol=1e-12)


def test_stages_are_what_revealing_columns_one_by_one_gives():
    X, y = table()
    model = bk.ProbabilityForest(trees=10).fit(X, y)
    density, block = asked(model, X[:30])
    np.testing.assert_allclose(density.terms(block), reveal_terms(density, block, 3), atol=1e-12)
    told = model.explain(X[:30])
    whole = told.joint - np.logaddexp.reduce(told.joint, axis=1, keepdims=True)
    np.testing.assert_allclose(np.exp(whole), model.predict_proba(X[:30]), atol=1e-12)
    assert not told.terms[:, told.parts.index("one")].any()


def test_a_row_without_values_has_the_prior():
    X, y = table()
    model = bk.ProbabilityForest(trees=10).fit(X, y)
    nothing = pd.DataFrame({"x": [np.nan], "town": [None], "z": [np.nan], "one": [np.nan]})
    shares = [np.mean(y == label) for label in model.classes_]
    np.testing.assert_allclose(model.predict_proba(nothing)[0], shares, rtol=1e-12)
    np.testing.assert_allclose(model.predict_proba(nothing, prior="uniform")[0], 1 / 3, rtol=1e-12)


@pytest.mark.parametrize("classes", [2, 30])
def test_a_file_stays_below_two_megabytes(classes, tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, classes, 6000)
    X = rng.normal(y[:, None] % 7, 2.0, (6000, 8))
    model = bk.ProbabilityForest().fit(X, y)
    model.save(tmp_path / "forest.bayes")
    assert (tmp_path / "forest.bayes").stat().st_size < 2_000_000
    again = bk.load(tmp_path / "forest.bayes")
    np.testing.assert_array_equal(again.predict_proba(X[:50]), model.predict_proba(X[:50]))


def test_rows_are_learned_and_forgotten_in_the_leaves_and_trees_do_not_merge():
    X, y = table()
    model = bk.ProbabilityForest(trees=20).fit(X[:200], y[:200])
    before = model.model_.digest
    assert "the splits of the trees" in model.exact_.held
    more = model.partial_fit(X[200:].assign(town="new"), y[200:])
    assert more.model_.digest != before
    with pytest.warns(bk.errors.HeldWarning):
        assert more.forget(X[200:].assign(town="new"), y[200:]).model_.digest == before
    with pytest.raises(MergeError):
        model.merge(bk.ProbabilityForest(trees=20).fit(X[200:], y[200:]))
    assert model.renew(X[:200], y[:200]).model_.digest == before


def test_more_pseudo_rows_shrink_toward_the_prior():
    X, y = table()
    (counted,) = bk.ProbabilityForest(trees=5).fit(X, y).model_.features.parts.values()
    nodes = NodeWeights.of(counted.trees, counted.counts())
    shares = [forest_density(nodes, a, counted.columns).shares for a in (0.1, 1e9)]
    assert np.ptp(shares[1], axis=0).max() < 1e-3 < np.ptp(shares[0], axis=0).max()


@pytest.mark.parametrize("setting", [{"trees": 0}, {"trees": 2.5}, {"strength": 0.0}, {"random_state": -1}])
def test_settings_that_make_no_sense_are_refused(setting):
    with pytest.raises(InputError, match=next(iter(setting))):
        bk.ProbabilityForest(**setting).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize(
    "column", [{"cuts": (2.0, 1.0)}, {"cuts": (1.0, 1.0)}, {"cuts": (np.inf,)}, {"levels": (7, 7)}], ids=str
)
def test_columns_of_trees_that_no_growth_gives_are_refused(column):
    with pytest.raises(InputError, match=r"cuts that do not rise, or a level twice"):
        TreeColumn("x", **column)


def test_trees_of_other_columns_than_the_table_has_are_refused():
    table = {"x": np.arange(20.0), "town": ["a", "b"] * 10}
    model = bk.ProbabilityForest(trees=3).fit(table, [0, 0, 1, 1] * 5).model_
    forest = model.structure.components[0][0]
    forest.check_columns(model.schema)
    for j in range(2):
        with pytest.raises(InputError, match=r"trees split column '(x|town)' as what it is not"):
            forest.check_columns(Schema(model.schema.columns[j : j + 1]))


@pytest.mark.parametrize("classes", [2, 4, 7, 300])
def test_whole_weights_grow_the_trees_of_weights_half_as_large(classes):
    """Few rows of many classes are summed up row by row where weights are whole, else class by class."""
    rng = np.random.default_rng(classes)
    n, sizes = 600, np.array([64, 20, 5, 9, 2], dtype=np.uint8)
    codes = np.array([rng.integers(0, size, n) for size in sizes], dtype=np.uint8)
    codes[rng.random(codes.shape) < 0.05] = 255
    label = ((codes[0] // 3 + 7 * codes[2] + rng.integers(0, 3, n)) % classes).astype(np.int32)
    weight, ordered = rng.integers(1, 4, n).astype(float), np.array([1, 1, 0, 0, 1], dtype=np.uint8)
    whole, half = (
        _core.grow_trees(codes, label, w, ordered, sizes, classes, 5, 2, 150, 1e-9, 3) for w in (weight, weight / 2)
    )
    assert all(np.array_equal(a, b) for a, b in zip(whole, half, strict=True))


def test_nodes_of_wide_tables_try_a_hundred_columns(monkeypatch):
    tried = []
    grow = _core.grow_trees
    monkeypatch.setattr(_core, "grow_trees", lambda *given: (tried.append(given[7]), grow(*given))[1])
    X = np.random.default_rng(0).normal(size=(30, 330))
    for columns in (330, 60):
        bk.ProbabilityForest(trees=2, strength=1.0).fit(X[:, :columns], X[:, 0] > 0)
    assert tried == [100, 20]
