"""Units: rows as units of mass 1, dealt to folds in an order that depends on nothing but what rows hold."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bayeskit.arrays import Float, Int
from bayeskit.data.hash_split import Word
from bayeskit.statistics.batch import mix

MANY = 1 << 20  # units of a row at most: those of a heavier one weigh more than 1


@dataclass(frozen=True)
class Units:
    """A row of weight W is ceil(W) units of mass 1, the last of W - ceil(W) + 1.

    Units are dealt round-robin to F folds within each class, from the fold that is the least hash of the class modulo
    F: any order of rows and columns, any names of classes, and W copies instead of a weight of W, lead to the same
    folds.

    >>> units = Units(np.array([[7, 9], [0, 0]], dtype=np.uint64), np.array([0, 0]), np.array([2.0, 1.0]))
    >>> place = units.places(3)
    >>> [units.dealt(place, 3, fold).tolist() for fold in range(3)]
    [[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]]
    """

    words: Word  # (2, n) hash of what rows hold, high word first
    code: Int  # (n,) class
    weight: Float  # (n,)

    @cached_property
    def count(self) -> Int:
        """Of the units of each row: (n,)."""
        return np.minimum(np.ceil(self.weight), MANY).astype(np.int64)

    def places(self, folds: int, repeat: int = 0) -> Int:
        """Where the first unit of each row is dealt: its fold is the place modulo ``folds``: (n,).

        Every ``repeat`` deals in an order of its own.
        """
        high, low = self.words if not repeat else (mix(w, np.array([repeat], dtype=np.int64)) for w in self.words)
        order = np.lexsort((low, high, self.code))
        before = np.cumsum(self.count[order]) - self.count[order]
        first = np.flatnonzero(np.diff(self.code[order], prepend=-1))
        start = [((int(high[i]) << 64) + int(low[i])) % folds for i in order[first].tolist()]
        out = np.empty(len(order), dtype=np.int64)
        stretch = np.diff(first, append=len(order))
        out[order] = before + np.repeat(np.array(start, dtype=np.int64) - before[first], stretch)
        return out

    def dealt(self, place: Int, folds: int, fold: int, kept: int = 1, among: int = 1) -> Float:
        """The mass of each row in a fold, or in ``kept`` of every ``among`` units of it: (n,)."""
        begin, end = ((at - fold + folds - 1) // folds for at in (place, place + self.count))
        begin, end = (-(-at * kept // among) for at in (begin, end))
        last = place + self.count - 1 - fold
        held = (last % folds == 0) & (-(-(last // folds + 1) * kept // among) > -(-(last // folds) * kept // among))
        share = np.where(self.weight > MANY, (end - begin) * (self.weight / self.count), end - begin)
        part = share - np.where(held & (self.weight <= MANY), self.count - self.weight, 0.0)
        out: Float = np.where(end - begin == self.count, self.weight, part)
        return out
