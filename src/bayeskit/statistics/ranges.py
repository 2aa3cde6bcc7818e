"""Ranges: the least and the greatest value that were seen of every numeric column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bayeskit.arrays import Float
from bayeskit.data.block import Block


@dataclass(frozen=True, eq=False)
class Ranges:
    """[min x_j, max x_j] over the rows with a class and a weight; beside the counts, and no part of a model's identity.

    An end that a forgotten row may have held is unknown from then on: no trace of the row stays.

    >>> first, second = (Ranges(np.array([low]), np.array([high])) for low, high in ((1.0, 5.0), (2.0, 9.0)))
    >>> both = first.merge(second)
    >>> both.low.tolist(), both.high.tolist()
    ([1.0], [9.0])
    >>> left = both.subtract(second)
    >>> left.low.tolist(), left.high.tolist()
    ([1.0], [nan])
    """

    low: Float  # (numeric columns,) NaN where it is not known, inf where no value was seen
    high: Float  # (numeric columns,) NaN, -inf likewise

    @classmethod
    def empty(cls, columns: int) -> Ranges:
        """No value was seen."""
        return cls(np.full(columns, np.inf), np.full(columns, -np.inf))

    @classmethod
    def unknown(cls, columns: int) -> Ranges:
        """Nothing is known."""
        return cls(np.full(columns, np.nan), np.full(columns, np.nan))

    @property
    def known(self) -> bool:
        """Whether anything is."""
        return not (np.isnan(self.low) & np.isnan(self.high)).all()

    def update(self, block: Block) -> Ranges:
        """With the rows of a block that count."""
        counted = np.ones(block.rows, dtype=bool) if block.groups is None else block.groups >= 0
        if block.weights is not None:
            counted = counted & (block.weights > 0)
        columns = block.numeric if counted.all() else block.numeric.at(np.flatnonzero(counted))
        return self.merge(Ranges(*columns.ends))

    def merge(self, other: Ranges) -> Ranges:
        """Of both tables."""
        return Ranges(np.minimum(self.low, other.low), np.maximum(self.high, other.high))

    def subtract(self, other: Ranges) -> Ranges:
        """Without the rows of another table, which is a part of this one."""
        nothing = other.low > other.high
        low = np.where(nothing | (other.low > self.low), self.low, np.nan)
        return Ranges(low, np.where(nothing | (other.high < self.high), self.high, np.nan))

    def over_columns(self, mine: Sequence[str], names: Sequence[str]) -> Ranges:
        """Over other columns, of which those that are not among ``mine`` had no value so far."""
        wide, place = Ranges.empty(len(names)), {name: j for j, name in enumerate(names)}
        there = [place[name] for name in mine]
        wide.low[there], wide.high[there] = self.low, self.high
        return wide

    def of(self, place: int) -> tuple[float, float]:
        """The ends of one column, NaN where they are not known."""
        low, high = float(self.low[place]), float(self.high[place])
        return (np.nan, np.nan) if low > high else (low, high)
