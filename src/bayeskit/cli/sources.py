"""Where the rows come from: what a user typed as something bayeskit reads."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayeskit.arrays import Batch, Int, TableLike
from bayeskit.cli.options import split_names
from bayeskit.cli.output import Saying, progress
from bayeskit.errors import InputError, UsageError, warn

if TYPE_CHECKING:
    from bayeskit.engines.reading import Reading

MAGIC = {
    b"PAR1": ".parquet",
    b"ARROW1": ".arrow",
    b"\xff\xff\xff\xff": ".arrows",
    b"\x1f\x8b": ".csv.gz",
    b"{": ".jsonl",
    b"PK\x03\x04": ".xlsx",
}
UNPACKED = 8  # times its bytes on disk a file may take in memory
JUDGED = 300  # bytes a row takes while it is judged in memory, about
PANEL = "Reading"


@dataclass(frozen=True)
class Rows:
    """Which rows to read, and how."""

    place: Annotated[
        str | None,
        typer.Argument(
            help="A file, pattern, folder or database: CSV, Excel (.xlsx, .ods), Parquet, JSON lines, Arrow, DuckDB, "
            "SQLite or postgresql://..., or - for standard input.",
            show_default=False,
        ),
    ] = None
    sql: Annotated[
        str | None, typer.Option(help="One SELECT over a database, or over files that it names.", rich_help_panel=PANEL)
    ] = None
    ignore: Annotated[list[str] | None, typer.Option(help="Columns to leave unread.", rich_help_panel=PANEL)] = None
    null: Annotated[
        list[str] | None,
        typer.Option(help="Fields of CSV files that mean missing, besides empty ones \\[NA].", rich_help_panel=PANEL),
    ] = None
    decimal: Annotated[str, typer.Option(help="Decimal mark of CSV files: . or ,", rich_help_panel=PANEL)] = "."
    encoding: Annotated[
        str, typer.Option(help="Of CSV files: utf-8, cp1252 (Excel on Windows), utf-16, ...", rich_help_panel=PANEL)
    ] = "utf-8"
    bad_lines: Annotated[
        str, typer.Option(help="Of CSV files: error, or skip (leave out and tell).", rich_help_panel=PANEL)
    ] = "error"
    memory: Annotated[str, typer.Option(help="About how much of it to use.", rich_help_panel=PANEL)] = "1GB"
    sheet: Annotated[
        str | None,
        typer.Option(help="Of a spreadsheet, by name or number; the first unless given.", rich_help_panel=PANEL),
    ] = None
    dates: Annotated[
        list[str] | None,
        typer.Option(help="Read dates as columns of their: year,month,weekday,age", rich_help_panel=PANEL),
    ] = None
    today: Annotated[
        str | None,
        typer.Option(help="The day at which ages are taken, as 2026-12-31; that of the clock.", rich_help_panel=PANEL),
    ] = None

    @property
    def words(self) -> list[str]:
        """What to type to read the same rows again, without a password."""
        from bayeskit.engines.reading import without_password

        plain = Rows()
        found = [] if self.place is None else [without_password(self.place)]
        for f in fields(self):
            value, option = getattr(self, f.name), f"--{f.name.replace('_', '-')}"
            if f.name != "place" and value != getattr(plain, f.name):
                found += [word for one in (value if isinstance(value, list) else [value]) for word in (option, one)]
        return found


@dataclass(frozen=True)
class Cluster:
    """Where to work."""

    engine: Annotated[str, typer.Option(help="auto, or spark for a cluster.", rich_help_panel=PANEL)] = "auto"
    master: Annotated[
        str | None, typer.Option(help="The Spark master, as spark://host:7077.", rich_help_panel=PANEL)
    ] = None


@contextmanager
def open_source(rows: Rows, say: Saying, doing: str, cluster: Cluster = Cluster()) -> Iterator[Batch]:
    """A source whose progress is shown: a reading of files or databases, or a Spark frame."""
    if rows.place is None and rows.sql is None:
        raise UsageError("nothing to read: name a file, or give --sql")
    if cluster.engine not in ("auto", "spark"):
        raise UsageError(f"--engine {cluster.engine!r}: choose auto or spark")
    if cluster.engine == "spark":
        if rows.dates or rows.sheet:
            raise UsageError("--dates and --sheet are for files that are read here; leave --engine spark out")
        with _on_spark(rows, cluster.master) as frame:
            yield frame
        return
    with TemporaryDirectory(prefix="bayeskit-") as folder:
        reading = _reading(rows, _spool(Path(folder)) if rows.place == "-" else rows.place or "")
        with progress(doing, say, reading) as watch:
            yield replace(reading, watch=watch)


def _reading(rows: Rows, place: str) -> Reading:
    from bayeskit.engines.dates import check_parts, day_of
    from bayeskit.engines.reading import Reading

    day_of(rows.today or "")  # a wrong one is refused before the work
    nulls = ("", *(rows.null or ("NA",)))
    how = (nulls, rows.decimal, rows.encoding, rows.bad_lines, split_names(rows.ignore), rows.memory)
    return Reading(
        place, rows.sql, *how, sheet=rows.sheet, dates=check_parts(split_names(rows.dates)), today=rows.today or ""
    )


def _spool(folder: Path) -> str:
    """Standard input as a file, named by what it holds: some formats cannot be read in passing."""
    with open(folder / "input", "wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    with open(folder / "input", "rb") as file:
        begin = file.read(8)
    if not begin:
        raise InputError("standard input is empty")
    ending = next((ending for magic, ending in MAGIC.items() if begin.lstrip().startswith(magic)), ".csv")
    return str((folder / "input").rename(folder / f"stdin{ending}"))


@contextmanager
def _on_spark(rows: Rows, master: str | None) -> Iterator[Batch]:
    from bayeskit.engines.spark import frame_of

    with frame_of(rows.place, rows.sql, master) as frame:
        yield frame.drop(*split_names(rows.ignore))


def with_dates(source: TableLike, names: Sequence[str], keep: Sequence[str] = ()) -> TableLike:
    """A source whose dates are read as a model has learned them, unless it was said how; those to keep stay beside."""
    from bayeskit.engines.dates import parts_in
    from bayeskit.engines.reading import Reading

    if not isinstance(source, Reading):
        return source
    return replace(source, dates=source.dates or parts_in(names), kept_dates=tuple(keep))


def in_memory(source: Any, known: Mapping[str, str] | None = None) -> Any:
    """All rows in memory as an Arrow table where they take little of it, else the source, to be read in passes."""
    from bayeskit.engines.files import bytes_of, rows_of
    from bayeskit.model.labelled_table import read_rows

    taken = max(bytes_of(source) * UNPACKED, (rows_of(source) or 0) * JUDGED)
    return source if taken > source.size else read_rows(source, known)[0]


@dataclass(frozen=True)
class Taken:
    """Rows to work with: in memory, or the source itself where it is read in passes."""

    table: Any
    source: Any
    read: int = 0  # rows of the source, where they are in memory
    seed: int = 0  # of the sample
    files: tuple[tuple[str, int, str], ...] = ()  # names, bytes and SHA-256, where they were asked for

    @property
    def streamed(self) -> bool:
        return self.table is self.source

    @property
    def sampled(self) -> bool:
        """Whether some rows were left out."""
        return not self.streamed and self.table.num_rows < self.read

    @property
    def numbers(self) -> Int | None:
        """Of the rows in their source, from 1, where some were left out: (n,)."""
        from bayeskit.model.labelled_table import draw_rows

        return draw_rows(self.read, self.table.num_rows, self.seed) + 1 if self.sampled else None


def read_sample(source: TableLike, most: int | None, seed: int = 0) -> Taken:
    """All rows in memory, or a random sample of them if they are more than so many, which a note says."""
    from bayeskit.model.labelled_table import read_rows

    table, rows = read_rows(source, most=most, seed=seed)
    if table.num_rows < rows:
        warn(f"{table.num_rows:,} of {rows:,} rows were drawn at random, and the others not used; --sample 0 takes all")
    return Taken(table, source, rows, seed)
