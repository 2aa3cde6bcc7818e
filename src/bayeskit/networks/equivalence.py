"""Equivalence: graphs that say the same independences, and how far two graphs are apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

from bayeskit.errors import NetworkError
from bayeskit.networks.graph import Graph


@dataclass(frozen=True)
class Pattern:
    """The arcs that all equivalent graphs share, and the edges that may go either way (a CPDAG).

    Attributes
    ----------
    arcs : frozenset of pairs
        (parent, child) in every equivalent graph.
    edges : frozenset of frozensets
        Two nodes that are joined in either direction.
    """

    arcs: frozenset[tuple[str, str]]
    edges: frozenset[frozenset[str]]

    @classmethod
    def of(cls, graph: Graph) -> Pattern:
        """By the arcs that meet in a node whose parents are not joined, and what follows from them (Meek 1995).

        >>> found = Pattern.of(Graph.of([("a", "c"), ("b", "c"), ("c", "d"), ("e", "a")]))
        >>> sorted(found.arcs), [sorted(edge) for edge in found.edges]
        ([('a', 'c'), ('b', 'c'), ('c', 'd')], [['a', 'e']])
        """
        near = {node: {*graph.parents[node], *graph.children[node]} for node in graph.nodes}
        arcs = {
            (parent, node)
            for node, parents in graph.parents.items()
            for one, other in combinations(parents, 2)
            if other not in near[one]
            for parent in (one, other)
        }
        free = {frozenset(arc) for arc in graph.edges} - {frozenset(arc) for arc in arcs}
        while True:
            found = next(
                (
                    (a, b)
                    for edge in free
                    for a, b in (tuple(edge), tuple(edge)[::-1])
                    if compelled(a, b, arcs, free, near)
                ),
                None,
            )
            if found is None:
                return cls(frozenset(arcs), frozenset(free))
            arcs.add(found)
            free.remove(frozenset(found))

    def marks(self) -> dict[frozenset[str], object]:
        """Of each two nodes that are joined, the arc, or None where it may go either way."""
        return {**{frozenset(arc): arc for arc in self.arcs}, **dict.fromkeys(self.edges)}


def compelled(
    a: str, b: str, arcs: set[tuple[str, str]], free: set[frozenset[str]], near: Mapping[str, set[str]]
) -> bool:
    """Whether a - b must be a -> b, or a new meeting of arcs or a cycle would arise."""
    if any((c, a) in arcs and b not in near[c] and c != b for c in near[a]):
        return True
    if any((a, c) in arcs and (c, b) in arcs for c in near[a] & near[b]):
        return True
    between = [c for c in near[a] & near[b] if frozenset((a, c)) in free and (c, b) in arcs]
    if any(d not in near[c] for c, d in combinations(between, 2)):
        return True
    return any(
        frozenset((a, c)) in free and (c, d) in arcs and (d, b) in arcs and c not in near[b] and d in near[a]
        for c in near[a]
        for d in near[b]
    )


def structural_distance(one: Graph, other: Graph) -> int:
    """How many edges must be added, dropped or turned to come from the pattern of one graph to that of the other (SHD,
    Tsamardinos and others 2006)."""
    if set(one.nodes) != set(other.nodes):
        raise NetworkError("the graphs have different nodes and cannot be compared")
    mine, theirs = Pattern.of(one).marks(), Pattern.of(other).marks()
    return sum(
        pair not in mine or pair not in theirs or mine[pair] != theirs[pair] for pair in mine.keys() | theirs.keys()
    )
