"""TAN, KDB and AODE: arcs, tables and averages against direct formulas."""

import math
from fractions import Fraction
from itertools import product

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import mutual_info_score

import bayeskit as bk
from chains import DENSE, arcs, levels, mixed

# -- the arcs ------------------------------------------------------------------------------------------


def test_tan_finds_the_tree_of_largest_conditional_mutual_information():
    X, y = levels(800)
    graph = nx.Graph()
    for i, one in enumerate(X.columns):
        for other in X.columns[i + 1 :]:
            told = sum(
                np.mean(y == c) * mutual_info_score(X.loc[y == c, one], X.loc[y == c, other]) for c in np.unique(y)
            )
            graph.add_edge(one, other, weight=told)
    expected = {frozenset(edge) for edge in nx.maximum_spanning_tree(graph).edges}
    found = arcs(bk.TAN(penalty=None).fit(X, y))
    assert {frozenset((child, p)) for child, parents in found.items() for p in parents} == expected
    assert found["a"] == ()


def test_arcs_that_tell_nothing_are_left_out():
    X, y = levels(800)
    assert arcs(bk.TAN().fit(X, y)) == {"a": (), "b": ("a",), "e": ("b",), "d": ()}


def test_without_a_toll_all_parents_are_kept():
    X, y = levels(300)
    assert sorted(map(len, arcs(bk.KDB(k=2, penalty=None).fit(X, y)).values())) == [0, 1, 2, 2]


def test_kdb_has_k_parents_where_they_pay():
    rng = np.random.default_rng(3)
    y, a, b = rng.integers(0, 2, (3, 2000))
    X = pd.DataFrame({"a": a, "b": b, "parity": a ^ b ^ y}).astype(str)
    assert sorted(map(len, arcs(bk.KDB(k=2).fit(X, y)).values())) == [0, 0, 2]
    assert bk.KDB(k=2).fit(X, y).score(X, y) == 1.0
    assert bk.KDB(k=1).fit(X, y).score(X, y) < 0.6


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("model", [bk.TAN(), bk.KDB(), bk.AODE(limit=1e9), bk.AODE(n=2, limit=1e9)], ids=repr)
def test_without_arcs_it_is_categorical_naive_bayes_bit_for_bit(model, seed):
    rng = np.random.default_rng(seed)
    X, y = pd.DataFrame(rng.integers(0, 4, (300, 7))).astype(str).add_prefix("c"), rng.integers(0, 3, 300)
    X = X.mask(rng.random(X.shape) < 0.1, None)
    naive = bk.NaiveBayes().fit(X, y)
    assert model.fit(X, y).predict_joint_log_proba(X).tobytes() == naive.predict_joint_log_proba(X).tobytes()


# -- the numbers ---------------------------------------------------------------------------------------


def test_tables_lean_on_the_class_with_the_strength_given():
    X, y = levels(60, seed=2)
    rows, s, log = list(zip(X.a, X.b, y, strict=True)), Fraction(3), []
    model = bk.TAN(strength=3, backoff="class", penalty=None).fit(X[["a", "b"]], y)
    for a, b in product("012", repeat=2):
        for c in ("no", "yes"):
            of_class = [r for r in rows if r[2] == c]
            n = len(of_class)
            of_a = [r for r in of_class if r[0] == a]
            share = Fraction(sum(r[1] == b for r in of_class) + 1, n + 3)
            given = (sum(r[1] == b for r in of_a) + s * share) / (len(of_a) + s)
            log.append(math.log(Fraction(n, 60) * Fraction(len(of_a) + 1, n + 3) * given))
    asked = pd.DataFrame(list(product("012", repeat=2)), columns=["a", "b"])
    assert model.predict_joint_log_proba(asked).ravel() == pytest.approx(log, rel=1e-13)


def aode_by_hand(X, y, row):
    """Mean over parents of P(c, x_p) prod P(x_j | x_p, c), Laplace's, in fractions; holes skipped: by class."""
    out = []
    sizes = {n: X[n].nunique() for n in X}
    for c in np.unique(y):
        parts, of_class = [], X[y == c]
        for p in X:
            if row[p] is None or not (X[p] == row[p]).any():
                continue
            same = of_class[of_class[p] == row[p]]
            part = Fraction(len(same) + 1, int(of_class[p].notna().sum()) + sizes[p])
            for j in X:
                if j != p and row[j] is not None:
                    known = same[j].notna().sum()
                    part *= Fraction(int((same[j] == row[j]).sum()) + 1, int(known) + sizes[j])
            parts.append(part)
        out.append(Fraction(len(of_class), len(X)) * sum(parts) / len(parts) if parts else None)
    return out


def test_aode_is_the_mean_over_parents():
    X, y = levels(80, seed=5, holes=0.1)
    X = X.astype(object).where(X.notna(), None)
    asked = [row for row in X.to_dict("records") if any(v is not None for v in row.values())][:40]
    expected = [[math.log(p) for p in aode_by_hand(X, y, row)] for row in asked]
    assert bk.AODE(given=1.0).fit(X, y).predict_joint_log_proba(asked) == pytest.approx(np.array(expected), rel=1e-12)


def a2de_by_hand(X, y, row, limit=1):
    """Mean over pairs of P(c, x_p, x_q) prod P(x_j | x_p, x_q, c), half a pseudo-row in each cell: by class."""
    half, sizes, out = Fraction(1, 2), {n: X[n].nunique() for n in X}, []
    there = [n for n in X if row[n] is not None]
    pairs = [(p, q) for i, p in enumerate(there) for q in there[i + 1 :]]
    pairs = [(p, q) for p, q in pairs if ((X[p] == row[p]) & (X[q] == row[q])).sum() >= limit]
    for c in np.unique(y):
        parts, of_class = [], X[y == c]
        for p, q in pairs:
            same = of_class[(of_class[p] == row[p]) & (of_class[q] == row[q])]
            both = int((of_class[p].notna() & of_class[q].notna()).sum())
            part = (len(same) + half) / (both + half * sizes[p] * sizes[q])
            for j in there:
                if j not in (p, q):
                    part *= (int((same[j] == row[j]).sum()) + half) / (int(same[j].notna().sum()) + half * sizes[j])
            parts.append(part)
        out.append(Fraction(len(of_class), len(X)) * sum(parts) / len(parts) if parts else None)
    return out


@pytest.mark.parametrize("limit", [1, 6])
def test_aode_of_pairs_is_the_mean_over_pairs(limit):
    X, y = levels(80, seed=5, holes=0.1)
    X = X.astype(object).where(X.notna(), None)
    rows = [(row, a2de_by_hand(X, y, row, limit)) for row in X.to_dict("records")]
    asked = [(row, [math.log(p) for p in found]) for row, found in rows if None not in found]
    assert 40 < len(asked) < 80 + (limit == 1)
    found = bk.AODE(n=2, limit=limit).fit(X, y).predict_joint_log_proba([row for row, _ in asked])
    assert found == pytest.approx(np.array([logs for _, logs in asked]), rel=1e-12)


def test_a_row_without_a_pair_has_the_mean_over_single_parents():
    X, y = levels(200, seed=5)
    one, two = bk.AODE().fit(X, y), bk.AODE(n=2).fit(X, y)
    alone = X.assign(a=None, e=None, d=None)
    assert two.predict_joint_log_proba(alone).tobytes() == one.predict_joint_log_proba(alone).tobytes()
    assert not np.allclose(two.predict_proba(X), one.predict_proba(X))


def test_pairs_see_what_single_parents_cannot():
    rng = np.random.default_rng(3)
    y, a, b, noise = rng.integers(0, 2, (4, 2000))
    X = pd.DataFrame({"a": a, "b": b, "parity": a ^ b ^ y, "noise": noise}).astype(str)
    assert bk.AODE(n=2).fit(X, y).score(X, y) == 1.0
    assert bk.AODE(n=1).fit(X, y).score(X, y) < 0.6


def test_pairs_are_made_of_the_columns_that_tell_most():
    X, y = mixed(600)
    model = bk.AODE(n=2, parents=3, cuts="mdlp").fit(X, y)
    (density,) = model.model_.density.densities
    assert len(density.pairs) == 3
    assert {"x", "z"} <= {density.columns[j] for pair in density.pairs for j in pair}


def test_pairs_one_at_a_time_give_the_same(monkeypatch):
    X, y = mixed(300)
    kept = bk.AODE(n=2).fit(X, y).predict_joint_log_proba(X)
    monkeypatch.setattr("bayeskit.structures.paired.KEPT", 0)
    assert bk.AODE(n=2).fit(X, y).predict_joint_log_proba(X).tobytes() == kept.tobytes()


def test_pairs_that_would_not_fit_in_memory_are_refused_with_their_size():
    rng = np.random.default_rng(0)
    X, y = pd.DataFrame(rng.integers(0, 10, (100, 60))).astype(str).add_prefix("c"), rng.integers(0, 2, 100)
    cells = math.comb(60, 3) * 1000 * 2
    with pytest.raises(bk.errors.InputError, match=f"{cells:,} cells.*parents="):
        bk.AODE(n=2).fit(X, y)
    assert bk.AODE(n=2, parents=4).fit(X, y).predict_proba(X).shape == (100, 2)


def test_strength_is_chosen_by_leaving_each_row_out():
    X, y = levels(40, seed=4)
    X = X[["a", "b"]]

    def foretold(s):
        total = 0.0
        for i in range(len(X)):
            kept = np.arange(len(X)) != i
            model = bk.TAN(strength=s, backoff="class", penalty=None).fit(X[kept], y[kept])
            row = X[~kept]
            whole = model.predict_joint_log_proba(row) - model.predict_joint_log_proba(row.assign(b=None))
            total += whole[0, list(model.classes_).index(y[i])]
        return total

    strengths = [0.25, 4.0, 64.0]
    by_refit = [foretold(s) for s in strengths]
    (density,) = bk.TAN(backoff="class", penalty=None).fit(X, y).model_.density.densities
    chosen = dict(zip(density.columns, density.strengths, strict=True))["b"]
    near = strengths[int(np.argmax(by_refit))]
    assert near / 4 <= chosen <= near * 4


@pytest.mark.parametrize("model", DENSE, ids=repr)
def test_probabilities_of_all_rows_sum_to_one(model):
    X, y = levels(300, seed=1)
    every = pd.DataFrame(list(product("012", "012", "012", "01")), columns=list(X))
    assert np.exp(model.fit(X, y).log_evidence(every)).sum() == pytest.approx(1, rel=1e-12)


def test_a_missing_parent_is_summed_out():
    X, y = levels(300, seed=1)
    model = bk.TAN().fit(X[["a", "b"]], y)
    assert arcs(model) == {"a": (), "b": ("a",)}
    for b in "012":
        known = model.predict_joint_log_proba([{"a": a, "b": b} for a in "012"])
        hidden = model.predict_joint_log_proba([{"a": None, "b": b}])
        assert np.exp(hidden) == pytest.approx(np.exp(known).sum(axis=0, keepdims=True), rel=1e-12)
