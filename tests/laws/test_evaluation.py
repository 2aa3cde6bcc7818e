"""The law of evaluation by algebra: every row is predicted as by a real refit without its fold."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import bayeskit as bk
from bayeskit.estimators.classifier import BayesClassifier
from bayeskit.families import Bernoulli, Complement, Gaussian, Histogram, Kernel, Multinomial
from bayeskit.model.model import Model

from .test_families import CASES, ORDER
from .test_leave_one_out import refit, table_of

OWNING_MANY = ("Multinomial", "Complement", "Bernoulli")
ONE_COLUMN = [case for case in CASES if type(case.values[0]).__name__ not in OWNING_MANY]
CLASSES = ["a", "b", "c"]


def brute_force(model: Model, rows: pa.RecordBatch, fold: np.ndarray) -> np.ndarray:
    """Each row by a model learned anew from the rows of the other folds; classes are held."""
    out = np.empty((len(fold), len(model.classes)))
    for f in np.unique(fold):
        less = refit(model, rows.take(pa.array(np.flatnonzero(fold != f))))
        less = replace(less, counted=less.counted.trim())
        mine = np.flatnonzero(fold == f)
        out[mine] = less.posterior(less.counted.block(rows.take(pa.array(mine))), less.log_prior())
    return out


@pytest.mark.parametrize(("family", "kind", "groups"), ONE_COLUMN)
def test_every_family_is_foretold_as_by_refits(family: Any, kind: str, groups: Any) -> None:
    rows = table_of(groups)
    fold = np.random.default_rng(0).permutation(rows.num_rows) % 3
    model = bk.NaiveBayes(families={"v": family}, kinds={"v": ORDER if kind == "ordinal" else kind})
    table = pa.Table.from_batches([rows])
    wanted = brute_force(model.fit(table, "class", "w").model_, rows, fold)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = bk.evaluate(model, table, "class", bk.CrossValidation(fold), sample_weight="w")
    assert found.computed == "algebra"
    assert np.abs(found.proba - wanted).max() <= 1e-10


@pytest.fixture(scope="module")
def mixed() -> pa.Table:
    """Numbers, counts, texts, truth values and an order, with missing values, levels of one row, and odd weights."""
    rng = np.random.default_rng(5)
    n = 120
    y = rng.choice(CLASSES, n, p=[0.5, 0.3, 0.2])
    shift = np.array([CLASSES.index(c) for c in y])
    columns = {
        "x": pa.array(np.where(rng.random(n) < 0.1, np.nan, rng.normal(shift, 1)), from_pandas=True),
        "hits": pa.array(rng.poisson(2 + shift)),
        "town": pa.array([None if i % 9 == 0 else f"town {rng.integers(4)}" if i != 1 else "lonely" for i in range(n)]),
        "flag": pa.array(rng.random(n) < 0.3 + 0.2 * shift),
        "grade": pa.array(rng.choice(ORDER, n)),
        "class": pa.array(y),
        "w": pa.array(rng.choice([0.5, 1.0, 3.0], n)),
    }
    return pa.table(columns)


SETTINGS = [
    {},
    {"prior": "uniform"},
    {"prior": {"a": 0.2, "b": 0.3, "c": 0.5}},
    {"smoothing": 0},
    {"unseen": "smooth"},
    {"missing": "level"},
    {"families": {"x": Gaussian(predictive=True)}},
    {"families": {"x": Kernel()}},
    {"families": {"x": Histogram()}},
    {"families": "auto"},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_mixed_tables_are_foretold_as_by_refits(mixed: pa.Table, settings: dict[str, Any]) -> None:
    model = bk.NaiveBayes(kinds={"hits": "count", "grade": ORDER}, **settings)
    found = bk.evaluate(model, mixed, "class", bk.CrossValidation(4), sample_weight="w")
    whole = model.fit(mixed, "class", "w").model_
    (trial,) = found.measures.kept.repeats
    (rows,) = mixed.combine_chunks().to_batches()
    assert np.abs(found.proba - brute_force(whole, rows, trial.fold)).max() <= 1e-10


@pytest.mark.parametrize("settings", SETTINGS[:7], ids=str)
def test_leave_one_out_is_folds_of_one_row(mixed: pa.Table, settings: dict[str, Any]) -> None:
    some = mixed.slice(0, 50)
    model = bk.NaiveBayes(kinds={"hits": "count", "grade": ORDER}, **settings)
    found = bk.evaluate(model, some, "class", bk.LeaveOneOut(), sample_weight="w")
    (rows,) = some.combine_chunks().to_batches()
    wanted = brute_force(model.fit(some, "class", "w").model_, rows, np.arange(50))
    assert found.computed == "algebra"
    assert np.abs(found.proba - wanted).max() <= 1e-10


@pytest.mark.parametrize("family", [Multinomial(), Complement(), Bernoulli()], ids=str)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_text_is_foretold_as_by_refits(family: Any, form: Any) -> None:
    rng = np.random.default_rng(3)
    y = rng.choice(CLASSES, 60)
    X = rng.poisson(0.6, (60, 12)).astype(float)
    fold = rng.permutation(60) % 5
    found = bk.evaluate(bk.NaiveBayes(families=family), form(X), y, bk.CrossValidation(fold))
    for f in range(5):
        model = bk.NaiveBayes(families=family).partial_fit(form(X[fold != f]), y[fold != f], classes=CLASSES)
        assert np.abs(found.proba[fold == f] - model.predict_proba(form(X[fold == f]))).max() <= 1e-10


def test_what_labels_choose_is_chosen_again_in_each_fold() -> None:
    """A family that only the held-out rows speak for must not be chosen for them."""
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(0, 1, 150), rng.exponential(1, 150) + 5])
    y, fold = np.tile(["a", "b"], 150), np.repeat([0, 1], 150)
    model = bk.NaiveBayes(families="auto")
    found = bk.evaluate(model, x[:, None], y, bk.CrossValidation(fold))
    for f in (0, 1):
        less = model.fit(x[fold != f, None], y[fold != f])
        assert np.abs(found.proba[fold == f] - less.predict_proba(x[fold == f, None])).max() <= 1e-10


def test_leave_one_out_of_a_choice_is_a_refit(mixed: pa.Table) -> None:
    some = mixed.slice(0, 12).select(["x", "class"])
    found = bk.evaluate(bk.NaiveBayes(families="auto"), some, "class", bk.LeaveOneOut())
    others = pa.concat_tables([some.slice(0, 5), some.slice(6)])
    model = bk.NaiveBayes(families="auto").partial_fit(others, "class", classes=sorted(set(some["class"].to_pylist())))
    assert found.computed == "refit"
    assert found.proba[5] == pytest.approx(model.predict_proba(some.slice(5, 1))[0], abs=1e-10)


def test_threads_change_nothing(mixed: pa.Table) -> None:
    big = pa.concat_tables([mixed] * 40)
    one, two = (bk.evaluate(bk.NaiveBayes(n_jobs=jobs), big, "class", sample_weight="w") for jobs in (None, 2))
    assert np.array_equal(one.proba, two.proba)


def test_rows_of_weight_zero_and_rows_without_label_change_nothing(mixed: pa.Table) -> None:
    odd = mixed.slice(0, 10)
    absent = odd.set_column(odd.column_names.index("w"), "w", pa.array([0.0] * 10))
    absent = absent.set_column(absent.column_names.index("town"), "town", pa.array(["nowhere"] * 10))
    unlabelled = odd.set_column(odd.column_names.index("class"), "class", pa.array([None] * 10, pa.string()))
    plain = bk.evaluate(bk.NaiveBayes(), mixed, "class", sample_weight="w")
    with pytest.warns(UserWarning, match="10 of 140 rows have no label"):
        more = bk.evaluate(bk.NaiveBayes(), pa.concat_tables([mixed, absent, unlabelled]), "class", sample_weight="w")
    assert np.abs(more.proba[:120] - plain.proba).max() <= 1e-12
    assert more.proba.shape == (140, 3)
    assert np.isfinite(more.proba).all()
    assert more.log_loss == pytest.approx(plain.log_loss, abs=1e-12)
    assert more.confusion.matrix.tolist() == plain.confusion.matrix.tolist()


def estimators() -> list[Any]:
    """Every classifier of this library that learns from a table by itself, with its default settings."""
    found = (getattr(bk, name) for name in bk.__all__)
    return [kind() for kind in found if isinstance(kind, type) and issubclass(kind, BayesClassifier)]


@pytest.mark.parametrize("model", estimators(), ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("columns", [["x", "y"], ["x", "y", "town"]], ids=["numbers", "mixed"])
def test_every_classifier_is_foretold_as_by_refits(model: Any, columns: list[str]) -> None:
    """On a table whose levels, classes and ranges are those of every training set, so that a plain refit holds them."""
    if "town" in columns and "metric" in model.get_params():
        model = clone(model).set_params(metric="gower")
    rng = np.random.default_rng(8)
    n = 90
    k = np.arange(n) % 3
    fold = np.arange(n) // 3 % 3
    x, y = rng.normal(k, 1), np.where(rng.random(n) < 0.1, np.nan, rng.normal(-k, 2))
    x[:6], y[:6] = [-9, 9, -9, 9, -9, 9], [9, -9, 9, -9, 9, -9]
    fold[:6] = [0, 0, 1, 1, 2, 2]
    town = np.array(["north", "south"])[(rng.random(n) < 0.3 + 0.2 * k).astype(int)]
    table, labels = pa.table({"x": x, "y": y, "town": town}).select(columns), np.array(CLASSES)[k]
    found = bk.evaluate(model, table, labels, bk.CrossValidation(fold))
    for f in range(3):
        less = clone(model).fit(table.filter(fold != f), labels[fold != f])
        assert np.abs(found.proba[fold == f] - less.predict_proba(table.filter(fold == f))).max() <= 1e-10
