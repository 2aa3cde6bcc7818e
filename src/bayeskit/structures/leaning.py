"""Leaning: how strongly tables lean on simpler ones, found by leave-one-out for many tables at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from bayeskit.arrays import Float, Int

STRENGTHS = tuple(2.0**e for e in range(-2, 11))  # pseudo-rows that leave-one-out chooses from
TINY = 5e-324  # what a share counts at least beside weights near the largest double


@dataclass(frozen=True)
class Filled:
    """The cells with weight of tables (K, parents..., m), all one after the other."""

    weight: Float  # (cells,)
    table: Int  # (cells,) which table
    line: Int  # (cells,) which class and parents, of all tables
    margin: Int  # (cells,) which class and level, of all tables
    shared: Int  # (cells,) which parents and level, of all tables
    shapes: Int  # (tables, 3) classes, states of the parents, levels

    @classmethod
    def of(cls, tables: Sequence[Float]) -> Filled:
        shapes = np.array([(t.shape[0], prod(t.shape[1:-1]), t.shape[-1]) for t in tables], dtype=np.int64)
        classes, lines, levels = shapes.reshape(-1, 3).T
        whole = np.concatenate([np.empty(0), *(t.ravel() for t in tables)])
        there = np.flatnonzero(whole)
        ends = np.cumsum(classes * lines * levels)
        table = np.searchsorted(ends, there, side="right")
        line, level = np.divmod(there - (ends - classes * lines * levels)[table], levels[table])
        group, state = np.divmod(line, lines[table])
        return cls(
            whole[there],
            table,
            _before(classes * lines)[table] + line,
            _before(classes * levels)[table] + group * levels[table] + level,
            _before(lines * levels)[table] + state * levels[table] + level,
            shapes.reshape(-1, 3),
        )

    def pooled(self) -> Filled:
        """The same tables with all classes together."""
        total = np.bincount(self.shared, self.weight, minlength=int(self.shapes[:, 1:].prod(axis=1).sum()))
        classes, lines, levels = self.shapes.T
        table = np.repeat(np.arange(len(levels)), lines * levels)
        place = np.arange(len(table)) - _before(lines * levels)[table]
        line, level = np.divmod(place, levels[table])
        there = np.flatnonzero(total)
        return Filled(
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
        return np.maximum(np.bincount(self.line, self.weight)[self.line] - 1, 0)

    def scored(self, foretold: Float) -> Float:
        """Sum of the logarithms of what was foretold of the rows: (tables,)."""
        logs = np.log(np.maximum(foretold, TINY))
        logs *= self.weight
        return np.bincount(self.table, logs, minlength=len(self.shapes))

    def leaning(self, known: Float, strength: Float) -> Float:
        """The score of tables that lean on shares known of the cells with some pseudo-rows each: (tables,)."""
        rows = strength[self.table]
        return self.scored((self.mass + rows * known) / (self.total + rows))

    def best(self, bases: Iterable[tuple[float, Float]], strengths: Float) -> Lean:
        """The best of several bases and strengths (strengths, tables); in a tie the strongest."""
        tried = [
            (part, strength, self.leaning(known, strength)) for part, known in bases for strength in strengths
        ]
        score, part, strength = tried[0][2], np.full(len(self.shapes), tried[0][0]), tried[0][1]
        for other_part, other_strength, other in tried[1:]:
            better = (other > score) | ((other == score) & (other_strength >= strength))
            score = np.where(better, other, score)
            part, strength = np.where(better, other_part, part), np.where(better, other_strength, strength)
        return Lean(strength, part, score)


@dataclass(frozen=True)
class Lean:
    """For each of several tables, (tables,): the pseudo-rows, what part of their base is P(x | c), and the score."""

    strength: Float
    part: Float
    score: Float


def strengths_of(strength: float | None, tables: int) -> Float:
    """Those to choose from, (strengths, tables); one where it is given."""
    return np.repeat(np.array(STRENGTHS if strength is None else (strength,))[:, None], tables, axis=1)


def _before(sizes: Int) -> Int:
    """Where each begins, one after the other."""
    out: Int = np.cumsum(sizes) - sizes
    return out
