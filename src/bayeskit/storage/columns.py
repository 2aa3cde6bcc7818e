"""Columns: schema and domain as texts of a file, and back with every doubt raised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from bayeskit.data.levels import BOOL, MARK, NUMBER, TEXT, Domain, Key, Levels
from bayeskit.data.schema import CODED, KINDS, MISSING_POLICIES, UNDETERMINED, Alike, Column, Schema
from bayeskit.data.source import labels
from bayeskit.errors import ModelFileError
from bayeskit.model.codec import parse_fields
from bayeskit.storage import container
from bayeskit.structures.naive import Naive
from bayeskit.structures.wrapped import title

TYPES: dict[int, tuple[type, ...]] = {BOOL: (bool,), NUMBER: (int, float), TEXT: (str,), MARK: (str,)}


def without_titles(schema: Schema) -> Schema:
    """The schema without what its families are called, which follows from the components."""
    if isinstance(schema.columns, Alike):
        return replace(schema, columns=replace(schema.columns, like=replace(schema.columns.like, family="")))
    return replace(schema, columns=tuple(replace(column, family="") for column in schema.columns))


def with_titles(schema: Schema, structure: Naive) -> Schema:
    """The schema with them."""
    parts = [(title(family), set(family.kinds), names) for family, names in structure.components]
    if isinstance(schema.columns, Alike) and all(names == schema.names for _, _, names in parts):
        like = schema.columns.like
        family = next((text for text, kinds, _ in parts if like.kind in kinds), "")
        return replace(schema, columns=replace(schema.columns, like=replace(like, family=family)))
    called = {(name, kind): text for text, kinds, names in parts for name in names for kind in kinds}
    named = (replace(column, family=called.get((column.name, column.kind), "")) for column in schema.columns)
    return replace(schema, columns=tuple(named))


def check_label(label: str, classes: list[Key]) -> None:
    """Refuse a type of labels that the classes cannot have."""
    kind = label if label in ("O", "U") else np.dtype(label).kind
    families = {"O": (BOOL, NUMBER, TEXT), "U": (TEXT,), "b": (BOOL,), **dict.fromkeys("iuf", (NUMBER,))}
    if not all(family in families.get(kind, ()) for family, _ in classes):
        raise ModelFileError(f"its classes cannot be labels of type {label!r}")
    values = labels([value for _, value in classes], label).tolist()
    if len(set(values)) < len(values):
        raise ModelFileError(f"two of its classes are one as labels of type {label!r}")


def read_domain(schema: Schema, classes: list[str], levels: list[str], sizes: list[int]) -> Domain:
    """Classes and levels from their texts; the sizes say how many levels each column has."""
    if len(sizes) != len(schema.coded) or any(size < 0 for size in sizes) or sum(sizes) != len(levels):
        raise ModelFileError("its levels do not fit its columns")
    keys = [key_of(line) for line in levels]
    begin = np.cumsum([0, *sizes]).tolist()
    by_column = {n: Levels(tuple(keys[begin[j] : begin[j + 1]])) for j, n in enumerate(schema.coded)}
    domain = Domain(Levels(tuple(map(key_of, classes))), by_column)
    for values in (domain.classes, *domain.levels.values()):
        if len(values.index) < len(values):
            raise ModelFileError("a level occurs twice")
    return domain


def key_of(line: str) -> Key:
    """The level of a text that ``keys_of`` made."""
    family, value = container.loads(line, digits=4300)
    if type(family) is not int or family not in TYPES or type(value) not in TYPES[family]:
        raise ModelFileError(f"{line} is not a level")
    return (family, value)


def read_columns(lines: list[str], sizes: list[int], names: list[str]) -> Sequence[Column]:
    """The columns from what neighbours that differ only in name have in common."""
    if len(lines) != len(sizes) or sum(sizes) != len(names) or any(size < 1 for size in sizes):
        raise ModelFileError("its columns do not fit their names")
    begin = np.cumsum([0, *sizes]).tolist()
    likes = [_column(container.loads(line, digits=4300)) for line in lines]
    runs = [Alike(like, tuple(names[begin[i] : begin[i + 1]])) for i, like in enumerate(likes)]
    if any(like.name for like in likes) or any(a == b for a, b in pairwise(likes)):
        raise ModelFileError("its columns are not kept apart as they should be")
    return runs[0] if len(runs) == 1 else tuple(column for run in runs for column in run)


def _column(record: object) -> Column:
    column = parse_fields(Column, record)
    if column.kind not in (*KINDS, UNDETERMINED):
        raise ModelFileError(f"a column has the unknown kind {column.kind!r}")
    if column.missing not in MISSING_POLICIES or (column.declared and column.kind not in CODED):
        raise ModelFileError("a column is described in a way that cannot be")
    return column
