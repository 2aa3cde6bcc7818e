"""Block: a batch of rows as numbers, ready for the core."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayeskit import _core
from bayeskit._core import RangeRow
from bayeskit.arrays import Array, Bool, Code, Float, Int
from bayeskit.data.levels import Levels
from bayeskit.data.matrix import Sparse
from bayeskit.data.schema import Schema
from bayeskit.errors import InputError

_NAN = np.full(1, np.nan)


@dataclass(frozen=True)
class Columns:
    """Numeric columns as pointer + stride, so that a matrix is not copied to be counted."""

    arrays: tuple[Array, ...] | Array | Sparse  # one (rows,) array each, or all as the columns of one (rows, d) matrix
    rows: int
    pick: Int | None = None  # (d,) which of them, -1 for a column of missing values; None is all

    def __len__(self) -> int:
        if self.pick is not None:
            return len(self.pick)
        return len(self.arrays) if isinstance(self.arrays, tuple) else self.arrays.shape[1]

    @cached_property
    def sparse(self) -> Sparse:
        """By the values that are not zero: (rows, d)."""
        if isinstance(self.arrays, Sparse):
            return self.arrays if self.pick is None else self.arrays.take(self.pick)
        if isinstance(self.arrays, np.ndarray) and self.pick is None:
            return Sparse.from_dense(self.arrays)
        hidden = np.zeros(len(self), dtype=bool) if self.pick is None else self.pick < 0
        shown = np.flatnonzero(~hidden)
        if not len(shown):
            return Sparse(np.zeros(self.rows + 1, np.int64), np.empty(0, np.int32), np.empty(0), len(self), hidden)
        stored = Sparse.from_dense(np.column_stack([self.column(j) for j in shown.tolist()]))
        indices = shown.astype(np.int32)[stored.indices]
        return replace(stored, indices=indices, width=len(self), hidden=hidden if hidden.any() else None)

    @property
    def dense(self) -> Columns:
        """The same as arrays; a sparse matrix is written out."""
        return self._written_out if isinstance(self.arrays, Sparse) else self  # kept, it would keep itself alive

    @cached_property
    def _written_out(self) -> Columns:
        return Columns(self.sparse.toarray().astype(np.float64, copy=False), self.rows)

    @cached_property
    def span(self) -> Float:
        """Smallest nonzero magnitude, largest, number of missing values: (3, d)."""
        return self._scanned[: RangeRow.LEAST]

    @cached_property
    def ends(self) -> Float:
        """Least and greatest value, inf and -inf where there is none: (2, d)."""
        return self.sparse.ends if isinstance(self.arrays, Sparse) else self._scanned[RangeRow.LEAST :]

    @cached_property
    def _scanned(self) -> Float:
        return scan(self.dense)

    @cached_property
    def address(self) -> NDArray[np.uint64]:  # (d,)
        return self.dense._places[0]

    @cached_property
    def stride(self) -> Int:  # (d,) in bytes
        return self.dense._places[1]

    @cached_property
    def _places(self) -> tuple[NDArray[np.uint64], Int]:
        assert not isinstance(self.arrays, Sparse)  # asked of ``dense``
        arrays, pick = self.arrays, self.pick
        if isinstance(arrays, np.ndarray):
            start, down, across = arrays.ctypes.data, *arrays.strides
            which = np.arange(arrays.shape[1]) if pick is None else pick
            address = np.where(which < 0, _NAN.ctypes.data, start + across * which)
            stride = np.where(which < 0, 0, down)
        else:  # only those that are asked for: one of many columns must not cost as much as all
            chosen = arrays if pick is None else [_NAN if j < 0 else arrays[j] for j in pick.tolist()]
            address = np.array([a.ctypes.data for a in chosen], dtype=np.int64)
            stride = np.array([0 if a is _NAN else a.strides[0] for a in chosen], dtype=np.int64)
        return address.astype(np.uint64), stride.astype(np.int64)

    @staticmethod
    def concatenate(parts: Sequence[Columns]) -> Columns:
        """The rows of several, one after the other; sparse ones stay so."""
        rows = sum(part.rows for part in parts)
        if all(isinstance(part.arrays, Sparse) and part.pick is None for part in parts):
            return Columns(Sparse.concatenate([part.sparse for part in parts]), rows)
        return Columns(np.concatenate([part.matrix() for part in parts]), rows)

    def take(self, which: Int) -> Columns:
        """Some of these columns, in the order asked; -1 gives a column of missing values."""
        chosen = which if self.pick is None else np.where(which < 0, -1, self.pick[which])
        return Columns(self.arrays, self.rows, chosen)

    def column(self, j: int) -> Float:
        """Column j as an array (a view)."""
        if isinstance(self.arrays, Sparse):
            return self.dense.column(j)
        place = j if self.pick is None else int(self.pick[j])
        if place < 0:
            return np.broadcast_to(_NAN, self.rows)
        return self.arrays[:, place] if isinstance(self.arrays, np.ndarray) else self.arrays[place]

    def matrix(self) -> Float:
        """The columns side by side: (rows, d); a view of a matrix that has just these."""
        whole = self.dense.arrays
        if isinstance(whole, np.ndarray) and self.dense.pick is None:
            return whole
        out = np.empty((self.rows, len(self)))
        for j in range(len(self)):
            out[:, j] = self.column(j)
        return out

    def refuse_infinite(self, names: Sequence[str]) -> None:
        """Refuse columns, of these names, that hold an infinite value; say where it is."""
        if isinstance(self.arrays, Sparse) and self.pick is None:
            _, highest, _, _, below = self.arrays.bounds
            odd = np.isinf(self.arrays.values) if below or np.isinf(highest) else np.zeros(0, dtype=bool)
            bad = self.arrays.indices[: len(odd)][odd]
        else:
            bad = np.flatnonzero(np.isinf(self.span[RangeRow.LARGEST]))
        if len(bad):
            j = int(bad[0])
            values = self.take(np.array([j])).column(0)
            row = int(np.flatnonzero(np.isinf(values))[0])
            raise InputError(
                f"column {names[j]!r} has an infinite value ({values[row]}, row {row} of its batch): "
                f"Input contains infinity; replace it by a number, or leave it missing"
            )

    def at(self, rows: Int) -> Columns:
        """The same columns at some rows (a copy)."""
        if isinstance(self.arrays, Sparse):
            return Columns(self.arrays.at(rows), len(rows), self.pick)
        if isinstance(self.arrays, np.ndarray) and self.arrays.flags.c_contiguous:  # a row lies together
            return Columns(self.arrays.take(rows, axis=0), len(rows), self.pick)
        matrix = np.empty((len(self), len(rows)))
        for j in range(len(self)):
            matrix[j] = self.column(j)[rows]
        return Columns(matrix.T, len(rows))


class CountedRows(NamedTuple):
    """Rows of a block that were counted: positions, groups and weights, (r,) each."""

    row: Int
    group: Int
    mass: Float

    def at(self, which: Int | Bool) -> CountedRows:
        """Some of them."""
        return CountedRows(self.row[which], self.group[which], self.mass[which])


@dataclass(frozen=True)
class Block:
    """Rows of a table under one schema and one domain; made by ``encode`` only."""

    schema: Schema
    numeric: Columns
    codes: Code  # (coded columns, rows): -1 missing, -2 never seen
    groups: Code | None = None  # (rows,): -1 is not counted
    weights: Float | None = None  # (rows,); None is weight 1
    levels: Mapping[str, Levels] = field(default_factory=dict)  # what the codes mean
    hidden: frozenset[str] = frozenset()  # columns made missing by ``reveal``, also where missing values are a level

    @property
    def rows(self) -> int:
        return self.numeric.rows

    def columns(self, names: Sequence[str]) -> Columns:
        """The numeric columns of these names."""
        which = self._which(names)
        return self.numeric if which is None else self.numeric.take(which)

    def numbers(self, names: Sequence[str]) -> tuple[Columns, Float]:
        """The numeric columns of these names, with their spans."""
        which = self._which(names)
        if which is None:
            return self.numeric, self.numeric.span
        if isinstance(self.numeric.arrays, Sparse):  # only these are written out
            chosen = self.numeric.take(which)
            return chosen, chosen.span
        return self.numeric.take(which), np.ascontiguousarray(self.numeric.span[:, which])

    def ends(self, names: Sequence[str]) -> Float:
        """Least and greatest value of the numeric columns of these names, inf and -inf where there is none: (2, d)."""
        which = self._which(names)
        if isinstance(self.numeric.arrays, Sparse):
            return self.columns(names).ends
        return self.numeric.ends if which is None else self.numeric.ends[:, which]

    def sparse(self, names: Sequence[str]) -> Sparse:
        """The numeric columns of these names by the values that are not zero."""
        return self.columns(names).sparse

    def _which(self, names: Sequence[str]) -> Int | None:
        """Positions of these names among the numeric columns; None for all of them."""
        if names is self.schema.numeric or tuple(names) == self.schema.numeric:
            return None
        return np.array([self.schema.numeric_index[n] for n in names], dtype=np.int64)

    def code_positions(self, names: Sequence[str]) -> Code:
        """Positions of these columns in ``codes``."""
        index = self.schema.coded_index
        return np.array([index[n] for n in names], dtype=np.int32)

    @property
    def classes(self) -> Code:
        """The groups, of a block that has them."""
        if self.groups is None:
            raise ValueError("leave-one-out needs a block with classes; see Counted.block_with_classes")
        return self.groups

    def rows_with_weight(self) -> CountedRows:
        """The rows that were counted with some weight."""
        mass = np.ones(self.rows) if self.weights is None else self.weights
        row = np.flatnonzero((self.classes >= 0) & (mass > 0))
        return CountedRows(row, self.classes[row].astype(np.int64), mass[row])

    def values_with_weight(self, x: Float) -> CountedRows:
        """Those of the counted rows whose value x (rows,) is there."""
        rows = self.rows_with_weight()
        return rows.at(~np.isnan(x[rows.row]))

    def reveal(self, seen: Bool) -> Block:
        """Only the columns marked in ``seen`` (by schema position) known; the rest made missing."""
        shown = dict(zip(self.schema.names, seen.tolist(), strict=True))
        numeric = np.array([shown[n] for n in self.schema.numeric], dtype=bool)
        coded = np.array([shown[n] for n in self.schema.coded], dtype=bool)
        return replace(
            self,
            numeric=self.numeric.take(np.where(numeric, np.arange(len(numeric)), -1)),
            codes=np.where(coded[:, None], self.codes, np.int32(-1)),
            hidden=self.hidden.union(name for name, known in shown.items() if not known),
        )

    def recode(self, levels: Mapping[str, Levels]) -> Block:
        """The same rows in the codes of other levels; one that is not among them was never seen."""
        codes = None
        for j, name in enumerate(self.schema.coded):
            old, new = self.levels[name], levels[name]
            if new != old:
                there = old.codes_in(new)
                lookup = np.concatenate([np.where(there < 0, -2, there), [-2, -1]]).astype(np.int32)
                codes = self.codes.copy() if codes is None else codes
                codes[j] = lookup[self.codes[j]]
        return self if codes is None else replace(self, codes=codes, levels=levels)

    @staticmethod
    def concatenate(blocks: Sequence[Block]) -> Block:
        """The rows of blocks of one schema and one domain, one block after the other; all have weights, or none."""
        first, *others = blocks
        if not others:
            return first
        codes = np.concatenate([block.codes for block in blocks], axis=1)
        numeric = Columns.concatenate([block.numeric for block in blocks])
        groups = [block.groups for block in blocks if block.groups is not None]
        weights = [block.weights for block in blocks if block.weights is not None]
        return replace(
            first,
            numeric=numeric,
            codes=codes,
            groups=np.concatenate(groups) if len(groups) == len(blocks) else None,
            weights=np.concatenate(weights) if len(weights) == len(blocks) else None,
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
    """Magnitudes, missing values and ends of every column: rows of RangeRow, (5, d)."""
    out = np.empty((len(RangeRow), len(columns)))
    _core.column_ranges(columns.address, columns.stride, columns.rows, out)
    return out
