"""Any row order, any split, any names of classes: the same model, also where weights are fitted to folds."""

import math

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayeskit as bk
from bayeskit.model.distinct_rows import Distinct
from bayeskit.model.labelled_table import Rows

MODELS = {
    "naive": lambda: bk.NaiveBayes(weights="fitted"),
    "naive, families chosen": lambda: bk.NaiveBayes(families="auto", weights="fitted"),
    "TAN": lambda: bk.TAN(weights="fitted"),
    "KDB": lambda: bk.KDB(weights="fitted"),
    "AJE": lambda: bk.AJE(sets=10),
    "AJE, equal weights": lambda: bk.AJE(sets=10, weights=None),
    "AODE": lambda: bk.AODE(),
    "corrected": lambda: bk.CorrectedNaiveBayes(),
    "forest": lambda: bk.ProbabilityForest(trees=10),
    "boosted": lambda: bk.BoostedTrees(trees=10),
    "full, of missing values": lambda: bk.FullBayes(),
    "network": lambda: bk.NetworkBayes(),
    "neighbours": lambda: bk.KNNBayes(k=3, metric="gower"),
    "AutoBayes, one": lambda: bk.AutoBayes(fast=True),
    "AutoBayes": lambda: bk.AutoBayes(),
}
CLASSES = np.array(["high", "low", "mid"])


def table(n=130, seed=0):
    """Numbers, levels, holes, and rows that occur more than once; three classes."""
    rng = np.random.default_rng(seed)
    y = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    X = pd.DataFrame(
        {
            "size": rng.normal(y, 1.0).round(1),
            "amount": np.exp(rng.normal(0.5 * y, 1.0)).round(1),
            "colour": np.where(rng.random(n) < 0.3 + 0.2 * y, "red", "blue"),
            "town": rng.choice(["a", "b", "c"], n),
        }
    )
    X.loc[rng.random(n) < 0.1, "size"] = np.nan
    copies = np.r_[np.arange(n), rng.integers(0, n, n // 4)]
    return X.iloc[copies].reset_index(drop=True), CLASSES[y[copies]]


def rows_in_another_order(X, y, rng, folder):
    order = rng.permutation(len(y))
    return X.iloc[order].reset_index(drop=True), y[order], None


def four_files(X, y, rng, folder):
    order = rng.permutation(len(y))
    for part, rows in enumerate(np.array_split(order, 4)):
        X.iloc[rows].assign(label=y[rows]).to_parquet(folder / f"{part}.parquet", index=False)
    return str(folder / "*.parquet"), "label", None


def rows_without_weight(X, y, rng, folder):
    more = X.iloc[:20].assign(size=99.0, colour="green")
    weight = np.r_[np.ones(len(y)), np.zeros(20)]
    return pd.concat([X, more]), np.r_[y, ["none"] * 20], weight


SAME = [rows_in_another_order, four_files, rows_without_weight]


def constant_columns(X, y):
    return X.assign(unit="cm", one=1.0, none=np.nan)


def columns_in_another_order(X, y):
    return X[["town", "amount", "size", "colour"]]


def digests(model):
    """What makes two models the same."""
    if not isinstance(model, bk.AutoBayes):
        return model.model_.digest
    pool = [model.pool_.weight.tobytes(), model.pool_.bias.tobytes()]
    return [model.reader_.model_.digest, *pool, *(m.classifier.model_.digest for m in model.members_)]


@pytest.fixture(scope="module", params=MODELS)
def fitted(request):
    X, y = table()
    return MODELS[request.param], MODELS[request.param]().fit(X, y)


@pytest.mark.parametrize("change", SAME, ids=lambda change: change.__name__)
def test_the_model_is_the_same_bit_for_bit(fitted, change, tmp_path):
    make, model = fitted
    X, y, weight = change(*table(), np.random.default_rng(1), tmp_path)
    again = make().fit(X, y, sample_weight=weight)
    assert digests(again) == digests(model)


def test_fractions_as_weights_are_added_in_any_order(fitted):
    make, _ = fitted
    X, y = table()
    rng = np.random.default_rng(4)
    weight, order = rng.choice([0.1, 0.3, 0.7, 1.1], len(y)), rng.permutation(len(y))
    one, other = make().fit(X, y, weight), make().fit(X.iloc[order], y[order], weight[order])
    assert digests(one) == digests(other)


@pytest.mark.parametrize("change", [constant_columns, columns_in_another_order], ids=lambda change: change.__name__)
def test_what_says_nothing_moves_no_answer(fitted, change):
    make, model = fitted
    X, y = table()
    moved = make().fit(change(X, y), y).predict_proba(change(X, y))
    np.testing.assert_allclose(moved, model.predict_proba(X), atol=1e-9)


def test_names_of_classes_move_no_answer(fitted):
    make, model = fitted
    X, y = table()
    names = dict(zip(CLASSES, ["b", "c", "a"], strict=True))
    again = make().fit(X, np.array([names[label] for label in y]))
    here = [again.classes_.tolist().index(names[label]) for label in model.classes_]
    np.testing.assert_allclose(again.predict_proba(X)[:, here], model.predict_proba(X), atol=1e-9)


def test_a_weight_is_a_repetition(fitted):
    make, _ = fitted
    X, y = table(90)
    weight = np.random.default_rng(2).integers(1, 4, len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    weighed, repeated = make().fit(X, y, sample_weight=weight), make().fit(X.iloc[rows], y[rows])
    assert digests(weighed) == digests(repeated)


def test_samples_of_many_rows_do_not_depend_on_their_order():
    """Above 10,000 rows some are held out, above 12,000 candidates are judged on some, files are read in batches."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 16_000)
    X = pd.DataFrame({"a": rng.normal(y, 1.0), "b": rng.integers(0, 5, len(y)).astype(str)})
    order = rng.permutation(len(y))
    for make in (lambda: bk.NaiveBayes(weights="fitted"), lambda: bk.AutoBayes(max_candidates=2)):
        one, other = make().fit(X, y), make().fit(X.iloc[order], y[order])
        assert digests(one) == digests(other)


@pytest.mark.parametrize("name", ["TAN", "KDB", "AJE", "AODE", "corrected", "forest", "boosted"])
def test_ties_between_columns_do_not_hang_on_names_of_classes(name):
    """Columns that tell the same but for rounding, which runs with the order of the classes."""
    names = np.array(["z", "x", "y"])
    for seed in range(6):
        rng = np.random.default_rng(seed)
        bits = rng.integers(0, 2, (60, 6))
        X = pd.DataFrame(bits, columns=list("abcdef")).astype(str).assign(g=bits[:, 0], h=1 - bits[:, 1])
        X = X.astype({"g": str, "h": str})
        y = (bits.sum(axis=1) + rng.integers(0, 2, 60)) % 3
        one, other = MODELS[name]().fit(X, np.array(["p", "q", "r"])[y]), MODELS[name]().fit(X, names[y])
        here = [other.classes_.tolist().index(label) for label in names]
        np.testing.assert_allclose(other.predict_proba(X)[:, here], one.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("name", ["naive", "AutoBayes, one"])
def test_any_frame_and_engine_gives_the_same_model(name, tmp_path):
    X, y = table()
    whole = X.assign(label=y)
    whole.to_csv(tmp_path / "t.csv", index=False)
    sources = [pl.DataFrame(whole), pa.table(whole), duckdb.sql("select * from whole"), str(tmp_path / "t.csv")]
    wanted = digests(MODELS[name]().fit(X, y))
    assert [digests(MODELS[name]().fit(source, "label")) == wanted for source in sources] == [True] * 4


@pytest.mark.parametrize("name", ["naive", "AJE"])
def test_of_very_many_rows_the_same_are_drawn_from_files_and_from_memory(name, tmp_path, monkeypatch):
    monkeypatch.setattr("bayeskit.ensemble.cross_fit.DRAWN", 25)
    X, y = table()
    source, label, _ = four_files(X, y, np.random.default_rng(5), tmp_path)
    assert digests(MODELS[name]().fit(source, label)) == digests(MODELS[name]().fit(X, y))
    assert digests(MODELS[name]().fit(X, y)) != digests(MODELS[name]().fit(X.iloc[:150], y[:150]))


WEIGHTS = st.one_of(st.integers(1, 12).map(float), st.floats(0.01, 9.0), st.floats(2.0**20, 1e15))


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(WEIGHTS, st.integers(0, 2)), min_size=1, max_size=8), st.integers(2, 6), st.integers(0, 99))
def test_units_are_dealt_round_robin_within_their_class(rows, folds, seed):
    weight, code = (np.array(column) for column in zip(*rows, strict=True))
    words = np.random.default_rng(seed).integers(0, 2**63, (2, len(code))).astype(np.uint64)
    words = words[:, np.lexsort((words[1], words[0]))]
    rows = Rows(code.astype(np.int64), weight, np.arange(3))
    distinct = Distinct(None, rows, words, frozenset())
    place = distinct.places(folds)
    shares = np.stack([distinct.weigh_fold(place, folds, f) for f in range(folds)])
    np.testing.assert_allclose(shares.sum(axis=0), weight, rtol=1e-12)
    if weight.max() > 100:
        return
    wanted, at = np.zeros_like(shares), {}
    for i in range(len(code)):
        high, low = (int(w) for w in words[:, i])
        start = at.setdefault(code[i], ((high << 64) + low) % folds)
        for unit in range(math.ceil(weight[i])):
            wanted[(start + unit) % folds, i] += min(1.0, weight[i] - unit)
        at[code[i]] = start + math.ceil(weight[i])
    np.testing.assert_allclose(shares, wanted, atol=1e-12)


@pytest.mark.filterwarnings("ignore")
def test_a_row_of_each_class_is_answered_whatever_its_hash():
    for x in range(8):
        X = pd.DataFrame({"a": [float(x), x + 1.0]})
        for model in (bk.NaiveBayes(weights="fitted"), bk.AutoBayes(fast=True)):
            assert np.isfinite(model.fit(X, ["p", "q"]).predict_proba(X)).all()
