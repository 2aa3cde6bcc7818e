"""Dependence: what pairs of columns tell of each other given the class, and the arcs it is worth keeping."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import xlogy

from bayeskit.arrays import Float
from bayeskit.statistics.tables import Tables

NOTHING = 1e-12  # nats of a row that are only rounding


@dataclass(frozen=True)
class Dependence:
    """Conditional mutual information I(a; b | c) of all pairs of columns, and I(a; c), in nats.

    All is read from counts, so it is the same in any order of rows.
    """

    relevance: Float  # (d,) n I(a; c)
    gain: Float  # (d, d) n I(a; b | c), n the weight of the rows in which both are present

    @classmethod
    def of(cls, levels: Tables, pairs: Tables) -> Dependence:
        """From a table of each column and one of each pair of them."""
        place = {name: j for j, (name,) in enumerate(levels.tables)}
        d = len(place)
        told = np.array([relevance(levels.table(j).rounded()) for j in range(d)]).reshape(d)
        gain = np.zeros((d, d))
        a, b = (np.array([place[t[i]] for t in pairs.tables], dtype=np.int64) for i in range(2))
        with np.errstate(over="ignore"):
            gain[a, b] = gain[b, a] = np.prod(conditional_information(pairs), axis=0)
        return cls(told, gain)

    def tree(self) -> list[tuple[int, ...]]:
        """Parents in the tree of largest gain (Chow and Liu) from the first column on, without arcs of no gain."""
        d = len(self.relevance)
        parents: list[tuple[int, ...]] = [()] * d
        reach = np.zeros(d)  # the gain of the best arc from the tree so far, by column
        source, outside = np.zeros(d, dtype=np.int64), np.ones(d, dtype=bool)
        for _ in range(d):
            best = np.where(outside, reach, -1.0)
            new = int(np.argmax(best))
            if reach[new] > 0:
                parents[new] = (int(source[new]),)
            outside[new] = False
            nearer = outside & (self.gain[new] > reach)
            reach[nearer], source[nearer] = self.gain[new][nearer], new
        return parents

    def order(self, k: int, cells: Sequence[int], most: int) -> list[tuple[int, ...]]:
        """Parents by rank: columns by I(a; c), each with the k before it that tell most of it, best first.

        A parent is left out where the table of the column would have more than ``most`` cells; ``cells`` are those
        each column multiplies it by.
        """
        ranked = np.argsort(-self.relevance, kind="stable")
        parents: list[tuple[int, ...]] = [()] * len(ranked)
        for rank, child in enumerate(ranked.tolist()):
            size = cells[child]
            chosen: list[int] = []
            for other in sorted(ranked[:rank].tolist(), key=lambda p: (-self.gain[child, p], p)):
                if len(chosen) < k and self.gain[child, other] > 0 and size * cells[other] <= most:
                    chosen.append(other)
                    size *= cells[other]
            parents[child] = tuple(chosen)
        return parents


def conditional_information(pairs: Tables) -> tuple[Float, Float]:
    """I(a; b | c) of each pair in nats, and the weight of the rows it comes from: (pairs,) both.

    n I = sum of n_abc log n_abc - n_ac log n_ac - n_bc log n_bc + n_c log n_c over all cells.
    """
    every = np.arange(len(pairs.tables))
    if not len(every):
        return np.empty(0), np.empty(0)
    table, place = pairs.layout.cells
    height, width = (pairs.layout.levels[pairs.layout.members.padded[:, i]].astype(np.int64) for i in range(2))
    row, column = np.divmod(place, width[table])
    margins = [  # of each cell its margin, of each margin its table, and the sign of its entropy
        (np.arange(len(table)), table, 1),
        (np.cumsum([0, *height])[table] + row, np.repeat(every, height), -1),
        (np.cumsum([0, *width])[table] + column, np.repeat(every, width), -1),
        (table, every, 1),
    ]
    counts = pairs.cells.rounded()
    largest = max(float(counts.max(initial=0.0)), 5e-324)
    told, weight = np.zeros(len(every)), np.zeros(len(every))
    for mass in counts / largest:  # weights may be near the largest double
        for margin, of, sign in margins:
            sums = np.bincount(margin, mass, minlength=len(of))
            told += sign * np.bincount(of, xlogy(sums, sums), minlength=len(every))
        weight += np.bincount(table, mass, minlength=len(every))
    told = told / np.maximum(weight, 5e-324)
    return np.where(told > NOTHING, told, 0.0), weight * largest


def relevance(counts: Float) -> float:
    """n I(x; c) of one column from its table (K, m)."""
    weight = counts.sum()
    if not weight > 0:
        return 0.0
    share = counts / weight
    parts = (share, 1), (share.sum(axis=0), -1), (share.sum(axis=1), -1)
    return float(weight * max(sum(sign * xlogy(p, p).sum() for p, sign in parts), 0.0))
