"""What would change a decision: the nearest value that does, in every classifier."""

import numpy as np
import pytest

import bayeskit as bk
from shapes import LABELS, NAMES, ROWS, SHAPES, TABLE, exact_joint, one, two_normals


def test_a_number_flips_where_two_normals_cross():
    X, y = two_normals()
    found = bk.NaiveBayes().fit(X, y).counterfactual({"x": [0.2, 5.0]})
    near, far = found.nearest
    assert (near.before, near.after) == ("a", "b")
    assert near.becomes == pytest.approx(1, abs=1e-4)
    assert far.becomes == pytest.approx(1, abs=1e-4)
    assert near.distance == pytest.approx(0.8 / np.sqrt(2), rel=1e-3)


@pytest.mark.parametrize("row", ROWS, ids=SHAPES)
def test_levels_that_flip_are_those_that_exact_fractions_flip(row):
    held = row[:3]
    before = exact_joint(held, 1)
    found = bk.NaiveBayes().fit(TABLE, LABELS).counterfactual(one(*held))
    flips = {f.column for f in found.rows[0] if f.becomes is not None}
    expected = set()
    for j, name in enumerate(NAMES):
        for value in {r[j] for r in ROWS}:
            after = exact_joint([*held[:j], value, *held[j + 1 :]], 1)
            if max(after, key=after.get) != max(before, key=before.get):
                expected.add(name)
    assert flips == expected


def test_leaving_a_value_out_may_flip_too():
    for row in ([*r[:3]] for r in ROWS):
        found = bk.NaiveBayes().fit(TABLE, LABELS).counterfactual(one(*row)).rows[0]
        left_out = {f.column for f in found if f.becomes is None}
        before = exact_joint(row, 1)
        for j, name in enumerate(NAMES):
            after = exact_joint([*row[:j], None, *row[j + 1 :]], 1)
            assert (name in left_out) == (max(after, key=after.get) != max(before, key=before.get))


@pytest.mark.parametrize("model", [bk.FullBayes(), bk.NaiveBayes(families=bk.families.Kernel())], ids=repr)
def test_the_nearest_value_flips_and_nothing_nearer_does(model):
    rng = np.random.default_rng(2)
    X = np.concatenate([rng.normal(0, 1, (40, 2)), rng.normal(1.5, 1.2, (40, 2))])
    model.fit(X, np.repeat([0, 1], 40))
    for row, flip in zip(X[:3], model.counterfactual(X[:3]).nearest, strict=True):
        along = np.repeat(row[None], 50, axis=0)
        along[:, int(flip.column[1:])] = np.linspace(flip.value, flip.becomes, 50)
        decided = model.predict(along)
        assert decided[-1] == flip.after
        assert (decided[:-2] == flip.before).all()


def test_columns_without_a_density_take_values_of_the_rows_learned_or_of_a_table():
    X, y = [[0.0], [1.0], [2.0], [8.0], [9.0], [10.0]], list("aaabbb")
    model = bk.KNNBayes(k=1).fit(X, y)
    assert model.counterfactual([[1.0]]).nearest[0].becomes == 8.0
    assert model.counterfactual([[1.0]], among=[[0.0], [6.0]]).nearest[0].becomes == 6.0


def test_a_number_that_is_cut_flips_at_the_cut():
    x = np.array([1.0, 2.0, 3.0, 7.0, 8.0, 9.0] * 4)
    model = bk.TAN(cuts="mdlp").fit({"x": x}, np.where(x > 5, "b", "a"))
    up, down = model.counterfactual({"x": [2.0, 8.0]}).nearest
    assert (up.becomes, up.distance) == (6.0, 1.0)  # cut midway, right-closed: 5 itself lies below
    assert (down.becomes, down.distance) == (5.0, 1.0)


@pytest.mark.parametrize("model", [bk.NaiveBayes(), bk.TAN(cuts="mdlp")], ids=repr)
def test_whole_numbers_become_whole_numbers(model):
    n = np.array([1, 2, 3, 6, 7, 8] * 4)
    flip = model.fit({"n": n}, np.where(n > 4, "b", "a")).counterfactual({"n": np.array([2])}).nearest[0]
    assert flip.becomes == 5


def clinic(n=90, seed=4):
    rng = np.random.default_rng(seed)
    ill = rng.random(n) < 0.5
    table = {
        "dose": rng.normal(1.4 * ill, 1.0).round(2),
        "sign": np.where(rng.random(n) < 0.25 + 0.5 * ill, "yes", "no").tolist(),
        "ward": rng.choice(["a", "b", "c"], n).tolist(),
    }
    return table, np.where(ill, "ill", "well")


EVERY = [
    bk.AutoBayes(max_candidates=9),
    bk.Calibrated(bk.NaiveBayes(), "isotonic"),
    bk.Calibrated(bk.TAN()),
    bk.FullBayes(),
    bk.KNNBayes(metric="gower", k=9),
    bk.AODE(n=2),
    bk.NetworkBayes(),
    bk.RiskClassifier(bk.NaiveBayes(), {"ill": {"treat": 1, "wait": 9}, "well": {"treat": 4, "wait": 0}}, reject=1.9),
]


@pytest.mark.parametrize("model", EVERY, ids=lambda m: type(m).__name__)
def test_every_classifier_says_which_level_flips_it(model):
    """Against asking for every level of every column in turn."""
    table, labels = clinic()
    model.fit(table, labels)
    rows = {name: values[:6] for name, values in table.items()}
    before = model.predict(rows)
    found = model.counterfactual(rows)
    for i, flips in enumerate(found.rows):
        row = {name: values[i : i + 1] for name, values in rows.items()}
        expected = {}
        for name, levels in (("sign", ("no", "yes")), ("ward", ("a", "b", "c"))):
            after = {level: model.predict({**row, name: [level]})[0] for level in levels}
            expected[name] = {level for level, what in after.items() if what != before[i]}
        told = {f.column: f for f in flips if f.becomes is not None}
        for name, levels in expected.items():
            assert (name in told) == bool(levels)
            assert not levels or told[name].becomes in levels
        for flip in flips:
            assert model.predict({**row, flip.column: [flip.becomes]})[0] == flip.after != flip.before


@pytest.mark.parametrize("model", EVERY, ids=lambda m: type(m).__name__)
def test_every_classifier_explains_what_it_says(model):
    table, labels = clinic()
    explained = model.fit(table, labels).explain(table)
    proba = model.predict_proba(table)
    joint = np.exp(explained.joint - explained.joint.max(axis=1, keepdims=True))
    assert joint / joint.sum(axis=1, keepdims=True) == pytest.approx(proba, abs=1e-9)


def test_the_action_after_a_flip_costs_least_or_nothing_is_done():
    table, labels = clinic()
    model = EVERY[-1].fit(table, labels)
    for i, flips in enumerate(model.counterfactual({n: v[:8] for n, v in table.items()}).rows):
        for flip in flips:
            row = {n: v[i : i + 1] for n, v in table.items()} | {flip.column: [flip.becomes]}
            p = bk.NaiveBayes().fit(table, labels).predict_proba(row)[0]
            costs = {"treat": p[0] * 1 + p[1] * 4, "wait": p[0] * 9}
            assert flip.after == ("abstain" if min(costs.values()) > 1.9 else min(costs, key=costs.get))
            assert np.isnan(flip.probability)


def test_costs_around_a_stranger_are_not_explained():
    from sklearn.linear_model import LogisticRegression

    model = bk.RiskClassifier(LogisticRegression()).fit([[0.0], [1.0]], ["a", "b"])
    with pytest.raises(bk.errors.KindError, match="LogisticRegression"):
        model.counterfactual([[0.0]])


def _clinic():
    """Two numbers that are never negative, and an age: normal densities reach below what there is."""
    rng = np.random.default_rng(4)
    y = np.repeat(["ill", "well"], 60)
    vessels = np.where(y == "ill", rng.integers(0, 4, 120), rng.integers(0, 2, 120))
    age = np.clip(rng.normal(np.where(y == "ill", 58, 50), 9), 29, 77).round()
    return {"vessels": vessels.astype(float), "age": age}, y


def test_no_number_beyond_those_of_the_given_rows_is_tried():
    X, y = _clinic()
    model, some = bk.NaiveBayes().fit(X, y), {name: values[:30] for name, values in X.items()}
    for among, known in ((None, X), (some, some)):  # a normal density has values beyond those learned
        for flip in (flip for row in model.counterfactual(X, among=among).rows for flip in row):
            if flip.becomes is not None:
                assert known[flip.column].min() <= flip.becomes <= known[flip.column].max()


def test_columns_that_are_held_stay():
    X, y = _clinic()
    model = bk.NaiveBayes().fit(X, y)
    assert {f.column for row in model.counterfactual(X).rows for f in row} == {"vessels", "age"}
    for hold in ("age", ["age"]):
        assert {f.column for row in model.counterfactual(X, hold=hold).rows for f in row} == {"vessels"}
    with pytest.raises(ValueError, match="hold names 'sex', which is no column"):
        model.counterfactual(X, hold="sex")


def test_two_columns_together_flip_what_neither_does_alone():
    """Of two levels the decision is 'yes' only where both are 1: brute force over all pairs."""
    X = {n: [str(v) for v in column] for n, column in zip("abc", np.indices((2, 2, 2)).reshape(3, -1), strict=True)}
    X = {n: column * 20 for n, column in X.items()}
    y = ["yes" if a == b == "1" else "no" for a, b in zip(X["a"], X["b"], strict=True)]
    model = bk.TAN().fit(X, y)
    row = {"a": ["0"], "b": ["0"], "c": ["0"]}
    assert model.predict(row)[0] == "no"
    (single,) = model.counterfactual(row).rows
    assert [f for f in single if f.becomes is not None] == []
    (found,) = model.counterfactual(row, columns=2).rows
    pairs = [f for f in found if isinstance(f.column, tuple)]
    assert [(f.column, f.value, f.becomes, f.after) for f in pairs] == [(("a", "b"), ("0", "0"), ("1", "1"), "yes")]
    assert pairs[0].probability == pytest.approx(model.predict_proba({"a": ["1"], "b": ["1"], "c": ["0"]}).max())
    assert model.counterfactual(row, columns=2, hold="b").rows == ((),) or all(
        "b" not in f.column for f in model.counterfactual(row, columns=2, hold="b").rows[0]
    )
    assert "a and b" in str(model.counterfactual(row, columns=2))


@pytest.mark.parametrize(
    "model", [bk.NaiveBayes(), bk.RiskClassifier(bk.NaiveBayes(), {"ill": {"a": 0, "b": 9}, "well": {"a": 1, "b": 0}})]
)
def test_every_pair_flips_and_is_nearer_than_its_columns(model):
    X, y = _clinic()
    model.fit(X, y)
    few = {n: column[:10] for n, column in X.items()}
    for i, row in enumerate(model.counterfactual(few, among=X, columns=2).rows):
        alone = {f.column: f.distance for f in row if isinstance(f.column, str) and f.becomes is not None}
        for flip in (f for f in row if isinstance(f.column, tuple)):
            changed = {n: few[n][i : i + 1] for n in few} | {
                n: [v] for n, v in zip(flip.column, flip.becomes, strict=True)
            }
            assert model.predict(changed)[0] == flip.after != flip.before
            assert flip.distance < min([alone.get(n, np.inf) for n in flip.column])


def test_three_columns_at_once_are_refused():
    X, y = _clinic()
    with pytest.raises(ValueError, match="give 1 or 2"):
        bk.NaiveBayes().fit(X, y).counterfactual(X, columns=3)
