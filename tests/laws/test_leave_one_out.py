"""The law of leave-one-out: with a row's own mass taken out, every family says what a refit without the row says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn.naive_bayes import GaussianNB

import bayeskit as bk
from bayeskit.data.encode import Roles
from bayeskit.densities.moment_summary import MomentSummary
from bayeskit.model.model import Model
from bayeskit.statistics.counted import Counted

from .test_families import ORDER, data, reference, variants

HELD = ("Histogram", "Kernel", "Multinomial")  # a refit would move grid or bandwidth, or they own many columns
CASES = [
    pytest.param(family, kind, groups, id=f"{family}, {kind}, {name}")
    for family in variants()
    if type(family).__name__ not in HELD
    for kind in family.kinds
    for name, groups in data(kind, family).items()
]


def duplicated(groups: Any) -> Any:
    """Every third row of a class twice."""
    return [[row for i, row in enumerate(rows) for _ in range(2 if i % 3 == 0 else 1)] for rows in groups]


def table_of(groups: Any) -> pa.RecordBatch:
    rows = [(x, w, label) for label, some in zip("abc", groups, strict=True) for x, w in some]
    v, w, label = (list(column) for column in zip(*rows, strict=True))
    numeric = all(x is None or (isinstance(x, int | float) and not isinstance(x, bool)) for x in v)
    kind = pa.float64() if numeric and any(x is not None for x in v) else None
    return pa.RecordBatch.from_pydict(
        {"v": pa.array(v, kind), "w": pa.array(w, pa.float64()), "class": pa.array(label)}
    )


def model_of(family: Any, kind: str, rows: pa.RecordBatch, prior: Any = "empirical") -> bk.NaiveBayes:
    declared = {"v": ORDER if kind == "ordinal" else kind}
    model = bk.NaiveBayes(families={"v": family}, kinds=declared, prior=prior)
    return model.fit(pa.Table.from_batches([rows]), "class", sample_weight="w")


def refit(model: Model, rows: pa.RecordBatch) -> Model:
    """Learned anew from these rows, with the classes and levels of the model."""
    roles = Roles("class", "w")
    empty = Counted.empty(model.schema, Model.statistic(model.structure, model.schema), roles)._on(model.counted.domain)
    counted = empty.update(rows)
    assert counted.domain == model.counted.domain
    return Model(counted, model.structure, model.prior, model.unseen)


def check(family: Any, kind: str, groups: Any) -> None:
    rows = table_of(groups)
    model = model_of(family, kind, rows).model_
    block = model.counted.block_with_classes(rows, Roles("class", "w"))
    found = np.zeros((rows.num_rows, 3))
    model.density.left_out.add(block, found)
    terms = model.terms(block, left_out=True)[:, 0]
    posterior, joint = model.posterior(block, left_out=True), model.joint(block, left_out=True)
    assert np.isfinite(posterior).all()
    assert posterior.sum(axis=1) == pytest.approx(1)
    keep = sorted({0, rows.num_rows - 1, *range(0, rows.num_rows, max(1, rows.num_rows // 5))})
    for i in range(rows.num_rows) if rows.num_rows < 20 else keep:
        others = pa.Table.from_batches([rows.slice(0, i), rows.slice(i + 1)]).combine_chunks().to_batches()[0]
        less = refit(model, others)
        row = less.counted.block(rows.slice(i, 1))
        wanted = np.zeros((1, 3))
        less.density.add(row, wanted)
        assert close(found[i], wanted[0]), (i, found[i], wanted[0])
        assert close(terms[i], wanted[0]), (i, terms[i], wanted[0])
        prior = less.log_prior()
        assert posterior[i] == pytest.approx(less.posterior(row, prior)[0], abs=1e-9)
        assert close(joint[i], less.joint(row, prior)[0])


def close(found: Any, wanted: Any) -> bool:
    """To 1e-10 of a log density, relative to it where it is large."""
    with np.errstate(invalid="ignore"):
        return bool(np.all((found == wanted) | (abs(found - wanted) <= 1e-10 * np.maximum(1, abs(wanted)))))


@pytest.mark.parametrize(("family", "kind", "groups"), CASES)
def test_leaving_a_row_out_is_a_refit_without_it(family: Any, kind: str, groups: Any) -> None:
    check(family, kind, groups)


@pytest.mark.parametrize(("family", "kind", "groups"), CASES)
def test_duplicates_leave_one_at_a_time(family: Any, kind: str, groups: Any) -> None:
    check(family, kind, duplicated(groups))


def test_references_say_what_is_missing() -> None:
    assert all(hasattr(reference(family), "SUPPORT") for family in variants())


def test_means_near_zero_are_no_matter_of_exact_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a row moves a mean by more than the mean itself, doubles decide as well as elsewhere."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(60, 3)), np.arange(60) % 2
    x -= np.array([x[y == k].mean(axis=0) * (1 - 2.0**-9) for k in (0, 1)])[y]

    def refuse(*_: object) -> None:
        raise AssertionError("exact sums were asked")

    monkeypatch.setattr(MomentSummary, "without", refuse)
    found = bk.evaluate(bk.NaiveBayes(), x, y, bk.LeaveOneOut()).log_loss
    refits = [
        GaussianNB(var_smoothing=0).fit(np.delete(x, i, 0), np.delete(y, i)).predict_log_proba(x[i : i + 1])[0, y[i]]
        for i in range(60)
    ]
    assert found == pytest.approx(-np.mean(refits), rel=1e-9)
