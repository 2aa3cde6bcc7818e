"""Conditional: probabilities of a column's levels given the class and its parents, leaning on simpler ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bayeskit.arrays import Float, Int
from bayeskit.likelihood import Context
from bayeskit.smoothing import Laplace
from bayeskit.statistics.tables import Tables
from bayeskit.structures.leaning import TINY, Filled, strengths_of

FRONT = 2  # places in front of the levels on each axis: never seen, missing
CLASS, BOTH, EVEN = "class", "both", "even"
SHARES = {CLASS: (1.0,), BOTH: (1.0, 0.75, 0.5, 0.25, 0.0), EVEN: (1.0,)}  # of P(x | c) in what a table leans on


@dataclass(frozen=True)
class Margin:
    """P(x | c) of one column, with Laplace's correction."""

    counts: Float  # (K, m)
    share: Float  # (K, m)
    others: Float  # (K, m) the share of a level as it is without one of its rows
    smoothing: float
    unseen: Float | None  # (K,) of a level never seen, None where it is taken as missing

    @classmethod
    def of(cls, levels: Tables, j: int, smoothing: float, context: Context) -> Margin:
        return cls.counted(levels.table(j).rounded(), smoothing, context.weights, context.unseen == "smooth")

    @classmethod
    def counted(cls, counts: Float, smoothing: float, weights: Float, smooth_unseen: bool) -> Margin:
        """From counts (K, m) and the weights of the classes (K,)."""
        rule = Laplace(smoothing)
        one_less = np.maximum(counts.sum(axis=1, keepdims=True) - 1, 0)
        others = (np.maximum(counts - 1, 0) + smoothing) / (one_less + smoothing * counts.shape[1])
        new = rule.unseen(counts, weights) if smooth_unseen and counts.shape[1] else None
        return cls(counts, rule.probabilities(counts, weights), others, smoothing, new)

    @cached_property
    def pooled(self) -> Float:
        """P(x) of all classes together: (m,)."""
        levels = self.counts.sum(axis=0) + 1
        share: Float = levels / levels.sum()
        return share

    @property
    def fronted(self) -> Float:
        """P(x | c) with the places for holes in front: one, and that of a level never seen: (K, m + 2)."""
        front = np.ones((len(self.share), FRONT))
        if self.unseen is not None:
            front[:, 0] = self.unseen
        return np.hstack([front, self.share])


@dataclass(frozen=True)
class Conditional:
    """P(x | parents, c) = (n + s b) / (N + s): s pseudo-rows spread as the base b.

    The base is P(x | c) with ``backoff="class"``, a mixture of P(x | c) and P(x | parents) with "both", and the same
    for all levels with "even", where s is Laplace's. What is not given is chosen by the sum of log p_-i(x_i |
    parents_i, c_i), each row foretold by the others: s, the mixture, and how many of the parents are used, in their
    order. Each parent must gain ``toll`` times log n; None uses all.
    """

    share: Float  # (K, parents used..., m)
    within: Float  # (K, parents used..., 1) weight of the rows with these parents
    strength: float
    score: float

    @classmethod
    def of(
        cls, counts: Float, child: Margin, strength: float | None, backoff: str = BOTH, toll: float | None = 2.0
    ) -> Conditional:
        """From the counts (K, parents..., m) of the rows in which all are present."""
        (found,) = cls.each([counts], [child], strength, backoff, toll)
        return found

    @classmethod
    def each(
        cls,
        tables: Sequence[Float],
        children: Sequence[Margin],
        strength: float | None,
        backoff: str = BOTH,
        toll: float | None = 2.0,
    ) -> list[Conditional]:
        """Of several columns: what is chosen for each does not depend on the others, but is worked out together."""
        alone = [_last(counts, 0) for counts in tables]
        price = [(toll or 0.0) * float(np.log(max(counts.sum(), 1.0))) for counts in alone]
        best: list[Conditional] = [
            cls(child.share, child.counts.sum(axis=1, keepdims=True), np.inf, top)
            for child, top in zip(children, _foretold(alone, children, backoff), strict=True)
        ]
        top = [found.score for found in best]
        for used in range(1, max((counts.ndim - 2 for counts in tables), default=0) + 1):
            some = [
                t
                for t, counts in enumerate(tables)
                if counts.ndim - 2 == used or (counts.ndim - 2 > used and toll is not None)
            ]
            first = [_last(tables[t], used) for t in some]
            for t, found in zip(some, cls._leaning(first, [children[t] for t in some], strength, backoff), strict=True):
                if toll is None or found.score - used * price[t] > top[t]:
                    best[t], top[t] = found, found.score - used * price[t]
        return best

    @classmethod
    def _leaning(
        cls, tables: Sequence[Float], children: Sequence[Margin], strength: float | None, backoff: str
    ) -> Iterator[Conditional]:
        """With all parents of each table."""
        cells, strengths = Filled.of(tables), strengths_of(strength, len(tables))
        others = _flat(child.others for child in children)[cells.margin]
        bases = [child.share for child in children]
        shared = [np.empty(0)] * len(tables)
        known = [(1.0, others)]
        if backoff == EVEN:
            strengths = np.array([[child.smoothing * child.share.shape[1] for child in children]])
            bases = [np.full_like(child.share, 1 / max(child.share.shape[1], 1)) for child in children]
            known = [(1.0, _flat(bases)[cells.margin])]
        elif backoff == BOTH:
            shared, shared_others = _shared(tables, cells, children)
            known = [(part, part * others + (1 - part) * shared_others) for part in SHARES[BOTH]]
        lean = cells.best(known, strengths)
        for t, (counts, base) in enumerate(zip(tables, bases, strict=True)):
            within, base = counts.sum(axis=-1, keepdims=True), _across(base, counts.ndim)
            s, part = float(lean.strength[t]), float(lean.part[t])
            base = base if part == 1 else part * base + (1 - part) * shared[t]
            yield cls((counts + s * base) / (within + s), within, s, float(lean.score[t]))

    @property
    def parents(self) -> int:
        """How many are used."""
        return self.share.ndim - 2

    def logs(self, child: Margin, parents: Sequence[Margin]) -> Float:
        """log P(x | parents, c) with a place in front of each axis for holes: (parents + 2 ..., m + 2, K).

        A missing parent is summed out with P(parent | c). A missing x says nothing. A level never seen acts as
        missing; where it is smoothed, it is one without a row: as a parent it leaves P(x | c), as x it has what the
        pseudo-rows give it.
        """
        front = np.ones((*self.share.shape[:-1], FRONT))
        if child.unseen is not None:
            lean = 1.0 if np.isinf(self.strength) else self.strength / (self.within + self.strength)
            front[..., :1] = lean * _across(child.unseen[:, None], self.share.ndim)
        table = np.concatenate([front, self.share], axis=-1)
        for axis, parent in enumerate(parents, start=1):
            weight = parent.share / parent.share.sum(axis=1, keepdims=True)
            summed = np.expand_dims(np.einsum("ka...,ka->k...", np.moveaxis(table, axis, 1), weight), axis)
            alone = (
                summed if parent.unseen is None else np.broadcast_to(_across(child.fronted, table.ndim), summed.shape)
            )
            table = np.concatenate([alone, summed, table], axis=axis)
        table[..., 1] = 1.0  # shares sum to one but for rounding, and a hole must say nothing at all
        if child.unseen is None:
            table[..., 0] = 1.0
        out: Float = np.log(np.maximum(np.moveaxis(table, 0, -1), TINY))
        return out


def _last(counts: Float, used: int) -> Float:
    """The counts over the first parents only."""
    out: Float = counts.sum(axis=tuple(range(1 + used, counts.ndim - 1)))
    return out


def _foretold(tables: Sequence[Float], children: Sequence[Margin], backoff: str) -> list[float]:
    """Sums of log p of the rows without any parent, each without itself; tables (K, m).

    Where tables with parents may lean on what all classes have in common, so may this: an arc is not kept for that.
    """
    cells = Filled.of(tables)
    of_class, of_all = _flat(c.others for c in children)[cells.margin], _flat(c.pooled for c in children)[cells.shared]
    tried = [cells.scored(part * of_class + (1 - part) * of_all) for part in SHARES[backoff]]
    found: list[float] = np.max(tried, axis=0).tolist()
    return found


def _shared(tables: Sequence[Float], cells: Filled, children: Sequence[Margin]) -> tuple[list[Float], Float]:
    """P(x | parents) of all classes together, leaning on P(x): of each table (1, parents..., m), and of each of the
    cells as it is without one of its rows."""
    pooled, alone = cells.pooled(), _flat(child.pooled for child in children)
    strength = pooled.best([(1.0, alone[pooled.margin])], strengths_of(None, len(tables))).strength
    rows = strength[pooled.table]
    others = np.zeros(int(cells.shapes[:, 1:].prod(axis=1).sum()))
    others[pooled.shared] = (pooled.mass + rows * alone[pooled.margin]) / (pooled.total + rows)
    found = []
    for counts, child, s in zip(tables, children, strength.tolist(), strict=True):
        whole = counts.sum(axis=0, keepdims=True)
        found.append((whole + s * _across(child.pooled[None], counts.ndim)) / (whole.sum(axis=-1, keepdims=True) + s))
    return found, others[cells.shared]


def _flat(arrays: Iterable[Float]) -> Float:
    """One after the other: (all cells,)."""
    return np.concatenate([np.empty(0), *(array.ravel() for array in arrays)])


def _across(by_class: Float, axes: int) -> Float:
    """(K, m) for use beside (K, parents..., m)."""
    return by_class.reshape(len(by_class), *(1 for _ in range(axes - 2)), by_class.shape[1])


def strides(sizes: Sequence[int]) -> Int:
    """How far apart neighbouring levels lie on each axis of a table with places in front.

    >>> strides([3, 2, 4])
    array([24,  6,  1])
    """
    steps = np.cumprod([1, *(size + FRONT for size in reversed(sizes[1:]))])
    return np.ascontiguousarray(steps[::-1]).astype(np.int64)
