"""Product: several statistics of the same rows, counted in one pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from bayeskit.arrays import Array, Bool, Int
from bayeskit.data.block import Block
from bayeskit.statistics.exact import ExactSum
from bayeskit.statistics.statistic import Statistic, sizes_of

S = TypeVar("S")


@dataclass(frozen=True)
class Product:
    """Statistics by name, or by what they are of, all of the same groups; there may be none."""

    parts: Mapping[Any, Statistic]
    groups: int

    def __getitem__(self, name: Any) -> Statistic:
        return self.parts[name]

    def part(self, name: Any, kind: type[S]) -> S:
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

    def occupied(self) -> tuple[Bool, dict[str, Bool]]:
        groups = np.zeros(self.groups, dtype=bool)
        levels: dict[str, Bool] = {}
        for part in self.parts.values():
            theirs, seen = part.occupied()
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
