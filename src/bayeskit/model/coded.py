"""Coded rows: a table that is opened and coded once, and counted for several models at a time."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import astuple, dataclass, field, replace
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np
import pyarrow as pa

from bayeskit.arrays import Batch, Float, Int, KindsLike, Label, MissingLike
from bayeskit.data.block import Block
from bayeskit.data.encode import IngestReport, Roles, encode, recode_missing
from bayeskit.data.kinds import infer
from bayeskit.data.levels import Domain
from bayeskit.data.matrix import Fields
from bayeskit.data.schema import Schema
from bayeskit.model.model import Model
from bayeskit.model.open_table import OpenTable
from bayeskit.statistics.counted import Counted

ABOUT = ":about:"


class CountsRows(Protocol):
    """What is reduced over rows that are coded already."""

    def count(self, block: Block, domain: Domain, ingest: IngestReport) -> Self: ...
    def merge(self, other: Self) -> Self: ...
    def without_counts(self) -> Self: ...
    def to_bytes(self) -> bytes: ...
    def with_bytes(self, data: bytes) -> Self: ...


C = TypeVar("C", bound=CountsRows)


@dataclass(frozen=True)
class CountsOther:
    """A reduction of what becomes of coded rows; those of missing values that are a level, here."""

    counted: Counted

    def count(self, block: Block, domain: Domain, ingest: IngestReport) -> Self:
        moved = self.recode(block)
        levels = {name: moved.levels[name] for name in moved.schema.coded}
        known = Domain(domain.classes, levels).union(self.counted.domain)  # with those that are declared
        return replace(self, counted=self.counted.count(moved, known, ingest))

    def recode(self, block: Block) -> Block:
        """The rows as they are counted."""
        return recode_missing(block, self.counted.schema)

    def merge(self, other: Self) -> Self:
        return replace(self, counted=self.counted.merge(other.counted))

    def without_counts(self) -> Self:
        return replace(self, counted=self.counted.without_counts())

    def to_bytes(self) -> bytes:
        return self.counted.to_bytes()

    def with_bytes(self, data: bytes) -> Self:
        return replace(self, counted=self.counted.with_bytes(data))


@dataclass(frozen=True)
class Together(Generic[C]):
    """Several reductions in one pass: every batch is coded once, and counted by each."""

    schema: Schema
    roles: Roles
    parts: tuple[C, ...]
    domain: Domain = Domain()
    ingest: IngestReport = IngestReport()

    def update(self, batch: Batch) -> Together[C]:
        """Count a batch more in each."""
        block, domain, ingest = encode(batch, self.schema, self.domain, self.roles)
        parts = tuple(part.count(block, domain, ingest) for part in self.parts)
        return replace(self, parts=parts, domain=domain, ingest=self.ingest + ingest)

    def merge(self, other: Together[C]) -> Together[C]:
        """Each merged with its like."""
        parts = tuple(mine.merge(theirs) for mine, theirs in zip(self.parts, other.parts, strict=True))
        return replace(self, parts=parts, domain=self.domain.union(other.domain), ingest=self.ingest + other.ingest)

    def without_counts(self) -> Together[C]:
        """The same classes and levels, with nothing counted."""
        return replace(self, parts=tuple(part.without_counts() for part in self.parts), ingest=IngestReport())

    def to_bytes(self) -> bytes:
        """What was counted as data; classes and levels are in the parts."""
        out = io.BytesIO()
        parts: dict[str, Any] = {str(i): np.frombuffer(part.to_bytes(), np.uint8) for i, part in enumerate(self.parts)}
        parts[ABOUT] = np.frombuffer(json.dumps(astuple(self.ingest)).encode(), np.uint8)
        np.savez(out, **parts)
        return out.getvalue()

    def with_bytes(self, data: bytes) -> Together[C]:
        """What another process counted from this empty one."""
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            parts = tuple(part.with_bytes(file[str(i)].tobytes()) for i, part in enumerate(self.parts))
            ingest = IngestReport(*json.loads(file[ABOUT].tobytes()))
        return replace(self, parts=parts, ingest=ingest)

    @property
    def rows(self) -> int:
        """How many rows came in, labelled or not."""
        return self.ingest.rows


def count_together(table: OpenTable, schema: Schema, parts: Sequence[C], sparse: bool = False) -> Together[C]:
    """One pass over a table; ``sparse`` if none of the parts writes a sparse matrix out."""
    empty = Together(schema, table.source.roles, tuple(parts))
    return table.engine.reduce(table.rows(sparse), table.columns(schema), empty)


@dataclass(frozen=True)
class CodedTable:
    """Rows in memory, in the codes of one domain, with their classes and weights."""

    block: Block
    domain: Domain
    features: pa.Schema | Fields  # types of the columns
    about: Schema  # all of a schema but the columns
    place: str = ""  # as errors begin
    roles: Roles = field(default_factory=Roles)

    @classmethod
    def of(cls, opened: OpenTable, block: Block, domain: Domain) -> CodedTable:
        """Rows of a table that has been opened."""
        return cls(block, domain, opened.features, opened.about, opened.place, opened.roles)

    def __len__(self) -> int:
        return self.block.rows

    def schema(self, kinds: KindsLike, missing: MissingLike, classes: Sequence[Label]) -> Schema:
        """What its columns are."""
        return infer(self.features, kinds, missing, replace(self.about, classes=tuple(classes)))

    def count(self, empty: Counted, sparse: bool) -> Counted:
        """Its rows, counted."""
        return CountsOther(empty).count(self.block, self.domain, IngestReport(self.block.rows)).counted

    def take(self, rows: Int, mass: Float | None = None) -> CodedTable:
        """Some of its rows, perhaps of other weights, which may be less than the rows have."""
        block = self.block.at(rows)
        if mass is None:
            return replace(self, block=block)
        return replace(self, block=replace(block, weights=None if (mass == 1).all() else mass))


def in_codes_of(model: Model, block: Block) -> Block:
    """Coded rows in the codes of a model of the same columns."""
    return recode_missing(block, model.schema).recode(model.counted.domain.levels)
