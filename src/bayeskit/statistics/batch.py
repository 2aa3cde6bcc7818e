"""Batch: rows as they were counted, told apart by what they hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from bayeskit.arrays import Array, Bool, Code, Float, Int
from bayeskit.data.hash_split import ODD, Word, finalise
from bayeskit.statistics.exact import ExactSum


@dataclass(frozen=True)
class Batch:
    """Some rows as they were counted."""

    numbers: Float  # (n, d) NaN where missing
    codes: Code  # (n, c) -1 where missing
    group: Int  # (n,)
    weight: ExactSum  # (n,)
    keys: Word  # (n,) what a cap chooses by

    def __len__(self) -> int:
        return len(self.group)

    def at(self, rows: Int | Bool) -> Batch:
        weight = ExactSum(np.ascontiguousarray(self.weight.limbs[rows]), self.weight.low)
        return Batch(self.numbers[rows], self.codes[rows], self.group[rows], weight, self.keys[rows])

    @staticmethod
    def concatenate(parts: Sequence[Batch]) -> Batch:
        parts = [p for p in parts if len(p)] or parts[:1]
        if len(parts) == 1:
            return parts[0]
        low, high = min(p.weight.low for p in parts), max(p.weight.high for p in parts)
        limbs = np.concatenate([p.weight.widen(low, high).limbs for p in parts])
        columns = zip(*((p.numbers, p.codes, p.group, p.keys) for p in parts), strict=True)
        numbers, codes, group, keys = map(np.concatenate, columns)
        return Batch(numbers, codes, group, ExactSum(limbs, low), keys)

    @cached_property
    def fingerprint(self) -> Word:
        """Of what a row holds: equal rows have equal ones, and other rows hardly ever: (n,)."""
        seen = mix(np.zeros(len(self), dtype=np.uint64), self.group)
        for column in (*bits(self.numbers).T, *self.codes.T):
            seen = mix(seen, column)
        return seen

    def same(self, mine: Int, other: Batch, theirs: Int) -> Bool:
        """Whether some rows here hold what some rows there hold."""
        one, two = bits(self.numbers[mine]), bits(other.numbers[theirs])
        equal: Bool = (one == two).all(axis=1) & (self.codes[mine] == other.codes[theirs]).all(axis=1)
        equal &= self.group[mine] == other.group[theirs]
        return equal

    def sort(self) -> tuple[Batch, Int]:
        """In the one order that does not depend on how rows came, and where stretches of equal rows begin."""
        order = np.argsort(self.fingerprint, kind="stable")
        alike = self.fingerprint[order[1:]] == self.fingerprint[order[:-1]]
        equal = alike.copy()
        equal[alike] = self.same(order[1:][alike], self, order[:-1][alike])
        if not np.array_equal(alike, equal):  # two different rows with one fingerprint
            columns = (*bits(self.numbers).T, *self.codes.T, self.group, self.fingerprint)
            order = np.lexsort(columns)
            equal = self.same(order[1:], self, order[:-1])
        return self.at(order), np.flatnonzero(np.append(True, ~equal))[: len(order)]

    def canonical(self) -> Batch:
        """Sorted, equal rows as one."""
        rows, begin = self.sort()
        if len(begin) == len(rows):
            return rows
        limbs = np.add.reduceat(rows.weight.limbs, begin, axis=0)
        keys = np.minimum.reduceat(rows.keys, begin)
        return replace(rows.at(begin), weight=ExactSum(limbs, rows.weight.low).carry(), keys=keys)


def bits(numbers: Float) -> Int:
    """Numbers as whole ones, all missing ones alike."""
    return np.ascontiguousarray(np.where(np.isnan(numbers), np.nan, numbers)).view(np.int64)


def mix(seen: Word, column: Array) -> Word:
    """A hash of what was seen and one column more (a round of splitmix64)."""
    return finalise((seen ^ np.ascontiguousarray(column, dtype=np.int64).view(np.uint64)) + ODD)
