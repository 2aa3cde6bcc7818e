"""Places of tables: folders, databases, queries, Arrow files; what is there is read, what is not is named."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from decimal import Decimal
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bayeskit as bk
import server
from bayeskit.data.source import source
from bayeskit.engines.reading import Reading
from bayeskit.errors import InputError, KindError, SchemaError

TABLE = pa.table({"v": [1.0, 2.5, None, 4.0], "word": ["x", "y", "x", None], "class": list("aabb")})
LOCAL = bk.NaiveBayes().fit(TABLE, "class").model_.digest


def digest(source: object) -> str:
    return bk.NaiveBayes().fit(source, "class").model_.digest


def sqlite(path: Path, *commands: str) -> str:
    with closing(sqlite3.connect(path)) as connection, connection:
        for command in commands:
            connection.execute(command)
    return str(path)


def database(folder: Path) -> str:
    path = folder / "shop.duckdb"
    with duckdb.connect(path) as connection:
        connection.register("given", TABLE)
        connection.execute("create table people as from given; create table other as select 1 as one")
    return str(path)


def test_a_query_reads_the_files_it_names(tmp_path: Path) -> None:
    pq.write_table(TABLE.select(["v", "class"]).append_column("i", pa.array(range(4))), tmp_path / "a.parquet")
    pq.write_table(pa.table({"i": range(4), "word": TABLE["word"]}), tmp_path / "b.parquet")
    query = f"select v, word, class from '{tmp_path}/a.parquet' join '{tmp_path}/b.parquet' using (i)"
    assert digest(Reading(query=query)) == LOCAL


def test_a_query_of_a_database_reads_it(tmp_path: Path) -> None:
    assert digest(Reading(database(tmp_path), "from people")) == LOCAL


def test_a_database_of_several_tables_asks_which(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"shop\.duckdb.*other, people.*--sql"):
        digest(database(tmp_path))


def test_a_database_stays_as_it_is(tmp_path: Path) -> None:
    path = Path(database(tmp_path))
    before = path.read_bytes()
    with pytest.raises(InputError):
        digest(Reading(str(path), "drop table people"))
    assert path.read_bytes() == before


@pytest.mark.parametrize("query", ["select 1; drop table people", "drop table people", "select * from nowhere"])
def test_what_is_no_table_is_refused(tmp_path: Path, query: str) -> None:
    with pytest.raises(InputError, match=r"shop\.duckdb"):
        digest(Reading(database(tmp_path), query))


def test_a_database_by_what_is_in_it(tmp_path: Path) -> None:
    """The ending .db says nothing."""
    sqlite(tmp_path / "a.db", "create table t (v, class)", "insert into t values (1, 'a'), (2, 'b'), (4, 'b')")
    Path(database(tmp_path)).rename(tmp_path / "b.db")
    assert digest(tmp_path / "a.db") == bk.NaiveBayes().fit({"v": [1, 2, 4]}, list("abb")).model_.digest
    assert digest(Reading(str(tmp_path / "b.db"), "from people")) == LOCAL


def test_a_late_value_of_another_type_in_sqlite_counts(tmp_path: Path) -> None:
    """ADBC alone takes a column's type from the first values and fails at the half."""
    rows = [(None, "a")] * 1500 + [(1, "a")] * 1500 + [(0.5, "b"), (None, "b")]
    with closing(sqlite3.connect(tmp_path / "t.sqlite")) as connection, connection:
        connection.execute("create table t (v, class)")
        connection.executemany("insert into t values (?, ?)", rows)
    local = bk.NaiveBayes().fit({"v": [v for v, _ in rows]}, [c for _, c in rows])
    assert digest(tmp_path / "t.sqlite") == local.model_.digest


def test_binary_values_in_sqlite_are_refused_by_name(tmp_path: Path) -> None:
    path = sqlite(tmp_path / "t.sqlite", "create table t (v, b, class)", "insert into t values (1, x'00', 'a')")
    with pytest.raises(InputError, match=r"t\.sqlite.*'b'.*--ignore b"):
        digest(path)


def test_columns_to_ignore_are_not_there(tmp_path: Path) -> None:
    data = TABLE.append_column("id", pa.array(range(4)))
    pq.write_table(data, tmp_path / "t.parquet")
    with pa.ipc.new_file(tmp_path / "t.arrow", data.schema) as writer:
        writer.write_table(data)
    for name in ("t.parquet", "t.arrow"):
        assert digest(Reading(str(tmp_path / name), ignore=("id",))) == LOCAL


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.sqlite", "t.csv"])
def test_a_column_to_ignore_that_is_not_there_is_named(tmp_path: Path, name: str) -> None:
    pq.write_table(TABLE, tmp_path / "t.parquet")
    with pa.ipc.new_file(tmp_path / "t.arrow", TABLE.schema) as writer:
        writer.write_table(TABLE)
    sqlite(tmp_path / "t.sqlite", "create table t (v, word, class)")
    (tmp_path / "t.csv").write_text("v,word,class\n1,x,a\n")
    with pytest.raises(SchemaError, match=r"'id'.*v, word, class"):
        digest(Reading(str(tmp_path / name), ignore=("id",)))


def test_a_folder_of_several_kinds_asks_which(tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "t.parquet")
    (tmp_path / "t.csv").write_text("v,class\n1,a\n")
    with pytest.raises(InputError, match=r"several kinds \(\.csv, \.parquet\)"):
        digest(tmp_path)


def test_an_empty_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no file of a known kind"):
        digest(tmp_path)


def test_a_bad_line_of_json_is_told(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text('{"v": 1, "class": "a"}\n{"v": 2, "cla\n{"v": 3, "class": "b"}\n')
    with pytest.raises(InputError, match=r"t\.jsonl.*line 2"):
        digest(tmp_path / "t.jsonl")


def test_lists_in_json_are_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text('{"v": [1, 2], "class": "a"}\n{"v": [3], "class": "b"}\n')
    with pytest.raises(KindError, match="'v'"):
        digest(tmp_path / "t.jsonl")


def test_a_number_late_in_json_counts(tmp_path: Path) -> None:
    values = [1] * 30_000 + [0.5]
    labels = ["a", "b"] * 15_000 + ["a"]
    lines = (f'{{"v": {v}, "class": "{c}"}}\n' for v, c in zip(values, labels, strict=True))
    (tmp_path / "t.jsonl").write_text("".join(lines))
    assert digest(tmp_path / "t.jsonl") == bk.NaiveBayes().fit({"v": values}, labels).model_.digest


@pytest.mark.parametrize("content", [b"", b"nothing of the kind", b"ARROW1\0\0 and then nothing"])
def test_what_is_no_arrow_file_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "t.arrow").write_bytes(content)
    with pytest.raises(InputError, match=r"t\.arrow"):
        digest(tmp_path / "t.arrow")


def test_a_part_that_lacks_a_column_is_named(tmp_path: Path) -> None:
    for i, part in enumerate((TABLE, TABLE.select(["v", "class"]))):
        with pa.ipc.new_file(tmp_path / f"{i}.arrow", part.schema) as writer:
            writer.write_table(part)
    with pytest.raises(SchemaError, match=r"1\.arrow.*'word'"):
        digest(tmp_path / "*.arrow")


def test_a_missing_database_is_not_made(tmp_path: Path) -> None:
    for name in ("gone.sqlite", "gone.duckdb"):
        with pytest.raises(InputError, match=name.replace(".", r"\.")):
            digest(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_server_that_does_not_answer_is_named_without_the_password(tmp_path: Path) -> None:
    pytest.importorskip("adbc_driver_postgresql")
    with pytest.raises(InputError, match=r"postgresql://me:\*\*\*@") as told:
        digest(f"postgresql://me:secret@/db?host={tmp_path}")
    assert "secret" not in str(told.value)


def test_decimals_and_other_types_of_postgresql(tmp_path: Path) -> None:
    address = server.holding(TABLE)
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(address) as connection, connection.cursor() as cursor:
        cursor.execute("create type mood as enum ('sad', 'glad')")
        cursor.execute("create table t (price numeric(9, 2), mood mood, class text)")
        cursor.execute("insert into t values (0.1, 'sad', 'a'), (2.35, 'glad', 'b'), (null, 'glad', 'b')")
        connection.commit()
    local = {"price": [Decimal("0.10"), Decimal("2.35"), None], "mood": ["sad", "glad", "glad"]}
    found = digest(Reading(address, "select price, mood, class from t"))
    assert found == bk.NaiveBayes().fit(local, list("abb")).model_.digest


def test_who_watches_is_told_every_row(tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "t.parquet")
    seen: list[int] = []
    digest(Reading(str(tmp_path / "t.parquet"), watch=seen.append))
    assert sum(seen) == 4


@pytest.mark.parametrize("says", [True, False])
def test_a_frame_is_read_as_its_columns_are(monkeypatch, says):
    if not says:  # a version of pandas that does not say what columns hold
        monkeypatch.delattr(pd.DataFrame, "_iter_column_arrays")
    hole = float("nan")
    held = {
        "whole": np.array([1, 2, 3]),
        "short": np.array([1, 2, 3], dtype=np.uint8),
        "number": np.array([0.5, hole, 2.0]),
        "truth": np.array([True, False, True]),
        "text": ["u", None, "w"],
        "object": np.array(["u", None, "w"], dtype=object),
        "category": pd.Categorical(["x", None, "y"]),
        "masked": pd.array([1, None, 3], dtype="Int64"),
        "arrow": pd.array([1.5, None, 2.5], dtype="double[pyarrow]"),
    }
    rows = source(pd.DataFrame(held)).rows
    found = {name: [None if v != v else v for v in rows.column(name).to_pylist()] for name in rows.column_names}
    assert found == {
        "whole": [1, 2, 3],
        "short": [1, 2, 3],
        "number": [0.5, None, 2.0],
        "truth": [True, False, True],
        "text": ["u", None, "w"],
        "object": ["u", None, "w"],
        "category": ["x", None, "y"],
        "masked": [1, None, 3],
        "arrow": [1.5, None, 2.5],
    }


def test_columns_pandas_keeps_by_what_differs_from_one_value_are_read_in_full() -> None:
    short = pd.DataFrame(
        {"n": pd.arrays.SparseArray([0, 0, 1, 0]), "t": pd.arrays.SparseArray(list("xyxx"), fill_value="x")}
    )
    known = bk.NaiveBayes().fit({"n": [0, 0, 1, 0], "t": list("xyxx")}, [0, 0, 1, 1])
    assert (
        bk.NaiveBayes().fit(short, pd.Series(pd.arrays.SparseArray([0, 0, 1, 1]))).model_.digest == known.model_.digest
    )


def test_a_notebook_without_ipywidgets_reads_files(tmp_path: Path) -> None:
    """In a notebook, of which IPython tells, DuckDB cannot set its progress bar without ipywidgets."""
    (tmp_path / "IPython.py").write_text(
        "def get_ipython():\n    return Shell\n\n\nclass Shell:\n    config = {'IPKernelApp': {}}\n"
    )
    pq.write_table(pa.table({"x": [1.0, 2.0, 3.0, 4.0], "y": list("aabb")}), tmp_path / "a.parquet")
    code = "import IPython, bayeskit as bk; print(bk.NaiveBayes().fit('a.parquet', 'y').classes_)"
    given = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=given, capture_output=True, text=True)
    assert (done.stdout.strip(), done.returncode) == ("['a' 'b']", 0), done.stderr
