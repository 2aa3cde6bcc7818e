"""The protocol of everything that can be counted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol, Self, runtime_checkable

from bayeskit.arrays import Array, Bool, Int
from bayeskit.data.block import Block
from bayeskit.statistics.exact import ExactSum


class Statistic(Protocol):
    """What is counted, by group (class, or class x fold): axis 0 of every array is the group."""

    @property
    def groups(self) -> int:
        """How many groups it counts."""

    def update(self, block: Block, /) -> Self:
        """Count a block more; may consume self."""

    def place(self, groups: Int, n_groups: int, levels: Mapping[str, tuple[Int, int]]) -> Self:
        """Scatter to new codes: many-to-one sums, -1 drops.

        ``groups[g]`` is the new code of group g; ``levels[name]`` is (new codes, new number) of a column's levels.
        """

    def over_columns(self, like: Self, /) -> Self:
        """The same counts over the columns of ``like``, with no weight on those it adds."""

    def merge(self, other: Self, /) -> Self:
        """The statistic of both tables; both must have the same codes."""

    def subtract(self, other: Self, /) -> Self:
        """Inverse of merge; raises ForgetError when no table could have the result."""

    def occupied(self) -> tuple[Bool, dict[str, Bool]]:
        """Which groups and which levels carry weight."""

    def column_weights(self) -> Iterable[tuple[str, ExactSum]]:
        """Weight of what it counts of each column, or table, by group: its name and (G,) each."""

    def arrays(self) -> dict[str, Array]:
        """The whole state by field; equal statistics have equal arrays."""

    def with_arrays(self, arrays: Mapping[str, Array]) -> Self:
        """The state back; raises ValueError where no table could have it."""


@runtime_checkable
class ByLevel(Protocol):
    """A statistic that has cells for the levels of columns."""

    @property
    def sizes(self) -> Mapping[str, int]:
        """How many levels each of these columns has."""


def sizes_of(statistic: Statistic) -> Mapping[str, int]:
    """The levels of the columns that it counts by level."""
    return statistic.sizes if isinstance(statistic, ByLevel) else {}
