"""View: what of a number is summed, and which numbers may be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bayeskit import _core
from bayeskit.arrays import Float
from bayeskit.data.block import Block, Columns, scan
from bayeskit.data.support import ANY, Support
from bayeskit.errors import InputError

# Correctly rounded, so that sums are the same on every machine.
FUNCTIONS = {"log x": "log", "log(1 - x)": "log1m", "cos x": "cos", "sin x": "sin"}


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
        out: Float = getattr(_core, FUNCTIONS[self.function])(np.ascontiguousarray(x))
        return out

    def read(self, block: Block, names: Sequence[str]) -> tuple[Columns, Float]:
        """The columns to sum with their spans; refuses counted values outside the support."""
        columns, span = block.numbers(names)
        if not self.support.everything:
            self._check(block, columns, names)
        if self.function == "x" and not self.nonzero:
            return columns, span
        seen = Columns(tuple(self.of(self.support.masked(columns.column(j))) for j in range(len(names))), columns.rows)
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
