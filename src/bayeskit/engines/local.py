"""Local: tables that are in memory already."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, TypeVar

import pyarrow as pa

from bayeskit.arrays import Batch
from bayeskit.engines.engine import Engine, R, batch_rows
from bayeskit.engines.workers import map_batches, reduce_batches, workers

Result = TypeVar("Result")
FEW = 2048
SMALL = 1 << 18  # cells that one thread reads before it pays to wake another


class Batches(ABC):
    """Rows in memory that are cut into batches as an Arrow table is."""

    @property
    @abstractmethod
    def num_rows(self) -> int: ...

    @property
    @abstractmethod
    def schema(self) -> Any: ...

    @abstractmethod
    def select(self, columns: Sequence[str]) -> Any: ...

    @abstractmethod
    def slice(self, offset: int = 0, length: int | None = None) -> Any: ...

    @abstractmethod
    def to_batches(self, max_chunksize: int) -> Iterator[Any]: ...


class Local(Engine):
    """An Arrow table, or anything cut into batches the same way."""

    outside = False

    @staticmethod
    def takes(source: object) -> bool:
        return isinstance(source, pa.Table | Batches)

    def schema(self, source: pa.Table, known: Mapping[str, str] | None = None) -> pa.Schema:
        return source.schema

    def _batches(self, rows: Any, count: int = 1) -> Iterator[Batch]:
        """The rows in batches, small enough that each of so many threads has several."""
        width = len(rows.schema)
        share = rows.num_rows if count == 1 else max(SMALL // max(width, 1), rows.num_rows // (4 * count))
        most = min(self.rows or batch_rows(width), max(share, 1))
        return (batch for batch in rows.to_batches(max_chunksize=most) if batch.num_rows)

    def _jobs(self, rows: Any) -> int:
        """Threads that are worth waking for these rows."""
        count = workers(self.n_jobs)
        return count if rows.num_rows * len(rows.schema) > 2 * SMALL else 1

    def reduce(self, source: pa.Table, columns: Sequence[str], empty: R) -> R:
        """Where workers share the rows, the first few come alone: they show most levels."""
        picked = source.select(columns)
        jobs = self._jobs(picked)
        parts = [picked] if jobs == 1 else [picked.slice(0, FEW), picked.slice(FEW)]
        return reduce_batches(chain.from_iterable(self._batches(part, jobs) for part in parts), empty, jobs)

    def map(self, source: pa.Table, columns: Sequence[str], step: Callable[[Batch, int], Result]) -> Iterator[Result]:
        picked = source.select(columns)
        jobs = self._jobs(picked)
        return map_batches(self._batches(picked, jobs), step, jobs)
