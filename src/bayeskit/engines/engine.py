"""The protocol of an engine, and the choice of one for a source."""

from __future__ import annotations

import importlib
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import cache
from inspect import isabstract
from typing import ClassVar, Protocol, Self, TypeVar

import pyarrow as pa

from bayeskit.arrays import Batch
from bayeskit.errors import InputError

CELLS = 1 << 20
MOST = 1 << 24  # numbers of a batch, or of the answers about it: 128 MB
KEY = "key"
Result = TypeVar("Result")


class Reducible(Protocol):
    """What an engine reduces; it knows no more than this."""

    def update(self, batch: Batch) -> Self: ...
    def merge(self, other: Self) -> Self: ...
    def without_counts(self) -> Self: ...
    def to_bytes(self) -> bytes: ...
    def with_bytes(self, data: bytes) -> Self: ...

    @property
    def rows(self) -> int: ...


R = TypeVar("R", bound=Reducible)


class Engine(ABC):
    """Feeds batches; knows Arrow, not Bayes. Each names its sources by ``takes``; ``rows`` is the most in a batch."""

    outside: ClassVar[bool] = True  # whether the rows it reads are not in memory

    def __init__(self, n_jobs: int | None = None, rows: int | None = None) -> None:
        self.n_jobs = n_jobs
        self.rows = rows

    def at_most(self, rows: int) -> Self:
        """The same engine with batches of so many rows."""
        smaller = copy(self)
        smaller.rows = rows
        return smaller

    @staticmethod
    @abstractmethod
    def takes(source: object) -> bool:
        """Whether this engine reads such a source."""

    @abstractmethod
    def schema(self, source: object, known: Mapping[str, str] | None = None) -> pa.Schema:
        """Names and types of the source's columns.

        ``known`` says of columns whether they hold "text", "number", "truth" or a "key" to be carried through as it
        is, for sources that do not say it.
        """

    @abstractmethod
    def reduce(self, source: object, columns: Sequence[str], empty: R) -> R:
        """All batches counted from ``empty``; the order is free."""

    @abstractmethod
    def map(self, source: object, columns: Sequence[str], step: Callable[[Batch, int], Result]) -> Iterator[Result]:
        """The step applied to every batch and the number of its first row, in the order of the rows."""


def batch_rows(width: int) -> int:
    """Rows per batch, so that a batch stays in the cache and costs little Python per row; at most MOST cells."""
    width = max(width, 1)
    return max(min(1024, MOST // width), min(1 << 16, CELLS // width), 1)


def answering(engine: Engine, columns: int, answers: int) -> Engine:
    """The engine, with batches of so many columns that answers of so many numbers per row take no more than MOST."""
    rows = max(1, MOST // max(answers, 1))
    return engine if rows >= (engine.rows or batch_rows(columns)) else engine.at_most(rows)


def slices(batches: Iterable[pa.RecordBatch], most: int | None) -> Iterator[pa.RecordBatch]:
    """The batches that have rows, in pieces of at most so many."""
    for batch in batches:
        for start in range(0, batch.num_rows, most or batch.num_rows or 1):
            yield batch.slice(start, most)


@cache
def engines() -> tuple[type[Engine], ...]:
    """Every engine of this package."""
    package = importlib.import_module("bayeskit.engines")
    found = []
    for info in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"bayeskit.engines.{info.name}")
        mine = (v for v in vars(module).values() if isinstance(v, type) and v.__module__ == module.__name__)
        found += [v for v in mine if issubclass(v, Engine) and not isabstract(v)]
    return tuple(found)


def is_outside(source: object) -> bool:
    """Whether the rows are in files, relations or a cluster, and not in memory."""
    return any(kind.outside and kind.takes(source) for kind in engines())


def engine_for(source: object, n_jobs: int | None = None) -> Engine:
    """The engine that reads this source."""
    for kind in engines():
        if kind.takes(source):
            return _with_dates(kind(n_jobs), source)
    raise InputError(
        f"no engine reads {type(source).__name__}; give a table, a file path, a DuckDB relation or a Spark frame"
    )


def _with_dates(engine: Engine, source: object) -> Engine:
    """The engine, with dates as features where the source is to be read so."""
    from bayeskit.engines.dates import Dated
    from bayeskit.engines.reading import Reading
    from bayeskit.engines.workers import Streamed

    if isinstance(engine, Streamed) and isinstance(source, Reading) and source.dates:
        return Dated(engine)
    return engine
