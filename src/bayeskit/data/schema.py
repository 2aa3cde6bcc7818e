"""Schema: what each column is, and why we think so."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

from bayeskit.data.levels import Key, key
from bayeskit.errors import SchemaError

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
    if mine.kind == theirs.kind:
        what = "missing" if mine.missing != theirs.missing else "order"
        one, other = getattr(mine, what), getattr(theirs, what)
        raise SchemaError(
            f"column {mine.name!r} has {what}={one!r} in one and {other!r} in the other; give both the same"
        )
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
