"""Matrix: a NumPy matrix or a sparse one, offered in batches as an Arrow table would be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from bayeskit.arrays import Array


@dataclass(frozen=True)
class Matrix:
    """Rows of a matrix with what stands beside them; columns are called x0, x1, ... unless renamed."""

    x: Any  # (rows, d) ndarray, or a CSR matrix
    beside: dict[str, pa.Array]  # label, weight and fold by their reserved names
    names: tuple[str, ...] | None = None

    @property
    def num_rows(self) -> int:
        return int(self.x.shape[0])

    @property
    def schema(self) -> pa.Schema:
        kind = pa.from_numpy_dtype(self.x.dtype)
        fields = [pa.field(name, kind) for name in self.names or (f"x{j}" for j in range(self.x.shape[1]))]
        return pa.schema(fields + [pa.field(name, a.type) for name, a in self.beside.items()])

    def rename_columns(self, names: Sequence[str]) -> Matrix:
        """Other names for the matrix columns; what stands beside keeps its own."""
        return replace(self, names=tuple(names[: self.x.shape[1]]))

    def select(self, columns: Sequence[str]) -> Matrix:
        """Only what stands beside can be left out: leaving out matrix columns would copy."""
        return replace(self, beside={n: a for n, a in self.beside.items() if n in columns})

    def to_batches(self, max_chunksize: int) -> Iterator[Matrix]:
        for start in range(0, self.num_rows, max_chunksize):
            stop = min(start + max_chunksize, self.num_rows)
            beside = {n: a.slice(start, stop - start) for n, a in self.beside.items()}
            yield Matrix(self.x[start:stop], beside, self.names)

    def dense(self) -> Array:
        return self.x if isinstance(self.x, np.ndarray) else self.x.toarray()
