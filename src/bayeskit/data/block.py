"""Block: a batch of rows as numbers, ready for the core."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bayeskit import _core
from bayeskit.arrays import Bool, Code, Float, Int
from bayeskit.data.schema import Schema

_NAN = np.full(1, np.nan)


@dataclass(frozen=True)
class Columns:
    """Numeric columns as pointer + stride, so that a matrix is not copied to be counted."""

    arrays: tuple[Float, ...] | Float  # one (rows,) array each, or all as the columns of one (rows, d) matrix
    rows: int
    pick: Int | None = None  # (d,) which of them, -1 for a column of holes; None is all

    def __len__(self) -> int:
        if self.pick is not None:
            return len(self.pick)
        return self.arrays.shape[1] if isinstance(self.arrays, np.ndarray) else len(self.arrays)

    @cached_property
    def address(self) -> NDArray[np.uint64]:  # (d,)
        return self._places[0]

    @cached_property
    def stride(self) -> Int:  # (d,) in bytes
        return self._places[1]

    @cached_property
    def _places(self) -> tuple[NDArray[np.uint64], Int]:
        if isinstance(self.arrays, np.ndarray):
            start, down, across = self.arrays.ctypes.data, *self.arrays.strides
            address = start + across * np.arange(self.arrays.shape[1], dtype=np.int64)
            stride = np.full(self.arrays.shape[1], down, dtype=np.int64)
        else:
            address = np.array([a.ctypes.data for a in self.arrays], dtype=np.int64)
            stride = np.array([a.strides[0] for a in self.arrays], dtype=np.int64)
        if self.pick is not None:
            hole = self.pick < 0
            address = np.where(hole, _NAN.ctypes.data, address[self.pick] if len(address) else 0)
            stride = np.where(hole, 0, stride[self.pick] if len(stride) else 0)
        return address.astype(np.uint64), stride

    def take(self, which: Int) -> Columns:
        """Some of these columns, in the order asked; -1 gives a column of holes."""
        chosen = which if self.pick is None else np.where(which < 0, -1, self.pick[which])
        return Columns(self.arrays, self.rows, chosen)

    def column(self, j: int) -> Float:
        """Column j as an array (a view)."""
        place = j if self.pick is None else int(self.pick[j])
        if place < 0:
            return np.broadcast_to(_NAN, self.rows)
        return self.arrays[:, place] if isinstance(self.arrays, np.ndarray) else self.arrays[place]

    def at(self, rows: Int) -> Columns:
        """The same columns at some rows (a copy)."""
        matrix = np.empty((len(rows), len(self)))
        for j in range(len(self)):
            matrix[:, j] = self.column(j)[rows]
        return Columns(matrix, len(rows))


@dataclass(frozen=True)
class Block:
    """Rows of a table under one schema and one domain; made by ``encode`` only."""

    schema: Schema
    numeric: Columns
    codes: Code  # (coded columns, rows): -1 missing, -2 never seen
    span: Float  # (3, numeric columns): smallest nonzero magnitude, largest, number of holes
    groups: Code | None = None  # (rows,): -1 is not counted
    weights: Float | None = None  # (rows,); None is weight 1

    @property
    def rows(self) -> int:
        return self.numeric.rows

    def numbers(self, names: Sequence[str]) -> tuple[Columns, Float]:
        """The numeric columns of these names, with their spans."""
        if tuple(names) == self.schema.numeric:
            return self.numeric, self.span
        which = np.array([self.schema.numeric_index[n] for n in names], dtype=np.int64)
        return self.numeric.take(which), np.ascontiguousarray(self.span[:, which])

    def coded(self, names: Sequence[str]) -> Code:
        """Positions of these columns in ``codes``."""
        index = self.schema.coded_index
        return np.array([index[n] for n in names], dtype=np.int32)

    def reveal(self, seen: Bool) -> Block:
        """Only the columns marked in ``seen`` (by schema position) known; the rest made missing."""
        shown = dict(zip(self.schema.names, seen.tolist(), strict=True))
        numeric = np.array([shown[n] for n in self.schema.numeric], dtype=bool)
        coded = np.array([shown[n] for n in self.schema.coded], dtype=bool)
        return replace(
            self,
            numeric=self.numeric.take(np.where(numeric, np.arange(len(numeric)), -1)),
            codes=np.where(coded[:, None], self.codes, np.int32(-1)),
        )

    def at(self, rows: Int) -> Block:
        """Some of the rows (a copy)."""
        return replace(
            self,
            numeric=self.numeric.at(rows),
            codes=np.ascontiguousarray(self.codes[:, rows]),
            groups=None if self.groups is None else self.groups[rows],
            weights=None if self.weights is None else self.weights[rows],
        )


def scan(columns: Columns) -> Float:
    """Magnitudes and holes of every column: (3, d)."""
    out = np.empty((3, len(columns)))
    _core.scan(columns.address, columns.stride, columns.rows, out)
    return out
