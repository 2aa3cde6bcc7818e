"""Augmented: naive Bayes with arcs between columns that inform much on each other; a tree, or up to k parents each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import ClassVar, Self

import numpy as np

from bayeskit.arrays import FRONT, Bool, Float, Int
from bayeskit.data.schema import KINDS
from bayeskit.densities.likelihood import Context
from bayeskit.errors import InputError
from bayeskit.statistics.bins import Bins
from bayeskit.statistics.sliced import Sliced
from bayeskit.statistics.tables import Tables
from bayeskit.structures.conditional import BOTH, SHARES, Conditional, Margin
from bayeskit.structures.discrete import FactorDensity, Smoothed
from bayeskit.structures.hidden import NetworkedDensity
from bayeskit.validation import positive

AT_ONCE = 1 << 15  # cells of a group whose logarithms are taken together
NOTHING = 1e-12  # nats of a row that are only rounding
DIGITS = 10  # of the largest gain: what is beyond is rounding


@dataclass(frozen=True)
class Dependence:
    """Conditional mutual information I(a; b | c) of all pairs of columns, and I(a; c), in nats.

    All is read from counts, so it is the same in any order of rows; and pair by pair in the order of names, so it is
    the same in any order of columns.
    """

    relevance: Float  # (d,) n I(a; c)
    gain: Float  # (d, d) n I(a; b | c), n the weight of the rows in which both are present
    rank: Int  # (d,) of the columns by name: who is first in a tie

    @classmethod
    def of(cls, levels: Tables, pairs: Tables) -> Dependence:
        """From a table of each column and one of each pair of them."""
        place = {name: j for j, (name,) in enumerate(levels.tables)}
        d = len(place)
        known = np.array([place[name] for name in pairs.layout.members.columns], dtype=np.int64)
        gain = np.zeros((d, d))
        a, b = known[pairs.layout.members.used].reshape(-1, 2).T
        rank = rank_names([name for (name,) in levels.tables])
        with np.errstate(over="ignore"):
            gain[a, b] = gain[b, a] = np.prod(conditional_information(pairs, rank[a] > rank[b]), axis=0)
        return cls(even_out(relevance(levels)), even_out(gain), rank)

    def tree(self) -> list[tuple[int, ...]]:
        """Parents in the tree of largest gain (Chow and Liu) from the first name on, without arcs of no gain."""
        d, order = len(self.relevance), np.argsort(self.rank)
        parents: list[tuple[int, ...]] = [()] * d
        reach = np.zeros(d)  # the gain of the best arc from the tree so far, by column
        source, outside = np.zeros(d, dtype=np.int64), np.ones(d, dtype=bool)
        for _ in range(d):
            new = int(np.where(outside, reach, -1.0).argmax())
            if reach[new] > 0:
                parents[int(order[new])] = (int(order[source[new]]),)
            outside[new] = False
            gain = self.gain[order[new]][order]
            source[gain > reach] = new  # also of columns inside, which have their parents
            np.maximum(reach, gain, out=reach)
        return parents

    def order(self, k: int, cells: Sequence[int], most: int) -> list[tuple[int, ...]]:
        """Parents by rank: columns by I(a; c), each with the k most informative ones before it, best first.

        A parent is left out where the table of the column would have more than ``most`` cells; ``cells`` are those
        each column multiplies it by.
        """
        order = np.lexsort((self.rank, -self.relevance)).tolist()
        parents: list[tuple[int, ...]] = [()] * len(order)
        for place, child in enumerate(order):
            size = cells[child]
            chosen: list[int] = []
            for other in sorted(order[:place], key=lambda p: (-self.gain[child, p], self.rank[p])):
                if len(chosen) < k and self.gain[child, other] > 0 and size * cells[other] <= most:
                    chosen.append(other)
                    size *= cells[other]
            parents[child] = tuple(chosen)
        return parents


def even_out(gain: Float) -> Float:
    """Gains that differ by rounding alone made equal, so that ties do not hang on the order of the classes."""
    largest = float(gain.max(initial=0.0))
    return np.round(gain / largest, DIGITS) * largest if 0 < largest < np.inf else gain


def rank_names(names: Sequence[str]) -> Int:
    """The place of each among the names in their order.

    >>> rank_names(["b", "c", "a"]).tolist()
    [1, 2, 0]
    """
    rank = np.empty(len(names), dtype=np.int64)
    rank[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
    return rank


def conditional_information(pairs: Tables, turned: Bool) -> tuple[Float, Float]:
    """I(a; b | c) of each pair in nats, and the weight of the rows it comes from: (pairs,) both.

    Sums run over the second column of a pair first, or over the first one where it is ``turned``.

    n I = sum of n_abc log n_abc - n_ac log n_ac - n_bc log n_bc + n_c log n_c over all cells.
    """
    first, second = pairs.layout.levels.astype(np.int64)[pairs.layout.members.padded].reshape(-1, 2).T
    height, width = np.where(turned, second, first), np.where(turned, first, second)
    down, across = np.where(turned, 1, second), np.where(turned, second, 1)  # from cell to cell
    counts, begin = pairs.cells.to_float(), pairs.layout.offset[:-1]
    largest = max(float(counts.max(initial=0.0)), 5e-324)  # weights may be near the largest double
    information, weight = np.zeros(len(begin)), np.zeros(len(begin))
    shapes, which = np.unique(height << 32 | width, return_inverse=True)
    order = np.argsort(which, kind="stable")  # those of equal shape side by side, as many at once as a cache holds
    ends = np.cumsum(np.bincount(which, minlength=len(shapes))).tolist()
    for shape, begins, end in zip(shapes.tolist(), [0, *ends], ends, strict=False):
        h, w = shape >> 32, shape & 0xFFFFFFFF
        row, column = np.divmod(np.arange(h * w)[:, None], w)
        step = max(AT_ONCE // max(h * w, 1), 1)
        for alike in (order[i : min(i + step, end)] for i in range(begins, end, step)):
            place = begin[alike] + row * down[alike] + column * across[alike]
            for mass in counts:
                share = mass[place].reshape(h, w, len(alike)) / largest
                rows, columns = share.sum(axis=1), share.sum(axis=0)
                group = rows.sum(axis=0)
                information[alike] += times_log(share).sum(axis=(0, 1)) + times_log(group)
                information[alike] -= times_log(rows).sum(axis=0) + times_log(columns).sum(axis=0)
                weight[alike] += group
    information = information / np.maximum(weight, 5e-324)
    return np.where(information > NOTHING, information, 0.0), weight * largest


def relevance(levels: Tables) -> Float:
    """n I(x; c) of each column from its table: (columns,)."""
    table, _ = levels.layout.cells
    counts = levels.cells.to_float()
    largest = max(float(counts.max(initial=0.0)), 5e-324)

    share, d = counts / largest, len(levels.tables)
    information = sum_by_place(table, times_log(share).sum(axis=0) - times_log(share.sum(axis=0)), d)
    groups = np.array([sum_by_place(table, row, d) for row in share]).reshape(len(share), d)
    information += times_log(groups.sum(axis=0)) - times_log(groups).sum(axis=0)
    return np.maximum(information, 0.0) * largest


def sum_by_place(place: Int, terms: Float, places: int) -> Float:
    """Sums of the terms of each place: (places,)."""
    return np.bincount(place, terms, minlength=places).astype(np.float64, copy=False)


def times_log(x: Float) -> Float:
    """x log x, 0 where x is 0."""
    out: Float = np.log(np.maximum(x, 5e-324)) * x
    return out


CELLS = 1 << 18  # cells of the table of one column, missing values and classes included: 2 MB


@dataclass(frozen=True)
class Augmented(Smoothed):
    """p(x | c) = product over columns of P(x_j | parents of j, c).

    ``arcs`` is "tree" (Chow and Liu's tree on I(a; b | c)) or "order" (columns ranked by I(a; c), each with the ``k``
    before it that tell most of it). An arc is kept only where the column is predicted better with it than by the class
    alone, by ``penalty`` times log n in leave-one-out (see ``Conditional``, also for ``strength`` and ``backoff``).

    One parent can be read from the tables of all pairs, so the arcs are found anew after learning and forgetting.
    More parents take a further pass over the rows, which counts what the arcs found call for; the arcs are then part of
    the model, as cuts are.
    """

    arcs: str = "tree"
    k: int = 1
    penalty: float | None = 2.0
    strength: float | None = None
    backoff: str = BOTH
    parents: tuple[tuple[str, tuple[str, ...]], ...] | None = field(default=None, repr=False)  # once found, where k > 1

    identifier: ClassVar[str] = "structure/augmented"
    kinds: ClassVar[tuple[str, ...]] = KINDS
    pairwise: ClassVar[bool] = True
    leave_one_out: ClassVar[bool] = False  # labels chose the arcs

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.arcs not in ("tree", "order"):
            raise InputError(f"arcs={self.arcs!r}: choose 'tree' or 'order'")
        if self.backoff not in SHARES:
            raise InputError(f"backoff={self.backoff!r}: choose one of {', '.join(map(repr, SHARES))}")
        if self.strength is not None:
            object.__setattr__(self, "strength", positive("strength", self.strength))

    def first_stage(self) -> Self:
        return replace(super().first_stage(), parents=None)

    @property
    def choices(self) -> tuple[str, ...]:
        return super().choices if self.parents is None else (*super().choices, "the arcs")

    def tables(self, columns: Sequence[str]) -> Mapping[str, Sequence[tuple[str, ...]]]:
        levels = [(name,) for name in columns]
        if self.parents is None:
            return {"levels": levels, "pairs": list(combinations(columns, 2))}
        found = dict(self.parents)
        return {"levels": levels, "families": [(*found.get(name, ()), name) for name in columns]}

    def next_stage(self, statistic: Bins | Sliced, context: Context) -> Self | None:
        if isinstance(statistic, Bins):
            return self.cut(statistic)
        if self.k > 1 and self.parents is None:
            names = statistic.slices.columns
            found = self._arcs(statistic)
            return replace(self, parents=tuple((n, tuple(names[p] for p in found[j])) for j, n in enumerate(names)))
        return None

    def _arcs(self, statistic: Sliced) -> list[tuple[int, ...]]:
        dependence = Dependence.of(statistic["levels"], statistic["pairs"])
        if self.arcs == "tree":
            return dependence.tree()
        sizes = [statistic["levels"].sizes[name] + FRONT for name in statistic.slices.columns]
        return dependence.order(self.k, sizes, CELLS // max(statistic.groups, 1))

    def fit(self, statistic: Sliced, context: Context) -> NetworkedDensity:
        levels = statistic["levels"]
        every = Margin.each(levels, self.smoothing, context)
        asked = list(self._counts(statistic))
        chosen = Conditional.each([counts for _, counts in asked], every, self.strength, self.backoff, self.penalty)
        arcs = [parents[: found.parents] for (parents, _), found in zip(asked, chosen, strict=True)]
        logs = Conditional.logs(chosen, every)
        members = [(*parents, j) for j, parents in enumerate(arcs)]
        sizes = [margin.counts.shape[1] for margin in every]
        strengths = [found.strength for found in chosen]
        tables = FactorDensity.of(statistic.slices, members, sizes, logs, statistic.groups, strengths)
        counted = tuple(found.counted for found in chosen)
        return NetworkedDensity(tables, (True,) * len(members), context.unseen == "smooth", counted)

    def _counts(self, statistic: Sliced) -> Iterator[tuple[tuple[int, ...], Float]]:
        """The parents of each column, and the counts (K, parents..., m)."""
        names = statistic.slices.columns
        if self.parents is not None:
            place, found = {name: j for j, name in enumerate(names)}, dict(self.parents)
            for j, name in enumerate(names):
                yield tuple(place[p] for p in found.get(name, ())), statistic["families"].table(j).to_float()
            return
        arcs = self._arcs(statistic)
        number = statistic["pairs"].layout.members.number
        ordered = [sorted((j, *parents)) for j, parents in enumerate(arcs)]
        asked = [number[names[family[0]], names[family[1]]] for family in ordered if len(family) > 1]
        pairs = statistic["pairs"].counts(asked)
        for j, (parents, family) in enumerate(zip(arcs, ordered, strict=True)):
            if not parents:
                yield (), statistic["levels"].table(j).to_float()
            else:
                counts = next(pairs)
                yield parents, counts if family[1] == j else counts.swapaxes(1, 2)
