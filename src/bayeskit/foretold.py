"""Foretold: what a family says about the cells of a column, each without one row of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayeskit import _core
from bayeskit.arrays import Float
from bayeskit.statistics.bins import BinnedColumn

WORST = -1e6  # what a row counts at least, so that one impossible row still lets candidates be compared
ORDINARY = 1e-100, 1e100


@dataclass(frozen=True)
class Foretold:
    """log p by class at every cell, when a row of weight 1 has left the cell."""

    others: Float  # (K, m) of a class when the row was another's
    own: Float  # (K, m) of the class whose row it was, where it has one
    pooled: Float  # (m,) of all classes as one

    @classmethod
    def by_core(cls, family: str, column: BinnedColumn, smoothing: float = 0.0) -> Foretold | None:
        """By a formula of the core; None where doubles might not do."""
        found = _core.foretell(family, column.edges, column.weights, smoothing)
        return None if found is None else cls(*found)

    def scores(
        self, column: BinnedColumn, more: float, atom: bool = False
    ) -> tuple[tuple[float, float], tuple[float, float]]:
        """Sum over rows of log p + more, and its largest: with one density for all classes, and with one for each.

        That of a class is backed off to all: (n_c f_c + f) / (n_c + 1), f = sum over c of n_c f_c / n. With an
        ``atom``, zeros get nothing more.
        """
        each = np.where(column.edges == 0, 0.0, more) if atom else np.full(len(column.edges), more)
        return _core.foretold_scores(self.others, self.own, self.pooled, column.weights, each, WORST)


def ordinary(column: BinnedColumn) -> bool:
    """Whether cells are single values of ordinary size with at least one row for each class they have."""
    weights, sizes = column.weights, np.abs(column.edges[column.edges != 0])
    rows = bool(((weights == 0) | (weights >= 1)).all()) and weights.sum() < 1e15
    return rows and len(column.edges) > 2 and bool((sizes > ORDINARY[0]).all() and (sizes < ORDINARY[1]).all())
