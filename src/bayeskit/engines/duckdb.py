"""DuckDB: files that need not fit in memory, databases, SQL, and relations of the user's own connection."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa

from bayeskit.arrays import Batch, Connection, Relation
from bayeskit.engines.delimited import advice
from bayeskit.engines.engine import batch_rows
from bayeskit.engines.fields import Declared
from bayeskit.engines.files import SHARE, Files, find_malformed
from bayeskit.engines.reading import Reading, is_place
from bayeskit.engines.sql import ONE, Table, quote, subquery
from bayeskit.engines.workers import Streamed, workers
from bayeskit.errors import InputError
from bayeskit.replacement import check_readable

ROWS = 1 << 14  # at most in a batch: DuckDB keeps several of them ready, with texts in full


class DuckDB(Streamed):
    """A path, a pattern, a folder, a database, a query or a relation, with only the columns asked for."""

    def __init__(self, n_jobs: int | None = None, rows: int | None = None) -> None:
        super().__init__(n_jobs, rows)
        self._tables: dict[Reading, Table] = {}  # for CSV it takes a pass to find
        self._known: dict[str, str] = {}

    @staticmethod
    def takes(source: object) -> bool:
        return is_place(source, "files", "duckdb") or _is_relation(source)

    def schema(self, source: object, known: Mapping[str, str] | None = None) -> pa.Schema:
        self._known = dict(known or {})
        with self._relation(source, ordered=True) as relation:
            found = relation.limit(0).to_arrow_table().schema
            enums = _enums(relation)
        table = self._table(source)
        fields = [_field(f, enums.get(f.name), table.fields.get(f.name)) for f in found]
        return pa.schema([f.with_type(pa.null()) if f.name in table.empty else f for f in fields])

    def _table(self, source: object) -> Table:
        return Table("") if _is_relation(source) else self._tables[Reading.of(source)]

    @contextmanager
    def _batches(self, source: object, columns: Sequence[str], ordered: bool) -> Iterator[Iterator[pa.RecordBatch]]:
        with self._relation(source, ordered) as relation:
            wanted = relation.project(", ".join(map(quote, columns)))
            written = {n: f.type for n, f in self._table(source).fields.items() if n in columns and not Declared.of(f)}
            with _translate_errors(source):
                reader = wanted.to_arrow_reader(self.rows or min(batch_rows(len(columns)), ROWS))
                yield (_cast(batch, written) for batch in reader) if written else reader

    @contextmanager
    def _relation(self, source: object, ordered: bool) -> Iterator[Batch]:
        """The source as a relation; what is not one gets a connection of its own, closed and cleaned up after."""
        if _is_relation(source):
            yield source
            return
        import duckdb

        reading = Reading.of(source)
        stored = reading.sort == "duckdb"
        files = Files.of(reading) if reading.sort == "files" and not reading.query else None
        with TemporaryDirectory(prefix="bayeskit-") as spill, _translate_errors(source):
            limit = files.limit if files else int(reading.size * SHARE)
            config = {
                "memory_limit": f"{limit // 10**6}MB",
                "threads": workers(self.n_jobs),
                "temp_directory": spill,
                "preserve_insertion_order": ordered,
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
                "python_enable_replacements": False,  # the names of our variables are no tables
            }
            if stored:
                check_readable(reading.place)
            with duckdb.connect(reading.place if stored else ":memory:", read_only=stored, config=config) as connection:
                if stored:  # a view of a database could read any file
                    connection.execute("set enable_external_access = false")
                if connection.execute("select current_setting('enable_progress_bar')").fetchone() != (False,):
                    connection.execute("set enable_progress_bar = false")  # a notebook without ipywidgets refuses this
                connection.execute("set lock_configuration = true")
                if reading not in self._tables:
                    self._tables[reading] = (
                        files.table(connection, self._known) if files else _of_database(reading, connection)
                    )
                with _inside(reading, connection):
                    relation = _plain(connection.sql(f"select * from {self._tables[reading].sql}"), reading)
                yield relation


def _enums(relation: Relation) -> dict[str, Declared]:
    """The levels of enumerations; DuckDB has an order for all of them, so it says nothing."""
    kinds = zip(relation.columns, relation.types, strict=True)
    return {name: Declared(tuple(dict(kind.children)["values"])) for name, kind in kinds if kind.id == "enum"}


def _field(found: pa.Field, enum: Declared | None, written: pa.Field | None) -> pa.Field:
    """A field as DuckDB has it, with what is declared of it, or as it was when its file was written."""
    declared = enum if written is None else Declared.of(written)
    if declared is not None:
        return declared.on(found)
    return found if written is None else written


def _cast(batch: pa.RecordBatch, written: Mapping[str, pa.DataType]) -> pa.RecordBatch:
    """A batch in the types its file was written in."""
    return batch.cast(pa.schema([f.with_type(written.get(f.name, f.type)) for f in batch.schema]))


def _is_relation(source: object) -> bool:
    return type(source).__name__ == "DuckDBPyRelation"


def _of_database(reading: Reading, connection: Connection) -> Table:
    """What the query says, or the only table there is."""
    if reading.query is not None:
        return Table(_one_select(reading.query, reading, connection))
    return Table(quote(the_table(reading, [name for (name,) in connection.execute("show tables").fetchall()])))


def _one_select(query: str, reading: Reading, connection: Connection) -> str:
    """A query as a table, once DuckDB's own parser has found one SELECT in it."""
    import duckdb

    try:
        kinds = [statement.type for statement in connection.extract_statements(query)]
    except duckdb.ParserException as error:
        raise InputError(f"{reading.shown}: {ONE} ({str(error).splitlines()[0]})") from error
    if kinds != [duckdb.StatementType.SELECT]:
        raise InputError(f"{reading.shown}: {ONE}")
    return subquery(query)


@contextmanager
def _inside(reading: Reading, connection: Connection) -> Iterator[None]:
    """What needs files outside of its database is refused by the name of the view, with the way out."""
    import duckdb

    try:
        yield
    except duckdb.PermissionException as error:
        views = [
            name for (name,) in connection.execute("select view_name from duckdb_views() where not internal").fetchall()
        ]
        closed = [
            name for name in views if (reading.query is None or name in reading.query) and not _opens(name, connection)
        ]
        if closed:
            raise InputError(
                f"{reading.shown}: the view {closed[0]!r} reads what is not in the database, and a database is opened "
                f"without access to other files; keep its rows (create table ... as from {quote(closed[0])}), or "
                f"give the relation of a connection of your own"
            ) from error
        raise InputError(
            f"{reading.shown}: the query reads what is not in the database; leave the database out to read files"
        ) from error


def _opens(view: str, connection: Connection) -> bool:
    import duckdb

    try:
        connection.sql(f"from {quote(view)}")
    except duckdb.PermissionException:
        return False
    return True


def the_table(reading: Reading, tables: Sequence[str]) -> str:
    """The only one of these tables."""
    if len(tables) != 1:
        held = f"the tables {', '.join(sorted(tables))}" if tables else "no table"
        raise InputError(f"{reading.shown}: the database has {held}; say which rows by a query (--sql)")
    return tables[0]


def _plain(relation: Relation, reading: Reading) -> Any:
    """Without the columns to ignore; identifiers of 128 bits are texts."""
    kinds = dict(zip(relation.columns, map(str, relation.types), strict=True))
    if not reading.ignore and "UUID" not in kinds.values():
        return relation
    shown = (
        f"{quote(n)}::varchar as {quote(n)}" if kinds[n] == "UUID" else quote(n) for n in reading.kept(list(kinds))
    )
    return relation.project(", ".join(shown))


@contextmanager
def _translate_errors(source: object) -> Iterator[None]:
    """What DuckDB says of a file it cannot read, as an error that names the file."""
    import duckdb

    try:
        yield
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        if _is_relation(source):
            raise
        said = " ".join(line.strip() for line in str(error).splitlines()[:3])
        if "Malformed JSON" in said:
            said = find_malformed(Files.of(Reading.of(source)).all)
        if isinstance(error, duckdb.OutOfMemoryException):
            reading = Reading.of(source)
            more = f"allow more (--memory {-(-4 * reading.size // 10**9)}GB), or use Parquet"
            said = f"{reading.memory} of memory may be used, and it takes more; {more}"
        if "reached an invalid state" in said:
            said = "its lines end in different ways, or a quote stands in the wrong place; make all line ends the same"
        if "not utf-8 encoded" in said:
            said += f"; {advice(Files.of(Reading.of(source)).all[0])}"
        elif "CSV Error on Line" in said:
            said += "; mend the line, or leave such lines out (--bad-lines skip)"
        raise InputError(f"{Reading.of(source).shown}: {said}") from error
