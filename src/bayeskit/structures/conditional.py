"""Conditional: probabilities of a column's levels given the class and its parents, shrunk toward simpler ones."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from bayeskit.arrays import FRONT, Float, Int
from bayeskit.data.written import Ratio, decimal, plain
from bayeskit.densities.likelihood import Context
from bayeskit.statistics.tables import Tables
from bayeskit.structures.shrinkage import OccupiedCells, strengths_of

TINY = 5e-324  # what a share counts at least beside weights near the largest double
CLASS: str = "class"
BOTH: str = "both"
EVEN: str = "even"
SHARES = {CLASS: (1.0,), BOTH: (1.0, 0.75, 0.5, 0.25, 0.0), EVEN: (1.0,)}  # of P(x | c) in what a table shrinks toward


@dataclass(frozen=True)
class Margin:
    """P(x | c) of one column, with Laplace's correction."""

    counts: Float  # (K, m)
    share: Float  # (K, m)
    others: Float  # (K, m) the share of a level as it is without one of its rows
    pooled: Float  # (m,) P(x) of all classes together
    smoothing: float
    unseen: Float | None  # (K,) of a level never seen, None where it is taken as missing

    @classmethod
    def each(cls, levels: Tables, smoothing: float, context: Context) -> list[Margin]:
        """Of the columns whose tables these are."""
        whole, offset = levels.cells.to_float(), levels.layout.offset.tolist()
        found = [whole[:, a:b] for a, b in pairwise(offset)]
        return cls.from_counts(found, smoothing, context.unseen == "smooth")

    @classmethod
    def from_counts(cls, tables: Sequence[Float], smoothing: float, smooth_unseen: bool) -> list[Margin]:
        """From counts (K, m) of each; those of equal shape are worked out together."""
        out: dict[int, Margin] = {}
        for alike in group_equal([counts.shape for counts in tables]):
            counts = np.stack([tables[t] for t in alike])
            m, total = counts.shape[-1], counts.sum(axis=-1, keepdims=True)
            share = (counts + smoothing) / (total + smoothing * m)
            others = (np.maximum(counts - 1, 0) + smoothing) / (np.maximum(total - 1, 0) + smoothing * m)
            new = smoothing / (total[..., 0] + smoothing * (m + 1)) if smooth_unseen and m else None
            pooled = counts.sum(axis=1) + 1
            pooled /= pooled.sum(axis=-1, keepdims=True)
            for i, t in enumerate(alike):
                unseen = None if new is None else new[i]
                out[t] = cls(counts[i], share[i], others[i], pooled[i], smoothing, unseen)
        return [out[t] for t in range(len(tables))]

    @property
    def fronted(self) -> Float:
        """P(x | c) with the places for missing values in front: one, and that of a level never seen: (K, m + 2)."""
        front = np.ones((len(self.share), FRONT))
        if self.unseen is not None:
            front[:, 0] = self.unseen
        return np.hstack([front, self.share])


@dataclass(frozen=True)
class Conditional:
    """P(x | parents, c) = (n + s b) / (N + s): s pseudo-rows spread as the base b.

    The base is P(x | c) with ``backoff="class"``, a mixture of P(x | c) and P(x | parents) with "both", and the same
    for all levels with "even", where s is Laplace's. What is not given is chosen by the sum of log p_-i(x_i |
    parents_i, c_i), each row predicted by the others: s, the mixture, and how many of the parents are used, in their
    order. Each parent must gain ``penalty`` times log n; None uses all.
    """

    share: Float  # (K, parents used..., m)
    within: Float  # (K, parents used..., 1) weight of the rows with these parents
    score: float
    counted: CountedTable

    @classmethod
    def of(
        cls, counts: Float, child: Margin, strength: float | None, backoff: str = BOTH, penalty: float | None = 2.0
    ) -> Conditional:
        """From the counts (K, parents..., m) of the rows in which all are present."""
        (found,) = cls.each([counts], [child], strength, backoff, penalty)
        return found

    @classmethod
    def each(
        cls,
        tables: Sequence[Float],
        children: Sequence[Margin],
        strength: float | None,
        backoff: str = BOTH,
        penalty: float | None = 2.0,
    ) -> list[Conditional]:
        """Of several columns: what is chosen for each does not depend on the others, but is worked out together."""
        alone = OccupiedCells.of([_last(counts, 0) for counts in tables])
        rows = np.bincount(alone.table, alone.weight, minlength=len(tables))
        price = ((penalty or 0.0) * np.log(np.maximum(rows, 1.0))).tolist()
        top = _scores_alone(alone, children, backoff)
        best = [
            cls(
                child.share,
                child.counts.sum(axis=1, keepdims=True),
                score,
                CountedTable(child.counts, child.counts, child.smoothing),
            )
            for child, score in zip(children, top, strict=True)
        ]
        most = [counts.ndim - 2 for counts in tables]
        for used in range(1, max(most, default=0) + 1):
            deep = [t for t, m in enumerate(most) if m == used or (m > used and penalty is not None)]
            first = [_last(tables[t], used) for t in deep]
            for t, found in zip(deep, cls._shrink(first, [children[t] for t in deep], strength, backoff), strict=True):
                if penalty is None or found.score - used * price[t] > top[t]:
                    best[t], top[t] = found, found.score - used * price[t]
        return best

    @classmethod
    def _shrink(
        cls, tables: Sequence[Float], children: Sequence[Margin], strength: float | None, backoff: str
    ) -> list[Conditional]:
        """With all parents of each table."""
        cells, strengths = OccupiedCells.of(tables), strengths_of(strength, len(tables))
        others = _flat(child.others for child in children)[cells.margin]
        bases = [child.share for child in children]
        known, shared = [(1.0, others)], np.zeros(len(tables))
        if backoff == EVEN:
            strengths = np.array([[float(child.smoothing * child.share.shape[1]) for child in children]])
            bases = [np.full_like(child.share, 1 / max(child.share.shape[1], 1)) for child in children]
            known = [(1.0, _flat(bases)[cells.margin])]
        elif backoff == BOTH:
            shared, shared_others = _fit_shared_base(cells, children)
            known = [(part, part * others + (1 - part) * shared_others) for part in SHARES[BOTH]]
        shrinkage = cells.best(known, strengths)
        out: dict[int, Conditional] = {}
        for alike in group_equal([counts.shape for counts in tables]):
            counts = np.stack([tables[t] for t in alike])
            s, part, pseudo = (_down(of[alike], counts.ndim) for of in (shrinkage.strength, shrinkage.part, shared))
            base = _across(np.stack([bases[t] for t in alike]), counts.ndim)
            if backoff == BOTH:  # P(x | parents) of all classes, shrunk toward P(x)
                whole = counts.sum(axis=1, keepdims=True)
                pooled = _down(np.stack([children[t].pooled for t in alike]), counts.ndim)
                of_all = (whole + pseudo * pooled) / (whole.sum(axis=-1, keepdims=True) + pseudo)
                base = part * base + (1 - part) * of_all
            within = counts.sum(axis=-1, keepdims=True)
            share = (counts + s * base) / (within + s)
            for i, t in enumerate(alike):
                counted = CountedTable(
                    *(tables[t], children[t].counts, children[t].smoothing),
                    strength=float(shrinkage.strength[t]),
                    part=float(shrinkage.part[t]),
                    shared=float(shared[t]),
                    even=backoff == EVEN,
                )
                out[t] = cls(share[i], within[i], float(shrinkage.score[t]), counted)
        return [out[t] for t in range(len(tables))]

    @property
    def strength(self) -> float:
        """Pseudo-rows, inf where no parent is used."""
        return self.counted.strength

    @property
    def parents(self) -> int:
        """How many are used."""
        return self.share.ndim - 2

    @staticmethod
    def logs(found: Sequence[Conditional], children: Sequence[Margin]) -> list[Float]:
        """log P(x | parents, c) of each, with a place in front of each axis for missing: (parents + 2 ..., m + 2, K).

        A missing x says nothing, and is 1. Where a parent is missing, P(x | c) stands; what is to be summed out is not
        read there. A level never seen acts as missing; where it is smoothed, it is one without a row: as a parent it
        leaves P(x | c), as x it has what the pseudo-rows give it.
        """
        out: dict[int, Float] = {}
        smooth = [child.unseen is not None for child in children]
        for alike in group_equal([(one.share.shape, new) for one, new in zip(found, smooth, strict=True)]):
            share, within = (
                np.stack(each) for each in zip(*((found[t].share, found[t].within) for t in alike), strict=True)
            )
            axes, child = share.ndim, [children[t] for t in alike]
            front = np.ones((*share.shape[:-1], FRONT))
            alone = _across(np.stack([c.fronted for c in child]), axes)
            if smooth[alike[0]]:
                s = _down(np.array([found[t].strength for t in alike]), axes)
                pull = 1 / (within / s + 1)  # s / (within + s), also where s is inf
                front[..., :1] = pull * alone[..., :1]
            table = np.concatenate([front, share], axis=-1)
            for axis in range(2, axes - 1):
                shape = list(table.shape)
                shape[axis] = FRONT
                table = np.concatenate([np.broadcast_to(alone, shape), table], axis=axis)
            table[..., 1] = 1.0  # shares sum to one but for rounding, and a missing value must say nothing at all
            if not smooth[alike[0]]:
                table[..., 0] = 1.0
            logs = np.log(np.maximum(np.moveaxis(table, 1, -1), TINY))
            out |= {t: logs[i] for i, t in enumerate(alike)}
        return [out[t] for t in range(len(found))]


def group_equal(kinds: Sequence[Hashable]) -> Iterator[list[int]]:
    """Positions of equal things together.

    >>> list(group_equal("abcab"))
    [[0, 3], [1, 4], [2]]
    """
    found: dict[Hashable, list[int]] = {}
    for place, kind in enumerate(kinds):
        found.setdefault(kind, []).append(place)
    yield from found.values()


def _last(counts: Float, used: int) -> Float:
    """The counts over the first parents only."""
    gone = tuple(range(1 + used, counts.ndim - 1))
    return counts.sum(axis=gone) if gone else counts


def _scores_alone(cells: OccupiedCells, children: Sequence[Margin], backoff: str) -> list[float]:
    """Sums of log p of the rows without any parent, each without itself; of tables (K, m).

    Where tables with parents may shrink toward what all classes have in common, so may this: an arc is not kept for
    that.
    """
    of_class, of_all = _flat(c.others for c in children)[cells.margin], _flat(c.pooled for c in children)[cells.shared]
    tried = cells.score(np.array([part * of_class + (1 - part) * of_all for part in SHARES[backoff]]))
    found: list[float] = tried.max(axis=0).tolist()
    return found


def _fit_shared_base(cells: OccupiedCells, children: Sequence[Margin]) -> tuple[Float, Float]:
    """Of P(x | parents) of all classes together the pseudo-rows by which it shrinks toward P(x), (tables,), and its
    value in each of the cells as it is without one of its rows."""
    pooled, alone = cells.pool(), _flat(child.pooled for child in children)
    known = alone[pooled.margin]
    strength = pooled.best([(1.0, known)], strengths_of(None, len(children))).strength
    rows = strength[pooled.table]
    others = np.zeros(int(cells.shapes[:, 1:].prod(axis=1).sum()))
    others[pooled.shared] = (pooled.mass + rows * known) / (pooled.total + rows)
    return strength, others[cells.shared]


def _flat(arrays: Iterable[Float]) -> Float:
    """One after the other: (all cells,)."""
    return np.concatenate([np.empty(0), *(array.ravel() for array in arrays)])


def _across(by_class: Float, axes: int) -> Float:
    """(tables, K, m) for use beside (tables, K, parents..., m)."""
    tables, classes, levels = by_class.shape
    return by_class.reshape(tables, classes, *(1 for _ in range(axes - 3)), levels)


def _down(by_table: Float, axes: int) -> Float:
    """(tables,) or (tables, m) for use beside (tables, K, parents..., m)."""
    last = by_table.shape[1:] or (1,)
    return by_table.reshape(len(by_table), *(1 for _ in range(axes - 2)), *last)


def strides(sizes: Sequence[int]) -> Int:
    """How far apart neighbouring levels lie on each axis of a table with places in front.

    >>> strides([3, 2, 4])
    array([24,  6,  1])
    """
    steps = np.cumprod([1, *(size + FRONT for size in reversed(sizes[1:]))])
    return np.ascontiguousarray(steps[::-1]).astype(np.int64)


@dataclass(frozen=True)
class CountedTable:
    """What ``Conditional`` makes P(x | parents, c) of."""

    counts: Float  # (K, parents..., m)
    alone: Float  # (K, m) of the column by itself
    smoothing: float
    strength: float = np.inf
    part: float = 1.0  # of P(x | c) in the base
    shared: float = 0.0  # pseudo-rows by which P(x | parents) of all classes shrinks toward P(x)
    even: bool = False  # whether the pseudo-rows are the same for all levels

    def written(self, parents: Sequence[int], level: int) -> tuple[Ratio, ...]:
        """P of a level given levels of the parents as fractions, by class; below 0 they were never seen: (K)."""
        alone = write_laplace(self.alone, level, self.smoothing)
        if min(parents, default=-1) < 0:
            return alone
        place: tuple[Any, ...] = (slice(None), *parents)
        rows: Float = self.counts[place]
        if self.even and level >= 0:
            return write_laplace(rows, level, self.smoothing)
        each = zip(rows, (self._base(one, rows.sum(axis=0), level) for one in alone), strict=True)
        return tuple(_shrink(row, level, self.strength, *base) for row, base in each)

    def _base(self, alone: Ratio, rows: Float, level: int) -> tuple[str, Fraction]:
        """P(x | c), or what its part makes of it with P(x | parents) of all classes."""
        if self.part == 1 or level < 0:
            return str(alone), alone.value
        (anywhere,) = write_laplace(self.alone.sum(axis=0, keepdims=True), level, 1.0)
        of_all = _shrink(rows, level, self.shared, str(anywhere), anywhere.value)
        if self.part == 0:
            return str(of_all), of_all.value
        part, rest = decimal(self.part), 1 - decimal(self.part)
        text = f"({plain(self.part)}·{alone}+{plain(1 - self.part)}·{of_all})"
        return text, part * alone.value + rest * of_all.value


def write_laplace(rows: Float, level: int, smoothing: float) -> tuple[Ratio, ...]:
    """(n + a) / (n_c + a m) of one level from counts (K, m), by class; below 0 it is one level more: (K).

    >>> print(*write_laplace(np.array([[2.0, 7.0], [3.0, 2.0]]), 0, 1.0))
    (2+1)/(9+2) (3+1)/(5+2)
    """
    spread = smoothing * (rows.shape[1] + (level < 0))
    return tuple(Ratio.of([*row[[level] * (level >= 0)], smoothing], [row.sum(), spread]) for row in rows)


def _shrink(row: Float, level: int, strength: float, text: str, base: Fraction) -> Ratio:
    """(n + s b) / (N + s)."""
    n, of = float(row[level]) if level >= 0 else 0.0, float(row.sum())
    value = (decimal(n) + decimal(strength) * base) / (decimal(of) + decimal(strength))
    return Ratio(f"{plain(n)}+{plain(strength)}·{text}", f"{plain(of)}+{plain(strength)}", value)
