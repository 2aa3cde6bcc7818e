"""Kinds: what each column is, from its declared type or the user's word."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from bayeskit.arrays import Json, KindsLike, Label, MissingLike
from bayeskit.data.frame import as_list, is_category, is_ordered
from bayeskit.data.levels import Key, key
from bayeskit.data.matrix import Fields
from bayeskit.data.schema import CODED, KINDS, MISSING_POLICIES, NUMERIC, UNDETERMINED, Alike, Column, Schema
from bayeskit.engines.fields import Declared, check_names_differ, is_level, is_number, is_text
from bayeskit.errors import InputError, KindError, SchemaError


@dataclass(frozen=True)
class Nominal:
    """All levels of a category: each counts in smoothing, seen or not, and no other is taken.

    P(level | class) = (n_level + alpha) / (n + alpha m), where m is the number of levels declared.

    Parameters
    ----------
    levels : iterable
        All levels.

    Examples
    --------
    >>> import bayeskit as bk
    >>> income = ["medium"] * 990 + ["high"] * 10
    >>> model = bk.NaiveBayes(kinds={"income": bk.Nominal(["low", "medium", "high"])})
    >>> model.fit({"income": [*income, "low"]}, ["paid"] * 1000 + ["failed"]).marginal("income").values
    ['high', 'low', 'medium']
    """

    identifier: ClassVar[str] = "kind/nominal"

    levels: tuple[Any, ...]

    def __init__(self, levels: Iterable[Label]) -> None:
        object.__setattr__(self, "levels", tuple(value for _, value in sorted(_distinct(levels, "Nominal"))))


@dataclass(frozen=True)
class Ordinal:
    """All levels of an ordered category, the lowest first; each counts, seen or not, and no other is taken.

    Parameters
    ----------
    levels : iterable
        All levels, the lowest first.

    Examples
    --------
    >>> Ordinal(["low", "medium", "high"]).levels
    ('low', 'medium', 'high')
    """

    identifier: ClassVar[str] = "kind/ordinal"

    levels: tuple[Any, ...]

    def __init__(self, levels: Iterable[Label]) -> None:
        object.__setattr__(self, "levels", tuple(value for _, value in _distinct(levels, "Ordinal")))


def _distinct(levels: Iterable[Label], where: str) -> tuple[Key, ...]:
    """The levels given, each once."""
    given = as_list(levels)
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InputError(f"{where}({levels!r}): give a list of levels")
    keys = tuple(map(key, given))
    found = tuple(k for k in keys if k is not None)
    if len(set(found)) < len(keys) or not keys:
        raise InputError(f"{where} lists a level twice, a missing one, or none: {list(keys and levels)!r}")
    return found


def infer(
    fields: pa.Schema | Fields, kinds: KindsLike = None, missing: MissingLike = "skip", about: Schema = Schema(())
) -> Schema:
    """Kinds by the declared type of each column, never by the values the rows happen to have.

    ``about`` says the rest of a schema: whether columns have names, the target, its labels and classes.

    >>> print(infer(pa.schema({"age": pa.int64(), "town": pa.string()})))
    age   quantitative  -  (type int64)
    town  nominal       -  (type string)
    """
    if isinstance(fields, Fields) and not isinstance(kinds, Mapping) and not isinstance(missing, Mapping):
        like = _column(fields.field(fields.columns[0]), kinds, missing)
        return replace(about, columns=Alike(replace(like, name=""), fields.columns))
    names = [f.name for f in fields]
    check_names_differ(names)
    kind_of = by_name(kinds, names, about.named, "kinds")
    missing_of = by_name(missing, names, about.named, "missing")
    columns = tuple(_column(f, kind_of.get(f.name), missing_of.get(f.name, "skip")) for f in fields)
    return replace(about, columns=columns)


def by_name(given: object, names: Sequence[str], named: bool, argument: str) -> Json:
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


def _column(f: pa.Field, given: object, missing: str) -> Column:
    if missing not in MISSING_POLICIES:
        raise InputError(f"missing={missing!r} for column {f.name!r}: choose 'skip' or 'level'")
    kind, order = _given(f.name, given)
    dictionary = Declared.of(f)
    natural, declared = _natural(f, dictionary), dictionary or Declared()
    if order is None and declared.ordered and kind in (None, "ordinal"):
        order = Ordinal(declared.levels).levels
    value = f.type.value_type if pt.is_dictionary(f.type) else f.type
    if kind is None:
        kind, why = natural, f"type {f.type}" + (f", declares {len(declared.levels)} levels" if declared.levels else "")
    else:
        why = f"declared {kind}"
        if kind in NUMERIC and is_text(value):
            raise KindError(
                f"column {f.name!r} is declared {kind} but holds text ({f.type}); "
                f"convert it to numbers, or declare it 'nominal'"
            )
        if kind == "ordinal" and order is None and natural != "ordinal" and not is_number(value):
            raise InputError(
                f"column {f.name!r} is declared ordinal but its text has no order; "
                f"give the levels in order: kinds={{{f.name!r}: ['low', 'middle', 'high']}}"
            )
        if natural == UNDETERMINED and order is None and kind in NUMERIC:
            kind, why = UNDETERMINED, f"declared {kind}, but without a value so far"
    known = declared.levels if order is None and kind in CODED else ()
    return Column(f.name, kind, str(f.type), why, order, missing, levels=Nominal(known).levels if known else ())


def _given(name: str, given: object) -> tuple[str | None, tuple[Label, ...] | None]:
    """The kind a user declares, and its levels where they are declared too."""
    if given is None or (isinstance(given, str) and given in KINDS):
        return given, None
    if is_category(given):
        kind: Any = given
        given = (Ordinal if is_ordered(kind) else Nominal)(kind.categories)
    if isinstance(given, str) or not isinstance(given, Nominal | Ordinal | Sequence | np.ndarray):
        raise InputError(
            f"kinds[{name!r}] = {given!r}: choose one of {', '.join(KINDS)}, bk.Nominal([...]), bk.Ordinal([...]), or "
            f"list the levels in order"
        )
    try:
        given = given if isinstance(given, Nominal | Ordinal) else Ordinal(given)
    except InputError as error:
        raise InputError(f"kinds[{name!r}]: {error}") from error
    return "nominal" if isinstance(given, Nominal) else "ordinal", given.levels


def _natural(f: pa.Field, declared: Declared | None) -> str:
    t = f.type
    if declared is not None and is_level(t.value_type if pt.is_dictionary(t) else t):
        return "ordinal" if declared.ordered else "nominal"
    if pt.is_dictionary(t):
        if not is_level(t.value_type):
            raise KindError(_refusal(f))
        return "nominal"
    if pt.is_boolean(t):
        return "binary"
    if is_text(t):
        return "nominal"
    if is_number(t):
        return "quantitative"
    if pt.is_null(t):
        return UNDETERMINED
    raise KindError(_refusal(f))


def _refusal(f: pa.Field) -> str:
    if pt.is_temporal(f.type):
        advice = (
            "read its year, month, weekday or age as columns (--dates year,month,weekday,age; bk.date_features), "
            "or leave it out (--ignore)"
        )
    elif pt.is_nested(f.type):
        advice = "expand it into columns of single values, or leave it out"
    else:
        advice = "convert it to text or to a number, or leave it out"
    return f"column {f.name!r} has type {f.type}, which is neither a number nor a category; {advice}"
