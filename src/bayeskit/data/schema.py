"""Schema: what each column is, and why we think so."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.types as pt

from bayeskit.data.levels import Key, key
from bayeskit.errors import InputError, KindError, SchemaError

CODED = ("binary", "nominal", "ordinal")
NUMERIC = ("quantitative", "count")
UNDETERMINED = "undetermined"
KINDS = CODED + NUMERIC
MISSING_POLICIES = ("skip", "level")


@dataclass(frozen=True)
class Column:
    """One column: its kind, its family once chosen, and the reason of each."""

    name: str
    kind: str
    type: str
    why: str
    order: tuple[Any, ...] | None = None
    missing: str = "skip"
    family: str = ""
    why_family: str = ""

    @property
    def coded(self) -> bool:
        """Whether a block carries level codes for it (also: whether it is there at all)."""
        return self.kind in CODED or (self.kind in NUMERIC and self.missing == "level")

    @property
    def numeric(self) -> bool:
        return self.kind in NUMERIC

    @property
    def declared(self) -> tuple[Key, ...]:
        """Levels that exist even before a row has them."""
        return tuple(k for k in map(key, self.order or ()) if k is not None)

    @property
    def identity(self) -> dict[str, Any]:
        """What makes two columns count the same thing; how the file stored it does not matter."""
        return {
            "name": self.name,
            "kind": self.kind,
            "order": list(self.order or ()),
            "missing": self.missing,
        }


@dataclass(frozen=True)
class Schema:
    """The feature columns in order, the target's name if it has one, and the type of its labels."""

    columns: tuple[Column, ...]
    named: bool = True
    target: str | None = None
    label: str = "O"
    classes: tuple[Any, ...] = ()

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(c.name for c in self.columns)

    @cached_property
    def numeric(self) -> tuple[str, ...]:
        return tuple(c.name for c in self.columns if c.numeric)

    @cached_property
    def coded(self) -> tuple[str, ...]:
        return tuple(c.name for c in self.columns if c.coded)

    @cached_property
    def numeric_index(self) -> Mapping[str, int]:
        return {name: j for j, name in enumerate(self.numeric)}

    @cached_property
    def coded_index(self) -> Mapping[str, int]:
        return {name: j for j, name in enumerate(self.coded)}

    def __getitem__(self, name: str) -> Column:
        return self.columns[self._position[name]]

    @cached_property
    def _position(self) -> Mapping[str, int]:
        return {name: j for j, name in enumerate(self.names)}

    def unify(self, other: Schema) -> Schema:
        """One schema for both; a column undetermined in one takes the kind it has in the other.

        Raises SchemaError where they count different things.
        """
        if set(self.names) != set(other.names):
            raise SchemaError(different_names(self.names, other.names))
        columns = tuple(_unify(c, other[c.name]) for c in self.columns)
        label = self.label if self.label == other.label else "O"
        classes = tuple(dict.fromkeys((*self.classes, *other.classes)))
        return replace(self, columns=columns, label=label, classes=classes)

    def check_names(self, names: Sequence[str]) -> None:
        """Refuse a table that lacks a column or has one never seen; the target may stand in it."""
        extra = [n for n in names if n not in self._position and n != self.target]
        if extra or not set(self.names) <= set(names):
            raise SchemaError(different_names(self.names, [n for n in names if n != self.target]))

    def rows(self) -> list[dict[str, Any]]:
        return [asdict(c) for c in self.columns]

    def __str__(self) -> str:
        width = max((len(c.name) for c in self.columns), default=0)
        lines = [
            f"{c.name:<{width}}  {c.kind:<12}  {c.family or '-'}  ({c.why}"
            + (f"; {c.why_family}" if c.why_family else "")
            + ")"
            for c in self.columns
        ]
        return "\n".join(lines)


def _unify(mine: Column, theirs: Column) -> Column:
    if mine.kind == UNDETERMINED:
        return theirs
    if theirs.kind == UNDETERMINED or mine.identity == theirs.identity:
        return mine
    raise SchemaError(
        f"column {mine.name!r} is {mine.kind} ({mine.why}) in one and {theirs.kind} ({theirs.why}) in the other; "
        f"give both the same kinds={{{mine.name!r}: ...}}"
    )


def different_names(fitted: Iterable[str], given: Iterable[str]) -> str:
    """What a person needs to repair a table whose columns are not those of the fit."""
    lines = ["The feature names should match those that were passed during fit."]
    for title, names in (
        ("Feature names unseen at fit time:", sorted(set(given) - set(fitted))),
        ("Feature names seen at fit time, yet now missing:", sorted(set(fitted) - set(given))),
    ):
        if names:
            shown = names[:5] + (["..."] if len(names) > 5 else [])
            lines += [title, *(f"- {name}" for name in shown)]
    return "\n".join(lines) + "\n"


def infer(
    fields: pa.Schema,
    kinds: Mapping[str, Any] | str | None = None,
    missing: Mapping[str, str] | str = "skip",
    named: bool = True,
    target: str | None = None,
    label: str = "O",
    classes: Sequence[Any] = (),
    orders: Mapping[str, Sequence[Any]] | None = None,
) -> Schema:
    """Kinds by the declared type of each column, never by the values the rows happen to have.

    >>> print(infer(pa.schema({"age": pa.int64(), "town": pa.string()})))
    age   quantitative  -  (type int64)
    town  nominal       -  (type string)
    """
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
    return Schema(columns, named, target, label, tuple(classes))


def by_name(given: Any, names: Sequence[str], named: bool, argument: str) -> dict[str, Any]:
    """An argument given for all columns or by column, as a mapping from existing names."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        return dict.fromkeys(names, given)
    out: dict[str, Any] = {}
    known = set(names)
    for wanted, value in given.items():
        name = f"x{wanted}" if isinstance(wanted, int) and not named else str(wanted)
        if name not in known:
            shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
            raise SchemaError(
                f"{argument} names the column {wanted!r}, which the table does not have (it has: {shown})"
            )
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
        if not (_is_text(t.value_type) or _is_number(t.value_type) or pt.is_boolean(t.value_type)):
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
