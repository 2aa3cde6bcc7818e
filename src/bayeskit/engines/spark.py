"""Spark: frames of a cluster, counted where they are; only what was counted comes back."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote

import pyarrow as pa

import bayeskit
from bayeskit import errors
from bayeskit.arrays import Batch, Frame
from bayeskit.engines.engine import Engine, R, slices
from bayeskit.engines.fields import check_names_differ
from bayeskit.engines.local import Local
from bayeskit.engines.sql import check_one, subquery
from bayeskit.errors import InputError, SchemaError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Result = TypeVar("Result")
STATE = pa.schema({"partition": pa.int32(), "rows": pa.int64(), "state": pa.binary()})
WIDEST = 2_000  # columns of a frame of answers: Spark compiles and plans each of them, again for every action
RAISED = re.compile(r"^bayeskit\.errors\.(\w+): (.*(?:\n(?!\s*(?:at |\n|$)).*)*)", re.MULTILINE)

MISMATCH = re.compile(
    r"reading file (.*?)\. Data type mismatches when reading Parquet column \[(.*?)\]\. "
    r"Expected Spark type (.*?), actual Parquet type (.*?)\. "
)
UNREAD = re.compile(r"\[FAILED_READ_FILE[.\w]*\] Encountered error while reading file (.*?)\. ")


class Spark(Engine):
    """A Spark frame, Classic or Connect: every partition is counted by its executor and sends one row, its state.

    Nothing but these rows is believed: a task that Spark runs twice sends the same state, and one of them counts. A job
    of its own counts the rows, so that a partition that did not come home is noticed. Executors need the driver's
    version of bayeskit.
    """

    _count: tuple[Any, int] | None = None  # of the frame that was counted last

    @staticmethod
    def takes(source: object) -> bool:
        kinds = type(source).__mro__
        return any(kind.__module__.startswith("pyspark.sql") and kind.__name__ == "DataFrame" for kind in kinds)

    def schema(self, source: DataFrame, known: Mapping[str, str] | None = None) -> pa.Schema:
        check_names_differ(source.columns, folded=True)
        return source.limit(0).toArrow().schema

    def reduce(self, source: DataFrame, columns: Sequence[str], empty: R) -> R:
        most, version = self.rows, bayeskit.__version__

        def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            from pyspark import TaskContext

            _check_version(version)
            state, rows = empty, 0
            for batch in slices(batches, most):
                state = state.update(batch)
                rows += batch.num_rows
            partition = TaskContext.get().partitionId()
            yield pa.RecordBatch.from_pydict(
                {"partition": [partition], "rows": [rows], "state": [state.to_bytes()]}, schema=STATE
            )

        with _translate_errors():
            states = _map(source, columns, count, STATE).toArrow().sort_by("partition")
        numbers = states["partition"].to_pylist()
        if numbers != list(range(len(numbers))):
            raise InputError(f"Spark returned the partitions {numbers[:20]}, some twice or not at all; fit again")
        whole = empty
        for state in states["state"]:
            whole = whole.merge(empty.with_bytes(state.as_py()))
        if whole.rows != (sent := sum(states["rows"].to_pylist())):
            raise InputError(f"Spark's tasks read {sent} rows, but {whole.rows} were counted; fit again")
        if sent != (there := self._rows_of(source)):
            raise InputError(
                f"the frame has {there} rows, but Spark's tasks read {sent}: a partition is missing, or the rows are "
                f"not the same each time they are read; cache the frame, and fit again"
            )
        return whole

    def _rows_of(self, source: DataFrame) -> int:
        """How many rows a frame has, found once for all passes."""
        if self._count is None or self._count[0] is not source:
            with _translate_errors():
                self._count = source, int(source.count())
        return self._count[1]

    def map(self, source: DataFrame, columns: Sequence[str], step: Callable[[Batch, int], Result]) -> Iterator[Result]:
        """The rows come to the driver, in the order in which Spark collects them."""
        with _translate_errors():
            table = _only(source, columns).toArrow()
        return Local(self.n_jobs, self.rows).map(table, columns, step)

    def frame(
        self, source: DataFrame, columns: Sequence[str], step: Callable[[Any], pa.RecordBatch], like: pa.Schema
    ) -> Frame:
        """The step applied to every batch where it is: a lazy frame with the columns of ``like``."""
        if len(like) > WIDEST:
            raise InputError(
                f"the answers would be a Spark frame of {len(like):,} columns, most of them probabilities of a class; "
                f"above {WIDEST:,} its plan takes minutes for each action: ask predict(X) for the class alone, or "
                f"bring the rows here (toArrow)"
            )
        most, version = self.rows, bayeskit.__version__

        def each(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            _check_version(version)
            for batch in slices(batches, most):
                yield step(batch)

        return _map(source, columns, each, like)


@contextmanager
def frame_of(place: str | None, query: str | None, master: str | None) -> Iterator[Batch]:
    """A frame of Parquet files or of a query, in a session of its own."""
    try:
        from pyspark.errors import AnalysisException
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise InputError("Spark needs pyspark; pip install 'bayeskit[spark]'") from error
    if query is None and Path(str(place)).suffix.lower() not in (".parquet", ".pq", ""):
        raise InputError(f"{place}: Spark is given Parquet files, or a query")
    if master is None or master.startswith(
        "local"
    ):  # workers on this machine: by this Python, not the first on the path
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if query is not None:
        check_one(query, "the query")
    builder = SparkSession.builder.appName("bayeskit").config("spark.ui.showConsoleProgress", "false")
    builder = builder.config("spark.log.level", "ERROR")
    session = (builder.master(master) if master else builder).getOrCreate()
    try:
        with _translate_errors():
            try:
                asked = f"select * from {subquery(query or '')}"  # in brackets, so that it can only be a table
                frame = session.read.parquet(str(place)) if query is None else session.sql(asked)
            except AnalysisException as error:
                raise InputError(f"{place or 'the query'}: {str(error).splitlines()[0]}") from error
            yield frame
    finally:
        session.stop()


def save_frame(frame: Any, path: str, rows: int) -> int:
    """A frame written by its executors, as a folder of Parquet files (CSV where its name says so) with so many rows.

    The folder gets its name when it is complete; a place with a scheme (hdfs://, s3a://) is left to Spark's own way.
    """
    elsewhere = "://" in path
    folder = Path(os.path.realpath(path))
    temporary = folder.parent / f"{folder.name}-{secrets.token_hex(8)}.tmp"  # Spark does not read what is hidden
    to = path if elsewhere else temporary.as_uri()
    is_csv = path.lower().endswith(".csv")
    how = {"header": True, "multiLine": True} if is_csv else {}
    try:
        with _translate_errors():
            writer = frame.write.options(**how)
            writer.csv(to) if is_csv else writer.parquet(to)
            reader = frame.sparkSession.read.options(**how)
            found = int((reader.csv(to) if is_csv else reader.parquet(to)).count())
        if found != rows:
            raise InputError(
                f"{path}: {rows} rows were to be answered, but {found} were written; the rows have changed, or the "
                f"executors do not share this folder with the driver"
            )
        if not elsewhere:
            os.rename(temporary, folder)
    finally:
        if not elsewhere:
            shutil.rmtree(temporary, ignore_errors=True)
    return found


def _only(source: DataFrame, columns: Sequence[str]) -> Any:
    return source.select(*("`" + name.replace("`", "``") + "`" for name in columns))


def _map(source: DataFrame, columns: Sequence[str], step: Callable[..., Any], like: pa.Schema) -> Any:
    """Each batch through a step; Spark looks columns up by name again, and names with a dot or a star mean others."""
    from pyspark.sql.pandas.types import from_arrow_schema

    names = list(columns)

    def rename(batches: Iterator[pa.RecordBatch]) -> Any:
        return step(batch.rename_columns(names) for batch in batches)

    numbered = _only(source, columns).toDF(*(f"c{j}" for j in range(len(names))))
    return numbered.mapInArrow(rename, from_arrow_schema(like))


def _check_version(driver: str) -> None:
    if bayeskit.__version__ != driver:
        raise InputError(
            f"an executor has bayeskit {bayeskit.__version__}, the driver {driver}; install the same on both"
        )


@contextmanager
def _translate_errors() -> Iterator[None]:
    """An error of bayeskit on an executor, as that error on the driver; a file that cannot be read, by its name."""
    try:
        yield
    except Exception as error:
        if not type(error).__module__.startswith(("pyspark.", "py4j.")):  # what comes of collecting is a py4j error
            raise
        message = str(error)
        if raised := RAISED.search(message):
            raise vars(errors).get(raised[1], InputError)(raised[2].strip()) from error
        if "No module named 'bayeskit'" in message:
            raise InputError("the executors cannot import bayeskit; install it there, the driver's version") from error
        if unlike := MISMATCH.search(message):
            path, column, expected, found = unlike.groups()
            raise SchemaError(
                f"{unquote(path)}: column {column!r} has type {found}, and Spark reads it as {expected} from the other "
                f"files; write all files with the same types, or read them one by one and cast"
            ) from error
        if unread := UNREAD.search(message):
            why = re.search(r"^Caused by: [\w.$]+: (.*)", message[unread.end() :], re.MULTILINE)
            raise InputError(f"{unquote(unread[1])}: Spark cannot read it ({why[1] if why else 'damaged'})") from error
        raise
