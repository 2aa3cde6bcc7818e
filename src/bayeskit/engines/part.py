"""Part: some rows of a source, as a source of its own; models are fitted to some and judged by others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import pyarrow as pa

from bayeskit.arrays import Batch, Bool
from bayeskit.engines.engine import Engine, R, engine_for


@dataclass(frozen=True)
class Part:
    """The rows that ``holds`` says of a batch and the number of its first row, in a file, relation or cluster."""

    rows: object
    holds: Callable[[Batch, int], Bool]
    key: str | None = None  # a column it looks at, which is no feature


class Parts(Engine):
    """The engine of the whole source, of whose batches some rows are kept; those of which none is are passed over."""

    def __init__(self, n_jobs: int | None = None, rows: int | None = None) -> None:
        super().__init__(n_jobs, rows)
        self._whole: Engine | None = None  # which knows the columns once it was asked for them

    @staticmethod
    def takes(source: object) -> bool:
        return isinstance(source, Part)

    def schema(self, source: object, known: Mapping[str, str] | None = None) -> pa.Schema:
        part, engine = self._open(source)
        found = engine.schema(part.rows, known)
        return pa.schema([field for field in found if field.name != part.key], found.metadata)

    def reduce(self, source: object, columns: Sequence[str], empty: R) -> R:
        """Batches are counted one by one: only in their order are rows known by number."""
        counted = self.map(source, columns, lambda batch, _: empty.without_counts().update(batch))
        return reduce(lambda one, other: one.merge(other), counted, empty.without_counts())

    def map(self, source: object, columns: Sequence[str], step: Callable[[Batch, int], Any]) -> Iterator[Any]:
        part, engine = self._open(source)
        wanted = [*columns, *([] if part.key is None or part.key in columns else [part.key])]

        def with_part(batch: pa.RecordBatch, start: int) -> list[Any]:
            kept = batch.filter(pa.array(part.holds(batch, start))).select(list(columns))
            return [step(kept, start)] if kept.num_rows else []

        for found in engine.map(part.rows, wanted, with_part):
            yield from found

    def _open(self, source: object) -> tuple[Part, Engine]:
        assert isinstance(source, Part)
        self._whole = self._whole or engine_for(source.rows, self.n_jobs)
        return source, self._whole if self.rows is None else self._whole.at_most(self.rows)
