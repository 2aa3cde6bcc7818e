"""The law of honest leave-one-out: with any setting it is that of plain refits, but for what is named as held."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn.base import clone

import bayeskit as bk
from bayeskit.data.encode import Roles
from bayeskit.errors import InputError
from bayeskit.families import Histogram, Kernel

from .test_honest_evaluation import COUNTING, NUMBERS, by_hand, cases, table_of

COUNTED = [case for case in cases() if case.values[0] in COUNTING]
N, SOME = 24, np.array([0, 8, 13, 22])  # rows, and those to be refitted without


def asked(kind: Any, settings: dict[str, Any]) -> tuple[Any, pa.Table, np.ndarray]:
    model, columns = kind(**settings), None
    if "metric" in model.get_params():
        columns = NUMBERS if set(settings) & {"metric", "scale", "weights"} else None
        model = model if columns else model.set_params(metric="gower")
    table, y, _ = table_of(columns)
    table, y = table.slice(0, N), y[:N]
    if not columns:  # a level of one row alone
        town = table["town"].to_pylist()
        town[8] = "nowhere else"
        table = table.set_column(table.column_names.index("town"), "town", pa.array(town))
    return model, table, y


# How far posteriors of 24 rows may be off by what is held of all of them; what saw no label may move them further.
HELD = {
    "pooled variances that covariances are drawn toward, which saw the label of the row": 0.06,
    "ranges of the columns": 1e-9,  # the rows asked about have no end of a range
    "deviations of the columns": 1e-9,
    "cells of Histogram": 0.15,
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("kind", "settings"), COUNTED)
def test_every_setting_is_left_out_as_by_refits_or_says_what_is_held(kind: Any, settings: dict[str, Any]) -> None:
    model, table, y = asked(kind, settings)
    if settings.get("shrinkage", "auto") is None:  # a class without one of its rows is refused, as by a refit
        for method in (bk.LeaveOneOut(), bk.LeaveOneOut(exact=True)):
            with pytest.raises(InputError, match=r"covariance of .* is singular"):
                bk.evaluate(model, table, y, method)
        return
    found = bk.evaluate(model, table, y, bk.LeaveOneOut())
    wanted = by_hand(model, table, y, np.arange(len(y)), SOME)[0][SOME]
    away = np.abs(found.proba[SOME] - wanted).max()
    if found.held:
        assert found.computed == "algebra"
        assert all(what in str(found) and what in found.frame("pandas")["held"][0] for what in found.held)
    assert away <= max((HELD[what] for what in found.held), default=1e-6 if "Kernel" in str(settings) else 1e-9)


HOLDING = [
    bk.FullBayes(),
    bk.FullBayes(covariance="tied", shrinkage=0.2),
    bk.KNNBayes(scale="deviation"),
    bk.NaiveBayes(families=Kernel("isj")),
    bk.NaiveBayes(families=Histogram()),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", HOLDING, ids=repr)
def test_exact_leave_one_out_refits_all(model: Any) -> None:
    table, y, _ = table_of(NUMBERS)
    table, y = table.slice(0, 24), y[:24]
    found = bk.evaluate(model, table, y, bk.LeaveOneOut(exact=True))
    assert (found.computed, found.held) == ("refit", ())
    assert np.abs(found.proba - by_hand(model, table, y, np.arange(24))[0]).max() <= 1e-12
    assert bk.evaluate(model, table, y, bk.LeaveOneOut()).held


@pytest.mark.parametrize("settings", [{"scale": "mutual_information"}, {"metric": "mahalanobis"}], ids=str)
def test_noise_is_not_foretold_through_a_distance_made_by_labels(settings: dict[str, Any]) -> None:
    """Thirty columns of noise: accuracy of refits is one of chance, which is what has to be said."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(60, 30)), np.arange(60) % 2
    found = bk.evaluate(bk.KNNBayes(**settings), X, y, bk.LeaveOneOut())
    assert found.computed == "refit"
    for i in range(0, 60, 7):
        less = bk.KNNBayes(**settings).fit(np.delete(X, i, 0), np.delete(y, i))
        assert np.abs(found.proba[i] - less.predict_proba(X[i : i + 1])[0]).max() <= 1e-12
    model = bk.KNNBayes(**settings).fit(X, y).model_
    batch = pa.RecordBatch.from_arrays([pa.array(c) for c in (*X.T, y)], [*model.schema.names, "y"])
    learned = model.counted.block_with_classes(batch, Roles("y"))
    with pytest.raises(InputError, match="labels of all rows"):
        model.posterior(learned, left_out=True)


SHRUNK = [bk.FullBayes(), bk.FullBayes(covariance="tied"), bk.FullBayes(shrinkage=0.5)]


@pytest.mark.parametrize("model", SHRUNK, ids=repr)
def test_shrinkage_does_not_see_labels_of_noise(model: Any) -> None:
    """Over tables of noise the accuracy with the target held is that of refits: within three standard errors."""
    apart = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(24, 6)), np.arange(24) % 2
        held, exact = (bk.evaluate(model, X, y, bk.LeaveOneOut(exact=e)).accuracy for e in (False, True))
        apart.append(held - exact)
    assert np.mean(apart) <= 3 * np.std(apart) / np.sqrt(len(apart)) + 0.01


@pytest.mark.parametrize("rule", ["silverman", "scott", 0.7])
def test_bandwidths_of_kernels_do_not_see_the_row(rule: Any) -> None:
    """Rounded numbers, a class of two rows, another of one value; within the 1e-6 of a kernel table's refit."""
    rng = np.random.default_rng(8)
    X, y = rng.normal(size=(30, 3)).round(1), np.repeat([0, 1, 2, 3], [14, 11, 2, 3])
    X[27:, 0] = 0.5
    model = bk.NaiveBayes(families=Kernel(rule), backoff=1.0)
    found = bk.evaluate(model, X, y, bk.LeaveOneOut())
    assert (found.computed, found.held) == ("algebra", ())
    for i in range(30):
        less = clone(model).fit(np.delete(X, i, 0), np.delete(y, i))
        assert np.abs(found.proba[i] - less.predict_proba(X[i : i + 1])[0]).max() <= 1e-6


@pytest.mark.parametrize("unseen", ["missing", "smooth"])
@pytest.mark.parametrize("kinds", [None, {"town": ["e", "n", "s", "w"]}], ids=["found", "declared"])
@pytest.mark.parametrize("model", [bk.NaiveBayes(), bk.FullBayes(), bk.KNNBayes(metric="gower", k=3)], ids=repr)
def test_a_level_of_one_row_alone_is_unseen_without_it(model: Any, kinds: Any, unseen: str) -> None:
    """Unless it is declared."""
    table = pa.table({"town": ["n", "n", "s", "s", "e", "n", "s", "n", "s", "s", "w", "n"], "flag": [True, False] * 6})
    y, model = np.array(["a", "b", "b"] * 4), clone(model).set_params(unseen=unseen, kinds=kinds)
    found = bk.evaluate(model, table, y, bk.LeaveOneOut())
    assert found.computed == "algebra"
    for i in range(12):
        kept = np.arange(12) != i
        less = clone(model).fit(table.filter(kept), y[kept])
        assert np.abs(found.proba[i] - less.predict_proba(table.slice(i, 1))[0]).max() <= 1e-12
    strict = clone(model).set_params(unseen="error")
    if kinds is None:
        with pytest.raises(InputError, match="column 'town' has 'e'"):
            bk.evaluate(strict, table, y, bk.LeaveOneOut())
    else:
        assert bk.evaluate(strict, table, y, bk.LeaveOneOut()).computed == "algebra"
