"""Content: what a row holds as a 128-bit hash that no order of rows, columns or codes can change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from bayeskit.arrays import Bool, Float, Int
from bayeskit.data.block import Block, Columns
from bayeskit.data.hash_split import Word
from bayeskit.data.sparse import Sparse
from bayeskit.statistics.batch import mix

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
            added, some = _numbers(start, x[begin : begin + step]), slice(begin, begin + step)
            total[0, some] += added.sum(axis=1)
            total[1, some] += added @ odd


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
    some = (columns if rows == columns.rows else columns.at(np.arange(rows))).matrix()
    mine = first.matrix()[0]
    out: Bool = ((some == mine) | (np.isnan(some) & np.isnan(mine))).all(axis=0)
    return out
