"""RowReader: rows of plain values, one or few, read without the machinery of tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bayeskit.data.block import Block, Columns
from bayeskit.data.levels import BOOL, NUMBER, TEXT, Key, Levels, key
from bayeskit.data.schema import UNDETERMINED, Schema

NUMBERS = {float, int, type(None)}
FAMILIES = {str: TEXT, bool: BOOL, int: NUMBER}
LARGEST = 2.0**53  # whole numbers beyond it may be rounded, which is checked in tables


class RowReader:
    """The columns of a model, ready for a row of plain values: the block that ``encode_asked`` would make of it.

    Whatever is not plain (an infinite number, a column too many, a value of another type) is left to the way of tables,
    which converts or refuses it: then the answer is None.
    """

    def __init__(self, schema: Schema, levels: Mapping[str, Levels], refuses_unseen: bool) -> None:
        self.schema, self.levels, self.refuses_unseen = schema, levels, refuses_unseen
        self.plain = not any(column.missing == "level" for column in schema.columns)
        self.numbers_only = not schema.coded
        self.complete = all(column.kind != UNDETERMINED for column in schema.columns)
        place = {name: j for j, name in enumerate(schema.names)}
        self.names = frozenset(place)
        self.numbers = [place[name] for name in schema.numeric]
        self.codes: list[tuple[int, Mapping[Key, int], frozenset[int]]] = []
        for name in schema.coded:
            index = levels[name].index if name in levels else {}
            self.codes.append((place[name], index, frozenset(family for family, _ in index)))

    def read(self, X: Any) -> Block | None:
        """A mapping of columns, records or a matrix, if it is one row."""
        if not self.plain:
            return None
        kind = type(X)
        if kind is np.ndarray:
            return self._of_matrix(X)
        if not self.schema.named:
            return None
        if kind is dict:
            return self._of_columns(X)
        if kind is list and len(X) == 1 and type(X[0]) is dict and X[0].keys() <= self.names:
            return self.of_mapping(X[0])
        return None

    def of_mapping(self, row: Mapping[str, object]) -> Block | None:
        """A value by column; those left out are missing, and others are not looked at."""
        return self._block([row.get(name) for name in self.schema.names]) if self.plain else None

    def of_mappings(
        self, rows: Sequence[Mapping[str, object]], labels: Sequence[object], classes: Levels
    ) -> Block | None:
        """Rows to be learned, whose levels and classes are known already."""
        if not self.plain or not self.complete:
            return None
        groups = _codes(labels, classes.index, -2)
        names, n = self.schema.names, len(rows)
        numbers = np.empty((n, len(self.numbers)))
        for k, j in enumerate(self.numbers):
            name = names[j]
            values = [row.get(name) for row in rows]
            kinds = set(map(type, values))
            if not kinds <= NUMBERS:
                return None
            numbers[:, k] = column = np.array(values, dtype=np.float64)
            if np.isinf(column).any() or (int in kinds and (np.abs(column) >= LARGEST).any()):
                return None
        codes = np.empty((len(self.codes), n), dtype=np.int32)
        for k, (j, index, _) in enumerate(self.codes):
            found = _codes([row.get(names[j]) for row in rows], index, -1)
            if found is None:
                return None
            codes[k] = found
        if groups is None:
            return None
        return Block(self.schema, Columns(numbers, n), codes, np.array(groups, dtype=np.int32), levels=self.levels)

    def _of_columns(self, columns: Any) -> Block | None:
        if len(columns) != len(self.names):
            return None
        row = []
        for name in self.schema.names:
            values = columns.get(name)
            if type(values) is not list or len(values) != 1:
                return None
            row += values
        return self._block(row)

    def _of_matrix(self, x: Any) -> Block | None:
        if self.schema.named or x.shape != (1, len(self.schema.names)) or x.dtype.kind not in "fiuOU":
            return None
        if self.numbers_only and x.dtype == np.float64 and x.flags.aligned:
            if np.isinf(x).any():
                return None
            return Block(self.schema, Columns(x, 1), np.empty((0, 1), dtype=np.int32), levels=self.levels)
        return self._block(x[0].tolist())

    def _block(self, row: Sequence[Any]) -> Block | None:
        numbers = []
        for j in self.numbers:
            x = row[j]
            kind = type(x)
            if kind is float or kind is np.float64:
                if abs(x) == np.inf:
                    return None
            elif x is None:
                x = np.nan
            elif kind is not int or not -LARGEST < x < LARGEST:
                return None
            numbers.append(x)
        codes = []
        for j, index, families in self.codes:
            level = row[j]
            if level is None:
                codes.append(-1)
                continue
            if type(level) not in (str, bool, int):
                return None
            found: Any = key(level)
            code = index.get(found, -2)
            if code == -2 and not self._is_new_level(level, found, families):
                return None
            codes.append(code)
        numeric = Columns(np.array([numbers], dtype=np.float64), 1)
        return Block(self.schema, numeric, np.array(codes, dtype=np.int32)[:, None], levels=self.levels)

    def _is_new_level(self, level: str | int, found: Key, families: frozenset[int]) -> bool:
        """Whether a value not seen is one that a table may have there."""
        if self.refuses_unseen or found[0] not in families:
            return False
        return level.isascii() if isinstance(level, str) else -LARGEST < level < LARGEST


def _codes(values: Sequence[object], index: Mapping[Key, int], missing: int) -> list[int] | None:
    """Codes of plain values of one type that all are known; None where not all are."""
    kinds = set(map(type, values)) - {type(None)}
    family = FAMILIES.get(next(iter(kinds), str))
    if len(kinds) > 1 or not kinds <= FAMILIES.keys():
        return None
    known: dict[Any, int] = {value: code for (of, value), code in index.items() if of == family}
    known[None] = missing
    codes = [known.get(value, -2) for value in values]
    return None if -2 in codes else codes
