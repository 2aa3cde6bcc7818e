"""Renewal: weights derived from the rows a model keeps, so that they are those of one fit whatever came before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from bayeskit.arrays import Array, Float, KindsLike
from bayeskit.data.kinds import Nominal, Ordinal
from bayeskit.data.matrix import Fields
from bayeskit.data.schema import Column, Schema
from bayeskit.engines.fields import Declared
from bayeskit.ensemble.cross_fit import fit_weights
from bayeskit.model.learn import Spec, in_one_component
from bayeskit.model.model import Model
from bayeskit.model.open_table import OpenTable
from bayeskit.statistics.rows import Distinct
from bayeskit.structures.naive import Naive
from bayeskit.structures.wrapped import FromRows


def refit_weights(spec: Spec, model: Model) -> Model:
    """The model with weights fitted to the rows it keeps, read in their one order; cuts, arcs and sets are held."""
    family, names, rows = _kept(model)
    likelihood, _ = family.chosen(rows, model.context)
    levels = {c.name: "nominal" for c in model.schema.columns if c.coded and not c.numeric}
    kinds = {**levels, **spec.kinds} if isinstance(spec.kinds, Mapping) else spec.kinds or levels
    plain = replace(spec, kinds=kinds, keeps_rows=False)
    chosen = replace(model, structure=Naive(model.structure.columns, ((likelihood, names),)), weighting=None)
    return replace(model, weighting=fit_weights(plain, chosen, *_table(model, rows)).weighting)


def keeping_rows(kinds: KindsLike, unseen: str, n_jobs: int | None) -> Spec:
    """What only keeps the rows of a table, for models that are derived from them."""
    return Spec(
        "AutoBayes",
        lambda schema: in_one_component(FromRows(), schema, "rows are kept"),
        kinds,
        unseen=unseen,
        n_jobs=n_jobs,
    )


def rows_of(model: Model) -> tuple[Any, Any, Float, dict[str, Any]]:
    """The rows that a model keeps as a table to learn from: rows, labels, weights and kinds, in their one order.

    A model of a matrix gives one, a model that knows the name of its target has it as a column.
    """
    table, labels, weight = _table(model, _kept(model)[2])
    schema = model.schema
    kinds = {c.name: _kind(c) for c in schema.columns}
    if not schema.named:
        return np.column_stack([_column(table, name) for name in schema.names]), labels, weight, kinds
    table = pa.Table.from_arrays(table.columns, schema=_with_levels(table.schema, schema))
    if schema.target is None:
        return table, labels, weight, kinds
    return table.append_column(schema.target, pa.array(labels.tolist())), schema.target, weight, kinds


def declaring_levels(table: OpenTable, schema: Schema) -> OpenTable:
    """A table that was opened, with the levels that the types of earlier ones declared."""
    if isinstance(table.fields, Fields) or not any(c.levels for c in schema.columns):
        return table
    return replace(table, fields=_with_levels(table.fields, schema))


def _with_levels(fields: pa.Schema, schema: Schema) -> pa.Schema:
    declared = {c.name: c.levels for c in schema.columns if c.levels}
    found = []
    for f in fields:
        own = Declared.of(f) or Declared()
        levels = tuple(dict.fromkeys((*declared.get(f.name, ()), *own.levels)))
        found.append(replace(own, levels=levels).on(f) if f.name in declared else f)
    return pa.schema(found)


def _kept(model: Model) -> tuple[FromRows, tuple[str, ...], Distinct]:
    """What keeps the rows, its columns, and the rows."""
    ((family, names),) = model.structure.components
    assert isinstance(family, FromRows)
    rows: Any = model.features[family]
    return family, names, rows


def _column(table: pa.Table, name: str) -> Array:
    found: Array = table.column(name).to_numpy()
    return found


def _kind(column: Column) -> Any:
    if column.order is None:
        return column.kind
    return Ordinal(column.order) if column.kind == "ordinal" else Nominal(column.order)


def _table(model: Model, rows: Distinct) -> tuple[pa.Table, Array, Float]:
    """The rows as values, their labels and weights."""
    held = rows.rows
    columns: dict[str, Any] = {}
    for name in model.schema.names:
        if name in rows.schema.numeric_index:
            columns[name] = pa.array(held.numbers[:, rows.schema.numeric_index[name]], from_pandas=True)
        elif name in rows.schema.coded_index:
            values = [*model.counted.domain.levels[name].values, None]
            codes = held.codes[:, rows.schema.coded_index[name]]
            columns[name] = pa.array([values[code] for code in codes.tolist()])
        else:
            columns[name] = pa.nulls(len(held))
    return pa.table(columns), model.classes[held.group], np.asarray(held.weight.to_float())
