"""Histogram: totals of one, cells of coarse grids, leave-one-out with the cuts held."""

from __future__ import annotations

import copy
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn.datasets import load_iris

import bayeskit as bk
from bayeskit.data.encode import Roles
from bayeskit.errors import InputError
from bayeskit.families.histogram import Cells, Histogram

from .references.histogram import VARIANTS
from .test_families import Groups, data, density, fitted
from .test_leave_one_out import close, duplicated, model_of, table_of

TABLES = {(kind, name): groups for kind in ("quantitative", "count") for name, groups in data(kind).items()}
every_table = pytest.mark.parametrize(
    ("kind", "groups"), [(k, g) for (k, _), g in TABLES.items()], ids=map(str, TABLES)
)


def cells(model: bk.NaiveBayes) -> Cells | None:
    (histogram,) = model.model_.density.densities
    return histogram.cells[0]  # type: ignore[no-any-return, attr-defined]


@every_table
@pytest.mark.parametrize("family", VARIANTS, ids=str)
def test_a_histogram_integrates_to_one(family: Any, kind: str, groups: Groups) -> None:
    """Width times density of every cell, and of a tail its density at the near end times its length."""
    model = fitted(family, kind, groups)
    made = cells(model)
    if made is not None:
        assert np.exp(made.table + made.log_width[:, None]).sum(axis=0) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("bins", ["auto", 1, 7, 30, 500])
def test_a_long_column_is_counted_as_numpy_counts_it(bins: Any) -> None:
    """Cuts of a coarse grid lie on it, so that every value is on the right side."""
    rng = np.random.default_rng(3)
    x, y = np.append(rng.normal(size=20_000), [40.0, -1e3]), rng.integers(0, 2, 20_002)
    model = bk.NaiveBayes(families=Histogram(bins)).fit(x[:, None], y)
    made = cells(model)
    assert made is not None
    assert made.shift == 0
    assert len(made.cuts) - 1 <= (256 if bins == "auto" else bins)
    assert made.cuts[0] < x.min() < x.max() <= made.cuts[-1]
    for c in (0, 1):
        edges = np.concatenate([[-np.inf], made.cuts, [np.inf]])
        known = [((x[y == c] > a) & (x[y == c] <= b)).sum() for a, b in pairwise(edges)]
        assert made.counts.to_float()[c].tolist() == known


def test_cells_of_equal_weight() -> None:
    x = np.random.default_rng(3).lognormal(sigma=3, size=900)
    made = cells(bk.NaiveBayes(families=Histogram()).fit(x[:, None], np.arange(900) % 2))
    assert made is not None
    assert len(made.cuts) == 21
    assert np.ptp(made.counts.total().to_float()[0, 1:-1]) <= 1


@every_table
@pytest.mark.parametrize("family", [v for v in VARIANTS if v.leave_one_out], ids=str)
def test_leaving_a_row_out_holds_the_cuts(family: Histogram, kind: str, groups: Groups) -> None:
    """A refit without the row, given the cuts and the smoothing of the whole."""
    rows = table_of(duplicated(groups))
    whole = model_of(family, kind, rows)
    made = cells(whole)
    block = whole.model_.counted.block_with_classes(rows, Roles("class", "w"))
    found = whole.model_.terms(block, left_out=True)[:, 0]
    if made is None:
        assert not found.any()
        return
    assert np.isfinite(whole.model_.posterior(block, left_out=True)).all()
    if made.shift:
        return  # such cuts are finer than a double can say
    held = Histogram(tuple(made.cuts.tolist()), smoothing=made.alpha)
    for i in range(0, rows.num_rows, max(1, rows.num_rows // 8)):
        others = pa.Table.from_batches([rows.slice(0, i), rows.slice(i + 1)]).combine_chunks().to_batches()[0]
        less = model_of(held, kind, others)
        known = density(less, rows.column("v").slice(i, 1).to_pylist())[0]
        for c, label in enumerate(whole.classes_):  # a class may have gone with the row
            if label in less.classes_:
                assert close(found[i, c], known[list(less.classes_).index(label)])


def test_cuts_that_labels_made_cannot_leave_a_row_out() -> None:
    rows = table_of(TABLES["quantitative", "plain"])
    model = model_of(Histogram("mdlp"), "quantitative", rows).model_
    block = model.counted.block_with_classes(rows, Roles("class", "w"))
    with pytest.raises(InputError, match="refit"):
        model.posterior(block, left_out=True)
    with pytest.raises(InputError, match="refit"):
        model.terms(block, left_out=True)


def test_cuts_of_folds_are_those_of_a_refit() -> None:
    """Labels made the cuts, so each training set makes its own, from the counts alone."""
    X, y = load_iris(return_X_y=True)
    whole = bk.NaiveBayes(families=Histogram("mdlp")).fit(X, y)
    fold = np.arange(len(y)) % 5
    for f in range(5):
        left = copy.deepcopy(whole).forget(X[fold == f], y[fold == f])
        again = bk.NaiveBayes(families=Histogram("mdlp")).fit(X[fold != f], y[fold != f])
        assert np.array_equal(left.predict_proba(X), again.predict_proba(X))


BAD = [0, -3, 2.5, "many", (), (1, 1), (2, 1), (0, np.inf), ("a",), True, None]


@pytest.mark.parametrize("bins", BAD, ids=repr)
def test_bad_bins_are_named(bins: Any) -> None:
    with pytest.raises(InputError, match=r"Histogram\(bins="):
        Histogram(bins)


@pytest.mark.parametrize("smoothing", [-1, np.nan, np.inf, "much"])
def test_bad_smoothing_is_named(smoothing: Any) -> None:
    with pytest.raises(InputError, match=r"Histogram\(smoothing="):
        Histogram(smoothing=smoothing)


def test_a_saved_histogram_comes_back(tmp_path: Any) -> None:
    x = np.random.default_rng(0).normal(size=(3000, 2))
    y = np.arange(3000) % 3
    for family in (Histogram(), Histogram([0.1, 0.5]), Histogram(12)):
        model = bk.NaiveBayes(families=family).fit(x, y)
        model.save(tmp_path / "m.bayes")
        again = bk.load(tmp_path / "m.bayes")
        assert again.model_.digest == model.model_.digest
        assert (again.predict_proba(x) == model.predict_proba(x)).all()
