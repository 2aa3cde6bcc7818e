"""DistinctRows: what EM and gradient learn from; rows with holes, each kept once with its weight."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from bayeskit.arrays import Code, Float
from bayeskit.data.levels import Levels
from bayeskit.errors import ForgetError
from bayeskit.networks.inference import distinct

MOST_KEPT = 1 << 18


@dataclass(frozen=True)
class DistinctRows:
    """Distinct rows of codes, sorted, and their weights.

    >>> levels = {"a": Levels.of("xy")}
    >>> rows = DistinctRows.of(levels, np.array([[0, 1, 0, -1]], dtype=np.int32), np.ones(4))
    >>> rows.weights.tolist(), rows.subtract(rows).weights.tolist()
    ([2.0, 1.0, 1.0], [])
    """

    levels: Mapping[str, Levels]
    codes: Code  # (nodes, rows): -1 where not observed
    weights: Float  # (rows,)

    @classmethod
    def of(cls, levels: Mapping[str, Levels], codes: Code, weights: Float) -> DistinctRows:
        labels, first = distinct(codes)
        total: Float = np.bincount(labels, weights, minlength=len(first)).astype(np.float64)
        kept = total > 0
        return cls(levels, np.ascontiguousarray(codes[:, first[kept]]), total[kept])

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
        return DistinctRows.of(levels, moved, self.weights)

    def merge(self, other: DistinctRows) -> DistinctRows:
        """The rows of both tables, with the levels of both."""
        levels = {name: mine.union(other.levels[name]) for name, mine in self.levels.items()}
        ordered = {name: some.ordered for name, some in levels.items()}
        levels = {name: levels[name] if levels[name] == self.levels[name] else some for name, some in ordered.items()}
        one, two = self.on(levels), other.on(levels)
        return DistinctRows.of(levels, np.hstack([one.codes, two.codes]), np.concatenate([one.weights, two.weights]))

    def subtract(self, other: DistinctRows) -> DistinctRows:
        """Without the other's rows; refused where they cannot have been learned."""
        for name, theirs in other.levels.items():
            for key in theirs.keys:
                if key not in self.levels[name].index:
                    raise ForgetError(f"column {name!r} has the value {key[1]!r}, which was never learned")
        gone = other.on(self.levels)
        both = np.hstack([self.codes, gone.codes])
        labels, first = distinct(both)
        signed = np.concatenate([self.weights, -gone.weights])
        rest: Float = np.bincount(labels, signed, minlength=len(first)).astype(np.float64)
        size = np.bincount(labels, np.abs(signed), minlength=len(first))
        rest[np.abs(rest) <= 1e-12 * size] = 0.0
        if (rest < 0).any():
            raise ForgetError("these rows cannot have been learned: one of them was never seen, or not so often")
        return DistinctRows.of(self.levels, np.ascontiguousarray(both[:, first]), rest)
