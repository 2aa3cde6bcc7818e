"""Network: a graph and a table for each of its nodes; an immutable value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np

from bayeskit.arrays import Code, Float, Label
from bayeskit.data.levels import Levels
from bayeskit.errors import NetworkError
from bayeskit.networks.graph import Graph
from bayeskit.networks.table import Table, cells_of, code_of, declare_states, states_of, table_of
from bayeskit.statistics.cuts import cell_of


@dataclass(frozen=True, eq=False)
class Network:
    """P(x_1, ..., x_n) = product over nodes of P(x_i | parents of x_i).

    >>> network = Network.of(
    ...     [("rain", "wet")],
    ...     {"rain": {"no": 0.8, "yes": 0.2}, "wet": {"no": {"no": 0.9, "yes": 0.1}, "yes": {"no": 0.0, "yes": 1.0}}},
    ... )
    >>> network.states("wet"), round(network.probability({"rain": "no", "wet": "yes"}), 3)
    (('no', 'yes'), 0.08)
    """

    graph: Graph
    levels: Mapping[str, Levels]  # the states of every node, by code
    tables: Mapping[str, Table]
    cuts: Mapping[str, tuple[float, ...]] = field(default_factory=dict)  # of nodes whose states are intervals

    def __post_init__(self) -> None:
        for node in self.graph.nodes:
            if node not in self.tables:
                raise NetworkError(f"node {node!r} has no table; give one, or fit the network to data")
            if len(self.levels[node]) == 0:
                raise NetworkError(f"node {node!r} has no state")
            table, family = self.tables[node], self.graph.family(node)
            sizes = {name: len(self.levels[name]) for name in family}
            if table.parents != family[:-1] or table.probabilities.shape != cells_of(node, sizes, family):
                raise NetworkError(f"the table of {node!r} does not fit its parents {', '.join(family[:-1]) or 'none'}")
        for extra in self.tables.keys() - self.graph.parents.keys():
            raise NetworkError(f"there is a table for {extra!r}, which is no node; add it to the nodes")

    @classmethod
    def of(
        cls,
        edges: Iterable[Iterable[Label]],
        tables: Mapping[Label, Any],
        states: Mapping[str, Iterable[Label]] | None = None,
        nodes: Iterable[Label] = (),
    ) -> Network:
        """From arcs and tables as users write them (see ``table_of``); a table without arcs makes a lone node."""
        graph = Graph.of(edges, nodes)
        given = {str(name): spec for name, spec in tables.items()}
        if alone := [name for name in given if name not in graph.parents]:
            graph = Graph({**graph.parents, **dict.fromkeys(alone, ())})
        declared = {str(name): declare_states(str(name), some) for name, some in (states or {}).items()}
        levels = {}
        for node in graph.nodes:
            if node not in given:
                raise NetworkError(f"node {node!r} has no table; give one, or fit the network to data")
            found = declared.get(node) or states_of(given[node], node)
            if found is None:
                spec = given[node]
                own = np.shape(spec.probabilities if isinstance(spec, Table) else spec)
                found = Levels.of(range(own[-1] if own else 0))
            levels[node] = found
        return cls(graph, levels, {n: table_of(given[n], n, graph.parents[n], levels) for n in graph.nodes})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Network):
            return NotImplemented
        return (
            dict(self.graph.parents) == dict(other.graph.parents)
            and dict(self.levels) == dict(other.levels)
            and dict(self.tables) == dict(other.tables)
            and dict(self.cuts) == dict(other.cuts)
        )

    @property
    def nodes(self) -> tuple[str, ...]:
        return self.graph.nodes

    @cached_property
    def sizes(self) -> Mapping[str, int]:
        """How many states each node has."""
        return {node: len(self.levels[node]) for node in self.nodes}

    def states(self, node: str) -> tuple[Label, ...]:
        """The states of a node; probabilities come in this order."""
        return tuple(self.levels[self.graph.check(node)].values)

    @cached_property
    def potentials(self) -> Mapping[str, Float]:
        """The tables with rows that sum to one to the last digit; files round theirs."""
        found = {}
        for node, table in self.tables.items():
            total = table.probabilities.sum(axis=-1, keepdims=True)
            found[node] = table.probabilities / total
        return found

    def code(self, node: str, state: Label) -> int:
        """The position of a state among those of its node; a number has that of the interval it lies in."""
        if node in self.cuts and isinstance(state, Real) and not isinstance(state, bool):
            return int(cell_of(np.array([float(state)]), np.array(self.cuts[node]))[0])
        return code_of(self.levels[self.graph.check(node)], state, node)

    def with_tables(self, tables: Mapping[str, Float]) -> Network:
        """The same graph and states with other probabilities."""
        fresh = {node: Table(node, self.graph.parents[node], tables[node]) for node in self.nodes}
        return replace(self, tables=fresh)

    def probability(self, state: Mapping[str, object]) -> float:
        """The probability of a state of every node: the product of one entry of each table."""
        if lacking := [node for node in self.nodes if node not in state]:
            raise NetworkError(f"{lacking[0]!r} has no state here; ask an inference for a part of the nodes")
        code = {node: self.code(node, value) for node, value in state.items()}
        found = 1.0
        for node in self.nodes:
            found *= float(self.potentials[node][tuple(code[n] for n in self.graph.family(node))])
        return found

    def sample_codes(self, rows: int, rng: np.random.Generator) -> Code:
        """Codes of rows drawn from the joint distribution, parents first: (nodes, rows)."""
        place = {node: j for j, node in enumerate(self.nodes)}
        out = np.empty((len(place), rows), dtype=np.int32)
        for node in self.graph.order:
            ladder = np.cumsum(self.potentials[node], axis=-1)
            mine = ladder[tuple(out[place[p]] for p in self.graph.parents[node])]
            drawn = (rng.random(rows)[:, None] >= mine).sum(axis=-1)
            out[place[node]] = np.minimum(drawn, self.sizes[node] - 1)
        return out

    @property
    def parameters(self) -> int:
        """How many probabilities are free."""
        return sum(
            t.probabilities.size - t.probabilities.size // t.probabilities.shape[-1] for t in self.tables.values()
        )

    def to_networkx(self) -> Any:
        """The graph as a ``networkx.DiGraph``, with states and tables as attributes of its nodes."""
        try:
            import networkx
        except ImportError as error:
            raise NetworkError("to_networkx needs the package networkx; install it") from error
        graph = networkx.DiGraph()
        for node in self.nodes:
            graph.add_node(node, states=self.states(node), table=self.tables[node].probabilities)
        graph.add_edges_from(self.graph.edges)
        return graph

    def __repr__(self) -> str:
        return f"Network({len(self.nodes)} nodes, {len(self.graph.edges)} arcs, {self.parameters} free probabilities)"
