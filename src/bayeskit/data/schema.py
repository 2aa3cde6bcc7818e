"""Schema: what each column is, and why we think so."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import Any, overload

from bayeskit.arrays import Bool, Frame, Json, Label
from bayeskit.data.frame import frame
from bayeskit.data.levels import Key, Levels, key
from bayeskit.docstrings import document_frame
from bayeskit.errors import SchemaError

CODED = ("binary", "nominal", "ordinal")
NUMERIC = ("quantitative", "count")
UNDETERMINED = "undetermined"
KINDS = CODED + NUMERIC
MISSING_POLICIES = ("skip", "level")
SHOWN = 20  # columns


@dataclass(frozen=True)
class Column:
    """One column: its kind, its family once chosen, and the reason of each.

    ``order`` lists all levels a column may have, those of an ordinal one in order; ``levels`` those that the type of a
    category declares, to which others may come.
    """

    name: str
    kind: str
    type: str
    why: str
    order: tuple[Any, ...] | None = None
    missing: str = "skip"
    family: str = ""
    why_family: str = ""
    levels: tuple[Any, ...] = ()  # sorted

    def __deepcopy__(self, memo: object) -> Column:
        return self  # a value

    @property
    def coded(self) -> bool:
        """Whether a block carries level codes for it (also: whether it is there at all)."""
        return self.kind in CODED or self.missing == "level"

    @property
    def numeric(self) -> bool:
        return self.kind in NUMERIC

    @property
    def declared(self) -> tuple[Key, ...]:
        """Levels that exist even before a row has them."""
        listed = self.levels if self.order is None else self.order
        return tuple(k for k in map(key, listed) if k is not None)

    @property
    def identity(self) -> Json:
        """What makes two columns count the same thing; how the file stored it does not matter.

        Levels without an order are in the domain, those declared among them.
        """
        return {
            "name": self.name,
            "kind": self.kind,
            "order": list(self.order or ()) if self.kind == "ordinal" else [],
            "missing": self.missing,
        }

    def known(self, levels: Levels, occupied: Bool) -> Levels:
        """The levels in their one order: those a row has or a declaration names."""
        return levels.canonical(occupied, self.declared, self.order is not None)

    def bare(self) -> Column:
        """Its kind, its order and what missing values mean, without a name."""
        return Column("", self.kind, "", "", self.without_declared().order, self.missing)

    def without_declared(self) -> Column:
        """Without the levels that only a declaration names, of a column whose levels have no order."""
        return self if self.kind == "ordinal" else replace(self, order=None, levels=())


@dataclass(frozen=True)
class Alike(Sequence[Column]):
    """Columns that differ only in name: those of a matrix, without an object for each.

    >>> Alike(Column("", "quantitative", "double", "type double"), ("x0", "x1"))[1].name
    'x1'
    """

    like: Column  # its name means nothing
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.names)

    @overload
    def __getitem__(self, place: int) -> Column: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Column, ...]: ...
    def __getitem__(self, place: int | slice) -> Column | tuple[Column, ...]:
        if isinstance(place, slice):
            return tuple(replace(self.like, name=name) for name in self.names[place])
        return replace(self.like, name=self.names[place])


def names_of(columns: Sequence[Column]) -> tuple[str, ...]:
    """The names of some columns."""
    return columns.names if isinstance(columns, Alike) else tuple(c.name for c in columns)


@dataclass(frozen=True, repr=False)
class Schema:
    """The feature columns by name, in order; the target's name if it has one, and the type of its labels.

    >>> import bayeskit as bk
    >>> schema = bk.NaiveBayes().fit({"a": [1.0, 2.0], "b": ["x", "y"]}, [0, 1]).schema_
    >>> list(schema), len(schema), "b" in schema, schema["a"].kind
    (['a', 'b'], 2, True, 'quantitative')
    """

    columns: Sequence[Column]
    named: bool = True
    target: str | None = None
    label: str = "O"
    classes: tuple[Any, ...] = ()
    weight: str | None = None

    def __deepcopy__(self, memo: object) -> Schema:
        return self  # a value; its names may be many

    @cached_property
    def names(self) -> tuple[str, ...]:
        return names_of(self.columns)

    @cached_property
    def numeric(self) -> tuple[str, ...]:
        if isinstance(self.columns, Alike):
            return self.names if self.columns.like.numeric else ()
        return tuple(c.name for c in self.columns if c.numeric)

    @cached_property
    def coded(self) -> tuple[str, ...]:
        if isinstance(self.columns, Alike):
            return self.names if self.columns.like.coded else ()
        return tuple(c.name for c in self.columns if c.coded)

    @property
    def runs(self) -> Iterator[Alike]:
        """The columns by stretches that differ only in name."""
        if isinstance(self.columns, Alike):
            yield self.columns
            return
        for like, stretch in groupby(self.columns, key=lambda c: replace(c, name="")):
            yield Alike(like, tuple(c.name for c in stretch))

    @property
    def identity(self) -> list[object]:
        """What makes two schemas count the same things: names, and what they have in common, stretch by stretch."""
        plain = (Alike(r.like.bare(), r.names) for r in self.runs)
        merged = groupby(plain, key=lambda r: r.like)
        return [[like.identity, [name for run in stretch for name in run.names]] for like, stretch in merged]

    @cached_property
    def coded_columns(self) -> tuple[Column, ...]:
        return tuple(self[name] for name in self.coded)

    @cached_property
    def numeric_index(self) -> Mapping[str, int]:
        return {name: j for j, name in enumerate(self.numeric)}

    @cached_property
    def coded_index(self) -> Mapping[str, int]:
        return {name: j for j, name in enumerate(self.coded)}

    def __getitem__(self, name: str) -> Column:
        return self.columns[self._position[name]]

    def __contains__(self, name: object) -> bool:
        return name in self._position

    def __iter__(self) -> Iterator[str]:
        """The names, as of a mapping of names to columns."""
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.columns)

    @cached_property
    def _position(self) -> Mapping[str, int]:
        return {name: j for j, name in enumerate(self.names)}

    def unify(self, other: Schema) -> Schema:
        """One schema for both; a column undetermined in one takes the kind it has in the other.

        Labels stay of the type they are. Raises SchemaError where the two count different things.
        """
        if self.names != other.names and set(self.names) != set(other.names):
            raise SchemaError(different_names(self.names, other.names))
        columns: Sequence[Column]
        if isinstance(self.columns, Alike) and isinstance(other.columns, Alike) and self.names:
            like = _unify(self.columns[0], other[self.names[0]])
            columns = replace(self.columns, like=replace(like, name=""))
        else:
            columns = tuple(_unify(c, other[c.name]) for c in self.columns)
        classes = tuple(dict.fromkeys((*self.classes, *other.classes)))
        target, weight = self.target or other.target, self.weight or other.weight
        return replace(self, columns=columns, classes=classes, target=target, weight=weight)

    def without_declared(self) -> Schema:
        """Without levels that only a declaration names, where no order depends on them."""
        if isinstance(self.columns, Alike):
            return replace(self, columns=replace(self.columns, like=self.columns.like.without_declared()))
        return replace(self, columns=tuple(c.without_declared() for c in self.columns))

    def check_names(self, names: Sequence[str], kept: Callable[[str], bool], place: str = "") -> None:
        """Refuse a table that lacks a column or has one never seen; the target may stand in it, and what is kept."""
        known = [n for n in names if n in self._position or not (n in (self.target, self.weight) or kept(n))]
        if set(known) != self._position.keys():
            raise SchemaError(different_names(self.names, known, place))

    def rows(self) -> list[Json]:
        if isinstance(self.columns, Alike):
            like = asdict(self.columns.like)
            return [{**like, "name": name} for name in self.names]
        return [asdict(c) for c in self.columns]

    @document_frame
    def frame(self, kind: str = "pyarrow") -> Frame:
        """A line for each column: its name, kind and family, and why both."""
        every = list(self.columns)
        named = {"column": "name", "kind": "kind", "family": "family", "why": "why", "why_family": "why_family"}
        return frame({shown: [getattr(c, name) for c in every] for shown, name in named.items()}, kind)

    def __str__(self) -> str:
        shown = self.columns[:SHOWN]
        width = max((len(c.name) for c in shown), default=0)
        lines = [
            f"{c.name:<{width}}  {c.kind:<12}  {c.family or '-'}  ({c.why}"
            + (f"; {c.why_family}" if c.why_family else "")
            + ")"
            for c in shown
        ]
        if (more := len(self.columns) - SHOWN) > 0:
            lines.append(f"... and {more:,} more columns; .frame() has all")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)


def _unify(mine: Column, theirs: Column) -> Column:
    if mine.kind == UNDETERMINED:
        return theirs
    if theirs.kind == UNDETERMINED or (mine.identity == theirs.identity and mine.declared == theirs.declared):
        return mine
    if mine.kind == theirs.kind and mine.missing == theirs.missing:
        if mine.kind != "ordinal":
            return _both(mine, theirs)
        if mine.order and theirs.order and (longer := _longer(mine.order, theirs.order)):
            return replace(mine, order=longer)
    if mine.kind == theirs.kind:
        order = "order", mine.order, theirs.order
        what, one, other = order if mine.missing == theirs.missing else ("missing", mine.missing, theirs.missing)
        raise SchemaError(
            f"column {mine.name!r} has {what}={one!r} in one and {other!r} in the other; give both the same"
        )
    raise SchemaError(
        f"column {mine.name!r} is {mine.kind} ({mine.why}) in one and {theirs.kind} ({theirs.why}) in the other; "
        f"give both the same kinds={{{mine.name!r}: ...}}"
    )


def _both(mine: Column, theirs: Column) -> Column:
    """A column with the levels that either declares; others may come unless both list all there are."""
    if not (mine.declared and theirs.declared):
        declaring = mine if mine.declared else theirs
        return replace(mine, order=declaring.order, levels=declaring.levels)
    levels = tuple(value for _, value in sorted({*mine.declared, *theirs.declared}))
    closed = mine.order is not None and theirs.order is not None
    return replace(mine, order=levels if closed else None, levels=() if closed else levels)


def _longer(one: tuple[Label, ...], other: tuple[Label, ...]) -> tuple[Label, ...] | None:
    """The order that holds the other, if one does."""
    longer, shorter = (one, other) if len(one) >= len(other) else (other, one)
    return longer if [level for level in longer if level in set(shorter)] == list(shorter) else None


def different_names(fitted: Iterable[str], given: Iterable[str], place: str = "") -> str:
    """What a person needs to repair a table whose columns are not those of the fit."""
    lines = [f"{place}The feature names should match those that were passed during fit."]
    for title, names in (
        ("Feature names unseen at fit time:", sorted(set(given) - set(fitted))),
        ("Feature names seen at fit time, yet now missing:", sorted(set(fitted) - set(given))),
    ):
        if names:
            shown = names[:5] + (["..."] if len(names) > 5 else [])
            lines += [title, *(f"- {name}" for name in shown)]
    if set(given) - set(fitted):
        lines.append("Leave out the columns that are unseen")
    if set(fitted) - set(given):
        lines.append("Add what is missing; a column whose values are not known may be empty (None)")
    return "\n".join(lines) + "\n"
