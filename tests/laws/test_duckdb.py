"""What only DuckDB can get wrong: names of files, the user's connection, guessed types."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bayeskit as bk

RNG = np.random.default_rng(0)
COLOURS = RNG.choice(["red", "blue"], 50)
SMALL = pa.table({"x": RNG.normal(0, 1, 50), "colour": COLOURS, "class": ["a", "b"] * 25})
LOCAL = bk.NaiveBayes().fit(SMALL, "class").model_.digest


@pytest.mark.parametrize("name", ["it's.parquet", 'a "b".parquet', "ünï 😀.parquet", "a;--.pq"])
def test_a_file_name_is_only_a_name(tmp_path: Path, name: str) -> None:
    pq.write_table(SMALL, tmp_path / name)
    assert bk.NaiveBayes().fit(tmp_path / name, "class").model_.digest == LOCAL


def test_a_file_of_that_very_name_is_read_though_it_looks_like_a_pattern(tmp_path: Path) -> None:
    """Browsers save a second copy under such a name; beside it stands another file the pattern would mean."""
    pq.write_table(SMALL, tmp_path / "a[1].parquet")
    pq.write_table(SMALL.slice(0, 10), tmp_path / "a1.parquet")
    assert bk.NaiveBayes().fit(tmp_path / "a[1].parquet", "class").model_.digest == LOCAL


@pytest.mark.parametrize("pattern", ["part*.parquet", "part?.parquet", "part[0-9].parquet"])
def test_every_sort_of_pattern_is_read(tmp_path: Path, pattern: str) -> None:
    for i, begin in enumerate((30, 0)):
        pq.write_table(SMALL.slice(begin, 30 - 10 * (begin > 0)), tmp_path / f"part{i}.parquet")
    assert bk.NaiveBayes().fit(str(tmp_path / pattern), "class").model_.digest == LOCAL


def test_parts_may_have_their_columns_in_another_order(tmp_path: Path) -> None:
    pq.write_table(SMALL.slice(0, 20), tmp_path / "0.parquet")
    pq.write_table(SMALL.slice(20).select(["class", "colour", "x"]), tmp_path / "1.parquet")
    assert bk.NaiveBayes().fit(str(tmp_path / "*.parquet"), "class").model_.digest == LOCAL


def test_csv_parts_may_have_their_columns_in_another_order(tmp_path: Path) -> None:
    for i, part in enumerate((SMALL.slice(0, 20), SMALL.slice(20).select(["class", "colour", "x"]))):
        rows = zip(*(column.to_pylist() for column in part.columns), strict=True)
        lines = [part.column_names, *rows]
        (tmp_path / f"{i}.csv").write_text("".join(",".join(map(str, line)) + "\n" for line in lines))
    assert bk.NaiveBayes().fit(str(tmp_path / "*.csv"), "class").model_.digest == LOCAL


def test_names_that_differ_in_case_only_are_two_columns_or_an_error(tmp_path: Path) -> None:
    data = SMALL.append_column("X", pa.array(RNG.normal(9, 1, 50)))
    pq.write_table(data, tmp_path / "t.parquet")
    try:
        model = bk.NaiveBayes().fit(tmp_path / "t.parquet", "class")
    except bk.errors.SchemaError:
        return
    assert model.model_.digest == bk.NaiveBayes().fit(data, "class").model_.digest


def test_a_nan_in_parquet_is_missing(tmp_path: Path) -> None:
    hole = pa.array([1.0, float("nan"), 2.0, 5.0])
    null = pa.array([1.0, None, 2.0, 5.0])
    digests = set()
    for i, x in enumerate((hole, null)):
        pq.write_table(pa.table({"x": x, "class": list("aabb")}), tmp_path / f"{i}.parquet")
        digests.add(bk.NaiveBayes().fit(tmp_path / f"{i}.parquet", "class").model_.digest)
    assert len(digests) == 1


KINDS = [pa.int8(), pa.uint64(), pa.float32(), pa.decimal128(9, 2), pa.large_string()]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_every_type_counts_as_it_does_locally(tmp_path: Path, kind: pa.DataType) -> None:
    values = pa.array([1, 2, 3, 4]).cast(pa.int16()).cast(kind)
    data = pa.table({"v": values, "class": list("aabb")})
    pq.write_table(data, tmp_path / "t.parquet")
    found = bk.NaiveBayes().fit(tmp_path / "t.parquet", "class")
    assert found.model_.digest == bk.NaiveBayes().fit(data, "class").model_.digest


# -- CSV: types over the whole file ------------------------------------------------------------------


LATE = [("1", "0.5", 1.0, 0.5), ("1", "word", "1", "word"), ("true", "maybe") * 2, ("NA", "0.5", None, 0.5)]


@pytest.mark.filterwarnings("ignore:.*is read as text because of")
@pytest.mark.parametrize(("first", "last", "value", "end"), LATE)
def test_a_value_late_in_a_csv_counts_as_it_does_locally(
    tmp_path: Path, first: str, last: str, value: Any, end: Any
) -> None:
    """Types hold for the whole file: no fraction is rounded, no text refused, no number taken for text."""
    rows = 30_000
    labels = ["a", "b"] * (rows // 2)
    lines = [f"{v},{label}\n" for v, label in zip([first] * (rows - 1) + [last], labels, strict=True)]
    (tmp_path / "t.csv").write_text("".join(["v,class\n", *lines]))
    local = bk.NaiveBayes().fit({"v": [value] * (rows - 1) + [end]}, labels)
    assert bk.NaiveBayes().fit(tmp_path / "t.csv", "class").model_.digest == local.model_.digest


def test_na_does_not_turn_a_number_column_into_text(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("v,class\n1.5,a\nNA,a\n,b\n2.5,b\n")
    model = bk.NaiveBayes().fit(tmp_path / "t.csv", "class")
    local = bk.NaiveBayes().fit({"v": [1.5, None, None, 2.5]}, list("aabb"))
    assert model.schema_["v"].kind == "quantitative"
    assert model.predict_proba({"v": [2.0]}).tolist() == local.predict_proba({"v": [2.0]}).tolist()


def test_a_ragged_csv_is_refused_with_the_line(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("v,u,class\n" + "1.5,2.5,a\n2.5,3.5,b\n" * 20 + "7.5,a\n")
    with pytest.raises(bk.errors.InputError, match="42"):
        bk.NaiveBayes().fit(tmp_path / "t.csv", "class")


# -- the user's connection ---------------------------------------------------------------------------


@pytest.fixture
def connection() -> Any:
    with duckdb.connect() as mine:
        mine.execute("set threads = 2; set memory_limit = '1GB'; set preserve_insertion_order = true")
        mine.register("small", SMALL)
        mine.execute("create table kept as from small")
        yield mine


def settings(connection: Any) -> list[Any]:
    return connection.execute("select name, value from duckdb_settings() order by name").fetchall()


def test_the_users_settings_stay_as_they_are(connection: Any) -> None:
    before = settings(connection)
    model = bk.NaiveBayes(n_jobs=2).fit(connection.table("kept"), "class")
    model.predict(connection.table("kept"))
    assert settings(connection) == before
    connection.execute("set threads = 1")  # the configuration is not locked either


def test_the_users_tables_stay_as_they_are(connection: Any) -> None:
    before = connection.execute("show tables").fetchall()
    bk.NaiveBayes().fit(connection.table("kept"), "class")
    assert connection.execute("show tables").fetchall() == before


@pytest.mark.parametrize("query", ["from kept", "from kept where x > 0", "select * from kept order by x"])
def test_a_relation_is_usable_after_fit(connection: Any, query: str) -> None:
    relation = connection.sql(query)
    data = connection.sql(query).to_arrow_table()
    first = bk.NaiveBayes().fit(relation, "class")
    second = bk.NaiveBayes(n_jobs=3).fit(relation, "class")
    assert first.model_.digest == second.model_.digest == bk.NaiveBayes().fit(data, "class").model_.digest
    assert first.predict_proba(relation).tobytes() == first.predict_proba(data).tobytes()
    assert relation.fetchall() == connection.sql(query).fetchall()


def test_a_relation_half_read_goes_on_where_it_was(connection: Any) -> None:
    other = connection.cursor().execute("from kept")
    some = other.fetchmany(10)
    bk.NaiveBayes().fit(connection.table("kept"), "class")
    assert [*some, *other.fetchall()] == connection.execute("from kept").fetchall()


def test_many_rows_come_back_in_their_order(tmp_path: Path) -> None:
    """Several row groups and batches on several threads."""
    x = np.random.default_rng(1).normal(0, 1, 300_000)
    data = pa.table({"x": x, "class": np.where(x + np.sin(np.arange(len(x))) > 0, "a", "b")})
    pq.write_table(data, tmp_path / "t.parquet", row_group_size=20_000)
    model = bk.NaiveBayes(n_jobs=3).fit(tmp_path / "t.parquet", "class")
    assert model.model_.digest == bk.NaiveBayes().fit(data, "class").model_.digest
    assert model.predict_proba(tmp_path / "t.parquet").tobytes() == model.predict_proba(data).tobytes()
