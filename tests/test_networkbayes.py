"""NetworkBayes: tables and sums in exact fractions, holes, arcs given and searched, algebra, files, bad input."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import bayeskit as bk
from bayeskit.densities.density import reveal_terms
from chains import with_numbers

ARCS = [("a", "class"), ("class", "b"), ("a", "b"), ("b", "e"), ("d", "e")]  # the class has a parent, e is no child
CHILDREN = [("class", name) for name in "abed"] + [("a", "b"), ("b", "e")]


def levels(n=300, seed=0, holes=0.0):
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 3, n)
    y = (rng.random(n) < 0.2 + 0.3 * a).astype(int)
    b = np.where(rng.random(n) < 0.8, (a + y) % 3, rng.integers(0, 3, n))
    d = rng.integers(0, 2, n)
    e = np.where(rng.random(n) < 0.8, (b + d) % 2, rng.integers(0, 2, n))
    X = pd.DataFrame({"a": a, "b": b, "e": e, "d": d}).astype(str)
    return X.mask(rng.random(X.shape) < holes, None), np.array(["no", "yes"])[y]


def mixed(n=400, seed=0):
    return with_numbers(*levels(n, seed, holes=0.1), seed)


def by_hand(X, y, arcs):
    """P(every cell, c) of the network with one pseudo-row in each cell: by cell, in fractions."""
    table = X.assign(**{"class": y})
    states = {n: sorted(table[n].dropna().unique()) for n in table}
    rows = table.astype(object).where(table.notna(), None).to_dict("records")

    def factor(node, cell):
        family = [node, *(p for p, child in arcs if child == node)]
        given = [r for r in rows if None not in (r[n] for n in family) and all(r[p] == cell[p] for p in family[1:])]
        return Fraction(sum(r[node] == cell[node] for r in given) + 1, len(given) + len(states[node]))

    cells = [dict(zip(table, values, strict=True)) for values in product(*(states[n] for n in table))]
    return [(cell, math.prod(factor(node, cell) for node in table)) for cell in cells]


@pytest.mark.parametrize("arcs", [ARCS, CHILDREN], ids=["arcs", "children"])
def test_missing_values_are_summed_out_exactly(arcs):
    """Every pattern of missing values against the sum over all cells of the joint distribution."""
    X, y = levels(60, seed=2, holes=0.05)
    cells = by_hand(X, y, arcs)
    of_class = {c: sum(p for cell, p in cells if cell["class"] == c) for c in ("no", "yes")}
    asked = [dict(zip("abed", values, strict=True)) for values in product(["0", "1", "2", None], ["1", "2", None],
             ["0", None], ["1", None])]  # fmt: skip
    expected = []
    for row in asked:
        agreeing = [(cell["class"], p) for cell, p in cells if all(v in (None, cell[n]) for n, v in row.items())]
        expected.append([float(sum(p for c, p in agreeing if c == k) / of_class[k]) for k in ("no", "yes")])
    model = bk.NetworkBayes(arcs, backoff="even", prior="uniform", kinds={n: sorted(X[n].dropna().unique()) for n in X})
    found = np.exp(model.fit(X, y).predict_joint_log_proba(asked)) * 2
    assert found == pytest.approx(np.array(expected), rel=1e-11)


@pytest.mark.parametrize("unseen", ["missing", "smooth"])
@pytest.mark.parametrize("seed", range(3))
def test_with_arcs_from_the_class_alone_it_is_categorical_naive_bayes_bit_for_bit(seed, unseen):
    rng = np.random.default_rng(seed)
    X, y = pd.DataFrame(rng.integers(0, 4, (300, 7))).astype(str).add_prefix("c"), rng.integers(0, 3, 300)
    X = X.mask(rng.random(X.shape) < 0.1, None)
    naive = bk.NaiveBayes(unseen=unseen).fit(X, y)
    model = bk.NetworkBayes([("class", name) for name in X], unseen=unseen).fit(X, y)
    for asked in (X, X.assign(c1="new")):
        assert model.predict_joint_log_proba(asked).tobytes() == naive.predict_joint_log_proba(asked).tobytes()


@pytest.mark.parametrize("structure", [None, ARCS, []], ids=["searched", "given", "none"])
def test_probabilities_of_all_rows_sum_to_one(structure):
    X, y = levels()
    every = pd.DataFrame(list(product("012", "012", "01", "01")), columns=list(X))
    assert np.exp(bk.NetworkBayes(structure).fit(X, y).log_evidence(every)).sum() == pytest.approx(1, rel=1e-12)


def test_a_searched_network_finds_the_blanket():
    X, y = levels(4000)
    model = bk.NetworkBayes(criterion="bdeu", augmented=False, max_parents=3).fit(X, y)
    assert model.markov_blanket_ == ("a", "b")
    changed = X.assign(e="0", d="1")  # beyond the blanket
    assert model.predict_proba(X) == pytest.approx(model.predict_proba(changed), rel=1e-12)
    assert not np.allclose(model.predict_proba(X.assign(b=None)), model.predict_proba(changed.assign(b=None)))


def test_a_search_keeps_the_class_above_every_column_and_adds_arcs_that_tell():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 2000)
    a = rng.integers(0, 3, 2000)
    b = np.where(rng.random(2000) < 0.8, (a + y) % 3, rng.integers(0, 3, 2000))
    X = pd.DataFrame({"a": a, "b": b, "noise": rng.integers(0, 3, 2000)}).astype(str)
    edges = set(bk.NetworkBayes().fit(X, y).edges_)
    assert {("class", name) for name in X} <= edges
    assert len(edges) == 4
    assert edges & {("a", "b"), ("b", "a")}


def test_columns_of_holes_attract_no_arcs():
    """Scored on complete rows alone, a family of few rows would look as good as one likes."""
    X, y = levels(200)
    rng = np.random.default_rng(0)
    sparse = {f"s{i}": np.where(rng.random(200) < 0.05, rng.integers(0, 4, 200).astype(str), None) for i in range(6)}
    model = bk.NetworkBayes(criterion="bic", augmented=False).fit(X.assign(**sparse), y)
    assert ("class", "a") in model.edges_
    assert not any(name.startswith("s") for edge in model.edges_ for name in edge)


@pytest.mark.parametrize("search", ["hill-climb", "tabu", "k2", "chow-liu"])
def test_every_search_gives_a_classifier(search):
    X, y = mixed()
    model = bk.NetworkBayes(None, "bic", search).fit(X, y)
    assert model.score(X, y) > 0.8
    assert np.isfinite(model.predict_log_proba(X)).all()


def test_a_network_or_the_name_of_the_target_gives_the_arcs():
    X, y = levels(holes=0.1)
    named = [(p.replace("class", "label"), c.replace("class", "label")) for p, c in ARCS]
    table = X.assign(label=y)
    expected = bk.NetworkBayes(ARCS).fit(X, y).predict_proba(X)
    for structure in (named, bk.Network(named), ARCS):
        model = bk.NetworkBayes(structure).fit(table, "label")
        assert np.array_equal(model.predict_proba(X), expected)
        assert set(model.edges_) == set(named)


def test_a_prior_replaces_that_of_the_network():
    X, y = levels(holes=0.1)
    model = bk.NetworkBayes(ARCS).fit(X, y)
    ratio = np.log([0.9, 0.1]) - np.log([np.mean(y == "no"), np.mean(y == "yes")])
    shifted = model.predict_joint_log_proba(X) + ratio
    assert model.predict_joint_log_proba(X, prior={"no": 0.9, "yes": 0.1}) == pytest.approx(shifted, rel=1e-12)


def test_a_row_of_holes_has_the_prior():
    X, y = mixed()
    for structure in (None, ARCS):
        proba = bk.NetworkBayes(structure).fit(X, y).predict_proba(X[:1].assign(**dict.fromkeys(X.columns)))
        assert proba == pytest.approx(np.array([[np.mean(y == "no"), np.mean(y == "yes")]]), rel=1e-12)


def test_a_level_never_seen_says_nothing_by_default():
    X, y = levels()
    model = bk.NetworkBayes(ARCS).fit(X, y)
    assert np.array_equal(model.predict_proba(X.assign(a="new")), model.predict_proba(X.assign(a=None)))


@pytest.mark.parametrize(
    ("arcs", "name", "row"),
    [
        (ARCS, "b", {"a": None, "b": "new", "e": "1", "d": "0"}),
        (CHILDREN, "b", {"a": None, "b": "new", "e": "1", "d": "0"}),
        (CHILDREN, "a", {"a": "new", "b": None, "e": "1", "d": "0"}),
        (CHILDREN, "a", {"a": "new", "b": "1", "e": "1", "d": None}),
    ],
)
def test_a_smoothed_level_is_that_of_a_refit_with_it_declared(arcs, name, row):
    """Beside holes that must be summed out, too."""
    X, y = levels()
    known = {name: sorted(X[name].unique()) for name in X}
    model = bk.NetworkBayes(arcs, strength=2.0, backoff="class", kinds={**known, name: [*known[name], "new"]})
    refit = model.fit(X, y).predict_proba([row])
    model.set_params(kinds=known, unseen="smooth")
    assert model.fit(X, y).predict_proba([row]) == pytest.approx(refit, rel=1e-12)


def test_terms_are_those_of_masking_and_add_up():
    X, y = mixed(200)
    model = bk.NetworkBayes().fit(X, y)
    block = model.model_.counted.block(pa.Table.from_pandas(X, preserve_index=False).to_batches()[0])
    assert np.array_equal(model.model_.terms(block), reveal_terms(model.model_.density, block, 2))
    explained = model.explain(X[:20])
    whole = explained.prior + explained.terms.sum(axis=1)
    assert whole == pytest.approx(model.predict_joint_log_proba(X[:20]), rel=1e-12)


def test_models_of_given_arcs_learn_forget_and_merge_as_if_fitted_at_once():
    X, y = levels(holes=0.1)
    whole, one, other = (bk.NetworkBayes(ARCS).fit(X[s], y[s]) for s in (slice(None), slice(120), slice(120, None)))
    assert (one + other).model_.digest == whole.model_.digest
    assert whole.forget(X[120:], y[120:]).model_.digest == one.model_.digest
    assert np.array_equal(whole.predict_proba(X), one.predict_proba(X))


@pytest.mark.parametrize("kind", [levels, mixed])
def test_searched_arcs_are_held_for_rows_learned_later(kind):
    X, y = kind(300)
    model = bk.NetworkBayes().fit(X[:200], y[:200])
    edges, before = model.edges_, model.model_.digest
    assert model.partial_fit(X[200:], y[200:]).model_.digest != before
    assert model.edges_ == edges
    assert model.forget(X[200:], y[200:]).model_.digest == before
    with pytest.raises(bk.errors.ForgetError):
        model.forget(X[200:], y[200:])


def test_order_weights_and_threads_do_not_show():
    X, y = mixed(1000)
    digest = bk.NetworkBayes().fit(X, y).model_.digest
    order = np.random.default_rng(0).permutation(len(X))
    assert bk.NetworkBayes(n_jobs=2).fit(X.iloc[order], y[order]).model_.digest == digest
    times = np.random.default_rng(0).integers(0, 3, len(X))
    weighted = bk.NetworkBayes().fit(X, y, sample_weight=times).model_.digest
    assert bk.NetworkBayes().fit(X.loc[X.index.repeat(times)], np.repeat(y, times)).model_.digest == weighted


@pytest.mark.parametrize("structure", [None, bk.Network(ARCS)], ids=["searched", "network"])
def test_a_file_gives_the_model_back(structure, tmp_path):
    X, y = mixed(300)
    model = bk.NetworkBayes(structure).fit(X, y)
    model.save(tmp_path / "m.bayes")
    back = bk.load(tmp_path / "m.bayes")
    assert back.model_.digest == model.model_.digest
    assert np.array_equal(back.predict_proba(X), model.predict_proba(X))
    assert back.partial_fit(X, y).model_.digest == model.partial_fit(X, y).model_.digest


@pytest.mark.parametrize(
    ("model", "told"),
    [
        (bk.NetworkBayes([("class", "nobody")]), "'nobody', which is no column"),
        (bk.NetworkBayes([("a", "b")]), "no arc of the structure names the class"),
        (bk.NetworkBayes([("class", "a"), ("a", "b"), ("b", "class")]), "cycle"),
        (bk.NetworkBayes(["class"]), "arcs are pairs"),
        (bk.NetworkBayes(criterion="best"), "score='best'"),
        (bk.NetworkBayes(search="far"), "search='far'"),
        (bk.NetworkBayes(max_parents=-1), "max_parents=-1"),
        (bk.NetworkBayes(ess=0), "ess=0"),
        (bk.NetworkBayes(backoff="no"), "backoff='no'"),
    ],
    ids=repr,
)
def test_settings_that_cannot_be_are_named(model, told):
    X, y = levels(30)
    with pytest.raises(bk.errors.BayeskitError, match=told):
        model.fit(X, y)


def test_a_table_that_would_not_fit_in_memory_is_refused_with_its_size():
    X = pd.DataFrame({"a": np.arange(5000), "b": np.arange(5000) % 2500}).astype(str)
    y = np.arange(5000) % 2
    with pytest.raises(bk.errors.InputError, match="'b' with its parents would have 25,030,008 cells"):
        bk.NetworkBayes([("class", "b"), ("a", "b")]).fit(X, y)
