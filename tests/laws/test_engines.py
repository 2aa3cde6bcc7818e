"""The laws of every engine: the same model and the same posteriors as the local one, bit for bit."""

from __future__ import annotations

import csv
import gzip
import json
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bayeskit as bk
import cluster
import server
from bayeskit.data.encode import Roles
from bayeskit.engines.engine import engines
from bayeskit.engines.part import Part
from bayeskit.engines.reading import Reading
from bayeskit.errors import InputError
from bayeskit.model.model import Model
from bayeskit.statistics.counted import Counted

from .tables import EXTREMES

ENGINES = {kind.__name__: kind for kind in engines()}
ELSEWHERE = {"Dated", "Spreadsheets"}  # around another engine; of sheets, which have few types: test_spreadsheets.py
ROWS = 1200


def table(rows: int = ROWS, seed: int = 3) -> pa.Table:
    """Names that need quoting, every type, nulls, extreme numbers."""
    rng = np.random.default_rng(seed)

    def holes(values: Any, kind: pa.DataType) -> pa.Array:
        return pa.array([None if rng.random() < 0.1 else v for v in values], kind)

    number = np.where(rng.random(rows) < 0.2, rng.choice(EXTREMES, rows), rng.normal(0, 1, rows))
    words = ["red", "blue", 'deep "sea" green', "orange, dark", "naïve", "o'clock"]
    return pa.table(
        {
            "x": holes(number.tolist(), pa.float64()),
            "größe 😀": holes((1e7 + rng.choice([0.1, 0.2, 0.3], rows)).tolist(), pa.float64()),
            'he said "hi"': holes(rng.integers(-5, 5, rows).tolist(), pa.int64()),
            "o'clock": holes(rng.choice(words, rows).tolist(), pa.string()),
            "select": holes(rng.choice(words[::-1], rows).tolist(), pa.string()).dictionary_encode(),
            "a; drop table b --": holes((rng.random(rows) < 0.3).tolist(), pa.bool_()),
            "w": pa.array(rng.choice([0.0, 0.5, 1.0, 2.0], rows)),
            "class": holes(rng.choice(["spam", "ham", "élan"], rows).tolist(), pa.string()),
        }
    )


TABLE = table()
CUTS = [0, 100, 101, 700, ROWS]
FEATURES = [name for name in TABLE.column_names if name not in ("w", "class")]


def write_csv(data: pa.Table, path: Path) -> None:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "wt", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(data.column_names)
        for i, row in enumerate(zip(*(c.to_pylist() for c in data.columns), strict=True)):
            writer.writerow([("NA", "")[i % 2] if v is None else v for v in row])


def in_parts(write: Callable[[pa.Table, Path], None], folder: Path, ending: str) -> str:
    """Several files, each with its own dictionary."""
    for i, (begin, end) in enumerate(pairwise(CUTS)):
        part = TABLE.slice(begin, end - begin)
        levels = part["select"].cast(pa.string()).combine_chunks().dictionary_encode()
        place = part.schema.get_field_index("select")
        write(part.set_column(place, "select", levels), folder / f"part {i}.{ending}")
    return str(folder / f"part *.{ending}")


def a_relation(folder: Path) -> Any:
    pq.write_table(TABLE, folder / "t.parquet")
    connection = duckdb.connect()
    connection.execute(f"create table kept as from '{folder / 't.parquet'}'")
    return connection.table("kept")


def a_file(write: Callable[[pa.Table, Path], None], name: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        write(TABLE, folder / name)
        return folder / name

    return make


# What the engine's ``takes`` looks at, without a cluster.
ASparkFrame = type("DataFrame", (), {"__module__": "pyspark.sql"})


def a_part(folder: Path) -> Any:
    """The rows of a file that has others behind them."""
    pq.write_table(pa.concat_tables([TABLE, TABLE.slice(0, 300)]), folder / "more.parquet", row_group_size=170)
    return Part(folder / "more.parquet", lambda batch, start: np.arange(start, start + batch.num_rows) < ROWS)


def on_a_cluster(_: Path) -> Any:
    levels = TABLE["select"].cast(pa.string())
    return cluster.session().createDataFrame(TABLE.set_column(TABLE.schema.get_field_index("select"), "select", levels))


def a_sqlite_file(folder: Path) -> Path:
    """Texts, numbers and truth values as SQLite has them, the last by declaration only."""
    kinds = {pa.bool_(): "boolean", pa.float64(): "real", pa.int64(): "integer"}
    names = [f'"{n.replace(chr(34), chr(34) * 2)}"' for n in TABLE.column_names]
    declared = [f"{name} {kinds.get(f.type, 'text')}" for name, f in zip(names, TABLE.schema, strict=True)]
    with closing(sqlite3.connect(folder / "t.sqlite")) as connection, connection:
        connection.execute(f"create table kept ({', '.join(declared)})")
        marks = ", ".join("?" * len(names))
        connection.executemany(f"insert into kept values ({marks})", zip(*TABLE.to_pydict().values(), strict=True))
    return folder / "t.sqlite"


def a_database(folder: Path) -> Path:
    with duckdb.connect(folder / "t.duckdb") as connection:
        connection.register("given", TABLE)
        connection.execute("create table kept as from given")
    return folder / "t.duckdb"


def write_json(data: pa.Table, path: Path) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in data.to_pylist()))


def write_arrow(data: pa.Table, path: Path) -> None:
    opened = pa.ipc.new_stream if path.suffix == ".arrows" else pa.ipc.new_file
    with opened(path, data.schema) as writer:
        writer.write_table(data, max_chunksize=170)


def a_folder(folder: Path) -> Path:
    (folder / "lake" / "year 1").mkdir(parents=True)
    in_parts(pq.write_table, folder / "lake" / "year 1", "parquet")
    (folder / "lake" / "_SUCCESS").touch()
    return folder / "lake"


def a_query(folder: Path) -> Reading:
    path = str(a_file(pq.write_table, "t.parquet")(folder)).replace("'", "''")
    return Reading(query=f"select * from '{path}';")


SOURCES: dict[str, tuple[Any, Callable[[Path], Any]]] = {  # what takes() may look at, and the source itself
    "arrow": (TABLE, lambda _: TABLE),
    "arrow chunks": (TABLE, lambda _: pa.concat_tables(TABLE.slice(a, b - a) for a, b in pairwise(CUTS))),
    "parquet": ("", a_file(lambda t, p: pq.write_table(t, p, row_group_size=170), 'it\'s "mine".parquet')),
    "csv": ("", a_file(write_csv, 'it\'s "mine".csv')),
    "parquet parts": ("", lambda folder: in_parts(pq.write_table, folder, "parquet")),
    "csv parts": ("", lambda folder: in_parts(write_csv, folder, "csv")),
    "csv, packed": ("", a_file(lambda t, p: write_csv(t, p), "t.csv.gz")),
    "json lines": ("", a_file(write_json, "t.jsonl")),
    "folder": ("", a_folder),
    "query": ("", a_query),
    "database": ("", a_database),
    "arrow file": ("t.arrow", a_file(write_arrow, "t.arrow")),
    "arrow stream": ("t.arrow", a_file(write_arrow, "t.arrows")),
    "arrow parts": ("t.arrow", lambda folder: in_parts(write_arrow, folder, "feather")),
    "sqlite": ("t.sqlite", a_sqlite_file),
    "postgresql": ("postgresql://", lambda _: server.holding(TABLE)),
    "relation": (duckdb.sql("select 1"), a_relation),
    "part": (Part(None, lambda batch, start: np.ones(batch.num_rows, dtype=bool)), a_part),
    "cluster": (ASparkFrame(), on_a_cluster),
}
PAIRS = [
    pytest.param(engine, make, id=f"{name}, {what}", marks=[pytest.mark.spark] if what == "cluster" else [])
    for name, engine in ENGINES.items()
    for what, (probe, make) in SOURCES.items()
    if engine.takes(probe)
]
every_source = pytest.mark.parametrize(("engine", "make"), PAIRS)


@pytest.fixture(scope="module")
def local() -> bk.NaiveBayes:
    return bk.NaiveBayes().fit(TABLE, "class", sample_weight="w")


pytestmark = pytest.mark.filterwarnings("ignore:.*rows have no label")


def test_every_engine_of_the_package_has_a_source() -> None:
    read = {case.values[0].__name__ for case in PAIRS}
    assert read == set(ENGINES) - ELSEWHERE, "add a source of the new engine to SOURCES"


@every_source
@pytest.mark.parametrize(("n_jobs", "rows"), [(1, 64), (1, None), (2, 1000), (3, 64), (3, None)])
def test_every_batch_size_and_thread_count_gives_the_local_model(
    engine: Any, make: Any, n_jobs: int, rows: int | None, tmp_path: Path, local: bk.NaiveBayes
) -> None:
    model = local.model_
    empty = Counted.empty(model.schema, Model.statistic(model.structure, model.schema), Roles("class", "w"))
    counted = engine(n_jobs, rows).reduce(make(tmp_path), [*model.schema.names, "class", "w"], empty)
    assert replace(model, counted=counted.canonical()).digest == model.digest


@every_source
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_fit_gives_the_local_model(
    engine: Any, make: Any, n_jobs: int | None, tmp_path: Path, local: bk.NaiveBayes
) -> None:
    model = bk.NaiveBayes(n_jobs=n_jobs).fit(make(tmp_path), "class", sample_weight="w")
    assert model.model_.digest == local.model_.digest


@every_source
def test_partial_fit_and_forget_go_back_to_the_local_model(
    engine: Any, make: Any, tmp_path: Path, local: bk.NaiveBayes
) -> None:
    source, more = make(tmp_path), table(300, seed=8)
    model = bk.NaiveBayes().fit(more, "class", sample_weight="w")
    model.partial_fit(source, "class", sample_weight="w")
    both = bk.NaiveBayes().fit(pa.concat_tables([TABLE, more]), "class", sample_weight="w")
    assert model.model_.digest == both.model_.digest
    assert model.forget(more, "class", sample_weight="w").model_.digest == local.model_.digest


@every_source
@pytest.mark.parametrize(("n_jobs", "rows"), [(1, 97), (3, 97)])
def test_posteriors_come_in_the_order_of_the_rows(
    engine: Any, make: Any, n_jobs: int, rows: int | None, tmp_path: Path, local: bk.NaiveBayes
) -> None:
    model = local.model_
    prior = model.log_prior()
    parts = engine(n_jobs, rows).map(
        make(tmp_path), FEATURES, lambda batch, start: model.posterior(model.counted.block(batch), prior)
    )
    assert np.concatenate(list(parts)).tobytes() == local.predict_proba(TABLE.select(FEATURES)).tobytes()


@every_source
def test_predictions_are_the_local_ones(engine: Any, make: Any, tmp_path: Path) -> None:
    """The target may stand in the table."""
    model = bk.NaiveBayes(n_jobs=2).fit(TABLE, "class")
    source = make(tmp_path)
    assert model.predict_proba(source).tobytes() == model.predict_proba(TABLE).tobytes()
    assert model.predict(source).tolist() == model.predict(TABLE).tolist()


@every_source
def test_neither_fit_nor_predict_leaves_a_file(
    engine: Any, make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No file in the folder of the source, in the working directory or among the temporary files."""
    folders = [tmp_path / name for name in ("data", "here", "temporary")]
    for folder in folders:
        folder.mkdir()
    monkeypatch.chdir(folders[1])
    monkeypatch.setattr(tempfile, "tempdir", str(folders[2]))
    source = make(folders[0])
    before = sorted(tmp_path.rglob("*"))
    model = bk.NaiveBayes(n_jobs=2).fit(source, "class")
    model.predict(source)
    half = engine(1, 64).map(source, FEATURES, lambda batch, start: batch.num_rows)
    next(half)
    half.close()
    assert sorted(tmp_path.rglob("*")) == before


@every_source
def test_a_failing_step_is_told_and_leaves_nothing(
    engine: Any, make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, temporary = make(tmp_path), tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))

    def fail(batch: Any, start: int) -> None:
        raise InputError("this batch is bad")

    for n_jobs in (1, 3):
        with pytest.raises(InputError, match="this batch is bad"):
            list(engine(n_jobs, 64).map(source, FEATURES, fail))
    assert not list(temporary.iterdir())
