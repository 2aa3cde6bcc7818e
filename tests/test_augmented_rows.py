"""TAN, KDB, AODE and AJE: holes, unseen levels, algebra, files, bad input."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest

import bayeskit as bk
from bayeskit.densities.density import reveal_terms
from chains import every_classifier, levels, mixed

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
    masked = reveal_terms(fitted.density, block, 2)
    assert fitted.terms(block) == pytest.approx(masked, rel=1e-10, abs=1e-10)
    explained = model.explain(X[:20])
    whole = explained.prior + explained.terms.sum(axis=1)
    assert whole == pytest.approx(model.predict_joint_log_proba(X[:20]), rel=1e-12)


@pytest.mark.parametrize("model", [bk.TAN(), bk.KDB(), bk.KDB(k=3, penalty=None)], ids=repr)
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
    known = np.zeros(6, dtype=bool)
    before = np.zeros((300, 2))
    for j in density.order:  # p(x_j | given ones before it) = p(x_j, these) / p(these)
        known[j] = True
        after = np.zeros((300, 2))
        density.add(block.reveal(known), after)
        assert pieces[:, j] == pytest.approx(after - before, rel=1e-9, abs=1e-9)
        before = after


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
    if isinstance(
        model, bk.CorrectedNaiveBayes | bk.ProbabilityForest | bk.BoostedTrees
    ):  # tables of single columns show it later
        again = np.tile(np.arange(200, len(X)), 3)
    else:
        again = np.arange(200, len(X))
    with pytest.raises(bk.errors.ForgetError):
        model.forget(X.iloc[again], np.asarray(y)[again])


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
        model.joint(model.counted.block(next(iter(bk_batches(X)))), prior=np.zeros(2), left_out=True)


def test_posteriors_count_what_they_saw():
    """A class and its parents that never met: the table shrinks toward the rest, never on nothing."""
    X = pd.DataFrame({"a": ["u"] * 30 + ["v"] * 30, "b": ["p"] * 30 + ["q"] * 30})
    y = ["one"] * 30 + ["two"] * 30
    proba = bk.TAN(penalty=None).fit(X, y).predict_proba([{"a": "u", "b": "q"}])
    assert Counter(np.isfinite(proba).ravel().tolist()) == {True: 2}
    assert proba == pytest.approx(np.array([[0.5, 0.5]]), abs=0.01)


@pytest.mark.parametrize("model", [bk.TAN(), bk.KDB(), bk.AODE()], ids=repr)
def test_columns_that_name_their_rows_are_refused_in_little_memory(model):
    names = [f"row {i}" for i in range(30_000)]
    table = pd.DataFrame({"id": names, "again": names[::-1], "x": ["a", "b"] * 15_000})
    with pytest.raises(ValueError, match=r"'id' \(30,000 levels\) x 'again' \(30,000 levels\).*cells"):
        model.fit(table, [0, 1] * 15_000)
