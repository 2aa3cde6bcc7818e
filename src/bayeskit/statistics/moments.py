"""Moments: exact sums of w, w x and w x^2 by group and column, or of a view of x."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from bayeskit import _core
from bayeskit._core import RangeRow
from bayeskit.arrays import Array, Bool, Float, Int
from bayeskit.data.block import Block, Columns, scan
from bayeskit.data.support import ANY, Support
from bayeskit.errors import ForgetError, InputError
from bayeskit.statistics.exact import ExactSum, weight_range

# Correctly rounded, so that sums are the same on every machine.
FUNCTIONS = {"log x": _core.log, "log(1 - x)": _core.log1m, "cos x": _core.cos, "sin x": _core.sin}


@dataclass(frozen=True)
class View:
    """A function of the values, of a family that takes some values only.

    >>> View("log x").of(np.array([1.0, np.nan]))
    array([ 0., nan])
    """

    function: str = "x"
    support: Support = ANY
    family: str = ""
    nonzero: bool = False  # whether zeros are left out

    def of(self, x: Float) -> Float:
        """The function of each value, NaN where it is missing."""
        if self.nonzero:
            x = np.where(x == 0, np.nan, x)
        if self.function == "x = 0":
            return np.where(np.isnan(x), np.nan, (x == 0).astype(np.float64))
        if self.function == "x":
            return x
        out: Float = FUNCTIONS[self.function](np.ascontiguousarray(x))
        return out

    def read(self, block: Block, names: Sequence[str]) -> tuple[Columns, Float]:
        """The columns to sum with their spans; refuses counted values outside the support."""
        columns, span = block.numbers(names)
        if not self.support.everything:
            self._check(block, columns, names)
        if self.function == "x" and not self.nonzero:
            return columns, span
        seen = Columns(tuple(self.of(self.support.mask(columns.column(j))) for j in range(len(names))), columns.rows)
        return seen, scan(seen)

    def _check(self, block: Block, columns: Columns, names: Sequence[str]) -> None:
        for j, name in enumerate(names):
            x = columns.column(j)
            outside = ~self.support.inside(x)
            if block.groups is not None:
                outside &= block.groups >= 0
            if block.weights is not None:
                outside &= block.weights > 0
            if outside.any():
                raise InputError(self.support.refusal(name, float(x[outside][0]), self.family))


@dataclass(frozen=True)
class Moments:
    """Exact S0 = sum w, S1 = sum w x, S2 = sum w x^2 over the values that are there, or over a view of them."""

    columns: tuple[str, ...]
    present: ExactSum  # (G, d)
    first: ExactSum  # (G, d)
    second: ExactSum  # (G, d)
    view: View = View()

    @classmethod
    def empty(cls, columns: Sequence[str], n_groups: int, view: View = View()) -> Moments:
        zero = ExactSum.zeros((n_groups, len(columns)))
        return cls(tuple(columns), zero, zero, zero, view)

    @property
    def groups(self) -> int:
        return self.present.shape[0]

    @property
    def sums(self) -> tuple[ExactSum, ExactSum, ExactSum]:
        return self.present, self.first, self.second

    def _of(self, sums: Iterable[ExactSum]) -> Self:
        present, first, second = sums
        return replace(self, present=present, first=first, second=second)

    def update(self, block: Block, /) -> Self:
        groups, weights = block.groups, block.weights
        if groups is None or not block.rows or not self.columns:
            return self
        columns, span = self.view.read(block, self.columns)
        light, heavy = (1.0, 1.0) if weights is None else weight_range(weights)
        lowest, highest = float(span[RangeRow.SMALLEST].min()), float(span[RangeRow.LARGEST].max())
        s0, s1, s2 = (
            old.room(*_core.limb_window(lowest, highest, power, light, heavy)) for power, old in enumerate(self.sums)
        )
        _core.add_moments(
            columns.address,
            columns.stride,
            columns.rows,
            groups,
            weights,
            *(s0.limbs, s0.low),
            *(s1.limbs, s1.low),
            *(s2.limbs, s2.low),
        )
        return self._of(s.carry() for s in (s0, s1, s2))

    def place(self, groups: Int, n_groups: int, levels: Mapping[str, tuple[Int, int]]) -> Self:
        return self._of(s.place(groups, n_groups) for s in self.sums)

    def over_columns(self, like: Self, /) -> Self:
        target = {name: j for j, name in enumerate(like.columns)}
        index = np.array([target[name] for name in self.columns], dtype=np.int64)
        wide = self._of(s.place(index, len(target), axis=1) for s in self.sums)
        return replace(wide, columns=like.columns)

    def merge(self, other: Self, /) -> Self:
        return self._of(a + b for a, b in zip(self.sums, other.sums, strict=True))

    def subtract(self, other: Self, /) -> Self:
        result = self._of(a - b for a, b in zip(self.sums, other.sums, strict=True))
        unsound = np.argwhere(~result.finish()[2])
        if len(unsound):
            raise ForgetError(
                f"these rows cannot have been learned: without them column {self.columns[unsound[0][1]]!r} "
                f"would have a negative weight or variance; the model stays as it was"
            )
        return result

    def column(self, j: int) -> Self:
        """One of the columns: (G, 1)."""
        one = self._of(ExactSum(s.limbs[:, j : j + 1], s.low) for s in self.sums)
        return replace(one, columns=(self.columns[j],))

    def without(self, column: int, values: Float, groups: Int, weights: Float) -> Self:
        """One column as often as there are values, each time without one of them: (G, n)."""
        n, shape = len(values), (self.groups, len(values))
        span = scan(Columns((values,), n))[:, 0].tolist()
        ends = span[RangeRow.SMALLEST], span[RangeRow.LARGEST]
        light, heavy = weight_range(weights)
        taken = [ExactSum.zeros((n, 1)).room(*_core.limb_window(*ends, power, light, heavy)) for power in range(3)]
        each = Columns((np.ascontiguousarray(values),), n)
        s0, s1, s2 = taken
        codes = np.arange(n, dtype=np.int32)
        sums = (s0.limbs, s0.low, s1.limbs, s1.low, s2.limbs, s2.low)
        _core.add_moments(each.address, each.stride, n, codes, weights, *sums)
        left = []
        for whole, own in zip(self.sums, taken, strict=True):
            mine = own.carry()
            gone = np.zeros((*shape, mine.limbs.shape[-1]), dtype=np.int64)
            gone[groups, np.arange(n)] = mine.limbs[:, 0]
            every = np.repeat(whole.limbs[:, column, None], n, axis=1)
            left.append(ExactSum(every, whole.low) - ExactSum(gone, mine.low))
        return replace(self._of(left), columns=(self.columns[column],) * n)

    def occupancy(self) -> tuple[Bool, dict[str, Bool]]:
        return np.any(self.present.nonzero(), axis=1), {}

    def column_weights(self) -> Iterator[tuple[str, ExactSum]]:
        """Weight of the values of each column by group: (G,) each."""
        for j, name in enumerate(self.columns):
            yield name, ExactSum(self.present.limbs[:, j], self.present.low)

    def finish(self, shift: Int | None = None) -> tuple[Float, Float, Bool]:
        """Mean and deviation times 2^shift, each rounded once, and whether a table can have these sums: (G, d)."""
        if shift is None:
            shift = np.zeros(len(self.columns), dtype=np.int64)
        s0, s1, s2 = self.sums
        return _core.means_and_deviations(s0.limbs, s0.low, s1.limbs, s1.low, s2.limbs, s2.low, shift)

    def means(self, origin: Float, shift: Int) -> Float:
        """Mean of each column less its origin, times 2^shift, without loss where they nearly cancel: (G, d)."""
        low, high = min(self.present.low, self.first.low), max(self.present.high, self.first.high)
        weight, first = (s.widen(low, high).flat().limbs for s in (self.present, self.first))
        at, by = np.tile(origin, self.groups), np.tile(shift, self.groups).astype(np.int64)
        return _core.mean(weight, first, low, at, by).reshape(self.groups, len(self.columns))

    def total(self) -> Self:
        """All groups as one: (1, d)."""
        return self._of(s.total() for s in self.sums)

    def arrays(self) -> dict[str, Array]:
        return {
            **self.present.arrays("present"),
            **self.first.arrays("first"),
            **self.second.arrays("second"),
        }

    def with_arrays(self, arrays: Mapping[str, Array]) -> Self:
        shape = (self.groups, len(self.columns))
        back = self._of(ExactSum.from_arrays(arrays, name, shape) for name in ("present", "first", "second"))
        if not back.finish()[2].all():
            raise ValueError("the sums of a numeric column have a negative weight or variance")
        return back
