"""Any row order, any split, any names of classes: the same model, also where weights are fitted to folds."""

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import bayeskit as bk

MODELS = {
    "naive": lambda: bk.NaiveBayes(weights="fitted"),
    "naive, families chosen": lambda: bk.NaiveBayes(families="auto", weights="fitted"),
    "TAN": lambda: bk.TAN(weights="fitted"),
    "KDB": lambda: bk.KDB(weights="fitted"),
    "AJE": lambda: bk.AJE(sets=10),
    "AJE, equal weights": lambda: bk.AJE(sets=10, weights=None),
    "AODE": lambda: bk.AODE(),
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
    return [model.encoder_.model_.digest, *pool, *(m.classifier.model_.digest for m in model.members_)]


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
    """Above 12,000 rows some are held out, above 14,000 candidates are judged on some, files are read in batches."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 16_000)
    X = pd.DataFrame({"a": rng.normal(y, 1.0), "b": rng.integers(0, 5, len(y)).astype(str)})
    order = rng.permutation(len(y))
    for make in (lambda: bk.NaiveBayes(weights="fitted"), lambda: bk.AutoBayes(max_candidates=2)):
        one, other = make().fit(X, y), make().fit(X.iloc[order], y[order])
        assert digests(one) == digests(other)


@pytest.mark.parametrize("name", ["TAN", "KDB", "AJE", "AODE"])
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
