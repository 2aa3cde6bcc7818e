"""DistinctRows: what EM and gradient learn from; rows with missing values, each kept once with its weight."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bayeskit.arrays import Code, Float
from bayeskit.data.levels import Levels
from bayeskit.errors import ForgetError
from bayeskit.networks.inference import distinct
from bayeskit.statistics.exact import ExactSum

MOST_KEPT = 1 << 18


@dataclass(frozen=True)
class DistinctRows:
    """Distinct rows of codes, sorted, and their weights, added without rounding: the same in any order and split.

    >>> levels = {"a": Levels.of("xy")}
    >>> rows = DistinctRows.of(levels, np.array([[0, 1, 0, -1]], dtype=np.int32), np.ones(4))
    >>> rows.weights.tolist(), rows.subtract(rows).weights.tolist()
    ([2.0, 1.0, 1.0], [])
    """

    levels: Mapping[str, Levels]
    codes: Code  # (nodes, rows): -1 where not observed
    mass: ExactSum  # (rows,) above 0

    @classmethod
    def of(cls, levels: Mapping[str, Levels], codes: Code, weights: Float) -> DistinctRows:
        return cls.join(levels, codes, ExactSum.of(weights))

    @classmethod
    def join(cls, levels: Mapping[str, Levels], codes: Code, mass: ExactSum) -> DistinctRows:
        """Equal rows once, those without weight left out."""
        labels, first = distinct(codes)
        total = mass.place(labels, len(first))
        kept = np.flatnonzero(total.nonzero())
        return cls(levels, np.ascontiguousarray(codes[:, first[kept]]), ExactSum(total.limbs[kept], total.low))

    @cached_property
    def weights(self) -> Float:
        """Each rounded once: (rows,)."""
        return self.mass.to_float()

    @property
    def kept(self) -> bool:
        """Whether they are few enough to be kept for learning more and forgetting."""
        return len(self.weights) <= MOST_KEPT

    def on(self, levels: Mapping[str, Levels]) -> DistinctRows:
        """The same rows in the codes of other levels, which must have all of these."""
        moved = np.empty_like(self.codes)
        for j, (name, mine) in enumerate(self.levels.items()):
            table = np.append(mine.codes_in(levels[name]), -1).astype(np.int32)
            moved[j] = table[self.codes[j]]
        return DistinctRows.join(levels, moved, self.mass)

    def merge(self, other: DistinctRows) -> DistinctRows:
        """The rows of both tables, with the levels of both."""
        levels = {name: mine.union(other.levels[name]) for name, mine in self.levels.items()}
        ordered = {name: some.ordered for name, some in levels.items()}
        levels = {name: levels[name] if levels[name] == self.levels[name] else some for name, some in ordered.items()}
        one, two = self.on(levels), other.on(levels)
        return DistinctRows.join(levels, np.hstack([one.codes, two.codes]), _after(one.mass, two.mass))

    def subtract(self, other: DistinctRows, declared: Collection[str] = ()) -> DistinctRows:
        """Without the other's rows; refused where they cannot have been learned.

        A level goes with its last row, unless the states of its node were declared.
        """
        for name, theirs in other.levels.items():
            for key in theirs.keys:
                if key not in self.levels[name].index:
                    raise ForgetError(f"column {name!r} has the value {key[1]!r}, which was never learned")
        gone = other.on(self.levels)
        less = ExactSum.zeros(gone.mass.shape) - gone.mass
        rest = DistinctRows.join(self.levels, np.hstack([self.codes, gone.codes]), _after(self.mass, less))
        if rest.mass.negative().any():
            raise ForgetError("these rows cannot have been learned: one of them was never seen, or not so often")
        before, after = self._occupied, rest._occupied
        return rest.on(
            {
                name: some
                if name in declared
                else Levels(tuple(k for k, c in some.index.items() if c in after[name] or c not in before[name]))
                for name, some in self.levels.items()
            }
        )

    @property
    def _occupied(self) -> dict[str, set[int]]:
        """The codes that rows have, by node."""
        return {name: set(np.unique(codes).tolist()) for name, codes in zip(self.levels, self.codes, strict=True)}


def _after(one: ExactSum, two: ExactSum) -> ExactSum:
    """Sums one after the other: (n + m,) of (n,) and (m,)."""
    low, high = min(one.low, two.low), max(one.high, two.high)
    return ExactSum(np.concatenate([some.widen(low, high).limbs for some in (one, two)]), low)
