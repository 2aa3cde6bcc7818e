"""Columns of the rows evaluated, whatever table they came in."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from bayeskit.arrays import TableLike
from bayeskit.data.matrix import Matrix
from bayeskit.data.sparse import Sparse
from bayeskit.model.labelled_table import LabelledTable, values_of
from bayeskit.model.open_table import OpenTable


def columns_of(sample: LabelledTable) -> Iterator[tuple[str, pa.ChunkedArray]]:
    """Names and values of the features; none of a sparse matrix, whose columns are words."""
    return table_columns(sample.features)


def table_columns(X: TableLike) -> Iterator[tuple[str, pa.ChunkedArray]]:
    """The same of a table without labels."""
    if (values := values_of(X)) is not None:
        yield "value", pa.chunked_array([pa.array(list(values))])
        return
    given = OpenTable.of(X, None, None, None)
    rows = given.source.rows
    if isinstance(rows, Matrix):
        if not isinstance(rows.x, Sparse):
            for j, name in enumerate(given.names):
                yield name, pa.chunked_array([pa.array(np.ascontiguousarray(rows.x[:, j]))])
        return
    for name in given.names:
        column = rows.column(name)  # of which rows cannot be taken as it is
        yield name, column.cast(pa.large_string()) if column.type == pa.string_view() else column
