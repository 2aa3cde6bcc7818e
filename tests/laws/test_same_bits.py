"""The same model, bit for bit, wherever its rows are counted: every family, every structure, every engine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bayeskit as bk
import cluster
from bayeskit import families

ROWS = 1500
COLUMNS: dict[str, Callable[[np.random.Generator, Any], Any]] = {  # values each family can have, shifted by class
    "Gaussian": lambda rng, k: rng.normal(k, 2),
    "Kernel": lambda rng, k: rng.normal(k, 1e-3) + 1e5,
    "Histogram": lambda rng, k: rng.standard_cauchy(len(k)) + k,
    "LogNormal": lambda rng, k: rng.lognormal(k, 1),
    "Exponential": lambda rng, k: rng.exponential(1 + k),
    "Gamma": lambda rng, k: rng.gamma(2 + k, 0.3),
    "Beta": lambda rng, k: rng.beta(1 + k, 2),
    "VonMises": lambda rng, k: rng.vonmises(k - 1.0, 2),
    "Poisson": lambda rng, k: rng.poisson(1 + k),
    "NegativeBinomial": lambda rng, k: rng.negative_binomial(2, 0.5 - 0.1 * k),
    "Binomial": lambda rng, k: rng.binomial(6, 0.2 + 0.2 * k),
    "ZeroInflated": lambda rng, k: rng.exponential(1 + k) * (rng.random(len(k)) < 0.6),
    "Categorical": lambda rng, k: np.array(["red", "blue", "grün", "o'clock"])[rng.integers(0, 2 + k)],
    "Ordinal": lambda rng, k: np.array(["low", "mid", "high"])[np.minimum(rng.poisson(k), 2)],
    "Multinomial": lambda rng, k: rng.poisson(2 + k),
    "Complement": lambda rng, k: rng.poisson(3 - k),
    "Bernoulli": lambda rng, k: rng.binomial(1, 0.2 + 0.3 * k),
}
LIKE = {"quantitative": "Beta", "count": "Bernoulli", "ordinal": "Ordinal"}  # values that any support of the kind has
COLUMNS |= {
    name: COLUMNS[LIKE.get(family.kinds[0], "Categorical")]
    for name, family in families.families().items()
    if name not in COLUMNS
}


def table() -> pa.Table:
    """A column for each family, with missing values, in rows whose order has nothing to do with their class."""
    rng = np.random.default_rng(5)
    k = rng.integers(0, 3, ROWS)
    columns = {n: pa.array(make(rng, k), mask=rng.random(ROWS) < 0.05) for n, make in COLUMNS.items()}
    return pa.table({**columns, "class": np.array(["ham", "spam", "élan"])[k]})


TABLE = table()
LEVELS = TABLE.select(["Categorical", "Ordinal", "class"])
MIXED = TABLE.select(["Gaussian", "Gamma", "Poisson", "Categorical", "Ordinal", "class"])
NUMBERS = TABLE.select(["Gaussian", "Kernel", "Gamma", "Beta", "class"])
KINDS = {"Ordinal": ["low", "mid", "high"]}
MODELS: dict[str, tuple[Callable[[], Any], pa.Table]] = {
    "every family": (
        lambda: bk.NaiveBayes(
            families={**{n: n for n in COLUMNS}, "Binomial": families.Binomial(trials=6)}, kinds=KINDS
        ),
        TABLE,
    ),
    "families chosen": (lambda: bk.NaiveBayes(families="auto"), MIXED),
    "TAN": (bk.TAN, MIXED),
    "KDB": (lambda: bk.KDB(k=2), MIXED),
    "KDB on cuts by description length": (lambda: bk.KDB(k=1, cuts="mdlp"), MIXED),
    "AODE": (bk.AODE, MIXED),
    "AODE of pairs": (lambda: bk.AODE(n=2), MIXED),
    "AJE": (lambda: bk.AJE(weights=None), MIXED),
    "corrected": (bk.CorrectedNaiveBayes, MIXED),
    "forest": (lambda: bk.ProbabilityForest(trees=10), MIXED),
    "boosted": (lambda: bk.BoostedTrees(trees=10), MIXED),
    "joint table": (bk.FullBayes, LEVELS),
    "full normal": (bk.FullBayes, NUMBERS.drop_null()),
    "full normal with missing values": (bk.FullBayes, NUMBERS),
    "normal given the cell": (bk.FullBayes, MIXED.drop_null()),
}


def test_every_family_has_a_column() -> None:
    assert set(COLUMNS) == {name for name in dir(families) if isinstance(getattr(families, name), type)}


@pytest.fixture(scope="module", params=MODELS)
def case(request: pytest.FixtureRequest) -> tuple[Callable[[], Any], pa.Table, Any]:
    """How to make a model, its rows, and the model of these rows in memory."""
    make, rows = MODELS[request.param]
    return make, rows, make().fit(rows, "class")


def same(model: Any, local: Any, rows: pa.Table) -> None:
    assert model.model_.digest == local.model_.digest
    np.testing.assert_allclose(model.predict_proba(rows), local.predict_proba(rows), rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("size", [7, 400])
def test_chunks_and_threads(case: Any, size: int) -> None:
    make, rows, local = case
    chunks = pa.concat_tables(rows.slice(i, size) for i in range(0, len(rows), size))
    same(make().set_params(n_jobs=3).fit(chunks, "class"), local, rows)


@pytest.mark.parametrize("size", [64, 1000, 1 << 14])
def test_batches_of_files(case: Any, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bayeskit.engines.duckdb.ROWS", size)
    make, rows, local = case
    pq.write_table(rows, tmp_path / "t.parquet", row_group_size=333)
    same(make().set_params(n_jobs=2).fit(tmp_path / "t.parquet", "class"), local, rows)


@pytest.mark.spark
@pytest.mark.parametrize("partitions", [1, 7])
def test_partitions_of_a_cluster(case: Any, partitions: int) -> None:
    make, rows, local = case
    frame = cluster.session().createDataFrame(rows).repartition(partitions)
    same(make().fit(frame, "class"), local, rows)
