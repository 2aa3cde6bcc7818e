"""TAN, KDB and AODE: arcs, tables and averages against direct formulas; holes, unseen levels, algebra, files."""

import math
from collections import Counter
from fractions import Fraction
from itertools import product

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import mutual_info_score

import bayeskit as bk
from bayeskit.likelihood import revealed

DENSE = [bk.TAN(), bk.KDB(k=1), bk.KDB(), bk.KDB(k=3), bk.AODE(), bk.AODE(n=2)]
every_classifier = pytest.mark.parametrize("model", [*DENSE, bk.AJE(weights=None)], ids=repr)


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
    X, y = levels(n, seed, holes=0.1)
    rng = np.random.default_rng([seed, 1])
    x = rng.normal((y == "yes") * 2.0, 1.0)
    return X.assign(x=np.where(rng.random(n) < 0.1, np.nan, x), z=x + rng.normal(0, 0.3, n)), y


def arcs(model):
    (density,) = model.model_.density.densities
    return dict(density.named())


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
    found = arcs(bk.TAN(toll=None).fit(X, y))
    assert {frozenset((child, p)) for child, parents in found.items() for p in parents} == expected
    assert found["a"] == ()


def test_arcs_that_tell_nothing_are_left_out():
    X, y = levels(800)
    assert arcs(bk.TAN().fit(X, y)) == {"a": (), "b": ("a",), "e": ("b",), "d": ()}


def test_without_a_toll_all_parents_are_kept():
    X, y = levels(300)
    assert sorted(map(len, arcs(bk.KDB(k=2, toll=None).fit(X, y)).values())) == [0, 1, 2, 2]


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
    model = bk.TAN(strength=3, backoff="class", toll=None).fit(X[["a", "b"]], y)
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
    assert {"x", "z"} <= {density.parts[j] for pair in density.pairs for j in pair}


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
            model = bk.TAN(strength=s, backoff="class", toll=None).fit(X[kept], y[kept])
            row = X[~kept]
            whole = model.predict_joint_log_proba(row) - model.predict_joint_log_proba(row.assign(b=None))
            total += whole[0, list(model.classes_).index(y[i])]
        return total

    strengths = [0.25, 4.0, 64.0]
    by_refit = [foretold(s) for s in strengths]
    (density,) = bk.TAN(backoff="class", toll=None).fit(X, y).model_.density.densities
    chosen = dict(zip(density.parts, density.strengths, strict=True))["b"]
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


# -- numbers, holes, levels never seen -------------------------------------------------------------------


@every_classifier
def test_mixed_columns_with_holes_are_learned(model):
    X, y = mixed(2000)
    assert model.fit(X, y).score(X, y) > 0.85
    proba = model.predict_proba(X)
    assert np.isfinite(proba).all()
    assert proba.sum(axis=1) == pytest.approx(np.ones(len(X)))


@every_classifier
def test_a_row_of_holes_has_the_prior(model):
    X, y = mixed()
    nothing = X[:3].assign(**dict.fromkeys(X.columns))
    assert model.fit(X, y).predict_proba(nothing) == pytest.approx(
        np.tile([np.mean(y == "no"), np.mean(y == "yes")], (3, 1))
    )


@every_classifier
def test_a_level_never_seen_says_nothing_by_default(model):
    X, y = mixed()
    model.fit(X, y)
    assert np.array_equal(model.predict_proba(X.assign(b="new")), model.predict_proba(X.assign(b=None)))


@pytest.mark.parametrize("model", [bk.TAN(strength=2.0, backoff="class"), bk.AODE(), bk.AODE(n=2)], ids=repr)
def test_a_smoothed_level_is_that_of_a_refit_with_it_declared(model):
    X, y = levels(300)
    asked = [{"a": "0", "b": "new", "e": "1", "d": "0"}, {"a": "1", "b": "0", "e": "new", "d": None}]
    known = {name: sorted(X[name].unique()) for name in X}
    declared = {**known, "b": [*known["b"], "new"], "e": [*known["e"], "new"]}
    refits = []
    for name, row in zip("be", asked, strict=True):  # one new level at a time
        model.set_params(kinds={**known, name: declared[name]}, unseen="missing")
        refits.append(model.fit(X, y).predict_proba([row])[0])
    model.set_params(kinds=known, unseen="smooth")
    assert model.fit(X, y).predict_proba(asked) == pytest.approx(np.array(refits), rel=1e-12)


def test_a_hole_can_be_a_level():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    X = pd.DataFrame(
        {"x": np.where((rng.random(400) < 0.1 + 0.8 * y), np.nan, rng.normal(size=400)), "z": rng.normal(size=400)}
    )
    for model in (bk.TAN(missing="level"), bk.AODE(missing="level", cuts="frequency")):
        assert model.fit(X, y).score(X, y) > 0.85
    assert bk.TAN().fit(X, y).score(X, y) < 0.65


@every_classifier
def test_terms_are_those_of_masking(model):
    X, y = mixed(300)
    fitted = model.fit(X, y).model_
    block = fitted.counted.block(next(iter(bk_batches(X))))
    masked = revealed(fitted.density, block, 2)
    assert fitted.terms(block) == pytest.approx(masked, rel=1e-10, abs=1e-10)
    explained = model.explain(X[:20])
    whole = explained.prior + explained.terms.sum(axis=1)
    assert whole == pytest.approx(model.predict_joint_log_proba(X[:20]), rel=1e-12)


@pytest.mark.parametrize("model", [bk.TAN(), bk.KDB(), bk.KDB(k=3, toll=None)], ids=repr)
def test_factors_are_given_what_they_depend_on_and_add_up(model):
    X, y = mixed(300)
    fitted = model.fit(X, y).model_
    block = fitted.counted.block(next(iter(bk_batches(X))))
    (density,) = fitted.density.densities
    pieces = density.factors(block)
    assert pieces.shape == (300, 6, 2)
    whole = np.zeros((300, 2))
    density.add(block, whole)
    assert pieces.sum(axis=1) == pytest.approx(whole, rel=1e-12)
    for j, (name, parents) in enumerate(density.named()):  # p(x_j | parents) = p(x_j, parents) / p(parents)
        with_it, without = np.zeros((300, 2)), np.zeros((300, 2))
        known = np.isin(fitted.schema.names, [name, *parents, *_above(density, parents)])
        density.add(block.reveal(known), with_it)
        density.add(block.reveal(known & (np.array(fitted.schema.names) != name)), without)
        assert pieces[:, j] == pytest.approx(with_it - without, rel=1e-9, abs=1e-9)


def _above(density, names):
    """All that some columns depend on."""
    found, parents = set(names), dict(density.named())
    while wider := {p for name in found for p in parents[name]} - found:
        found |= wider
    return found


def bk_batches(X):
    import pyarrow as pa

    return pa.Table.from_pandas(X, preserve_index=False).to_batches()


# -- the algebra ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [bk.TAN, bk.AODE, lambda: bk.KDB(k=1)], ids=["TAN", "AODE", "KDB1"])
def test_models_of_levels_learn_forget_and_merge_as_if_fitted_at_once(model):
    X, y = levels(300, holes=0.1)
    whole, one, other = model().fit(X, y), model().fit(X[:120], y[:120]), model().fit(X[120:], y[120:])
    assert (one + other).model_.digest == whole.model_.digest
    assert model().fit(X[:120], y[:120]).partial_fit(X[120:], y[120:]).model_.digest == whole.model_.digest
    assert whole.forget(X[120:], y[120:]).model_.digest == one.model_.digest
    assert np.array_equal(whole.predict_proba(X), one.predict_proba(X))


@pytest.mark.parametrize("kind", [mixed, levels])
@every_classifier
def test_what_is_learned_and_forgotten_leaves_no_trace(model, kind):
    X, y = kind(300)
    before = model.fit(X[:200], y[:200]).model_.digest
    assert model.partial_fit(X[200:], y[200:]).model_.digest != before
    assert model.forget(X[200:], y[200:]).model_.digest == before
    with pytest.raises(bk.errors.ForgetError):
        model.forget(X[200:], y[200:])


def test_models_cut_by_their_own_rows_are_not_merged():
    X, y = mixed(300)
    one, other = bk.TAN().fit(X[:150], y[:150]), bk.TAN().fit(X[150:], y[150:])
    with pytest.raises(bk.errors.MergeError, match="partial_fit"):
        one.merge(other)


@every_classifier
def test_order_threads_and_batches_do_not_show(model):
    import duckdb

    X, y = mixed(5000)
    digest = model.fit(X, y).model_.digest
    order = np.random.default_rng(0).permutation(len(X))
    assert model.fit(X.iloc[order], y[order]).model_.digest == digest
    assert model.set_params(n_jobs=2).fit(X, y).model_.digest == digest
    table = X.assign(label=y)
    relation = duckdb.connect().from_df(table)
    assert model.fit(relation, "label").model_.digest == model.fit(table, "label").model_.digest


@every_classifier
def test_an_integer_weight_is_repetition(model):
    X, y = mixed(200)
    times = np.random.default_rng(0).integers(0, 4, len(X))
    weighted = model.fit(X, y, sample_weight=times).model_.digest
    assert model.fit(X.loc[X.index.repeat(times)], np.repeat(y, times)).model_.digest == weighted


@every_classifier
def test_a_file_gives_the_model_back(model, tmp_path):
    X, y = mixed(300)
    model.fit(X, y).save(tmp_path / "m.bayes")
    back = bk.load(tmp_path / "m.bayes")
    assert type(back) is type(model)
    assert back.model_.digest == model.model_.digest
    assert np.array_equal(back.predict_proba(X), model.predict_proba(X))
    assert back.partial_fit(X, y).model_.digest == model.partial_fit(X, y).model_.digest


# -- what bad input gets -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "told"),
    [
        (bk.KDB(k=-1), "k=-1"),
        (bk.KDB(k=1.5), "k=1.5"),
        (bk.TAN(cuts="width"), "cuts='width'"),
        (bk.TAN(smoothing=0), "smoothing=0"),
        (bk.TAN(strength=0), "strength=0"),
        (bk.TAN(backoff="no"), "backoff='no'"),
        (bk.AODE(limit=0), "limit=0"),
        (bk.AODE(parents=0), "parents=0"),
        (bk.AODE(n=4), "n=4"),
        (bk.AODE(n=True), "n=True"),
    ],
    ids=repr,
)
def test_settings_that_cannot_be_are_named(model, told):
    X, y = levels(30)
    with pytest.raises(bk.errors.InputError, match=told):
        model.fit(X, y)


def test_a_column_of_numbers_that_had_no_value_asks_for_a_new_fit():
    X = pd.DataFrame({"a": ["u", "v"] * 10, "x": [None] * 20})
    y = [0, 1] * 10
    model = bk.TAN().fit(X, y)
    with pytest.raises(bk.errors.SchemaError, match="fit anew"):
        model.partial_fit(X.assign(x=1.5), y)


def test_leaving_out_by_algebra_is_refused():
    X, y = levels(50)
    model = bk.TAN().fit(X, y).model_
    with pytest.raises(bk.errors.InputError, match="fit anew"):
        model.joint(model.counted.block(next(iter(bk_batches(X)))), prior=np.zeros(2), own=True)


def test_posteriors_count_what_they_saw():
    """A class and its parents that never met: the table leans on the rest, never on nothing."""
    X = pd.DataFrame({"a": ["u"] * 30 + ["v"] * 30, "b": ["p"] * 30 + ["q"] * 30})
    y = ["one"] * 30 + ["two"] * 30
    proba = bk.TAN(toll=None).fit(X, y).predict_proba([{"a": "u", "b": "q"}])
    assert Counter(np.isfinite(proba).ravel().tolist()) == {True: 2}
    assert proba == pytest.approx(np.array([[0.5, 0.5]]), abs=0.01)


@pytest.mark.parametrize("model", [bk.TAN(), bk.KDB(), bk.AODE()], ids=repr)
def test_columns_that_name_their_rows_are_refused_in_little_memory(model):
    names = [f"row {i}" for i in range(30_000)]
    table = pd.DataFrame({"id": names, "again": names[::-1], "x": ["a", "b"] * 15_000})
    with pytest.raises(ValueError, match=r"'id' \(30,000 levels\) x 'again' \(30,000 levels\).*cells"):
        model.fit(table, [0, 1] * 15_000)
