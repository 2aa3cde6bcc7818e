"""Totals: exact sums of counts by group and column, from rows that are mostly zeros."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from bayeskit import _core
from bayeskit.arrays import Array, Bool, Float, Int
from bayeskit.data.block import Block
from bayeskit.data.matrix import Sparse
from bayeskit.data.support import NONNEGATIVE
from bayeskit.errors import ForgetError, InputError
from bayeskit.statistics.exact import ExactSum, Scattered, weight_range
from bayeskit.statistics.tables import Tables

WHOLE = 2.0**31  # products up to this are summed as integers: a call has at most 2^24 rows


@dataclass(frozen=True)
class Totals:
    """Exact sums of w x, or of w where x > 0, by group and column; zeros cost nothing."""

    columns: tuple[str, ...]
    presence: bool
    rows: Tables  # weight of the rows of each group
    sums: Scattered  # (G, d)
    missing: ExactSum  # (G, d) weight of the missing values; (G, 0) where there is none

    @classmethod
    def empty(cls, columns: Sequence[str], n_groups: int, presence: bool = False) -> Totals:
        names, nothing = tuple(columns), ExactSum.zeros((n_groups, 0))
        return cls(names, presence, Tables.empty([()], n_groups), Scattered.zeros(n_groups, len(names)), nothing)

    @property
    def groups(self) -> int:
        return self.sums.shape[0]

    @property
    def weights(self) -> ExactSum:
        """Of the rows of each group: (G,)."""
        return self.rows.table(0)

    def update(self, block: Block, /) -> Self:
        if block.groups is None or not block.rows:
            return self
        cells = block.sparse(self.columns)
        _, highest, whole, missing, below = cells.bounds
        if below:
            self._refuse(cells, block)
        weights = block.weights
        whole = (whole or self.presence) and (highest <= WHOLE or self.presence)
        if weights is not None:
            top = float(weights.max()) * (1.0 if self.presence else max(highest, 1.0))
            whole = whole and bool(top <= WHOLE) and bool((weights == np.floor(weights)).all())
        window = (0, 1) if whole else self.window(cells, weights)
        sums = self.sums + self._gather(cells, block, self.presence, whole, window)
        new = replace(self, rows=self.rows.update(block), sums=sums)
        if missing or cells.hidden is not None:
            new = new._of(new.rows, new.sums, new._wide + self._missing(cells, block))
        return new

    def window(self, cells: Sparse, weights: Float | None) -> tuple[int, int]:
        """The limbs that hold any sum of what these cells add."""
        light, heavy = (1.0, 1.0) if weights is None else weight_range(weights)
        lowest, highest, *_ = cells.bounds
        low, high = _core.limb_window(lowest, highest, 0 if self.presence else 1, light, heavy)
        top = heavy * (1.0 if self.presence else highest)
        if np.isfinite(top):  # no more headroom than these rows need: there may be millions of cells
            high = max(low + 1, min(high, (int(np.frexp(top)[1]) + len(cells).bit_length() + 2) // 32 + 1))
        return low, high

    def _gather(self, cells: Sparse, block: Block, presence: bool, whole: bool, window: tuple[int, int]) -> Scattered:
        """What the stored values of a block add, within a window of limbs."""
        assert block.groups is not None
        lowest, highest, *_ = cells.bounds
        starts, columns, limbs = _core.sparse_sums(
            *(cells.indptr, cells.indices, cells.values, block.groups, block.weights),
            *(self.groups, len(self.columns)),
            *(presence, whole),
            *window,
            *(lowest, highest),
        )
        return Scattered(starts, columns, ExactSum(limbs, window[0]).carry(), len(self.columns))

    def __deepcopy__(self, memo: object) -> Self:
        return self  # an update never changes what is here, and names are many

    def _refuse(self, cells: Sparse, block: Block) -> None:
        """Name a value below zero, if one is to be counted."""
        assert block.groups is not None
        used = block.groups >= 0
        if block.weights is not None:
            used &= block.weights > 0
        bad = np.flatnonzero((cells.values < 0) & used[cells.owner])
        if len(bad):
            name, value = self.columns[cells.indices[bad[0]]], float(cells.values[bad[0]])
            raise InputError(NONNEGATIVE.refusal(name, value, "a family of counts"))

    def _missing(self, cells: Sparse, block: Block) -> ExactSum:
        """Weight of the missing values of a block: (G, d)."""
        assert block.groups is not None
        gone = np.isnan(cells.values)
        missing = replace(
            cells,
            indptr=np.concatenate([[0], np.cumsum(gone)])[cells.indptr].astype(np.int64),
            indices=cells.indices[gone],
            values=np.ones(int(gone.sum())),
        )
        light, heavy = (1.0, 1.0) if block.weights is None else weight_range(block.weights)
        window = _core.limb_window(1.0, 1.0, 0, light, heavy)
        out = self._gather(missing, block, True, False, window).dense
        if cells.hidden is not None:
            rows = Tables.empty([()], self.groups).update(block).table(0)
            whole = ExactSum(np.repeat(rows.limbs[:, None], cells.width, axis=1) * cells.hidden[:, None], rows.low)
            return out + whole
        return out

    @property
    def _wide(self) -> ExactSum:
        """The missing weight with an axis of columns, be there any or not."""
        return self.missing if self.missing.shape[1] else ExactSum.zeros(self.sums.shape)

    def _of(self, rows: Tables, sums: Scattered, missing: ExactSum) -> Self:
        """With an axis of missing values only if there is one."""
        short = missing if missing.nonzero().any() else ExactSum.zeros((sums.shape[0], 0))
        return replace(self, rows=rows, sums=sums, missing=short)

    def place(self, groups: Int, n_groups: int, levels: Mapping[str, tuple[Int, int]]) -> Self:
        rows = self.rows.place(groups, n_groups, {})
        return self._of(rows, self.sums.place(groups, n_groups), self.missing.place(groups, n_groups))

    def over_columns(self, like: Self, /) -> Self:
        if like.columns == self.columns:
            return self
        target = {name: j for j, name in enumerate(like.columns)}
        index = np.array([target[name] for name in self.columns], dtype=np.int64)
        sums = self.sums.place(index, len(target), axis=1)
        missing = self._wide.place(index, len(target), axis=1)
        return replace(self._of(self.rows, sums, missing), columns=like.columns)

    def merge(self, other: Self, /) -> Self:
        missing = self.missing if not other.missing.shape[1] else self._wide + other._wide
        return self._of(self.rows.merge(other.rows), self.sums + other.sums, missing)

    def subtract(self, other: Self, /) -> Self:
        missing = self.missing if not other.missing.shape[1] else self._wide - other._wide
        result = self._of(self.rows.subtract(other.rows), self.sums - other.sums, missing)
        if (j := result._unsound()) is not None:
            raise ForgetError(
                f"these rows cannot have been learned: without them column {self.columns[j]!r} would have a negative "
                f"total, or a total without rows; the model stays as it was"
            )
        return result

    def _unsound(self) -> int | None:
        """A column with sums no table can have."""
        bare = ~self.weights.nonzero()
        bad = self.sums.cells.negative() | bare[self.sums.owner]  # by cell
        if self.presence:
            seen = self.seen().limbs[self.sums.owner, self.sums.columns if self.missing.shape[1] else 0]
            bad |= (ExactSum(seen, self.seen().low) - self.sums.cells).negative()
        if bad.any():
            return int(self.sums.columns[bad].min())
        if not self.missing.shape[1]:
            return None
        bad = self.missing.negative() | self.seen().negative()
        found = np.flatnonzero(bad.any(axis=0))
        return int(found[0]) if len(found) else None

    def seen(self) -> ExactSum:
        """Weight of the values that are there: (G, d), or (G, 1) where no value is missing."""
        rows = ExactSum(self.weights.limbs[:, None], self.weights.low)
        if not self.missing.shape[1]:
            return rows
        return ExactSum(np.repeat(rows.limbs, len(self.columns), axis=1), rows.low) - self.missing

    def occupancy(self) -> tuple[Bool, dict[str, Bool]]:
        return self.weights.nonzero(), {}

    def column_weights(self) -> Iterator[tuple[str, ExactSum]]:
        """Weight of the rows by group, under the name of the first column: none has more."""
        if self.columns:
            yield self.columns[0], self.weights

    def arrays(self) -> dict[str, Array]:
        return {**self.weights.arrays("rows"), **self.sums.arrays("sums"), **self.missing.arrays("holes")}

    def with_arrays(self, arrays: Mapping[str, Array]) -> Self:
        groups, d = self.sums.shape
        rows = ExactSum.from_arrays(arrays, "rows", (groups,))
        held = np.shape(arrays["holes"])[1:2] == (d,) and d > 0
        back = replace(
            self,
            rows=replace(self.rows, cells=ExactSum(rows.limbs[:, None], rows.low)),
            sums=Scattered.from_arrays(arrays, "sums", (groups, d)),
            missing=ExactSum.from_arrays(arrays, "holes", (groups, d if held else 0)),
        )
        if held and not back.missing.nonzero().any():
            raise ValueError("missing values of no weight are kept")
        if rows.negative().any() or back._unsound() is not None:
            raise ValueError("a total of a column is negative, or has no rows")
        return back
