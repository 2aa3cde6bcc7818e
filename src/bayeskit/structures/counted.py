"""CountedTable: the counts behind a table P(x | parents, c), and its probabilities as fractions of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from bayeskit.arrays import Float
from bayeskit.data.written import Ratio, decimal, plain


@dataclass(frozen=True)
class CountedTable:
    """What ``Conditional`` makes P(x | parents, c) of."""

    counts: Float  # (K, parents..., m)
    alone: Float  # (K, m) of the column by itself
    smoothing: float
    strength: float = np.inf
    part: float = 1.0  # of P(x | c) in the base
    shared: float = 0.0  # pseudo-rows by which P(x | parents) of all classes shrinks toward P(x)
    even: bool = False  # whether the pseudo-rows are the same for all levels

    def written(self, parents: Sequence[int], level: int) -> tuple[Ratio, ...]:
        """P of a level given levels of the parents as fractions, by class; below 0 they were never seen: (K)."""
        alone = write_laplace(self.alone, level, self.smoothing)
        if min(parents, default=-1) < 0:
            return alone
        place: tuple[Any, ...] = (slice(None), *parents)
        rows: Float = self.counts[place]
        if self.even and level >= 0:
            return write_laplace(rows, level, self.smoothing)
        each = zip(rows, (self._base(one, rows.sum(axis=0), level) for one in alone), strict=True)
        return tuple(_shrink(row, level, self.strength, *base) for row, base in each)

    def _base(self, alone: Ratio, rows: Float, level: int) -> tuple[str, Fraction]:
        """P(x | c), or what its part makes of it with P(x | parents) of all classes."""
        if self.part == 1 or level < 0:
            return str(alone), alone.value
        (anywhere,) = write_laplace(self.alone.sum(axis=0, keepdims=True), level, 1.0)
        of_all = _shrink(rows, level, self.shared, str(anywhere), anywhere.value)
        if self.part == 0:
            return str(of_all), of_all.value
        part, rest = decimal(self.part), 1 - decimal(self.part)
        text = f"({plain(self.part)}·{alone}+{plain(1 - self.part)}·{of_all})"
        return text, part * alone.value + rest * of_all.value


def write_laplace(rows: Float, level: int, smoothing: float) -> tuple[Ratio, ...]:
    """(n + a) / (n_c + a m) of one level from counts (K, m), by class; below 0 it is one level more: (K).

    >>> print(*write_laplace(np.array([[2.0, 7.0], [3.0, 2.0]]), 0, 1.0))
    (2+1)/(9+2) (3+1)/(5+2)
    """
    spread = smoothing * (rows.shape[1] + (level < 0))
    return tuple(Ratio.of([*row[[level] * (level >= 0)], smoothing], [row.sum(), spread]) for row in rows)


def _shrink(row: Float, level: int, strength: float, text: str, base: Fraction) -> Ratio:
    """(n + s b) / (N + s)."""
    n, of = float(row[level]) if level >= 0 else 0.0, float(row.sum())
    value = (decimal(n) + decimal(strength) * base) / (decimal(of) + decimal(strength))
    return Ratio(f"{plain(n)}+{plain(strength)}·{text}", f"{plain(of)}+{plain(strength)}", value)
