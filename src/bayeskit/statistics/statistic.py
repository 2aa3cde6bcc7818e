"""Statistic: the protocol of what is counted, and several statistics of the same rows counted in one pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self, TypeVar, runtime_checkable

import numpy as np

from bayeskit.arrays import Array, Bool, Int
from bayeskit.data.block import Block
from bayeskit.statistics.exact import ExactSum

S = TypeVar("S")


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

    def occupancy(self) -> tuple[Bool, dict[str, Bool]]:
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


@dataclass(frozen=True)
class Product:
    """Statistics by name, or by what they are of, all of the same groups; there may be none."""

    parts: Mapping[Any, Statistic]
    groups: int

    def __getitem__(self, name: object) -> Statistic:
        return self.parts[name]

    def part(self, name: object, kind: type[S]) -> S:
        """One of them, of the kind it has to be."""
        found = self.parts[name]
        if not isinstance(found, kind):
            raise TypeError(f"{name!r} is {type(found).__name__}, not {kind.__name__}")
        return found

    @property
    def sizes(self) -> dict[str, int]:
        """Levels of the columns its parts count by level."""
        return {name: size for part in self.parts.values() for name, size in sizes_of(part).items()}

    def _each(self, step: Callable[[Any, Any], Statistic]) -> Product:
        return replace(self, parts={name: step(name, part) for name, part in self.parts.items()})

    def update(self, block: Block, /) -> Product:
        return self._each(lambda _, part: part.update(block))

    def place(self, groups: Int, n_groups: int, levels: Mapping[str, tuple[Int, int]]) -> Product:
        placed = self._each(lambda _, part: part.place(groups, n_groups, levels))
        return replace(placed, groups=n_groups)

    def over_columns(self, like: Product, /) -> Product:
        none = np.full(self.groups, -1, dtype=np.int64)
        parts: dict[Any, Any] = {}
        for name, wide in like.parts.items():
            if name in self.parts:
                parts[name] = self.parts[name].over_columns(wide)
            else:
                parts[name] = wide.place(none[: wide.groups], self.groups, {})
        return Product(parts, self.groups)

    def merge(self, other: Product, /) -> Product:
        return self._each(lambda name, part: part.merge(other.parts[name]))

    def subtract(self, other: Product, /) -> Product:
        return self._each(lambda name, part: part.subtract(other.parts[name]))

    def occupancy(self) -> tuple[Bool, dict[str, Bool]]:
        groups = np.zeros(self.groups, dtype=bool)
        levels: dict[str, Bool] = {}
        for part in self.parts.values():
            theirs, seen = part.occupancy()
            groups |= theirs
            for name, used in seen.items():
                levels[name] = levels[name] | used if name in levels else used
        return groups, levels

    def column_weights(self) -> Iterator[tuple[str, ExactSum]]:
        for part in self.parts.values():
            yield from part.column_weights()

    @property
    def _labels(self) -> dict[Any, str]:
        """What the arrays of each part begin with: its name, or its number if it has none."""
        return {name: name if isinstance(name, str) else str(i) for i, name in enumerate(self.parts)}

    def arrays(self) -> dict[str, Array]:
        labels = self._labels
        return {f"{labels[name]}/{f}": array for name, part in self.parts.items() for f, array in part.arrays().items()}

    def with_arrays(self, arrays: Mapping[str, Array]) -> Product:
        labels = self._labels

        def back(name: Any, part: Any) -> Statistic:
            front = f"{labels[name]}/"
            mine = {f.removeprefix(front): a for f, a in arrays.items() if f.startswith(front)}
            found: Statistic = part.with_arrays(mine)
            return found

        return self._each(back)
