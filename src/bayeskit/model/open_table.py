"""OpenTable: the table a user gives, opened by its engine and held against what the model knows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, cast

import numpy as np
import pyarrow as pa

from bayeskit.arrays import KindsLike, Label, LabelsLike, MissingLike, TableLike, WeightsLike
from bayeskit.data.encode import LABEL, Roles
from bayeskit.data.frame import is_column_vector
from bayeskit.data.kinds import infer
from bayeskit.data.matrix import Fields, Matrix
from bayeskit.data.schema import Schema
from bayeskit.data.source import Source, label_of, source
from bayeskit.engines.engine import KEY, Engine, engine_for
from bayeskit.engines.reading import place_of
from bayeskit.errors import InputError, SchemaError, warn
from bayeskit.statistics.counted import Counted

ALL = "all"


@dataclass(frozen=True)
class OpenTable:
    """A source, the engine that reads it, and the fields it has."""

    source: Source
    engine: Engine
    fields: pa.Schema | Fields
    kept: Collection[str] = ()  # columns that need not be features

    @classmethod
    def of(
        cls,
        X: TableLike,
        y: LabelsLike | None,
        weight: WeightsLike,
        n_jobs: int | None,
        known: Mapping[str, str] | None = None,
        keep: str | Collection[str] = (),
    ) -> OpenTable:
        """The table opened by the engine that reads it; ``known`` and ``keep`` as in ``open``."""
        if is_column_vector(y):
            from sklearn.exceptions import DataConversionWarning  # half a second that questions need not wait

            warn(
                "A column-vector y was passed when a 1d array was expected. "
                "Please change the shape of y to (n_samples, ), for example using ravel().",
                DataConversionWarning,
            )
            y = np.asarray(y).ravel()
        if np.isscalar(weight) and not isinstance(weight, str):
            weight = np.full(len(cast(Any, X)), weight, dtype=np.float64)
        return cls.open(source(X, y, weight), n_jobs, known, keep)

    @classmethod
    def open(
        cls,
        given: Source,
        n_jobs: int | None,
        known: Mapping[str, str] | None = None,
        keep: str | Collection[str] = (),
    ) -> OpenTable:
        """A source opened: ``known`` is what its columns hold, and those to ``keep`` need not be features."""
        engine, label = engine_for(given.rows, n_jobs), given.roles.label
        if known is not None and label is not None and label != LABEL:
            known = {**known, label: known.get("", "")}
        keep = [keep] if isinstance(keep, str) and keep != ALL else keep
        if known is not None and keep and keep != ALL:
            known = {**dict.fromkeys(keep, KEY), **known}
        opened = cls(given, engine, engine.schema(given.rows, known), keep)
        there = opened.fields.beside if isinstance(opened.fields, Fields) else opened.fields.names
        if lacking := [n for n in given.roles.names if n not in there]:
            shown = ", ".join(opened.fields.names[:12])
            near = close_names(lacking[0], opened.fields.names)
            raise SchemaError(f"{opened.place}no column is named {lacking[0]!r}{near} (there are: {shown})")
        return opened

    @property
    def place(self) -> str:
        """Where the rows are, as an error begins; nothing where they are in memory."""
        return place_of(self.source.rows)

    @property
    def names(self) -> Sequence[str]:
        """The columns that are features."""
        if isinstance(self.fields, Fields):
            return self.fields.columns
        others = self.source.roles.names
        return [n for n in self.fields.names if n not in others]

    def columns(self, schema: Schema) -> list[str]:
        """The columns to read for learning; a matrix is read whole, and only what stands beside it is named."""
        named = [] if isinstance(self.source.rows, Matrix) else schema.names
        return [*named, *self.source.roles.names]

    def rows(self, sparse: bool) -> Any:
        """What the engine reads; ``sparse`` if a sparse matrix need not be written out."""
        rows = self.source.rows
        return replace(rows, written_out=not sparse) if isinstance(rows, Matrix) else rows

    def against(self, schema: Schema | None, model: str) -> OpenTable:
        """Checked against the columns of a fit; a table without names gets them by position."""
        if schema is None:
            return self
        if schema.named and self.source.named:
            filled = self._with_missing(schema)
            schema.check_names(filled.names, filled._keeps, self.place)
            return filled
        if len(self.names) != len(schema.names):
            raise SchemaError(
                f"X has {len(self.names)} features, but {model} is expecting {len(schema.names)} features as input"
            )
        if schema.named == self.source.named:
            return self
        if self.source.known_rows is None:
            raise SchemaError(f"{model} was fitted without column names, so a file or relation cannot be matched to it")
        have, had = ("does not have", "with") if schema.named else ("has", "without")
        warn(f"X {have} valid feature names, but {model} was fitted {had} feature names")
        renamed = self.source.rows.rename_columns([*schema.names, *self.source.roles.names])
        given = replace(self.source, rows=renamed, named=schema.named)
        return OpenTable(given, self.engine, self.engine.schema(renamed), self.kept)

    def _keeps(self, name: str) -> bool:
        return self.kept == ALL or name in self.kept

    def _with_missing(self, schema: Schema) -> OpenTable:
        """Records in which no row has some column: it is missing in all."""
        lacking = set(schema.names) - set(self.names) if self.source.records else ()
        if not lacking:
            return self
        rows = self.source.rows
        for name in sorted(lacking):
            rows = rows.append_column(name, pa.nulls(rows.num_rows))
        return OpenTable(replace(self.source, rows=rows), self.engine, self.engine.schema(rows), self.kept)

    def schema(self, kinds: KindsLike, missing: MissingLike, classes: Sequence[Label]) -> Schema:
        """What its columns are."""
        if not self.names:
            rows = "" if self.source.known_rows is None else self.source.known_rows
            raise InputError(
                f"Found array with 0 feature(s) (shape=({rows}, 0)) while a minimum of 1 is required. "
                f"The table has no column besides the target"
            )
        return infer(self.features, kinds, missing, replace(self.about, classes=tuple(classes)))

    @property
    def features(self) -> pa.Schema | Fields:
        """Types of the columns that are features."""
        return self.fields.features if isinstance(self.fields, Fields) else _fields(self.fields, self.names)

    @property
    def about(self) -> Schema:
        """All of its schema but columns and classes."""
        label, weight = self.source.roles.label, self.source.roles.weight
        target = None if label is None or label.startswith(":") else label
        return Schema(
            (),
            self.source.named,
            target,
            self.source.label if target is None else label_of(self.fields.field(target).type),
            weight=None if weight is None or weight.startswith(":") else weight,
        )

    def count(self, empty: Counted, sparse: bool) -> Counted:
        """Its rows, counted in one pass; ``sparse`` as in ``rows``."""
        return self.engine.reduce(self.rows(sparse), self.columns(empty.schema), empty)

    @property
    def roles(self) -> Roles:
        """Which of its columns are not features."""
        return self.source.roles


def _fields(schema: pa.Schema, names: Sequence[str]) -> pa.Schema:
    return pa.schema([schema.field(name) for name in names])


def close_names(name: str, known: Sequence[str]) -> str:
    """What a name was perhaps meant to be, as the end of a sentence.

    >>> close_names("Diagnosi", ["age", "diagnosis"])
    "; perhaps 'diagnosis'"
    """
    small = {str(one).lower(): one for one in known}
    found = get_close_matches(name.lower(), list(small), n=1, cutoff=0.75)
    return f"; perhaps {small[found[0]]!r}" if found else ""


def no_rows(schema: Schema, place: str) -> InputError:
    """The refusal of a table without rows."""
    shape = f"(0, {len(schema.names)})"
    return InputError(
        f"{place}Found array with 0 sample(s) (shape={shape}) while a minimum of 1 is required: it has columns "
        f"({', '.join(schema.names[:5])}) but no rows; give a table with rows"
    )


def check_rows(counted: Counted, place: str) -> None:
    """Refuse a table without a usable row; say what was left out or rounded."""
    ingest = counted.ingest
    if not ingest.rows:
        raise no_rows(counted.schema, place)
    if ingest.unlabelled == ingest.rows:
        raise InputError(f"{place}Input y contains NaN only: no row has a label; name the column that has the labels")
    if not counted.weight > 0:
        raise InputError("all sample weights are zero: nothing was learned")
    if not np.isfinite(counted.weight):
        raise InputError("sample weights add up to more than a double can hold; divide them by a large number")
    if ingest.unlabelled:
        warn(f"{ingest.unlabelled} of {ingest.rows} rows have no label and were skipped")
    if ingest.rounded:
        warn(f"{ingest.rounded} integers beyond 2**53 were rounded to the nearest double")
