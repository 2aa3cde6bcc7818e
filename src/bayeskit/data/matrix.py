"""Matrix: a NumPy matrix or one that is mostly zeros (Sparse), offered in batches as an Arrow table would be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from bayeskit import _core
from bayeskit.arrays import Array, Bool, Float, Int
from bayeskit.deferred import deferred
from bayeskit.engines.local import Batches
from bayeskit.errors import InputError

csr_array = deferred("scipy.sparse", "csr_array")


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
    def dtype(self) -> np.dtype[np.generic]:
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
        absent = hidden if hidden.any() else None
        return Sparse(indptr, indices[kept], self.values[kept], len(which), absent, self.in_order)

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


STORED = 1 << 22  # values of a sparse batch
WRITTEN_OUT = 1 << 22  # cells of a sparse batch that will be dense


@cache
def positional(width: int) -> tuple[str, ...]:
    """x0, x1, ...: one tuple for all matrices of this width."""
    return tuple(f"x{j}" for j in range(width))


@lru_cache(maxsize=8)
def _places(names: tuple[str, ...]) -> Mapping[str, int]:
    return {name: j for j, name in enumerate(names)}


@dataclass(frozen=True)
class Fields:
    """Names and types of the columns of a matrix and of what stands beside, without an object for each."""

    type: pa.DataType
    columns: tuple[str, ...]
    beside: Mapping[str, pa.DataType]

    def __len__(self) -> int:
        return len(self.columns) + len(self.beside)

    def __iter__(self) -> Iterator[pa.Field]:
        return (self.field(name) for name in self.names)

    @property
    def names(self) -> list[str]:
        return [*self.columns, *self.beside]

    @property
    def features(self) -> Fields:
        """The matrix alone."""
        return replace(self, beside={})

    def field(self, name: str) -> pa.Field:
        return pa.field(name, self.beside.get(name, self.type))


@dataclass(frozen=True)
class Matrix(Batches):
    """Rows of a matrix with what stands beside them; columns are called x0, x1, ... unless renamed."""

    x: Any  # (rows, d) ndarray, or Sparse
    beside: dict[str, pa.Array]  # label, weight and fold by their reserved names
    names: tuple[str, ...] | None = None
    written_out: bool = True  # whether the batches of a sparse matrix must be small enough to be made dense

    @property
    def num_rows(self) -> int:
        return int(self.x.shape[0])

    @cached_property
    def schema(self) -> Fields:
        names = positional(self.x.shape[1]) if self.names is None else self.names
        return Fields(pa.from_numpy_dtype(self.x.dtype), names, {name: a.type for name, a in self.beside.items()})

    @property
    def positions(self) -> Mapping[str, int]:
        """Where each column stands in the matrix."""
        return _places(positional(self.x.shape[1]) if self.names is None else self.names)

    def rename_columns(self, names: Sequence[str]) -> Matrix:
        """Other names for the matrix columns; what stands beside keeps its own."""
        return replace(self, names=tuple(names[: self.x.shape[1]]))

    def select(self, columns: Sequence[str]) -> Matrix:
        """Only what stands beside can be left out: leaving out matrix columns would copy."""
        return replace(self, beside={n: a for n, a in self.beside.items() if any(n == c for c in reversed(columns))})

    def slice(self, offset: int = 0, length: int | None = None) -> Matrix:
        """Some of the rows, without a copy."""
        stop = self.num_rows if length is None else min(offset + length, self.num_rows)
        beside = {n: a.slice(offset, max(stop - offset, 0)) for n, a in self.beside.items()}
        return replace(self, x=self.x[offset:stop], beside=beside)

    def to_batches(self, max_chunksize: int) -> Iterator[Matrix]:
        rows = self._batch_rows(max_chunksize)
        return (self.slice(start, rows) for start in range(0, self.num_rows, rows))

    def _batch_rows(self, usual: int) -> int:
        if not isinstance(self.x, Sparse):
            return usual
        if self.written_out:
            return max(1, min(usual, WRITTEN_OUT // max(self.x.width, 1)))
        return max(usual, STORED * self.num_rows // max(len(self.x.values), 1))

    def dense(self, which: Int | None = None) -> Array:
        """The matrix written out, or some of its columns."""
        if which is None:
            return self.x.toarray() if isinstance(self.x, Sparse) else self.x
        return self.x.take(which).toarray() if isinstance(self.x, Sparse) else self.x[:, which]
