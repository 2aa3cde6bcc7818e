"""Shrinkage: how strongly tables shrink toward simpler ones, found by leave-one-out for many tables at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from bayeskit import _core
from bayeskit.arrays import Float, Int

STRENGTHS = tuple(2.0**e for e in range(10, -3, -1))  # pseudo-rows that leave-one-out chooses from


@dataclass(frozen=True)
class OccupiedCells:
    """The cells with weight of tables (K, parents..., m), all one after the other."""

    weight: Float  # (cells,)
    table: Int  # (cells,) which table
    line: Int  # (cells,) which class and parents, of all tables
    margin: Int  # (cells,) which class and level, of all tables
    shared: Int  # (cells,) which parents and level, of all tables
    shapes: Int  # (tables, 3) classes, states of the parents, levels

    @classmethod
    def of(cls, tables: Sequence[Float]) -> OccupiedCells:
        shapes = np.array([(t.shape[0], prod(t.shape[1:-1]), t.shape[-1]) for t in tables], dtype=np.int64)
        classes, lines, levels = shapes.reshape(-1, 3).T
        whole = np.concatenate([np.empty(0), *(t.ravel() for t in tables)])
        there = np.flatnonzero(whole)
        ends = np.cumsum(classes * lines * levels)
        table = np.searchsorted(ends, there, side="right")
        place = there - (ends - classes * lines * levels)[table]
        line, level = place // levels[table], place % levels[table]
        group, state = line // lines[table], line % lines[table]
        return cls(
            whole[there],
            table,
            _before(classes * lines)[table] + line,
            _before(classes * levels)[table] + group * levels[table] + level,
            _before(lines * levels)[table] + state * levels[table] + level,
            shapes.reshape(-1, 3),
        )

    def pool(self) -> OccupiedCells:
        """The same tables with all classes together."""
        cells = int(self.shapes[:, 1:].prod(axis=1).sum())
        total = np.bincount(self.shared, self.weight, minlength=cells).astype(np.float64, copy=False)
        classes, lines, levels = self.shapes.T
        table = np.repeat(np.arange(len(levels)), lines * levels)
        place = np.arange(len(table)) - _before(lines * levels)[table]
        line, level = np.divmod(place, levels[table])
        there = np.flatnonzero(total)
        return OccupiedCells(
            total[there],
            table[there],
            (_before(lines)[table] + line)[there],
            (_before(levels)[table] + level)[there],
            there,
            np.column_stack([np.ones_like(classes), lines, levels]),
        )

    @cached_property
    def mass(self) -> Float:
        """Of the other rows of a cell: (cells,)."""
        return np.maximum(self.weight - 1, 0)

    @cached_property
    def total(self) -> Float:
        """Of the other rows with the same class and parents: (cells,)."""
        whole = np.bincount(self.line, self.weight).astype(np.float64, copy=False)  # whole numbers if there is no cell
        return np.maximum(whole[self.line] - 1, 0)

    @cached_property
    def _start(self) -> Int:
        """Where the cells of each table begin, and the last ones end: (tables + 1,)."""
        out: Int = np.searchsorted(self.table, np.arange(len(self.shapes) + 1)).astype(np.int64, copy=False)
        return out

    def score(self, predicted: Float) -> Float:
        """Sums of the logarithms of what was predicted of the rows, (ways, cells): (ways, tables)."""
        nothing, once = np.zeros(len(self.weight)), np.ones((1, len(self.shapes)))
        out: Float = _core.shrinkage_scores(self.weight, nothing, nothing, predicted, self._start, once)[0]
        return out

    def best(self, bases: Sequence[tuple[float, Float]], strengths: Float) -> Shrinkage:
        """The best of several bases, each a share known of the cells, and strengths (strengths, tables), descending.

        In a tie the strongest wins, then the first base.
        """
        known = np.array([of for _, of in bases])
        scores = _core.shrinkage_scores(self.weight, self.mass, self.total, known, self._start, strengths)
        every = np.arange(len(self.shapes))
        s, b = np.divmod(scores.reshape(len(strengths) * len(bases), len(every)).argmax(axis=0), len(bases))
        return Shrinkage(strengths[s, every], np.array([part for part, _ in bases])[b], scores[s, b, every])


@dataclass(frozen=True)
class Shrinkage:
    """For each of several tables, (tables,): the pseudo-rows, what part of their base is P(x | c), and the score."""

    strength: Float
    part: Float
    score: Float


def strengths_of(strength: float | None, tables: int) -> Float:
    """Those to choose from, (strengths, tables); one where it is given."""
    return np.repeat(np.array(STRENGTHS if strength is None else (float(strength),))[:, None], tables, axis=1)


def _before(sizes: Int) -> Int:
    """Where each begins, one after the other."""
    out: Int = np.cumsum(sizes) - sizes
    return out
