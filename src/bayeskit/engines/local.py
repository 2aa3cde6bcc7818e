"""Local: tables that are in memory already."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, TypeVar

import pyarrow as pa

from bayeskit.engines.engine import R, batch_rows
from bayeskit.engines.workers import map_batches, reduce_batches

Result = TypeVar("Result")
FEW = 2048


class Local:
    """An Arrow table, or anything cut into batches the same way (``schema``, ``select``, ``to_batches``)."""

    outside = False

    def __init__(self, n_jobs: int | None = None, rows: int | None = None) -> None:
        self.n_jobs = n_jobs
        self.rows = rows

    @staticmethod
    def takes(source: Any) -> bool:
        kind = type(source)  # a Spark frame says of itself that it has any attribute
        return hasattr(kind, "to_batches") and hasattr(kind, "select") and hasattr(kind, "num_rows")

    def schema(self, source: Any, known: Mapping[str, str] | None = None) -> pa.Schema:
        return source.schema

    def _batches(self, rows: Any, width: int) -> Iterator[Any]:
        most = self.rows or batch_rows(width)
        return (batch for batch in rows.to_batches(max_chunksize=most) if batch.num_rows)

    def reduce(self, source: Any, columns: Sequence[str], empty: R) -> R:
        """The first few rows come alone: they show most levels, before workers share the others."""
        picked, width = source.select(columns), len(columns)
        few, others = (self._batches(some, width) for some in (picked.slice(0, FEW), picked.slice(FEW)))
        return reduce_batches(chain(few, others), empty, self.n_jobs)

    def map(self, source: Any, columns: Sequence[str], step: Callable[[Any, int], Result]) -> Iterator[Result]:
        return map_batches(self._batches(source.select(columns), len(columns)), step, self.n_jobs)
