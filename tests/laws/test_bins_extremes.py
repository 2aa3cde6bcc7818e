"""Histogram and Kernel on every sort of number and weight: posteriors are probabilities, also without own mass."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import bayeskit as bk
from bayeskit.data.encode import Roles
from bayeskit.families.histogram import Histogram
from bayeskit.families.kernel import Kernel

from .tables import WEIGHTS, random_batch

HISTOGRAMS = [Histogram(), Histogram(7), Histogram((-1.0, 0.0, 2.5)), Histogram(smoothing=0)]
FAMILIES = [*HISTOGRAMS, Kernel(), Kernel("isj"), Kernel(2.0)]


@pytest.mark.parametrize("sort", WEIGHTS)
@pytest.mark.parametrize("family", FAMILIES, ids=str)
@pytest.mark.parametrize("rows", [3, 40, 2500])
def test_posteriors_are_probabilities(family: Any, sort: str | None, rows: int) -> None:
    batch = random_batch(rows, rows, sort).select(["x", "hits", "class", *(["w"] if sort else [])])
    batch = batch.set_column(2, "class", pa.array(np.array(["a", "b", "c"])[np.arange(rows) % 3]))
    if sort in ("huge", "any"):  # their sum must be a double
        batch = batch.set_column(3, "w", pa.array(batch.column("w").to_numpy() * 2.0**-20))
    if sort:
        batch = batch.set_column(3, "w", pa.array(np.maximum(batch.column("w").to_numpy(), 5e-324)))
    table, mass = pa.Table.from_batches([batch]), "w" if sort else None
    model = bk.NaiveBayes(families=family).fit(table, "class", sample_weight=mass)
    posterior = model.predict_proba(table.select(["x", "hits"]))
    assert np.isfinite(posterior).all()
    assert posterior.sum(axis=1) == pytest.approx(1)
    block = model.model_.counted.block_with_classes(batch, Roles("class", mass))
    left = model.model_.posterior(block, left_out=True)
    assert np.isfinite(left).all()
    assert left.sum(axis=1) == pytest.approx(1)
