"""A database or a query as a source reads its own rows and nothing else, and changes nothing."""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bayeskit as bk
import server
from bayeskit.engines.reading import Reading
from bayeskit.errors import FileError, InputError

TABLE = pa.table({"v": [1.0, 2.5, 4.0, 4.5], "class": list("aabb")})
LOCAL = bk.NaiveBayes().fit(TABLE, "class").model_.digest
OUTSIDE = {  # each reads what is not in the database
    "read_csv": "select * from read_csv('{0}/secret.csv')",
    "read_text": "select size as v, 'a' as class, content from read_text('{0}/secret.csv')",
    "read_blob": "select size as v, 'a' as class from read_blob('{0}/secret.csv')",
    "glob": "select 1 as v, file as class from glob('{0}/*')",
    "file": "select * from '{0}/secret.csv'",
    "parquet": "select * from read_parquet('{0}/secret.parquet')",
    "macro": "select * from reading()",
    "view": "select * from inner_view",
}
SEVERAL = [  # each runs more than one SELECT, or something else
    "select 1 as v, 'a' as class; select 2",
    "select 1); copy (select 1) to '{0}/made.csv'; select * from (select 2",
    "select 1) as q; create table made (a int); select * from (select 2",
    "copy (select 1) to '{0}/made.csv'",
    "attach '{0}/made.duckdb'",
    "create table made (a int)",
    "pragma database_list",
    "set threads = 1",
    " ",
    ";",
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "secret.csv").write_text("v,class\n1,a\n2.5,a\n4,b\n")
    pq.write_table(TABLE, tmp_path / "secret.parquet")
    return tmp_path


@pytest.fixture
def unchanged(folder: Path) -> Iterator[None]:
    """Nothing in the folder is made or changed by the test."""
    before = contents(folder)
    yield
    assert contents(folder) == before


def contents(folder: Path) -> dict[str, str]:
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in folder.iterdir() if p.is_file()}


def digest(source: object) -> str:
    return bk.NaiveBayes().fit(source, "class").model_.digest


def holding(path: Path, *commands: str) -> str:
    with duckdb.connect(path) as connection:
        for command in commands:
            connection.execute(command)
    return str(path)


def kept(path: Path, more: str = "select 1") -> str:
    """A database with one table of rows."""
    return holding(
        path, "create table rows as from (values (1, 'a'), (2.5, 'a'), (4, 'b'), (4.5, 'b')) t(v, class)", more
    )


@pytest.mark.parametrize("way", OUTSIDE)
@pytest.mark.parametrize("asked", [None, "select * from odd", "from (from odd)"])
def test_a_view_over_other_files_is_refused_by_name(folder: Path, way: str, asked: str | None) -> None:
    view = OUTSIDE[way].format(folder)
    first = {
        "macro": f"create macro reading() as table select * from read_csv('{folder}/secret.csv')",
        "view": f"create view inner_view as select * from read_csv('{folder}/secret.csv')",
    }.get(way, "select 1")
    if way == "view" and asked is None:
        asked = "from odd"
    path = holding(folder / "odd.duckdb", first, f"create view odd as {view}")
    with duckdb.connect(path, read_only=True) as connection:
        assert connection.execute("from odd").fetchall(), "it does read them"
    before = contents(folder)
    with pytest.raises(InputError, match=r"odd\.duckdb: the view 'odd' reads .*create table"):
        digest(Reading(path, asked))
    assert contents(folder) == before


@pytest.mark.parametrize("way", [way for way in OUTSIDE if way not in ("macro", "view")])
def test_a_query_of_a_database_reads_no_other_file(folder: Path, way: str) -> None:
    path = kept(folder / "shop.duckdb")
    with pytest.raises(InputError, match=r"shop\.duckdb: the query reads .*leave the database out"):
        digest(Reading(path, OUTSIDE[way].format(folder)))


def test_names_of_variables_are_no_tables(folder: Path) -> None:
    """DuckDB would look for a table that it does not know among those of the Python code that calls it."""
    path = kept(folder / "shop.duckdb")
    for name in ("files", "reading", "source", "config"):
        with pytest.raises(InputError, match=rf"Table with name {name} does not exist"):
            digest(Reading(path, f"from {name}"))


@pytest.mark.parametrize("query", SEVERAL)
@pytest.mark.usefixtures("unchanged")
def test_a_query_is_one_select(folder: Path, query: str) -> None:
    with pytest.raises(InputError, match="one SELECT"):
        digest(Reading(query=query.format(folder)))


@pytest.mark.parametrize("sort", ["duckdb", "sqlite", "postgresql"])
@pytest.mark.parametrize("query", SEVERAL)
def test_a_query_of_a_database_is_one_select(folder: Path, sort: str, query: str) -> None:
    made = {"duckdb": lambda: kept(folder / "shop.duckdb"), "sqlite": lambda: lite(folder / "shop.sqlite")}
    place = made.get(sort, lambda: server.holding(TABLE))()
    before = contents(folder)
    with pytest.raises(InputError, match="one SELECT"):
        digest(Reading(place, query.format(folder)))
    assert contents(folder) == before


@pytest.mark.parametrize("sort", ["duckdb", "sqlite", "postgresql"])
@pytest.mark.parametrize(
    "query",
    ["select * from {0} -- all of them", "select v, class from {0};", "with t as (select * from {0}) select * from t"],
)
def test_one_select_is_taken_as_it_is_written(folder: Path, sort: str, query: str) -> None:
    made = {"duckdb": lambda: kept(folder / "shop.duckdb"), "sqlite": lambda: lite(folder / "shop.sqlite")}
    place = made.get(sort, lambda: server.holding(TABLE, "rows"))()
    assert digest(Reading(place, query.format('"rows"'))) == LOCAL


def test_postgresql_is_only_read() -> None:
    address = server.holding(TABLE, "rows")
    with dbapi().connect(address) as connection, connection.cursor() as cursor:
        cursor.execute("create sequence counter")
        connection.commit()
    for query in ("select nextval('counter') as v, 'a' as class", "select v, class from rows for update"):
        with pytest.raises(InputError, match="read-only"):
            digest(Reading(address, query))


def dbapi() -> Any:
    return pytest.importorskip("adbc_driver_postgresql.dbapi")


def lite(path: Path, *commands: str) -> str:
    """A SQLite file with one table of rows."""
    with closing(sqlite3.connect(path)) as connection, connection:
        for command in commands:
            connection.execute(command)
        connection.execute("create table rows (v, class)")
        connection.executemany("insert into rows values (?, ?)", zip(*TABLE.to_pydict().values(), strict=True))
    return str(path)


@pytest.mark.parametrize(
    "name",
    ["other?x=.sqlite", "fresh#.sqlite", "%41.sqlite", "a b&mode=rwc.sqlite", "é+;'\".sqlite", "?mode=rw#.sqlite"],
)
def test_a_name_of_a_sqlite_file_is_its_name(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In an address ``?``, ``#`` and ``%`` would name another file."""
    monkeypatch.chdir(tmp_path)
    for decoy in ("other", "fresh", "A.sqlite", "a b"):
        with closing(sqlite3.connect(decoy)) as connection, connection:
            connection.execute("create table t (v, class)")
            connection.execute("insert into t values (7, 'decoy')")
    lite(tmp_path / name)
    before = contents(tmp_path)
    assert digest(name) == digest(tmp_path / name) == LOCAL
    with pytest.raises(InputError, match="gone"):
        digest(f"gone{name}")
    assert contents(tmp_path) == before


MORE = {"v": [1.0, 2.5, 4.0, 4.5, 9.0], "class": list("aabbb")}


@pytest.mark.parametrize("mode", [0o755, 0o555])
@pytest.mark.parametrize("ends", [("",), ("", "-wal"), ("", "-wal", "-shm")])
def test_nothing_is_written_beside_a_sqlite_file(tmp_path: Path, ends: tuple[str, ...], mode: int) -> None:
    """With a log alone SQLite would make an index of it, and with both write into that."""
    live, folder = tmp_path / "live.sqlite", tmp_path / "still"
    folder.mkdir()
    lite(live, "pragma journal_mode = wal")
    with closing(sqlite3.connect(live)) as writer:
        writer.execute("insert into rows values (9, 'b')")
        writer.commit()
        for end in ends:
            shutil.copyfile(f"{live}{end}", folder / f"shop.sqlite{end}")
    folder.chmod(mode)
    before = contents(folder)
    assert digest(folder / "shop.sqlite") == (digest(MORE) if "-wal" in ends else LOCAL)  # what is in the log counts
    assert contents(folder) == before


@pytest.mark.parametrize("journal", ["wal", "delete"])
def test_an_empty_log_beside_a_sqlite_file(tmp_path: Path, journal: str) -> None:
    path = lite(tmp_path / "shop.sqlite", f"pragma journal_mode = {journal}")
    Path(f"{path}-wal").touch()
    before = contents(tmp_path)
    assert digest(path) == LOCAL
    assert contents(tmp_path) == before


def test_a_sqlite_file_that_is_written_to_is_read_and_left_alone(tmp_path: Path) -> None:
    path = lite(tmp_path / "shop.sqlite", "pragma journal_mode = wal")
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("insert into rows values (9, 'b')")
        writer.commit()
        writer.execute("insert into rows values (10, 'b')")  # not committed
        before = contents(tmp_path)
        assert digest(path) == digest(MORE)
        assert contents(tmp_path) == before


def test_a_log_that_is_no_file_is_refused(tmp_path: Path) -> None:
    path = lite(tmp_path / "shop.sqlite")
    os.mkfifo(f"{path}-wal")  # nobody would ever write into it
    with pytest.raises(FileError, match="not a regular file"):
        digest(path)
