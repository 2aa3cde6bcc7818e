"""Matrix: a NumPy matrix or a sparse one, offered in batches as an Arrow table would be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any

import pyarrow as pa

from bayeskit.arrays import Array, Int
from bayeskit.data.sparse import Sparse
from bayeskit.engines.local import Batches

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

    @property
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
