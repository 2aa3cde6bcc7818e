"""What was counted goes through bytes as it is, for engines whose workers are other processes."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pyarrow as pa
import pytest

import bayeskit as bk
from bayeskit.model import Model
from bayeskit.statistics.counted import Counted

from .tables import FEATURES, random_batch

MODELS = {
    "plain": bk.NaiveBayes(),
    "auto": bk.NaiveBayes(families="auto"),
    "missing as a level": bk.NaiveBayes(missing="level"),
    **{name: getattr(bk, name)() for name in ("TAN", "KDB", "AODE", "NetworkBayes") if name in bk.__all__},
    "pairs of parents": bk.AODE(n=2),
}
pytestmark = pytest.mark.filterwarnings("ignore:.*rows have no label")


@pytest.mark.parametrize("model", MODELS.values(), ids=list(MODELS))
def test_states_of_parts_sent_as_bytes_merge_to_the_whole(model: bk.NaiveBayes) -> None:
    """As executors do: each gets what is empty, and sends what it counted in codes of its own."""
    names = [*FEATURES.names, "class", "w"]
    parts = [random_batch(seed, 90, "fraction").select(names) for seed in (1, 2, 3)]
    fitted = model.fit(pa.Table.from_batches(parts), "class", sample_weight="w").model_
    roles = replace(fitted.counted.roles, label="class", weight="w")
    empty = Counted.empty(fitted.schema, Model.statistic(fitted.structure, fitted.schema), roles)
    whole = empty
    for part in parts:
        sent = pickle.loads(pickle.dumps(empty)).update(part).to_bytes()
        whole = whole.merge(empty.with_bytes(sent))
    assert replace(fitted, counted=whole.canonical()).digest == fitted.digest
    assert whole.rows == 270
