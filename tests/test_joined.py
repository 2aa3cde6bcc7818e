"""AJE: sets of columns chosen and weighed against direct formulas in fractions, brute force and SciPy."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

import bayeskit as bk
from bayeskit.numerics.log_linear import Evidence, minimise_bounded

STRENGTHS = [2.0**e for e in range(10, -3, -1)]


def parity(n=400, seed=0, noise=0.0):
    """The class is whether an odd number of a, b and e is 1; d and f tell nothing."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (n, 5))
    y = (X[:, :3].sum(axis=1) + (rng.random(n) < noise)) % 2
    return pd.DataFrame(X, columns=list("abedf")).astype(str), np.array(["even", "odd"])[y]


def levels(n=300, seed=0):
    """Three columns of a few levels that depend on two of three classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    a, b = (y + rng.integers(0, 2, n)) % 3, rng.integers(0, 4, n)
    return pd.DataFrame({"a": a, "b": b, "e": (a * b + y) % 2}).astype(str), y


def sets_of(model):
    ((family, _),) = model.model_.structure.components
    return family.sets


def foretold(X, y, some):
    """Brute force: log P(class) of all rows by the other rows with the same values, at the best strength, and it."""
    classes = np.unique(y)
    share = {c: (np.sum(y == c) + 0.5) / (len(y) + 0.5 * len(classes)) for c in classes}
    cells = list(map(tuple, X[list(some)].to_numpy()))
    best = (-math.inf, None)
    for s in STRENGTHS:
        total = 0.0
        for i, cell in enumerate(cells):
            others = [y[k] for k, other in enumerate(cells) if k != i and other == cell]
            total += math.log((sum(c == y[i] for c in others) + s * share[y[i]]) / (len(others) + s))
        best = max(best, (total, s), key=lambda pair: pair[0])
    return best[0] - sum(math.log(share[c]) for c in y), best[1]


def test_kept_are_the_sets_that_tell_more_than_those_within():
    X, y = levels(60)
    gains = {some: foretold(X, y, some)[0] for size in (1, 2, 3) for some in combinations("abe", size)}
    more = {
        some: gain - max(0.0, *(gains[s] for s in combinations(some, len(some) - 1)))
        for some, gain in gains.items()
        if len(some) > 1
    }
    expected = sorted(more, key=lambda some: -more[some])
    for most in (0, 1, 2, 4):
        found = sets_of(bk.AJE(sets=most, weights=None).fit(X, y))
        assert found == (("a",), ("b",), ("e",), *expected[:most])


def test_the_evidence_of_a_set_is_its_share_over_the_prior():
    X, y = levels(40, seed=3)
    model = bk.AJE(n=2, sets=1, weights=None).fit(X, y)
    kept = sets_of(model)
    counts = [Fraction(int(np.sum(y == c))) for c in range(3)]
    whole = [(n + Fraction(1, 2)) / (40 + Fraction(3, 2)) for n in counts]
    copies = Fraction(sum(map(len, kept)), 3)
    expected = []
    for _, row in X[:10].iterrows():
        score = [math.log(n / 40) for n in counts]
        for some in kept:
            strength = Fraction(foretold(X, y, some)[1])
            same = (X[list(some)] == row[list(some)]).all(axis=1).to_numpy()
            for c in range(3):
                share = (int(np.sum(same & (y == c))) + strength * whole[c]) / (int(same.sum()) + strength)
                score[c] += math.log(share / whole[c]) / copies
        expected.append(score)
    assert model.predict_joint_log_proba(X[:10]) == pytest.approx(np.array(expected), rel=1e-12)


def test_three_columns_that_tell_nothing_by_twos_are_found():
    X, y = parity()
    model = bk.AJE().fit(X, y)
    assert ("a", "b", "e") in sets_of(model)
    assert model.score(X, y) == 1.0
    assert bk.AJE(n=2).fit(X, y).score(X, y) < 0.7


def test_a_hole_leaves_the_smaller_set():
    X, y = levels()
    model = bk.AJE(n=3, sets=1, weights=None).fit(X, y)
    some = sets_of(model)[-1]
    asked = X[:20].assign(**{some[-1]: None})
    (density,) = model.model_.density.densities
    strength = density.strengths[-1]
    present = X[list(some[:-1])].apply(tuple, axis=1).to_numpy()
    share = np.array([(np.sum(y == c) + 0.5) / (len(y) + 1.5) for c in range(3)])
    explained = model.explain(asked)
    alone = [bk.AJE(n=1, sets=0, weights=None).fit(X[[name]], y) for name in X if name != some[-1]]
    single = sum(m.predict_joint_log_proba(asked[[m.feature_names_in_[0]]]) - m.model_.log_prior() for m in alone)
    for i, row in enumerate(asked[list(some[:-1])].apply(tuple, axis=1)):
        same = np.array([p == row for p in present])
        counts = np.array([np.sum(same & (y == c)) for c in range(3)])
        term = np.log((counts / share + strength) / (same.sum() + strength))
        got = explained.terms[i].sum(axis=0) / density.scale
        assert got == pytest.approx(single[i] + term, rel=1e-10)


def test_weights_are_the_optimum_that_scipy_finds():
    rng = np.random.default_rng(0)
    for pieces, classes in ((3, 2), (20, 3), (60, 4)):
        y = rng.integers(0, classes, 200)
        terms = rng.normal(size=(200, pieces, classes))
        terms[np.arange(200), :, y] += rng.normal(0.2, 0.5, pieces)
        seen = Evidence.of(terms, np.log(np.full(classes, 1 / classes)), y)
        toward = np.full(pieces, 0.5)

        def loss(both, seen=seen, toward=toward, pieces=pieces):
            weight, bias = both[:pieces], both[pieces:]
            return seen.loss(weight, bias) + 5 * np.sum((weight - toward) ** 2) + 0.5 * np.sum(bias**2)

        bounds = [(0, None)] * pieces + [(None, None)] * classes
        start = np.concatenate([toward, np.zeros(classes)])
        peer = minimize(loss, start, method="L-BFGS-B", bounds=bounds, options={"maxiter": 2000, "maxfun": 10**6})
        weight, bias = seen.fit(toward, 10.0, 1.0)
        assert (weight >= 0).all()
        assert loss(np.concatenate([weight, bias])) <= peer.fun + 1e-5
        elsewhere = np.concatenate([weight, bias]) + 0.3, 0.5 * seen.curvature(weight, bias)
        again = np.concatenate(seen.fit(toward, 10.0, 1.0, elsewhere))
        assert again == pytest.approx(np.concatenate([weight, bias]), abs=2e-3)


def test_descent_stops_at_a_bound_and_starts_outside_of_it():
    def objective(x):
        return float(np.exp(x[0]) + x[1] ** 4 - x[1]), np.array([np.exp(x[0]), 4 * x[1] ** 3 - 1])

    def curvature(x):
        return np.diag([np.exp(x[0]), 12 * x[1] ** 2 + 1e-9])

    found = minimise_bounded(objective, curvature, np.array([-3.0, 2.0]), np.array([-1.0, 0.0]))
    least = np.array([-1.0, 0.25 ** (1 / 3)])
    assert objective(found)[0] <= objective(least)[0] + 1e-7  # what is left to gain when it ends
    assert found[0] == -1.0


def test_files_are_weighed_too(tmp_path):
    X, y = parity(3000, noise=0.1)
    X.assign(label=y).to_parquet(tmp_path / "t.parquet")
    model = bk.AJE().fit(str(tmp_path / "t.parquet"), "label")
    np.testing.assert_allclose(model.predict_proba(X), bk.AJE().fit(X, y).predict_proba(X), atol=1e-9)


def test_rows_learned_later_change_tables_and_neither_sets_nor_weights():
    X, y = parity(600, noise=0.1)
    model = bk.AJE(sets=5).fit(X[:400], y[:400])
    weight, sets, digest = model.model_.weighting.weight, sets_of(model), model.model_.digest
    model.partial_fit(X[400:], y[400:])
    assert (sets_of(model), model.model_.weighting.weight is weight) == (sets, True)
    assert model.model_.digest != digest
    assert model.forget(X[400:], y[400:]).model_.digest == digest


def test_columns_of_many_levels_stay_by_themselves():
    rng = np.random.default_rng(0)
    X, y = parity(2000, noise=0.1)
    X = X.assign(name=rng.permutation(2000).astype(str), other=rng.integers(0, 1500, 2000).astype(str))
    joined = [some for some in sets_of(bk.AJE(weights=None).fit(X, y)) if len(some) > 1]
    assert ("a", "b", "e") in joined
    assert not [some for some in joined if {"name", "other"} <= set(some)]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n": 0}, "n=0: give a whole number from 1 to 4"),
        ({"n": 2.5}, "n=2.5"),
        ({"n": True}, "n=True"),
        ({"sets": -1}, "sets=-1: give a whole number from 0 to 10,000"),
        ({"cuts": "width"}, "cuts='width'"),
        ({"weights": "equal"}, "weights='equal'"),
    ],
)
def test_bad_settings_are_named(settings, message):
    X, y = parity(50)
    with pytest.raises(bk.errors.InputError) as caught:
        bk.AJE(**settings).fit(X, y)
    assert message in str(caught.value)


def test_one_class_a_constant_column_and_few_rows_are_answered():
    X, y = parity(30)
    with pytest.warns(UserWarning, match="one class"):
        assert (bk.AJE().fit(X, ["only"] * 30).predict(X) == "only").all()
    assert np.isfinite(bk.AJE().fit(X.assign(a="same"), y).predict_proba(X)).all()
    assert np.isfinite(bk.AJE().fit(X[:3], ["u", "v", "v"]).predict_proba(X)).all()
