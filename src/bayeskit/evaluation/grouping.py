"""Grouping: rows by the values of a column, to be judged group by group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from bayeskit.arrays import Bool, ColumnLike, Float, Int, TableLike
from bayeskit.data.frame import as_arrow
from bayeskit.data.matrix import Matrix, Sparse
from bayeskit.errors import InputError
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


FEW = 6  # values of a number column that are groups of their own; more are cut into quarters
MOST = 30  # groups of a column; the levels with the fewest rows are joined
MISSING = "missing"
GroupsLike: TypeAlias = str | Sequence[str] | Mapping[str, Any] | None  # columns, or values by name


@dataclass(frozen=True)
class Grouping:
    """A name and a group of each row.

    >>> found = Grouping.of("sex", pa.chunked_array([["f", "m", None, "f"]]))
    >>> found.groups, found.codes.tolist()
    (('f', 'm', 'missing'), [0, 1, 2, 0])
    """

    name: str
    groups: tuple[str, ...]
    codes: Int  # (n,)

    @classmethod
    def of(cls, name: str, values: pa.ChunkedArray, most: int = MOST) -> Grouping:
        """Levels, the most frequent of them where they are many; numbers of many values by quarters of the rows."""
        if pt.is_dictionary(values.type):
            values = values.cast(values.type.value_type)
        if pt.is_decimal(values.type):
            values = values.cast(pa.float64())
        if pt.is_floating(values.type):
            values = pc.if_else(pc.is_nan(values), None, values)
        numeric = pt.is_floating(values.type) or pt.is_integer(values.type)
        if numeric and pc.count_distinct(values.drop_null()).as_py() > FEW:
            return cls._quarters(name, np.asarray(values.cast(pa.float64()).to_numpy(zero_copy_only=False)))
        return cls._levels(name, values, most)

    @classmethod
    def _levels(cls, name: str, values: pa.ChunkedArray, most: int) -> Grouping:
        coded = values.combine_chunks().dictionary_encode()
        codes = np.asarray(coded.indices.fill_null(-1).to_numpy(zero_copy_only=False), dtype=np.int64)
        levels = coded.dictionary.to_pylist()
        often = np.bincount(codes[codes >= 0], minlength=len(levels))
        order = sorted(range(len(levels)), key=lambda i: (-often[i], i))
        kept = order if len(order) <= most else order[: most - 1]
        kept = sorted(kept, key=lambda i: (str(type(levels[i])), levels[i]))
        place = np.full(len(levels) + 1, len(kept), dtype=np.int64)
        place[kept] = np.arange(len(kept))
        groups = [f"{levels[i]:.6g}" if isinstance(levels[i], float) else str(levels[i]) for i in kept]
        if len(kept) < len(levels):
            groups.append(f"{len(levels) - len(kept):,} other levels")
        place[-1] = len(groups)
        return cls(name, tuple(groups), place[codes])._with_missing(codes < 0)

    @classmethod
    def _quarters(cls, name: str, x: Float) -> Grouping:
        known = x[np.isfinite(x)]
        cuts = np.unique(np.quantile(known, [0.25, 0.5, 0.75], method="lower"))
        cuts = cuts[cuts < known.max()]
        if not len(cuts):  # most rows have the greatest value
            cuts = known[known < known.max()].max(keepdims=True)
        digits = next(d for d in range(4, 18) if len({f"{cut:.{d}g}" for cut in cuts}) == len(cuts))
        ends = [f"{cut:.{digits}g}" for cut in cuts]
        between = [f"over {a} to {b}" for a, b in pairwise(ends)]
        groups = [f"up to {ends[0]}", *between, f"over {ends[-1]}"]
        codes = np.searchsorted(cuts, x, side="left")
        gone = np.isnan(x)
        return cls(name, tuple(groups), np.where(gone, len(groups), codes))._with_missing(gone)

    def _with_missing(self, gone: Bool) -> Grouping:
        return replace(self, groups=(*self.groups, MISSING)) if gone.any() else self

    def cross(self, other: Grouping) -> Grouping:
        """Every group of one with every group of the other, those that have rows."""
        pair = self.codes * len(other.groups) + other.codes
        there, codes = np.unique(pair, return_inverse=True)
        groups = [(self.groups[p // len(other.groups)], other.groups[p % len(other.groups)]) for p in there.tolist()]
        names = tuple(f"{a}, {b}" for a, b in groups)
        return Grouping(f"{self.name} × {other.name}", names, codes.astype(np.int64))


def groupings(by: GroupsLike, sample: LabelledTable) -> tuple[Grouping, ...]:
    """By each column named (or given by name), and by all of them together if they are several.

    ``by`` is the name of a column, several names, or a mapping of names to values of the rows.
    """
    given = _columns_of(by, sample)
    each = [Grouping.of(name, values) for name, values in given.items()]
    return (*each, reduce(Grouping.cross, each)) if len(each) > 1 else tuple(each)


def _columns_of(by: GroupsLike, sample: LabelledTable) -> dict[str, pa.ChunkedArray]:
    rows = len(sample.rows)
    if isinstance(by, Mapping):
        return {str(name): _array(str(name), values, rows) for name, values in by.items()}
    names = [by] if isinstance(by, str) else list(by) if isinstance(by, Sequence) else []
    if not names or not all(isinstance(name, str) for name in names):
        raise InputError(
            f"by={str(by)[:60]}: name a column, several columns, or give a mapping of names to one value for each row"
        )
    if len(set(names)) < len(names):
        raise InputError(f"by names a column twice: {', '.join(names)}")
    known = dict(columns_of(sample))
    if lost := [name for name in names if name not in known]:
        raise InputError(
            f"by={lost[0]!r} names no column of the rows evaluated (there are: {', '.join(list(known)[:20])}); values "
            f"of other columns are given as by={{{lost[0]!r}: values}}"
        )
    return {name: known[name] for name in names}


def _array(name: str, values: ColumnLike, rows: int) -> pa.ChunkedArray:
    if isinstance(values, pa.ChunkedArray):
        found = values
    else:
        plain = as_arrow(values)
        found = pa.chunked_array([plain if isinstance(plain, pa.Array) else pa.array(plain, from_pandas=True)])
    if len(found) != rows:
        raise InputError(f"by={name!r} has {len(found):,} values, the table {rows:,} rows")
    return found
