"""Content: what rows hold, as a hash that no order of rows, columns or codes changes, and as units in folds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from bayeskit.arrays import Array, Bool, Code, Float, Int
from bayeskit.data.block import Block, Columns
from bayeskit.data.hash_split import ODD, Word, finalise
from bayeskit.data.matrix import Sparse
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


MISSING, UNSEEN = np.array([[0x6D697373], [0x756E7365]], dtype=np.int64)  # in place of a value
HEAD = 64  # rows that show of most columns that they are not constant
CELLS = 1 << 15  # hashed at a time, so that they stay in the cache


@dataclass(frozen=True)
class Content:
    """A keyed hash of what a row holds, in the order of the names of its columns: levels by value, -0 as 0, missing
    marked, without the label.

    h = (mix(sum over columns of m_j(x)), mix(sum of odd_j m_j(x))), a zero adding nothing.

    >>> from bayeskit.data.schema import Column, Schema
    >>> rows = np.array([[1.0, 0.0, np.nan], [1.0, -0.0, np.nan], [0.0, 1.0, np.nan]])
    >>> columns = tuple(Column(name, "quantitative", "double", "") for name in "abc")
    >>> block = Block(Schema(columns), Columns(rows, 3), np.empty((0, 3), dtype=np.int32))
    >>> first, second, third = Content().words(block).T.tolist()
    >>> first == second, first == third, Content.varying([block]).constant
    (True, False, frozenset({'c'}))
    """

    key: int = 0
    constant: frozenset[str] = frozenset()  # columns left out: all rows hold the same in them

    @classmethod
    def varying(cls, blocks: Iterable[Block], key: int = 0) -> Content:
        """Of the columns in which the rows of some blocks differ; reading ends where all of them do."""
        left: tuple[str, ...] = ()
        first: Block | None = None
        for block in blocks:
            left = block.schema.names if first is None else left
            first = block.at(np.zeros(1, dtype=np.int64)) if first is None else first
            left = _alike(block, left, first)
            if not left:
                break
        return cls(key, frozenset(left))

    def words(self, block: Block) -> Word:
        """The hashes, high word first: (2, n)."""
        total = np.zeros((2, block.rows), dtype=np.uint64)
        place = {name: j for j, name in enumerate(sorted(set(block.schema.names) - self.constant))}
        start = mix(np.arange(len(place), dtype=np.uint64), np.array([self.key], dtype=np.int64))
        odd = mix(start, np.zeros(1, dtype=np.int64)) | np.uint64(1)
        numeric = [name for name in block.schema.numeric if name in place]
        if numeric:
            here = np.array([place[name] for name in numeric])
            self._add_numbers(block.columns(numeric), start[here], odd[here], total)
        for name, codes in zip(block.schema.coded, block.codes, strict=True):
            if name in place and name not in block.schema.numeric_index:
                j = place[name]
                added = _levels(start[j : j + 1], block.levels[name].words)[codes]
                total += np.stack([added, added * odd[j]])
        return np.stack([mix(total[0], total[1].view(np.int64)), mix(total[1], total[0].view(np.int64))])

    @staticmethod
    def _add_numbers(columns: Columns, start: Word, odd: Word, total: Word) -> None:
        if isinstance(columns.arrays, Sparse):
            rows = columns.sparse
            added = _numbers(start[rows.indices], np.asarray(rows.values, dtype=np.float64))
            for words, out in zip((added, added * odd[rows.indices]), total, strict=True):
                sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(words)])
                out += sums[rows.indptr[1:]] - sums[rows.indptr[:-1]]
            return
        x, step = columns.matrix(), max(1, CELLS // len(start))
        for begin in range(0, len(x), step):
            added, piece = _numbers(start, x[begin : begin + step]), slice(begin, begin + step)
            total[0, piece] += added.sum(axis=1)
            total[1, piece] += added @ odd


def _numbers(start: Word, x: Float) -> Word:
    """A word for each number, 0 for 0."""
    added = mix(start, np.ascontiguousarray(x).view(np.int64))
    added[x == 0] = 0
    if (missing := np.isnan(x)).any():
        added[missing] = np.broadcast_to(mix(start, MISSING), x.shape)[missing]
    return added


def _levels(start: Word, levels: Word) -> Word:
    """A word for each code; -2 is a level never seen, -1 a missing one."""
    return np.concatenate([mix(start, levels.view(np.int64)), mix(start, UNSEEN), mix(start, MISSING)])


def _alike(block: Block, names: Sequence[str], first: Block) -> tuple[str, ...]:
    """The columns of these names in which all rows hold what the first of all rows holds."""
    for rows in (HEAD, block.rows) if block.rows > HEAD else (block.rows,):
        numeric = [name for name in names if name in block.schema.numeric_index]
        coded = [name for name in names if name in block.schema.coded_index and name not in numeric]
        here = block.code_positions(coded)
        alike = (block.codes[here, :rows] == first.codes[here]).all(axis=1)
        same = dict(zip(numeric, _same(block.columns(numeric), first.columns(numeric), rows).tolist(), strict=True))
        same |= zip(coded, alike.tolist(), strict=True)
        names = [name for name in names if same.get(name, True)]
    return tuple(names)


def _same(columns: Columns, first: Columns, rows: int) -> Bool:
    """Whether all of the first rows hold in each column what another row holds: (d,)."""
    if not len(columns):
        return np.empty(0, dtype=bool)
    if isinstance(columns.arrays, Sparse):  # what is zero everywhere adds nothing to a hash, constant or not
        stored = columns.sparse
        often: Int = np.bincount(stored.indices, minlength=stored.width)
        mine, full = first.matrix()[0], often == len(stored)
        differ = np.bincount(stored.indices, stored.values != mine[stored.indices], minlength=stored.width)
        found: Bool = full & (differ == 0)
        return found
    values = (columns if rows == columns.rows else columns.at(np.arange(rows))).matrix()
    mine = first.matrix()[0]
    out: Bool = ((values == mine) | (np.isnan(values) & np.isnan(mine))).all(axis=0)
    return out


MANY = 1 << 20  # units of a row at most: those of a heavier one weigh more than 1


@dataclass(frozen=True)
class Units:
    """A row of weight W is ceil(W) units of mass 1, the last of W - ceil(W) + 1.

    Units are assigned round-robin to F folds within each class, from the fold that is the least hash of the class
    modulo F: any order of rows and columns, any names of classes, and W copies instead of a weight of W, lead to the
    same folds.

    >>> units = Units(np.array([[7, 9], [0, 0]], dtype=np.uint64), np.array([0, 0]), np.array([2.0, 1.0]))
    >>> place = units.places(3)
    >>> [units.weigh_fold(place, 3, fold).tolist() for fold in range(3)]
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
        """Where the first unit of each row goes: its fold is the place modulo ``folds``: (n,).

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

    def weigh_fold(self, place: Int, folds: int, fold: int, kept: int = 1, among: int = 1) -> Float:
        """The mass of each row in a fold, or in ``kept`` of every ``among`` units of it: (n,)."""
        begin, end = ((at - fold + folds - 1) // folds for at in (place, place + self.count))
        begin, end = (-(-at * kept // among) for at in (begin, end))
        last = place + self.count - 1 - fold
        held = (last % folds == 0) & (-(-(last // folds + 1) * kept // among) > -(-(last // folds) * kept // among))
        share = np.where(self.weight > MANY, (end - begin) * (self.weight / self.count), end - begin)
        part = share - np.where(held & (self.weight <= MANY), self.count - self.weight, 0.0)
        out: Float = np.where(end - begin == self.count, self.weight, part)
        return out
