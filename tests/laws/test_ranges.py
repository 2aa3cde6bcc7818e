"""Explanations stay in the observed range of each numeric column, however the rows were learned."""

from __future__ import annotations

import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone

import bayeskit as bk
from bayeskit.errors import HeldWarning, InputError

N = 160
COSTS = {"ill": {"treat": 1, "wait": 9}, "well": {"treat": 4, "wait": 0}}


def clinic(seed=3, n=N):
    """Numbers that end at 0 or 126, as normal curves do not; every end belongs to one row."""
    rng = np.random.default_rng(seed)
    ill = rng.random(n) < 0.5
    table = {
        "oldpeak": rng.exponential(0.5 + ill).round(2) * (rng.random(n) < 0.7),
        "vessels": rng.binomial(3, 0.15 + 0.4 * ill).astype(float),
        "cholesterol": 126 + rng.gamma(3.0, 30 + 12 * ill).round(1),
        "sign": np.where(rng.random(n) < 0.3 + 0.4 * ill, "yes", "no"),
    }
    return {name: list(values) for name, values in table.items()}, np.where(ill, "ill", "well").tolist()


NUMBERS = ("oldpeak", "vessels", "cholesterol")
TABLE, LABELS = clinic()
ENDS = {name: (min(TABLE[name]), max(TABLE[name])) for name in NUMBERS}
EXTREME = {"oldpeak": [-3.0, 40.0], "vessels": [-1.0, 9.0], "cholesterol": [43.0, 2000.0], "sign": ["yes", "no"]}

MODELS = {
    "naive": bk.NaiveBayes(),
    "auto": bk.NaiveBayes(families="auto"),
    "kernel": bk.NaiveBayes(families=bk.families.Kernel()),
    "weights": bk.NaiveBayes(weights="fitted"),
    "backoff": bk.NaiveBayes(backoff=10),
    "full": bk.FullBayes(),
    "tan": bk.TAN(),
    "kdb": bk.KDB(),
    "aode": bk.AODE(),
    "aje": bk.AJE(),
    "corrected": bk.CorrectedNaiveBayes(),
    "forest": bk.ProbabilityForest(trees=10),
    "boosted": bk.BoostedTrees(trees=10),
    "network": bk.NetworkBayes(),
    "knn": bk.KNNBayes(metric="gower", k=7),
    "exact": bk.TAN(exact=True),
    "pool": bk.AutoBayes(max_candidates=6),
    "calibrated": bk.Calibrated(bk.NaiveBayes()),
    "risk": bk.RiskClassifier(bk.NaiveBayes(), COSTS),
}
SAVED = [name for name in MODELS if name not in ("calibrated", "risk")]


def fresh(name):
    return clone(MODELS[name])


def rows(part):
    return {name: values[part] for name, values in TABLE.items()}


def outside(model, ends=ENDS):
    """Values of numeric columns that explanations name and no row has had."""
    asked = {name: [*values[:3], *EXTREME[name]] for name, values in rows(slice(0, N, 7)).items()}
    found = []
    for columns in (1, 2):
        for flip in (flip for row in model.counterfactual(asked, columns=columns).rows for flip in row):
            pair = isinstance(flip.column, tuple)
            both = zip(flip.column, flip.becomes, strict=True) if pair else [(flip.column, flip.becomes)]
            found += [(name, value) for name, value in both if value is not None]
    try:
        scales = model.nomogram("ill").scales
    except InputError:  # columns that depend on each other have none
        scales = ()
    found += [(scale.name, value) for scale in scales for value in scale.values]
    assert found
    return [(n, v) for n, v in found if n in ends and not ends[n][0] <= v <= ends[n][1]]


@pytest.mark.parametrize("name", MODELS)
def test_no_explanation_names_a_number_beyond_those_learned(name):
    assert not outside(fresh(name).fit(TABLE, LABELS))


@pytest.mark.parametrize("name", SAVED)
def test_nor_after_saving(name, tmp_path):
    fresh(name).fit(TABLE, LABELS).save(tmp_path / "m.bayes")
    assert not outside(bk.load(tmp_path / "m.bayes"))


@pytest.mark.parametrize("name", ["naive", "full", "tan", "pool"])
def test_nor_after_learning_more_or_merging(name):
    half, rest = slice(0, N // 2), slice(N // 2, N)
    first = fresh(name).fit(rows(half), LABELS[half])
    learned = fresh(name).fit(rows(half), LABELS[half]).partial_fit(rows(rest), LABELS[rest])
    can_merge = name in ("naive", "full")
    for model in (learned, first.merge(fresh(name).fit(rows(rest), LABELS[rest]))) if can_merge else (learned,):
        assert not outside(model)
        ranges = (model.reader_ if name == "pool" else model).model_.counted
        assert {n: ranges.seen(n) for n in NUMBERS} == ENDS


def seen(model):
    return {name: model.model_.counted.seen(name) for name in NUMBERS}


def test_rows_without_a_label_or_a_weight_are_not_seen():
    wide = {name: [*values, *EXTREME[name]] for name, values in TABLE.items()}
    with pytest.warns(UserWarning, match="no label"):
        assert seen(bk.NaiveBayes().fit(wide, [*LABELS, None, None])) == ENDS
    weighted = bk.NaiveBayes().fit(wide, [*LABELS, "ill", "ill"], sample_weight=[1.0] * N + [0.0, 0.0])
    assert seen(weighted) == ENDS
    assert seen(bk.NaiveBayes().fit(wide, [*LABELS, "ill", "ill"])) != ENDS


def test_every_engine_sees_the_same(tmp_path):
    import duckdb

    table = pa.table({**TABLE, "class": LABELS})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=40)
    sources = [
        table,
        table.to_pandas(),
        tmp_path / "t.parquet",
        duckdb.connect().from_arrow(table),
    ]
    for source in sources:
        for jobs in (1, 2):
            assert seen(bk.NaiveBayes(n_jobs=jobs).fit(source, "class")) == ENDS


def test_what_another_process_saw_comes_with_its_bytes():
    counted = bk.NaiveBayes().fit(TABLE, LABELS).model_.counted
    back = counted.without_counts().with_bytes(counted.to_bytes())
    assert {name: back.seen(name) for name in NUMBERS} == ENDS
    assert np.isnan(counted.without_counts().seen("oldpeak")).all()


@pytest.mark.parametrize("family", ["Multinomial", "Gaussian"])
def test_zeros_that_are_not_stored_are_seen(family):
    rng = np.random.default_rng(0)
    dense = rng.poisson(0.7, (60, 5)).astype(float)
    dense[:, 2] = rng.integers(2, 5, 60)  # no zero
    dense[:, 4] = 0.0
    y, kind = rng.integers(0, 2, 60), getattr(bk.families, family)()
    expected = list(zip(dense.min(axis=0).tolist(), dense.max(axis=0).tolist(), strict=True))
    for X in (dense, np.asfortranarray(dense), csr_array(dense)):
        counted = bk.NaiveBayes(families=kind).fit(X, y).model_.counted
        assert [counted.seen(f"x{j}") for j in range(5)] == expected
    weight = np.where(dense[:, 0] == dense[:, 0].max(), 0.0, 1.0)
    less = bk.NaiveBayes(families=kind).fit(csr_array(dense), y, sample_weight=weight)
    assert less.model_.counted.seen("x0")[1] == dense[weight > 0, 0].max()


@pytest.mark.parametrize("name", ["naive", "full", "tan", "exact"])
def test_an_end_that_was_forgotten_is_unknown_unless_the_rows_are_kept(name, tmp_path):
    place = TABLE["cholesterol"].index(ENDS["cholesterol"][1])
    model = fresh(name).fit(TABLE, LABELS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HeldWarning)
        model.forget(rows(slice(place, place + 1)), LABELS[place : place + 1])
    most = sorted(TABLE["cholesterol"])[-2] if name == "exact" else np.nan
    np.testing.assert_equal(model.model_.counted.seen("cholesterol"), (ENDS["cholesterol"][0], most))
    held = {n for n in NUMBERS if TABLE[n][place] not in ENDS[n]}
    assert held
    assert {n: seen(model)[n] for n in held} == {n: ENDS[n] for n in held}
    assert not outside(model, {n: ENDS[n] for n in held})
    model.save(tmp_path / "m.bayes")
    again = bk.load(tmp_path / "m.bayes")
    np.testing.assert_equal(again.model_.counted.seen("cholesterol")[1], most)
    assert np.float64(ENDS["cholesterol"][1]).tobytes() not in (tmp_path / "m.bayes").read_bytes()


def test_a_column_that_held_nothing_so_far_joins_the_range():
    model = bk.NaiveBayes().fit({"x": [None] * 4, "z": [1.0, 2.0, 3.0, 5.0]}, list("abab"))
    model.partial_fit({"x": [3.0, 7.0, 4.0, 5.0], "z": [0.0, 9.0, 1.0, 2.0]}, list("abab"))
    assert [model.model_.counted.seen(n) for n in "xz"] == [(3.0, 7.0), (0.0, 9.0)]
    model.forget({"x": [None], "z": [3.0]}, ["a"])
    assert [model.model_.counted.seen(n) for n in "xz"] == [(3.0, 7.0), (0.0, 9.0)]


def test_the_table_given_goes_before_what_was_learned():
    model = bk.NaiveBayes().fit(TABLE, LABELS)
    narrow = {**{name: values[:40] for name, values in TABLE.items()}, "oldpeak": [0.0, 1.0] * 20}
    points = [s for s in model.nomogram("ill", among=narrow).scales if s.name == "oldpeak"]
    assert max(points[0].values) <= 1.0
    assert 1.0 < max(model.nomogram("ill").scales[0].values) <= ENDS["oldpeak"][1]
