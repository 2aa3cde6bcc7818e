"""Sparse: the rows of a matrix that is mostly zeros, by the values that are stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from bayeskit import _core
from bayeskit.arrays import Array, Bool, Float, Int
from bayeskit.errors import InputError

EXACT_INTEGERS = 2**53
MOST = 2**31 - 1  # columns: the core reads indices of 32 bits


@dataclass(frozen=True)
class Sparse:
    """Row i holds values[indptr[i] : indptr[i + 1]] in the columns indices[...], and zeros elsewhere.

    >>> from scipy.sparse import csr_array
    >>> rows = Sparse.of(csr_array([[0, 2, 0], [1, 0, 3]]))
    >>> rows[1:].toarray()
    array([[1, 0, 3]])
    """

    indptr: Int  # (rows + 1,)
    indices: Array  # (stored,) int32, or int64 as they came
    values: Array  # (stored,) of any type of number
    width: int
    hidden: Bool | None = None  # (width,) columns that are missing in every row, zeros included
    in_order: bool = True  # whether the columns of every row ascend

    @classmethod
    def of(cls, x: Any) -> Sparse:
        """From a CSR matrix or array of SciPy; each cell once, which may need a copy. Columns may come in any order."""
        width = int(x.shape[1])
        if width > MOST:
            raise InputError(f"the sparse matrix has {width} columns, more than 2^31 - 1; hash or choose among them")
        if x.indices.dtype.itemsize > 4 and len(x.indices) and not 0 <= x.indices.min() <= x.indices.max() < width:
            raise InputError(f"the sparse matrix has an index outside its {width} columns; make it anew")
        indptr = x.indptr.astype(np.int64, copy=False)
        if not x.has_canonical_format and not _core.sparse_distinct(
            indptr, np.ascontiguousarray(x.indices, dtype=np.int32), width
        ):
            x = x.copy()
            x.sum_duplicates()
            indptr = x.indptr.astype(np.int64, copy=False)
        return cls(indptr, x.indices, x.data, width, in_order=bool(x.has_sorted_indices))

    @classmethod
    def from_dense(cls, x: Float) -> Sparse:
        """Of the cells that are not zero; NaN is stored."""
        rows, columns = np.nonzero(x)
        indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(x)))]).astype(np.int64)
        return cls(indptr, columns.astype(np.int32), x[rows, columns], x.shape[1])

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.indptr) - 1, self.width

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.values.dtype

    def __getitem__(self, rows: slice) -> Sparse:
        """Neighbouring rows; nothing that is stored is copied."""
        start, stop, _ = rows.indices(len(self))
        indptr = self.indptr[start : max(start, stop) + 1]
        first, last = int(indptr[0]), int(indptr[-1])
        return replace(self, indptr=indptr - first, indices=self.indices[first:last], values=self.values[first:last])

    @staticmethod
    def concatenate(parts: Sequence[Sparse]) -> Sparse:
        """The rows of matrices of the same columns, one after the other."""
        indptr = np.concatenate([np.zeros(1, dtype=np.int64), *(np.diff(part.indptr) for part in parts)])
        return replace(
            parts[0],
            indptr=np.cumsum(indptr),
            indices=np.concatenate([part.indices for part in parts]),
            values=np.concatenate([part.values for part in parts]),
            in_order=all(part.in_order for part in parts),
        )

    def at(self, rows: Int) -> Sparse:
        """Any rows (a copy)."""
        begin, size = self.indptr[rows], np.diff(self.indptr)[rows]
        indptr = np.concatenate([[0], np.cumsum(size)]).astype(np.int64)
        stored = np.repeat(begin - indptr[:-1], size) + np.arange(indptr[-1])
        return replace(self, indptr=indptr, indices=self.indices[stored], values=self.values[stored])

    def take(self, which: Int) -> Sparse:
        """Some of the columns, in the order asked; -1 gives a column that is missing in every row."""
        place = np.full(self.width, -1, dtype=np.int32)
        shown = np.flatnonzero(which >= 0)
        place[which[shown]] = shown
        indices = place[self.indices]
        kept = indices >= 0
        indptr = np.concatenate([[0], np.cumsum(kept)])[self.indptr].astype(np.int64)
        hidden = which < 0
        if self.hidden is not None:
            hidden = hidden | self.hidden[which]
        some = hidden if hidden.any() else None
        return Sparse(indptr, indices[kept], self.values[kept], len(which), some, self.in_order)

    def sort_columns(self) -> Sparse:
        """The same with ascending columns: what is added up along a row then does not depend on how it was stored."""
        if self.in_order:
            return self
        rows = csr_array((self.values, self.indices, self.indptr), shape=self.shape, copy=True)
        rows.sort_indices()
        return replace(self, indices=rows.indices, values=rows.data, in_order=True)

    def floats(self) -> Sparse:
        """As doubles, with indices of 32 bits: what the core reads."""
        return replace(
            self,
            indices=np.ascontiguousarray(self.indices, dtype=np.int32),
            values=np.ascontiguousarray(self.values, dtype=np.float64),
        )

    @property
    def rounded(self) -> int:
        """How many integers no double holds."""
        if self.dtype.kind not in "iu" or self.dtype.itemsize < 8:
            return 0
        big = self.values[(self.values > EXACT_INTEGERS) | (self.values < -EXACT_INTEGERS)]
        return sum(int(float(v)) != v for v in big.tolist())

    @cached_property
    def owner(self) -> Int:
        """The row of each stored value: (stored,)."""
        return np.repeat(np.arange(len(self)), np.diff(self.indptr))

    @cached_property
    def bounds(self) -> tuple[float, float, bool, int, int]:
        """Smallest and largest value above 0 (inf, 0 if none), whether all are whole, the number of NaN and below 0."""
        found: tuple[float, float, bool, int, int] = _core.sparse_value_range(self.values)
        return found

    @cached_property
    def ends(self) -> Float:
        """Least and greatest value of each column, inf and -inf where there is none: (2, width)."""
        rows, out = self.floats(), np.empty((2, self.width))
        _core.sparse_column_ranges(rows.indptr, rows.indices, rows.values, out)
        if self.hidden is not None:
            out[:, self.hidden] = np.array([[np.inf], [-np.inf]])
        return out

    def toarray(self) -> Array:
        kind = np.float64 if self.hidden is not None else self.dtype
        out = np.zeros(self.shape, dtype=kind)
        out[self.owner, self.indices] = self.values
        if self.hidden is not None:
            out[:, self.hidden] = np.nan
        return out
