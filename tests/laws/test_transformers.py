"""The law of transformers: the same table gives the same table and the same model, whatever the frame."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bayeskit as bk

ROWS = 150
LEVELS = ["low", "mid", "high", "top"]  # no row is at the top
RNG = np.random.default_rng(7)
LABELS = RNG.choice(["a", "b", "c"], ROWS)
SHIFT = np.array([{"a": 0, "b": 1, "c": 3}[c] for c in LABELS])
TABLE = pa.table(
    {
        "x": pa.array([None if i % 17 == 3 else v for i, v in enumerate((RNG.normal(0, 1, ROWS) + SHIFT).tolist())]),
        "n": pa.array(RNG.poisson(1 + SHIFT).tolist()),
        "t": pa.array(RNG.choice(["u", "v", "w"], ROWS).tolist()),
        "b": pa.array((RNG.random(ROWS) < 0.3).tolist()),
    }
)
ORDERED = pa.DictionaryArray.from_arrays(pa.array(np.minimum(SHIFT, 2), pa.int8()), pa.array(LEVELS), ordered=True)


def as_pandas(table: pa.Table, _: Path) -> Any:
    return table.to_pandas()


def as_polars(table: pa.Table, _: Path) -> Any:
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame.with_columns(pl.col("o").cast(pl.Enum(LEVELS))) if "o" in frame.columns else frame


def as_arrow_file(table: pa.Table, folder: Path) -> Any:
    with pa.ipc.new_file(folder / "t.arrow", table.schema) as writer:
        writer.write_table(table, max_chunksize=64)
    return folder / "t.arrow"


def as_parquet(table: pa.Table, folder: Path) -> Any:
    pq.write_table(table, folder / "t.parquet", row_group_size=64)
    return folder / "t.parquet"


FRAMES: dict[str, Callable[[pa.Table, Path], Any]] = {
    "pandas": as_pandas,
    "polars": as_polars,
    "relation": lambda table, _: duckdb.connect().from_arrow(table),
    "arrow file": as_arrow_file,
    "parquet": as_parquet,
}
TRANSFORMERS: dict[str, Callable[[], Any]] = {
    "width": bk.Discretizer,
    "frequency": lambda: bk.Discretizer(method="frequency", bins=4),
    "mdlp": lambda: bk.Discretizer(method="mdlp"),
    "scores": bk.NormalScores,
    "selector": lambda: bk.FeatureSelector(n_features=2),
}
CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "naive": bk.NaiveBayes,
    "auto": lambda: bk.NaiveBayes(families="auto"),
    "full": lambda: bk.FullBayes(smoothing="auto"),
    "tan": bk.TAN,
    "kdb": bk.KDB,
    "aode": bk.AODE,
    "aje": bk.AJE,
    "network": bk.NetworkBayes,
    "knn": lambda: bk.KNNBayes(metric="gower"),
}


def rows(table: Any) -> list[dict[str, Any]]:
    """The values of a table, missing ones as None."""
    if isinstance(table, pd.DataFrame):
        return [{n: None if pd.isna(v) else v for n, v in row.items()} for row in table.to_dict("records")]
    if isinstance(table, duckdb.DuckDBPyRelation):
        table = table.to_arrow_table()
    return table.to_dicts() if isinstance(table, pl.DataFrame) else table.to_pylist()


def fitted(name: str, frame: Any, folder: Path) -> Any:
    """The transformer of a table with its labels, by what its kind of frame allows."""
    transformer = TRANSFORMERS[name]()
    if isinstance(frame, pa.Table | pd.DataFrame | pl.DataFrame):
        return transformer.fit(frame, LABELS)
    labelled = TABLE.append_column("y", pa.array(LABELS.tolist()))
    if isinstance(frame, duckdb.DuckDBPyRelation):
        return transformer.fit(duckdb.connect().from_arrow(labelled), "y")
    (folder / "y").mkdir(exist_ok=True)
    make = as_parquet if frame.suffix == ".parquet" else as_arrow_file
    return transformer.fit(make(labelled, folder / "y"), "y")


@pytest.fixture(scope="module")
def expected() -> dict[str, tuple[Any, dict[str, str]]]:
    """By transformer what Arrow's table becomes, and the digest of every model of it."""
    found = {}
    for name, make in TRANSFORMERS.items():
        table = make().fit(TABLE, LABELS).transform(TABLE)
        found[name] = table, {model: fit().fit(table, LABELS).model_.digest for model, fit in CLASSIFIERS.items()}
    return found


PAIRS = [(f, t) for f in FRAMES for t in TRANSFORMERS if t != "selector" or f not in ("parquet", "arrow file")]


@pytest.mark.parametrize(("frame", "transformer"), PAIRS)  # a file is not narrowed: its columns are named to be read
def test_the_same_table_becomes_the_same_table_and_the_same_models(
    frame: str, transformer: str, tmp_path: Path, expected: dict[str, tuple[Any, dict[str, str]]]
) -> None:
    given = FRAMES[frame](TABLE, tmp_path)
    out = fitted(transformer, given, tmp_path).transform(given)
    table, digests = expected[transformer]
    assert rows(out) == rows(table)
    held = out.to_arrow_table() if isinstance(out, duckdb.DuckDBPyRelation) else out
    for model, digest in digests.items():
        assert CLASSIFIERS[model]().fit(held, LABELS).model_.digest == digest, model


@pytest.mark.parametrize("frame", [name for name in FRAMES if name != "relation"])
def test_an_ordered_category_is_the_same_in_every_frame_that_has_one(frame: str, tmp_path: Path) -> None:
    table = TABLE.append_column("o", ORDERED).append_column("y", pa.array(LABELS.tolist()))
    given = FRAMES[frame](table, tmp_path)
    for model, make in CLASSIFIERS.items():
        if model != "knn":
            assert make().fit(given, "y").model_.digest == make().fit(table, "y").model_.digest, model
    out = bk.Discretizer().fit(given, "y").transform(given)
    model = bk.NaiveBayes().fit(out, LABELS)
    assert model.schema_["o"].order == tuple(LEVELS)
    assert {c.kind for c in model.schema_.columns} == {"ordinal", "nominal", "binary"}
