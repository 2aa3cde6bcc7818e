"""The law of labels: their type is that of the first rows, whatever source later rows come from."""

from __future__ import annotations

import json
import sqlite3
import warnings
from collections.abc import Callable, Sequence
from contextlib import closing
from copy import copy
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import bayeskit as bk
from bayeskit.errors import KindError

X = [1.0, 2.5, 4.0, 5.5, 3.0, 8.0]
CLASSES: dict[str, tuple[Any, Any]] = {  # labels of a sort: those that were there first, and all
    "whole": (0, 1),
    "truth": (False, True),
    "text": ("no", "yes"),
    "digits": ("0", "1"),
}
FIRST = [0, 0, 1, 1, 0, 1]  # which class each row has


def table(labels: Sequence[Any], kind: pa.DataType | None = None) -> pa.Table:
    return pa.table({"x": X, "y": pa.array(labels, kind)})


def csv_file(folder: Path, labels: Sequence[Any]) -> Path:
    pa.csv.write_csv(table(labels), folder / "t.csv")
    return folder / "t.csv"


def parquet(folder: Path, labels: Sequence[Any]) -> Path:
    pq.write_table(table(labels), folder / "t.parquet")
    return folder / "t.parquet"


def json_lines(folder: Path, labels: Sequence[Any]) -> Path:
    (folder / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in table(labels).to_pylist()))
    return folder / "t.jsonl"


def sqlite(folder: Path, labels: Sequence[Any]) -> Path:
    kind = {bool: "boolean", int: "integer", str: "text"}[type(labels[0])]
    with closing(sqlite3.connect(folder / "t.sqlite")) as connection, connection:
        connection.execute(f"create table kept (x real, y {kind})")
        connection.executemany("insert into kept values (?, ?)", list(zip(X, labels, strict=True)))
    return folder / "t.sqlite"


def arrow_file(folder: Path, labels: Sequence[Any]) -> Path:
    rows = table(labels)
    with pa.ipc.new_file(folder / "t.arrow", rows.schema) as writer:
        writer.write_table(rows)
    return folder / "t.arrow"


NAMED: dict[str, Callable[[Path, Sequence[Any]], Any]] = {  # the labels are the column y
    "pandas": lambda _, labels: table(labels).to_pandas(),
    "polars": lambda _, labels: pl.DataFrame({"x": X, "y": list(labels)}),
    "arrow": lambda _, labels: table(labels),
    "csv": csv_file,
    "parquet": parquet,
    "relation": lambda _, labels: duckdb.connect().from_arrow(table(labels)),
    "sqlite": sqlite,
    "json lines": json_lines,
    "arrow file": arrow_file,
}
BESIDE: dict[str, Callable[[Sequence[Any]], Any]] = {  # the labels stand beside the rows
    "numpy": lambda labels: np.array(labels),
    "list": list,
    "numpy, narrow": lambda labels: np.array(labels, dtype="i2") if type(labels[0]) is int else np.array(labels),
    "numpy, float": lambda labels: np.array(labels, dtype=float) if type(labels[0]) is int else np.array(labels),
    "pandas, with a missing value": lambda labels: pd.Series([*labels[:-1], None]),
    "polars series": lambda labels: pl.Series(list(labels)),
    "arrow array": lambda labels: pa.array(labels),
}


THEN = ["csv", "sqlite", "numpy, float", "pandas, with a missing value"]
MORE = ["parquet", "json lines", "relation", "polars", "arrow"]
PAIRS = [("whole", first, THEN if first != "numpy" else [*THEN, *MORE]) for first in [*NAMED, *BESIDE]] + [
    (sort, first, ["csv", "sqlite", "json lines"])
    for sort in ("truth", "text", "digits")
    for first in ("numpy", "pandas", "csv", "arrow")
    if (sort, first) != ("digits", "csv")  # digits in CSV are numbers until a model says otherwise
]


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], tuple[Any, Any]]:
    """Rows and labels by sort of labels and source, made once."""

    @cache
    def given(sort: str, how: str) -> tuple[Any, Any]:
        labels = [CLASSES[sort][i] for i in FIRST]
        if how in BESIDE:
            return {"x": X}, BESIDE[how](labels)
        return NAMED[how](tmp_path_factory.mktemp("rows"), labels), "y"

    return given


@pytest.mark.filterwarnings("ignore:.*no label")
@pytest.mark.parametrize(("sort", "first", "then"), PAIRS, ids=[f"{s}, {f}" for s, f, _ in PAIRS])
def test_labels_keep_the_type_of_the_first_rows(sort: str, first: str, then: list[str], sources: Any) -> None:
    start = bk.NaiveBayes().fit(*sources(sort, first))
    kind, classes = start.classes_.dtype, start.classes_.tolist()
    assert classes == sorted(CLASSES[sort])
    for other in then:
        model = copy(start)
        for step in (model.partial_fit, model.forget):
            step(*sources(sort, other))
            assert (model.classes_.dtype, model.classes_.tolist()) == (kind, classes), other
            assert {type(c) for c in model.classes_.tolist()} == {type(c) for c in classes}, other
        assert model.model_.digest == start.model_.digest, other


def test_a_label_that_does_not_fit_the_width_widens_it() -> None:
    model = bk.NaiveBayes().fit({"x": X}, np.array(FIRST, dtype=np.int8)).partial_fit({"x": [1.0]}, [300])
    assert model.classes_.tolist() == [0, 1, 300]
    wide = bk.NaiveBayes().fit({"x": X}, [2**64 - 1 if i else 5 for i in FIRST])
    assert wide.classes_.tolist() == [5, 2**64 - 1]
    assert wide.predict({"x": [8.0]}).tolist() == [2**64 - 1]


@pytest.mark.parametrize(("mine", "theirs"), [("whole", "digits"), ("text", "whole"), ("truth", "whole")])
def test_labels_of_another_type_are_refused(mine: str, theirs: str) -> None:
    model = bk.NaiveBayes().fit({"x": X}, [CLASSES[mine][i] for i in FIRST])
    before = model.model_.digest
    with pytest.raises(KindError, match=r"classes of the model are .* and the new labels are .*convert"):
        model.partial_fit({"x": X}, [CLASSES[theirs][i] for i in FIRST])
    assert model.model_.digest == before


def test_whole_labels_beyond_a_double_are_told_apart_in_csv(tmp_path: Path) -> None:
    labels = [2**53 + i for i in FIRST]
    model = bk.NaiveBayes().fit({"x": X}, labels)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.partial_fit(csv_file(tmp_path, labels), "y")
    assert model.classes_.tolist() == [2**53, 2**53 + 1]
    assert model.model_.weights.tolist() == [6.0, 6.0]


UNSIGNED = np.array([2**63, 2**63 + 10240, 2**64 - 2048, 5, 7, 2**63 + 12288], dtype=np.uint64)  # doubles, all


@pytest.mark.parametrize("how", ["numpy", "list", "pandas", "polars", "arrow", "parquet", "relation", "csv"])
@pytest.mark.filterwarnings("ignore:.*whole numbers of more than")
def test_unsigned_numbers_beyond_the_signed_ones_are_read(how: str, tmp_path: Path) -> None:
    rows = pa.table({"x": UNSIGNED, "y": ["a", "b"] * 3})
    pq.write_table(rows, tmp_path / "t.parquet")
    pa.csv.write_csv(rows, tmp_path / "t.csv")
    source: dict[str, Any] = {
        "numpy": {"x": UNSIGNED, "y": ["a", "b"] * 3},
        "list": {"x": UNSIGNED.tolist(), "y": ["a", "b"] * 3},
        "pandas": rows.to_pandas(),
        "polars": pl.from_arrow(rows),
        "arrow": rows,
        "parquet": tmp_path / "t.parquet",
        "relation": duckdb.connect().from_arrow(rows),
        "csv": tmp_path / "t.csv",
    }
    for kinds in (None, {"x": "nominal"}):
        plain = bk.NaiveBayes(kinds=kinds).fit({"x": UNSIGNED.astype(float)}, ["a", "b"] * 3)
        assert bk.NaiveBayes(kinds=kinds).fit(source[how], "y").model_.digest == plain.model_.digest


def test_unsigned_numbers_that_a_double_does_not_have_are_rounded_and_told() -> None:
    with pytest.warns(UserWarning, match=r"2 integers beyond 2\*\*53 were rounded"):
        bk.NaiveBayes().fit(pa.table({"x": pa.array([2**63 + 1, 2**64 - 1, None, 5], pa.uint64())}), list("abab"))


def test_unsigned_weights_are_weights() -> None:
    weights = np.array([2**63, 1, 1, 2**63, 1, 1], dtype=np.uint64)
    assert bk.NaiveBayes().fit({"x": X}, list("ababab"), sample_weight=weights).model_.weights.tolist() == [
        2.0**63 + 2,
        2.0**63 + 2,
    ]


@pytest.mark.parametrize("table", [{"x": [2**64, 1, 2, 3]}, [[2**70], [1], [2], [3]]])
def test_numbers_beyond_64_bits_are_refused_by_name(table: Any) -> None:
    with pytest.raises(KindError, match=r"column .* 64 bits"):
        bk.NaiveBayes().fit(table, list("abab"))
