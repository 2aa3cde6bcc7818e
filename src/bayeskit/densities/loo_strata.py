"""LooStrata: rows grouped by what leaves with them, so that leave-one-out of tables is a lookup."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayeskit.arrays import Code, Float, Int
from bayeskit.data.block import Block

ENTRIES = 1 << 22  # of tables by leaver: 32 MB


@dataclass(frozen=True)
class LooStrata:
    """The pairs of class and weight there are among the rows of a block, without weights one for each class."""

    member: Code  # (n,) 0 for a row that was not counted, else 1 + its pair
    group: Int  # (pairs,)
    mass: Float  # (pairs,)
    kept: bool  # whether all blocks have these pairs

    @classmethod
    def of(cls, block: Block, classes: int) -> LooStrata:
        if block.groups is None:
            raise ValueError("leave-one-out needs a block with classes; see Counted.learned")
        if block.weights is None:
            return cls(block.groups + np.int32(1), np.arange(classes), np.ones(classes), True)
        row, group, mass = block.counted_rows()
        masses, place = np.unique(mass, return_inverse=True)
        member = np.zeros(block.rows, dtype=np.int32)
        member[row] = 1 + place * classes + group
        return cls(member, np.tile(np.arange(classes), len(masses)), np.repeat(masses, classes), False)

    def few(self, lines: int, columns: int, classes: int) -> bool:
        """Whether tables of so many lines are worth making for every pair."""
        many = (len(self.group) + 1) * lines
        return many * classes <= ENTRIES and (self.kept or many <= len(self.member) * columns)

    def crossed(self, size: int) -> tuple[Int, Int, Float]:
        """Every pair with each of ``size`` levels: level, class and weight, (pairs * size,) each."""
        level = np.tile(np.arange(size), len(self.group))
        return level, np.repeat(self.group, size), np.repeat(self.mass, size)
