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
from bayeskit.networks.linear import Linear, check_arcs, is_linear, linear_of, split_parents
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
    normals: Mapping[str, Linear] = field(default_factory=dict)  # the nodes that are numbers

    def __post_init__(self) -> None:
        check_arcs(self.graph.edges, self.normals)
        for node, normal in self.normals.items():
            levels, numbers = split_parents(self.graph.parents[self.graph.check(node)], self.tables)
            shape = tuple(len(self.levels[n]) for n in levels)
            if (normal.levels, normal.numbers, normal.mean.shape) != (levels, numbers, shape):
                raise NetworkError(f"the means of the number {node!r} do not fit its parents")
        for node in self.coded:
            if node not in self.tables:
                raise NetworkError(f"node {node!r} has no table; give one, or fit the network to data")
            if len(self.levels[node]) == 0:
                raise NetworkError(f"node {node!r} has no state")
            table, family = self.tables[node], self.graph.family(node)
            sizes = {name: len(self.levels[name]) for name in family}
            if table.parents != family[:-1] or table.probabilities.shape != cells_of(node, sizes, family):
                raise NetworkError(f"the table of {node!r} does not fit its parents {', '.join(family[:-1]) or 'none'}")
        for extra in (self.tables.keys() | self.normals.keys()) - self.graph.parents.keys():
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
        declared = {str(name): declare_states(str(name), values) for name, values in (states or {}).items()}
        levels, linear = {}, {name for name, spec in given.items() if is_linear(spec)}
        check_arcs(graph.edges, linear)
        for node in graph.nodes:
            if node in linear:
                continue
            if node not in given:
                raise NetworkError(f"node {node!r} has no table; give one, or fit the network to data")
            found = declared.get(node) or states_of(given[node], node)
            if found is None:
                spec = given[node]
                own = np.shape(spec.probabilities if isinstance(spec, Table) else spec)
                found = Levels.of(range(own[-1] if own else 0))
            levels[node] = found
        tables_ = {n: table_of(given[n], n, graph.parents[n], levels) for n in levels}
        normals = {
            n: linear_of(given[n], n, *split_parents(graph.parents[n], levels), levels)
            for n in graph.nodes
            if n in linear
        }
        return cls(graph, levels, tables_, {}, normals)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Network):
            return NotImplemented
        return (
            dict(self.graph.parents) == dict(other.graph.parents)
            and dict(self.levels) == dict(other.levels)
            and dict(self.tables) == dict(other.tables)
            and dict(self.cuts) == dict(other.cuts)
            and dict(self.normals) == dict(other.normals)
        )

    @property
    def nodes(self) -> tuple[str, ...]:
        return self.graph.nodes

    @cached_property
    def coded(self) -> tuple[str, ...]:
        """The nodes that have states, in the order of codes."""
        return tuple(node for node in self.nodes if node not in self.normals)

    @cached_property
    def numbers(self) -> tuple[str, ...]:
        """The nodes that are numbers, in their order."""
        return tuple(node for node in self.nodes if node in self.normals)

    @cached_property
    def level_part(self) -> Network:
        """The nodes that have states, by themselves: no number stands above them."""
        if not self.normals:
            return self
        graph = Graph({node: self.graph.parents[node] for node in self.coded})
        return Network(graph, self.levels, self.tables, self.cuts)

    @cached_property
    def sizes(self) -> Mapping[str, int]:
        """How many states each node that has some has."""
        return {node: len(self.levels[node]) for node in self.coded}

    def states(self, node: str) -> tuple[Label, ...]:
        """The states of a node; probabilities come in this order."""
        self.check_coded(node)
        return tuple(self.levels[self.graph.check(node)].values)

    @cached_property
    def potentials(self) -> Mapping[str, Float]:
        """The tables with rows that sum to one to the last digit; files round theirs."""
        found = {}
        for node in self.coded:  # whatever the order in which tables were given
            table = self.tables[node]
            total = table.probabilities.sum(axis=-1, keepdims=True)
            found[node] = table.probabilities / total
        return found

    def check_coded(self, node: str) -> None:
        """Refuse a number where states are needed."""
        if self.graph.check(node) in self.normals:
            raise NetworkError(
                f"node {node!r} is a number and has no states; query({node!r}) has its mean, deviation and quantiles"
            )

    def code(self, node: str, state: Label) -> int:
        """The position of a state among those of its node; a number has that of the interval it lies in."""
        if node in self.cuts and isinstance(state, Real) and not isinstance(state, bool):
            return int(cell_of(np.array([float(state)]), np.array(self.cuts[node]))[0])
        return code_of(self.levels[self.graph.check(node)], state, node)

    def with_tables(self, tables: Mapping[str, Float]) -> Network:
        """The same graph and states with other probabilities."""
        fresh = {node: Table(node, self.graph.parents[node], tables[node]) for node in self.coded}
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
        """How many probabilities are free, and how many means, slopes and deviations there are."""
        sizes = (t.probabilities.size - t.probabilities.size // t.probabilities.shape[-1] for t in self.tables.values())
        return int(sum(sizes)) + sum(normal.free for normal in self.normals.values())

    def to_networkx(self) -> Any:
        """The graph as a ``networkx.DiGraph``, with states and tables as attributes of its nodes."""
        try:
            import networkx
        except ImportError as error:
            raise NetworkError("to_networkx needs the package networkx; install it") from error
        graph = networkx.DiGraph()
        for node in self.coded:
            graph.add_node(node, states=self.states(node), table=self.tables[node].probabilities)
        for node, normal in self.normals.items():
            graph.add_node(node, linear=normal)
        graph.add_edges_from(self.graph.edges)
        return graph

    def __repr__(self) -> str:
        return f"Network({len(self.nodes)} nodes, {len(self.graph.edges)} arcs, {self.parameters} free {self.free})"

    @property
    def free(self) -> str:
        """What is free."""
        return "parameters" if self.normals else "probabilities"
