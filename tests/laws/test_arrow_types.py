"""The law of Arrow's types: one table gives one model, or one refusal, in memory, as a file and as a relation."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bayeskit as bk
from bayeskit.data.frame import read_polars
from bayeskit.errors import KindError, SchemaError

I = [1, 2, 3, 1, 2, 4]  # noqa: E741
S = list("abcabd")
B = [True, False, True, True, False, False]
DAYS = [dt.date(2020, 1, i) for i in I]
TIMES = [dt.datetime(2020, 1, i) for i in I]
BYTES = [s.encode() for s in S]
WHOLE = (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())
DECIMALS = (pa.decimal32(5, 2), pa.decimal64(10, 2), pa.decimal128(21, 2), pa.decimal128(38, 0), pa.decimal256(50, 2))


def extension(kind: pa.DataType, storage: pa.Array) -> pa.Array:
    return pa.ExtensionArray.from_storage(kind, storage)


def category(codes: list[int], levels: list[Any], ordered: bool = False) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int8()), pa.array(levels), ordered=ordered)


NUMBERS = {str(t): pa.array(I, t) for t in (*WHOLE, pa.float32(), pa.float64())}
NUMBERS |= {
    "halffloat": pa.array([np.float16(i) for i in I]),
    "double with missing values": pa.array([1.0, None, 3, 1, 2, 4]),
}
NUMBERS |= {str(t): pa.array([Decimal(i) for i in I], t) for t in DECIMALS}
CATEGORIES = {str(t): pa.array(S, t) for t in (pa.string(), pa.large_string(), pa.string_view())}
CATEGORIES |= {
    "dictionary of text": pa.array(S).dictionary_encode(),
    "dictionary of large text": pa.array(S, pa.large_string()).dictionary_encode(),
    "dictionary of whole numbers": pa.array(I).dictionary_encode(),
    "dictionary of doubles": pa.array([i / 2 for i in I]).dictionary_encode(),
    "dictionary of truth values": category([0, 1, 0, 0, 1, 1], [True, False]),
    "identifiers": extension(pa.uuid(), pa.array([uuid.UUID(int=i).bytes for i in I], pa.binary(16))),
    "json": extension(pa.json_(), pa.array(list(map(str, I)))),
}
OTHERS = {
    "ordered dictionary": (category([0, 1, 2, 0, 1, 2], ["low", "mid", "high"], ordered=True), "ordinal"),
    "truth values": (pa.array(B), "binary"),
    "truth values of a byte": (extension(pa.bool8(), pa.array(B).cast(pa.int8())), "binary"),
    "nulls": (pa.nulls(6), "undetermined"),
}
REFUSED = {str(t): pa.array(BYTES, t) for t in (pa.binary(), pa.large_binary(), pa.binary(1), pa.binary_view())}
REFUSED |= {str(t): pa.array(DAYS, t) for t in (pa.date32(), pa.date64())}
REFUSED |= {str(t): pa.array(TIMES, t) for t in (pa.timestamp("s"), pa.timestamp("us"), pa.timestamp("us", "UTC"))}
REFUSED |= {str(t): pa.array(I, s).cast(t) for s, t in ((pa.int32(), pa.time32("s")), (pa.int64(), pa.time64("us")))}
REFUSED |= {str(pa.duration(u)): pa.array(I, pa.duration(u)) for u in ("s", "ms", "us", "ns")}
REFUSED |= {
    "interval": pa.array([pa.MonthDayNano([1, i, 0]) for i in I]),
    "list": pa.array([[i] for i in I]),
    "struct": pa.array([{"a": i} for i in I]),
    "map": pa.array([[("k", i)] for i in I], pa.map_(pa.string(), pa.int64())),
    "dictionary of dates": pa.array(DAYS).dictionary_encode(),
}
READ = (
    {name: (array, "quantitative") for name, array in NUMBERS.items()}
    | {name: (array, "nominal") for name, array in CATEGORIES.items()}
    | OTHERS
)


def table(array: pa.Array) -> pa.Table:
    return pa.table({"c": array, "z": [1.0, 2.0, 3.0, 4.0, 5.0, 7.0], "y": list("ppqqpq")})


def arrow_file(rows: pa.Table, folder: Path) -> Path:
    with pa.ipc.new_file(folder / "t.arrow", rows.schema) as writer:
        writer.write_table(rows, max_chunksize=4)
    return folder / "t.arrow"


def arrow_stream(rows: pa.Table, folder: Path) -> Path:
    with pa.ipc.new_stream(folder / "t.arrows", rows.schema) as writer:
        writer.write_table(rows)
    return folder / "t.arrows"


def parquet(rows: pa.Table, folder: Path) -> Path:
    pq.write_table(rows, folder / "t.parquet", row_group_size=4)
    return folder / "t.parquet"


SOURCES: dict[str, Callable[[pa.Table, Path], Any]] = {
    "batch": lambda rows, _: rows.to_batches()[0],
    "chunks": lambda rows, _: pa.concat_tables([rows.slice(0, 2), rows.slice(2)]),
    "arrow file": arrow_file,
    "arrow stream": arrow_stream,
    "parquet": parquet,
    "relation": lambda rows, _: duckdb.connect().from_arrow(rows),
}
NOT_THERE = {  # types that a source cannot hold, or that it knows as another: a relation has the types of SQL
    ("parquet", "interval"),
    *(("relation", name) for name in ("halffloat", "decimal256(50, 2)", "ordered dictionary")),
    *(("relation", f"dictionary of {what}") for what in ("whole numbers", "doubles", "truth values")),
}


@pytest.mark.parametrize("name", READ)
def test_every_source_of_a_type_gives_the_same_model(name: str, tmp_path: Path) -> None:
    array, kind = READ[name]
    expected = bk.NaiveBayes().fit(table(array), "y")
    assert expected.schema_["c"].kind == kind
    for how, make in SOURCES.items():
        if (how, name) not in NOT_THERE:
            source = make(table(array), tmp_path)
            model = bk.NaiveBayes().fit(source, "y")
            assert (model.schema_["c"].kind, model.model_.digest) == (kind, expected.model_.digest), how
            assert model.predict_proba(source).tolist() == expected.predict_proba(table(array)).tolist(), how


@pytest.mark.parametrize("name", REFUSED)
def test_every_source_of_a_type_refuses_it_by_name(name: str, tmp_path: Path) -> None:
    for how, make in {"table": lambda rows, _: rows, **SOURCES}.items():
        if (how, name) not in NOT_THERE:
            with pytest.raises(KindError, match=r"column 'c' has type .* neither a number nor a category"):
                bk.NaiveBayes().fit(make(table(REFUSED[name]), tmp_path), "y")


def test_a_duration_that_is_kept_stays_one(tmp_path: Path) -> None:
    rows = table(pa.array(I)).append_column("wait", pa.array(I, pa.duration("s")))
    model = bk.NaiveBayes().fit(table(pa.array(I)), "y")
    for source in (rows, parquet(rows, tmp_path), arrow_file(rows, tmp_path)):
        assert model.predict_frame(source, keep=["wait"]).column("wait").to_pylist() == rows["wait"].to_pylist()


@pytest.mark.parametrize("how", ["arrow file", "arrow stream", "batch", "chunks"])
def test_names_that_occur_twice_are_refused_by_name(how: str, tmp_path: Path) -> None:
    twice = pa.table([pa.array(I), pa.array(I), pa.array(S)], names=["c", "c", "y"])
    with pytest.raises(SchemaError, match="'c' occurs twice"):
        bk.NaiveBayes().fit(SOURCES[how](twice, tmp_path), "y")
    model = bk.NaiveBayes().fit({"c": I}, S)
    with pytest.raises(SchemaError, match="'c' occurs twice"):
        model.predict(SOURCES[how](twice, tmp_path))


@pytest.mark.parametrize("chunks", [1, 2])
def test_categories_of_polars_are_read_by_their_numbers(chunks: int) -> None:
    """With missing values, an early gap, a late category, and numbers that two columns share."""
    rng = np.random.default_rng(0)
    first, second = (np.array(list("abcdefghij"), dtype=object)[rng.integers(low, 10, 9000)] for low in (0, 4))
    first[rng.random(9000) < 0.1], first[0], second[8999] = None, None, "rare"
    texts = pl.DataFrame({"first": list(first), "second": list(second)})
    pool = pl.concat([texts["first"], texts["second"]]).cast(pl.Categorical)
    shared = pl.DataFrame({"first": pool[:9000], "second": pool[9000:]})
    shared = pl.concat([shared[:5000], shared[5000:]], rechunk=chunks == 1)
    y = rng.integers(0, 2, 9000)
    for frame in (shared, shared[3:8998], shared[:0], texts.with_columns(pl.all().cast(pl.Categorical))):
        table = read_polars(frame)
        table.validate(full=True)
        assert pl.from_arrow(table).cast(pl.String).equals(frame.cast(pl.String))
    model = bk.NaiveBayes().fit(texts, y)
    assert bk.NaiveBayes().fit(shared, y).model_.digest == model.model_.digest
    assert model.predict_proba(shared).tobytes() == model.predict_proba(texts).tobytes()
