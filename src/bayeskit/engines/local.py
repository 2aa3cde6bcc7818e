"""Local: tables that are in memory already."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from itertools import chain
from typing import Any, Self, TypeVar

import pyarrow as pa

from bayeskit.arrays import Batch
from bayeskit.engines.engine import R, batch_rows
from bayeskit.engines.workers import map_batches, reduce_batches, workers

Result = TypeVar("Result")
FEW = 2048


class Local:
    """An Arrow table, or anything cut into batches the same way (``schema``, ``select``, ``to_batches``)."""

    outside = False

    def __init__(self, n_jobs: int | None = None, rows: int | None = None) -> None:
        self.n_jobs = n_jobs
        self.rows = rows

    def at_most(self, rows: int) -> Self:
        smaller = copy(self)
        smaller.rows = rows
        return smaller

    @staticmethod
    def takes(source: object) -> bool:
        kind = type(source)  # a Spark frame says of itself that it has any attribute
        return hasattr(kind, "to_batches") and hasattr(kind, "select") and hasattr(kind, "num_rows")

    def schema(self, source: pa.Table, known: Mapping[str, str] | None = None) -> pa.Schema:
        return source.schema

    def _batches(self, rows: Any) -> Iterator[Batch]:
        most = self.rows or batch_rows(len(rows.schema))
        return (batch for batch in rows.to_batches(max_chunksize=most) if batch.num_rows)

    def reduce(self, source: pa.Table, columns: Sequence[str], empty: R) -> R:
        """Where workers share the rows, the first few come alone: they show most levels."""
        picked = source.select(columns)
        parts = [picked] if workers(self.n_jobs) == 1 else [picked.slice(0, FEW), picked.slice(FEW)]
        return reduce_batches(chain.from_iterable(map(self._batches, parts)), empty, self.n_jobs)

    def map(self, source: pa.Table, columns: Sequence[str], step: Callable[[Batch, int], Result]) -> Iterator[Result]:
        return map_batches(self._batches(source.select(columns)), step, self.n_jobs)
