"""Graph: which columns hang on which; a directed graph without cycles."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from bayeskit.arrays import Label
from bayeskit.errors import NetworkError


@dataclass(frozen=True)
class Graph:
    """Every node with its parents; the order of the parents is the order of the axes of its table.

    >>> graph = Graph.of([("rain", "wet"), ("sprinkler", "wet"), ("wet", "slippery")])
    >>> graph.parents["wet"], graph.order
    (('rain', 'sprinkler'), ('rain', 'sprinkler', 'wet', 'slippery'))
    >>> graph.d_separated("rain", "sprinkler"), graph.d_separated("rain", "sprinkler", ["slippery"])
    (True, False)
    """

    parents: Mapping[str, tuple[str, ...]]

    def __post_init__(self) -> None:
        for node, parents in self.parents.items():
            if len(set(parents)) < len(parents):
                raise NetworkError(f"node {node!r} has a parent twice: {', '.join(parents)}; give each arc once")
            for parent in parents:
                if parent not in self.parents:
                    raise NetworkError(f"node {node!r} has the parent {parent!r}, which is no node; add it")
        self.order  # noqa: B018  a cycle is found here, not at first use

    @classmethod
    def of(cls, edges: Iterable[Iterable[Label]], nodes: Iterable[Label] = ()) -> Graph:
        """From (parent, child) pairs; ``nodes`` adds those without an arc, and says which come first."""
        parents: dict[str, list[str]] = {str(node): [] for node in nodes}
        for edge in edges:
            if isinstance(edge, str) or len(pair := tuple(edge)) != 2:
                raise NetworkError(f"{edge!r} is no arc; arcs are pairs (parent, child)")
            parent, child = map(str, pair)
            parents.setdefault(parent, [])
            parents.setdefault(child, []).append(parent)
        return cls({node: tuple(names) for node, names in parents.items()})

    @property
    def nodes(self) -> tuple[str, ...]:
        return tuple(self.parents)

    @property
    def edges(self) -> tuple[tuple[str, str], ...]:
        """The arcs as (parent, child)."""
        return tuple((parent, node) for node, parents in self.parents.items() for parent in parents)

    @cached_property
    def children(self) -> Mapping[str, tuple[str, ...]]:
        found: dict[str, list[str]] = {node: [] for node in self.parents}
        for parent, child in self.edges:
            found[parent].append(child)
        return {node: tuple(names) for node, names in found.items()}

    @cached_property
    def order(self) -> tuple[str, ...]:
        """Parents before children, otherwise as the nodes stand."""
        open_parents = {node: len(parents) for node, parents in self.parents.items()}
        ready = deque(node for node, count in open_parents.items() if not count)
        done = []
        while ready:
            node = ready.popleft()
            done.append(node)
            for child in self.children[node]:
                open_parents[child] -= 1
                if not open_parents[child]:
                    ready.append(child)
        if len(done) < len(self.parents):
            raise NetworkError(f"the arcs form a cycle: {' -> '.join(self._cycle(set(done)))}; leave one of them out")
        return tuple(done)

    def _cycle(self, done: set[str]) -> list[str]:
        """A cycle among the nodes that no order reaches: walk to parents until one comes again."""
        node = next(n for n in self.parents if n not in done)
        walk: list[str] = []
        while node not in walk:
            walk.append(node)
            node = next(p for p in self.parents[node] if p not in done)
        return [node, *reversed(walk[walk.index(node) :])]

    def family(self, node: str) -> tuple[str, ...]:
        """The parents and the node itself: the axes of its table."""
        return (*self.parents[self.check(node)], node)

    def ancestors(self, nodes: Iterable[str]) -> set[str]:
        """The nodes and all from which arcs lead to them."""
        found: set[str] = set()
        left = [self.check(node) for node in nodes]
        while left:
            node = left.pop()
            if node not in found:
                found.add(node)
                left += self.parents[node]
        return found

    def markov_blanket(self, node: str) -> set[str]:
        """Parents, children and the children's other parents: given these, nothing else says anything on the node."""
        found = set(self.parents[self.check(node)])
        for child in self.children[node]:
            found |= {child, *self.parents[child]}
        return found - {node}

    def moral(self, nodes: Collection[str] | None = None) -> dict[str, set[str]]:
        """Neighbours in the undirected graph that marries the parents of each child, of some nodes or all."""
        kept = self.parents.keys() if nodes is None else nodes
        near: dict[str, set[str]] = {node: set() for node in self.parents if node in kept}
        for node in near:
            family = [n for n in self.family(node) if n in near]
            for member in family:
                near[member].update(family)
        return {node: others - {node} for node, others in near.items()}

    def d_separated(self, a: str | Iterable[str], b: str | Iterable[str], given: str | Iterable[str] = ()) -> bool:
        """Whether the graph makes a and b (nodes or lists of nodes) independent given others, whatever the tables.

        They are when the moral graph of the ancestors of all of them has no path from a to b around ``given``.
        """
        one, other, known = (
            {self.check(n) for n in ([nodes] if isinstance(nodes, str) else nodes)} for nodes in (a, b, given)
        )
        if (one & other) - known:
            return False
        near = self.moral(self.ancestors(one | other | known))
        seen, left = set(known), list(one - known)
        while left:
            node = left.pop()
            if node in other:
                return False
            if node not in seen:
                seen.add(node)
                left += near[node] - seen
        return True

    def check(self, node: str) -> str:
        if node not in self.parents:
            known = ", ".join(list(self.parents)[:12]) + (", ..." if len(self.parents) > 12 else "")
            raise NetworkError(f"no node is named {node!r} (there are: {known})")
        return node
