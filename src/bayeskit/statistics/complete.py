"""Complete: a statistic of the rows that have a value in all of some columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from bayeskit.arrays import Array, Bool, Int
from bayeskit.data.block import Block
from bayeskit.statistics.exact import ExactSum
from bayeskit.statistics.keyed import Keyed
from bayeskit.statistics.statistic import sizes_of


@dataclass(frozen=True)
class Complete:
    """What another statistic counts, of the rows in which none of its columns is missing."""

    columns: tuple[str, ...]
    inner: Any  # a statistic

    @property
    def groups(self) -> int:
        found: int = self.inner.groups
        return found

    @property
    def sizes(self) -> Mapping[str, int]:
        """Levels of the columns counted by level."""
        return sizes_of(self.inner)

    def update(self, block: Block, /) -> Self:
        if block.groups is None or not block.rows:
            return self
        there = block.groups >= 0
        for name in self.columns:
            if name in block.schema.numeric_index:
                there &= ~np.isnan(block.numeric.column(block.schema.numeric_index[name]))
            else:
                there &= block.codes[block.schema.coded_index[name]] >= 0
        groups = np.where(there, block.groups, np.int32(-1))
        return replace(self, inner=self.inner.update(replace(block, groups=groups)))

    def place(self, groups: Int, n_groups: int, levels: Mapping[str, tuple[Int, int]]) -> Self:
        placed = self.inner.place(groups, n_groups, levels)
        return replace(self, inner=placed.without_missing() if isinstance(placed, Keyed) else placed)

    def over_columns(self, like: Self, /) -> Self:
        return replace(like, inner=self.inner.over_columns(like.inner))

    def merge(self, other: Self, /) -> Self:
        return replace(self, inner=self.inner.merge(other.inner))

    def subtract(self, other: Self, /) -> Self:
        return replace(self, inner=self.inner.subtract(other.inner))

    def occupancy(self) -> tuple[Bool, dict[str, Bool]]:
        found: tuple[Bool, dict[str, Bool]] = self.inner.occupancy()
        return found

    def column_weights(self) -> Iterable[tuple[str, ExactSum]]:
        found: Iterable[tuple[str, ExactSum]] = self.inner.column_weights()
        return found

    def arrays(self) -> dict[str, Array]:
        found: dict[str, Array] = self.inner.arrays()
        return found

    def with_arrays(self, arrays: Mapping[str, Array]) -> Self:
        return replace(self, inner=self.inner.with_arrays(arrays))
