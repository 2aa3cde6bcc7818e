"""Scatter: exact sums of the products of every two columns, by group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from bayeskit import _core
from bayeskit._core import RangeRow
from bayeskit.arrays import Array, Bool, Float, Int
from bayeskit.data.block import Block, Columns
from bayeskit.errors import ForgetError
from bayeskit.memory import check_pairs
from bayeskit.statistics.exact import ExactSum, weight_range
from bayeskit.statistics.moments import Moments

SLICES = ((1, 2), (3, 6), (6, 9))  # of x, and of w x: tried in turn; whole numbers need one, most others three
LARGE = 1000  # binary digits before or behind the point that a weight may have to be cut
_ONE = np.ones(1)


@dataclass(frozen=True)
class Scatter:
    """Exact sums of w a_i a_j over i <= j, where a = (1, x_1, ..., x_d) and a missing value counts as zero.

    With ``available``, a = (1, x, whether each x is there): then every two columns have the weight and the sums of the
    rows that hold both.
    """

    columns: tuple[str, ...]
    sums: ExactSum  # (G, pairs) the upper triangle, row by row
    available: bool = False

    @classmethod
    def empty(cls, columns: Sequence[str], n_groups: int, available: bool = False) -> Scatter:
        width = 1 + len(columns) * (2 if available else 1)
        check_pairs(width, "products")
        return cls(tuple(columns), ExactSum.zeros((n_groups, width * (width + 1) // 2)), available)

    @property
    def groups(self) -> int:
        return self.sums.shape[0]

    @property
    def width(self) -> int:
        return 1 + len(self.columns) * (2 if self.available else 1)

    @cached_property
    def _pair(self) -> Int:
        """Position of the product of every two of the factors: (width, width)."""
        at = np.empty((self.width, self.width), dtype=np.int64)
        row, column = np.triu_indices(self.width)
        at[row, column] = at[column, row] = np.arange(len(row))
        return at

    def _sum(self, one: Int, other: Int) -> ExactSum:
        """The sums of some products of factors: (G, n)."""
        return ExactSum(np.ascontiguousarray(self.sums.limbs[:, self._pair[one, other]]), self.sums.low)

    @property
    def weight(self) -> ExactSum:
        """Of the rows: (G,)."""
        return ExactSum(self.sums.limbs[:, 0], self.sums.low)

    @property
    def _numbers(self) -> Int:
        return np.arange(1, 1 + len(self.columns))

    @property
    def _there(self) -> Int:
        """The factor that says how much weight a column has: whether it is there, or 1."""
        d = len(self.columns)
        return np.arange(1 + d, 1 + 2 * d) if self.available else np.zeros(d, dtype=np.int64)

    def update(self, block: Block, /) -> Self:
        groups, weights = block.groups, block.weights
        if groups is None or not block.rows or not self.columns:
            return self
        counted = groups >= 0 if weights is None else (groups >= 0) & (weights > 0)
        rows = np.flatnonzero(counted)
        if not len(rows):
            return self
        rows = rows[np.argsort(groups[rows], kind="stable")]
        factors, lowest, highest = self._factors(block)
        light, heavy = (1.0, 1.0) if weights is None else weight_range(weights)
        sums = self.sums.room(*_core.limb_window(float(lowest.min()), float(highest.max()), 2, light, heavy))
        if weights is not None and (weights[rows] == 1).all():
            weights = None
        exponents = np.frexp(highest)[1].astype(np.int64), max(int(np.frexp(heavy)[1]), -LARGE)
        slow = [rows] if exponents[1] > LARGE else list(self._fast(factors, exponents, rows, block, weights, sums))
        if slow:
            one_by_one = np.ascontiguousarray(np.concatenate(slow))
            _core.gram_by_rows(
                factors.address, factors.stride, factors.rows, one_by_one, groups, weights, sums.limbs, sums.low
            )
        return replace(self, sums=sums.carry())

    def _factors(self, block: Block) -> tuple[Columns, Float, Float]:
        """1, the columns, and with ``available`` whether each is there; smallest and largest magnitudes."""
        columns, span = block.numbers(self.columns)
        one = np.broadcast_to(_ONE, block.rows)
        numbers = [columns.column(j) for j in range(len(self.columns))]
        there = [(~np.isnan(x)).astype(np.float64) for x in numbers] if self.available else []
        lowest, highest = (
            np.concatenate([[1.0], end, np.ones(len(there))])
            for end in (span[RangeRow.SMALLEST], span[RangeRow.LARGEST])
        )
        return Columns((one, *numbers, *there), block.rows), lowest, highest

    def _fast(
        self,
        factors: Columns,
        exponents: tuple[Int, int],
        rows: Int,
        block: Block,
        weights: Float | None,
        sums: ExactSum,
    ) -> Iterator[Int]:
        """Adds what can be cut into slices; yields the rows left to be added one by one.

        ``exponents`` are those of the largest factors, (d,), and of the heaviest weight.
        """
        groups = block.classes
        for slices, heavy_slices in SLICES:
            few, left = 4 + slices + 12000 / self.width**2, []
            starts = np.flatnonzero(np.diff(groups[rows], prepend=-1))
            for begin, end in zip(starts.tolist(), [*starts[1:].tolist(), len(rows)], strict=True):
                mine = np.ascontiguousarray(rows[begin:end])
                if len(mine) < few:
                    yield mine
                    continue
                numbers = (factors.address, factors.stride, factors.rows, mine, weights, *exponents)
                lost = _core.gram_by_slices(*numbers, slices, heavy_slices, sums.limbs, sums.low, int(groups[mine[0]]))
                left.append(mine[lost])
            rows = np.concatenate(left) if left else rows[:0]
            if not len(rows):
                return
        yield rows

    def place(self, groups: Int, n_groups: int, levels: Mapping[str, tuple[Int, int]]) -> Self:
        return replace(self, sums=self.sums.place(groups, n_groups))

    def over_columns(self, like: Self, /) -> Self:
        target = {name: j for j, name in enumerate(like.columns)}
        index = 1 + np.array([target[name] for name in self.columns], dtype=np.int64)
        factor = np.concatenate([[0], index, *([index + len(target)] if self.available else [])])
        row, column = np.triu_indices(self.width)
        moved = like._pair[factor[row], factor[column]]
        return replace(like, sums=self.sums.place(moved, like.sums.shape[1], axis=1))

    def merge(self, other: Self, /) -> Self:
        return replace(self, sums=self.sums + other.sums)

    def subtract(self, other: Self, /) -> Self:
        result = replace(self, sums=self.sums - other.sums)
        if (wrong := result._unsound()) is not None:
            raise ForgetError(
                f"these rows cannot have been learned: without them {wrong} would have a negative weight or variance; "
                f"the model stays as it was"
            )
        return result

    def _unsound(self) -> str | None:
        """What has sums no table can have."""
        if self.weight.negative().any():
            return "a class"
        bad = np.argwhere(~self.moments().finish()[2])
        return f"column {self.columns[bad[0][1]]!r}" if len(bad) else None

    def moments(self, there: Bool | None = None) -> Moments:
        """Weight, sum and sum of squares of each column: (G, d); ``there`` (G, d) says which columns a group holds."""
        x = self._numbers
        present = self._sum(self._there, self._there)
        if there is not None:
            present = replace(present, limbs=present.limbs * there[..., None])
        return Moments(self.columns, present, self._sum(x, self._there), self._sum(x, x))

    def covariances(self, shift: Int) -> Iterator[Float]:
        """Covariance (ddof 0) of every two columns of each group, times 2^shift of both: (d, d) each."""
        d = len(self.columns)
        row, column = np.triu_indices(d)
        x, there = self._numbers, self._there
        pairs = ((there[row], there[column]), (x[row], there[column]), (x[column], there[row]), (x[row], x[column]))
        by = (shift[row] + shift[column]).astype(np.int64)
        at = [self._pair[one, other] for one, other in pairs]
        for limbs in self.sums.limbs:
            found = np.empty((d, d))
            weight, one, other, both = (limbs[a] for a in at)
            cells = _core.covariance(weight, one, other, both, self.sums.low, by)
            found[row, column] = found[column, row] = cells
            yield found

    def occupancy(self) -> tuple[Bool, dict[str, Bool]]:
        return self.weight.nonzero(), {}

    def column_weights(self) -> Iterator[tuple[str, ExactSum]]:
        """Weight of the rows by group, under the name of the first column: none has more."""
        if self.columns:
            yield self.columns[0], self.weight

    def arrays(self) -> dict[str, Array]:
        return self.sums.arrays("products")

    def with_arrays(self, arrays: Mapping[str, Array]) -> Self:
        back = replace(self, sums=ExactSum.from_arrays(arrays, "products", self.sums.shape))
        if back._unsound() is not None:
            raise ValueError("the products of numeric columns have a negative weight or variance")
        return back
