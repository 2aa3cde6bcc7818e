"""Kinds: what each column is, from its declared type or the user's word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from bayeskit.data.levels import key
from bayeskit.data.matrix import Fields
from bayeskit.data.schema import KINDS, MISSING_POLICIES, NUMERIC, UNDETERMINED, Alike, Column, Schema
from bayeskit.errors import InputError, KindError, SchemaError


def infer(
    fields: pa.Schema | Fields,
    kinds: Mapping[str, Any] | str | None = None,
    missing: Mapping[str, str] | str = "skip",
    named: bool = True,
    target: str | None = None,
    label: str = "O",
    classes: Sequence[Any] = (),
    orders: Mapping[str, Sequence[Any]] | None = None,
    weight: str | None = None,
) -> Schema:
    """Kinds by the declared type of each column, never by the values the rows happen to have.

    >>> print(infer(pa.schema({"age": pa.int64(), "town": pa.string()})))
    age   quantitative  -  (type int64)
    town  nominal       -  (type string)
    """
    if isinstance(fields, Fields) and not isinstance(kinds, Mapping) and not isinstance(missing, Mapping):
        like = _column(fields.field(fields.columns[0]), kinds, missing, None)
        return Schema(Alike(replace(like, name=""), fields.columns), named, target, label, tuple(classes), weight)
    names = [f.name for f in fields if f.name != target]
    if doubled := sorted({n for n in names if names.count(n) > 1} if len(set(names)) < len(names) else ()):
        raise SchemaError(f"column name {doubled[0]!r} occurs twice; rename one of them")
    kind_of = by_name(kinds, names, named, "kinds")
    missing_of = by_name(missing, names, named, "missing")
    columns = tuple(
        _column(f, kind_of.get(f.name), missing_of.get(f.name, "skip"), (orders or {}).get(f.name))
        for f in fields
        if f.name != target
    )
    return Schema(columns, named, target, label, tuple(classes), weight)


def by_name(given: Any, names: Sequence[str], named: bool, argument: str) -> dict[str, Any]:
    """An argument given for all columns or by column, as a mapping from existing names."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        if not isinstance(given, str):
            raise InputError(f"{argument}={given!r}: give one for all columns, or a mapping from column to it")
        return dict.fromkeys(names, given)
    out: dict[str, Any] = {}
    known = set(names)
    for wanted, value in given.items():
        name = f"x{wanted}" if isinstance(wanted, int | np.integer) and not named else str(wanted)
        if name not in known:
            shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
            raise SchemaError(
                f"{argument} names the column {wanted!r}, which the table does not have (it has: {shown})"
            )
        if name in out:
            raise SchemaError(f"{argument} names the column {name!r} twice; name it once")
        out[name] = value
    return out


def _column(f: pa.Field, declared: Any, missing: str, natural_order: Sequence[Any] | None) -> Column:
    if missing not in MISSING_POLICIES:
        raise InputError(f"missing={missing!r} for column {f.name!r}: choose 'skip' or 'level'")
    kind, order = _declared(f.name, declared)
    natural = _natural(f) if natural_order is None else "ordinal"
    if natural_order is not None and order is None and kind in (None, "ordinal"):
        order = tuple(natural_order)
    value = f.type.value_type if pt.is_dictionary(f.type) else f.type
    if kind is None:
        kind, why = natural, f"type {f.type}"
    else:
        why = f"declared {kind}"
        if kind in NUMERIC and (pt.is_string(value) or pt.is_large_string(value) or pt.is_string_view(value)):
            raise KindError(
                f"column {f.name!r} is declared {kind} but holds text ({f.type}); "
                f"convert it to numbers, or declare it 'nominal'"
            )
        if kind == "ordinal" and order is None and natural != "ordinal" and not _is_number(value):
            raise InputError(
                f"column {f.name!r} is declared ordinal but its text has no order; "
                f"give the levels in order: kinds={{{f.name!r}: ['low', 'middle', 'high']}}"
            )
        if natural == UNDETERMINED and order is None and kind in NUMERIC:
            kind, why = UNDETERMINED, f"declared {kind}, but without a value so far"
    return Column(f.name, kind, str(f.type), why, order, missing)


def _declared(name: str, declared: Any) -> tuple[str | None, tuple[Any, ...] | None]:
    if declared is None or (isinstance(declared, str) and declared in KINDS):
        return declared, None
    if hasattr(declared, "categories"):  # a pandas or polars category type
        declared = declared.categories
    if hasattr(declared, "tolist"):
        declared = declared.tolist()
    if isinstance(declared, str) or not isinstance(declared, Sequence):
        raise InputError(
            f"kinds[{name!r}] = {declared!r}: choose one of {', '.join(KINDS)}, or list the levels in order"
        )
    order = tuple(declared)
    if len({key(v) for v in order}) < len(order) or any(key(v) is None for v in order):
        raise InputError(f"kinds[{name!r}] lists a level twice, or a missing one: {order!r}")
    return "ordinal", order


def _natural(f: pa.Field) -> str:
    t = f.type
    if pt.is_dictionary(t):
        if not is_level(t.value_type):
            raise KindError(_refusal(f))
        return "nominal"
    if pt.is_boolean(t):
        return "binary"
    if _is_text(t):
        return "nominal"
    if _is_number(t):
        return "quantitative"
    if pt.is_null(t):
        return UNDETERMINED
    raise KindError(_refusal(f))


def is_level(t: pa.DataType) -> bool:
    """Whether values of this type can be levels."""
    return _is_text(t) or _is_number(t) or bool(pt.is_boolean(t))


def _is_text(t: pa.DataType) -> bool:
    return bool(pt.is_string(t) or pt.is_large_string(t) or pt.is_string_view(t))


def _is_number(t: pa.DataType) -> bool:
    return bool(pt.is_integer(t) or pt.is_floating(t) or pt.is_decimal(t))


def _refusal(f: pa.Field) -> str:
    if pt.is_temporal(f.type):
        advice = "turn it into a number (days since an event) or a level (month, weekday), or leave it out"
    elif pt.is_nested(f.type):
        advice = "expand it into columns of single values, or leave it out"
    else:
        advice = "convert it to text or to a number, or leave it out"
    return f"column {f.name!r} has type {f.type}, which is neither a number nor a category; {advice}"
