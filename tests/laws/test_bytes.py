"""What was counted goes through bytes as it is, for engines whose workers are other processes."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import bayeskit as bk
from bayeskit.cli.example import clinic
from bayeskit.data.encode import Roles
from bayeskit.model.model import Model
from bayeskit.statistics.counted import Counted

from .tables import FEATURES, random_batch

MODELS = {
    "plain": bk.NaiveBayes(),
    "auto": bk.NaiveBayes(families="auto"),
    "missing as a level": bk.NaiveBayes(missing="level"),
    "TAN": bk.TAN(),
    "KDB": bk.KDB(),
    "AODE": bk.AODE(),
    "pairs of parents": bk.AODE(n=2),
    "sets of columns": bk.AJE(weights=None),
    "corrected": bk.CorrectedNaiveBayes(),
    "forest": bk.ProbabilityForest(trees=10),
    "boosted": bk.BoostedTrees(trees=10),
    "network": bk.NetworkBayes(),
}
pytestmark = pytest.mark.filterwarnings("ignore:.*rows have no label")


@pytest.mark.parametrize("model", MODELS.values(), ids=list(MODELS))
def test_states_of_parts_sent_as_bytes_merge_to_the_whole(model: bk.NaiveBayes) -> None:
    """As executors do: each gets what is empty, and sends what it counted in codes of its own."""
    names = [*FEATURES.names, "class", "w"]
    parts = [random_batch(seed, 90, "fraction").select(names) for seed in (1, 2, 3)]
    fitted = model.fit(pa.Table.from_batches(parts), "class", sample_weight="w").model_
    again = in_parts(fitted, parts, Roles("class", "w"))
    assert again.digest == fitted.digest
    assert again.counted.rows == 270


def in_parts(fitted: Model, parts: Sequence[pa.RecordBatch], roles: Roles) -> Model:
    empty = Counted.empty(fitted.schema, Model.statistic(fitted.structure, fitted.schema), roles)
    states = [pickle.loads(pickle.dumps(empty)).update(part).to_bytes() for part in parts]
    whole = reduce(Counted.merge, map(empty.with_bytes, states), empty)
    return replace(fitted, counted=whole.canonical())


@pytest.mark.parametrize("model", [bk.FullBayes(), bk.KNNBayes(metric="gower")], ids=["full", "neighbours"])
def test_scatter_and_rows_sent_as_bytes_give_the_same_posteriors(model: Any) -> None:
    visits = clinic(600)
    fitted = model.fit(visits, "diagnosis").model_
    parts = [visits.slice(begin, 200).combine_chunks().to_batches()[0] for begin in (0, 200, 400)]
    again = in_parts(fitted, parts, Roles("diagnosis"))
    one, other = (m.posterior(m.counted.block(parts[0])) for m in (fitted, again))
    assert np.abs(one - other).max() < 1e-12
