"""Skeleton: which columns are joined, and which way, by tests of independence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from bayeskit.arrays import Bool
from bayeskit.networks.equivalence import Pattern, compelled
from bayeskit.networks.independence import Independence
from bayeskit.networks.search import Limits

FEW = 3  # nodes held fixed, when the best of all sets is looked for
Pair = frozenset[int]
Separators = dict[Pair, tuple[int, ...]]  # of pairs that are not joined, what makes them independent


@dataclass(frozen=True)
class Skeleton:
    """Tests of pairs given some of their neighbours: independent above ``alpha``, of at most ``depth`` neighbours.

    Only what may stand above a node is tried to part it from others: of two nodes that are not joined, the parents of
    the one or of the other do.
    """

    tests: Independence
    limits: Limits
    alpha: float
    depth: int | None = None

    @property
    def _open(self) -> Bool:
        """Pairs that may be joined."""
        forbidden = self.limits.forbidden
        near = ~(forbidden & forbidden.T)
        np.fill_diagonal(near, False)
        return near

    @property
    def _fixed(self) -> Bool:
        return self.limits.required | self.limits.required.T

    def pc(self) -> tuple[Bool, Separators]:
        """PC-stable (Colombo and Maathuis 2014): by sets of ever more neighbours, as they were when the size began."""
        near, separators, size = self._open, Separators(), 0
        while True:
            before = near.copy()
            if size > self._deepest or (before.sum(axis=1) <= size).all():
                return near, separators
            for a, b in np.argwhere(np.triu(before & ~self._fixed)).tolist():
                for given in self._sides(before, a, b, size):
                    if self.tests(a, b, given).p > self.alpha:
                        near[a, b] = near[b, a] = False
                        separators[frozenset((a, b))] = given
                        break
            size += 1

    @property
    def _deepest(self) -> int:
        return len(self.limits.required) if self.depth is None else self.depth

    def _sides(self, near: Bool, a: int, b: int, size: int) -> Iterator[tuple[int, ...]]:
        """Sets of neighbours of a, then of b, each once."""
        seen = set()
        for one, other in ((a, b), (b, a)):
            around = near[one] & ~self.limits.forbidden[one]
            for given in combinations([n for n in np.flatnonzero(around).tolist() if n != other], size):
                if given not in seen:
                    seen.add(given)
                    yield given

    def mmpc(self) -> Bool:
        """The pairs of which each takes the other for a parent or child (Tsamardinos, Brown and Aliferis 2006)."""
        d = len(self.limits.required)
        chosen = np.zeros((d, d), dtype=bool)
        for node in range(d):
            chosen[node, self._neighbours(node)] = True
        return (chosen & chosen.T) | self._fixed

    def _neighbours(self, node: int) -> list[int]:
        """Max-min: the one whose weakest association given any of those chosen is strongest comes next."""
        weakest = {b: self.tests(node, b).rank for b in np.flatnonzero(self._open[node]).tolist()}
        chosen: list[int] = []
        while weakest := {b: rank for b, rank in weakest.items() if rank[0] <= self.alpha}:
            best = min(weakest, key=lambda b: (weakest[b], b))
            del weakest[best]
            for b in list(weakest) if not self.limits.forbidden[node, best] else ():
                for given in self._subsets(node, chosen, best):
                    weakest[b] = max(weakest[b], self.tests(node, b, given).rank)
                    if weakest[b][0] > self.alpha:
                        break
            chosen.append(best)
        for b in chosen.copy():
            others = [n for n in chosen if n != b]
            if any(self.tests(node, b, given).p > self.alpha for given in self._subsets(node, others)):
                chosen.remove(b)
        return chosen

    def _subsets(self, node: int, chosen: Sequence[int], new: int | None = None) -> Iterator[tuple[int, ...]]:
        """Of those chosen that may stand above the node, with the new one."""
        above = [n for n in chosen if not self.limits.forbidden[node, n]]
        extra = () if new is None else (new,)
        for size in range(min(len(above), self._deepest - len(extra)) + 1):
            for members in combinations(above, size):
                yield (*members, *extra)

    # -- directions --------------------------------------------------------------------------------

    def orient(self, near: Bool, separators: Separators, names: Sequence[str]) -> Pattern:
        """Arcs that meet where their ends are not joined and it does not part them, and what follows (Meek 1995).

        Meetings of which the ends are most surely independent come first; none turns an arc that is there, or closes a
        cycle.
        """
        forbidden = self.limits.forbidden
        arcs: set[tuple[str, str]] = set()
        free = {frozenset((names[a], names[b])) for a, b in np.argwhere(np.triu(near)).tolist()}
        place = {name: j for j, name in enumerate(names)}

        def point(parent: str, child: str) -> bool:
            """Direct an edge, unless that is not allowed."""
            if (parent, child) in arcs:
                return True
            edge = frozenset((parent, child))
            if edge not in free or forbidden[place[child], place[parent]] or _leads(arcs, child, parent):
                return False
            free.remove(edge)
            arcs.add((parent, child))
            return True

        for child, parent in np.argwhere(self.limits.required & near).tolist():
            point(names[parent], names[child])
        for child, parent in np.argwhere(near & forbidden.T & ~forbidden).tolist():
            if not point(names[parent], names[child]):
                free.discard(frozenset((names[parent], names[child])))  # neither way is allowed
        around = {name: {names[j] for j in np.flatnonzero(row).tolist()} for name, row in zip(names, near, strict=True)}
        for a, b, c in self._meetings(near, separators):
            one, other, middle = names[a], names[b], names[c]
            if (middle, one) not in arcs and (middle, other) not in arcs and point(one, middle):
                point(other, middle)
        while found := next((way for way in _ways(free) if compelled(*way, arcs, free, around)), None):
            if not point(*found) and not point(*found[::-1]):
                free.remove(frozenset(found))
        return Pattern(frozenset(arcs), frozenset(free))

    def _meetings(self, near: Bool, separators: Mapping[Pair, tuple[int, ...]]) -> list[tuple[int, int, int]]:
        """Arcs that meet, the surest first: the middle is not in the set that parts the ends best (Ramsey 2016)."""
        found = []
        for a, b in sorted(tuple(sorted(pair)) for pair in separators):
            if between := np.flatnonzero(near[a] & near[b]).tolist():
                p, parting = self._part(near, a, b, separators[frozenset((a, b))])
                found += [(-p, a, b, c) for c in between if c not in parting]
        return [(a, b, c) for _, a, b, c in sorted(found)]

    def _part(self, near: Bool, a: int, b: int, known: tuple[int, ...]) -> tuple[float, tuple[int, ...]]:
        """The largest p-value of two ends given some of their neighbours, and those."""
        best = self.tests(a, b, known).p, known
        for size in range(min(self._deepest, FEW) + 1):
            for given in self._sides(near, a, b, size):
                if (p := self.tests(a, b, given).p) > best[0]:
                    best = p, given
        return best


def _ways(free: set[frozenset[str]]) -> list[tuple[str, str]]:
    pairs = sorted(tuple(sorted(edge)) for edge in free)
    return [way for a, b in pairs for way in ((a, b), (b, a))]


def _leads(arcs: set[tuple[str, str]], start: str, end: str) -> bool:
    """Whether arcs lead from one node to another."""
    seen, left = set[str](), [start]
    while left:
        node = left.pop()
        if node == end:
            return True
        if node not in seen:
            seen.add(node)
            left += [child for parent, child in arcs if parent == node]
    return False


def extend(pattern: Pattern) -> list[tuple[str, str]]:
    """Arcs of a graph of the pattern (Dor and Tarsi 1992): a node with no arc out of it, whose free neighbours are all
    joined to its others, takes their arcs; and so on without it.

    Where tests contradict each other there may be no such graph; then a node with no arc out of it is taken alone.

    >>> sorted(extend(Pattern(frozenset({("a", "c"), ("b", "c")}), frozenset({frozenset(("a", "e"))}))))
    [('a', 'c'), ('a', 'e'), ('b', 'c')]
    """
    arcs, free = set(pattern.arcs), set(pattern.edges)
    left = sorted({n for pair in (*arcs, *free) for n in pair})
    made: list[tuple[str, str]] = []
    near = {n: {m for pair in (*arcs, *free) if n in pair for m in pair} - {n} for n in left}
    while left:
        ends = [n for n in left if not any(parent == n for parent, _ in arcs)]
        loose = {n: [m for m in near[n] if frozenset((n, m)) in free] for n in ends}
        fit = [n for n in ends if all(near[n] - {m} <= near[m] for m in loose[n])]
        node = fit[-1] if fit else min(ends, key=lambda n: len(loose[n]))
        made += [(m, node) for m in sorted(near[node])]
        arcs = {arc for arc in arcs if node not in arc}
        free = {edge for edge in free if node not in edge}
        left.remove(node)
        near = {n: others - {node} for n, others in near.items() if n != node}
    return made
