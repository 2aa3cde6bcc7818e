"""Worked query: P(target | evidence) of a network as sums of products over its nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice, product
from typing import Any

import numpy as np

from bayeskit.arrays import Label
from bayeskit.data.frame import shorten
from bayeskit.data.written import NEXT, Line, Written
from bayeskit.errors import InputError
from bayeskit.networks.network import Network

SUMMANDS = 8  # of a sum over hidden nodes that are written out
MOST = 100_000  # configurations of hidden nodes that are summed by hand


@dataclass(frozen=True, repr=False)
class WorkedQuery(Written):
    """P(target, evidence) = sum over hidden nodes of the product of P(node | parents), for each state of the target."""

    network: Network
    target: str
    evidence: Mapping[str, Any]

    @property
    def nodes(self) -> tuple[str, ...]:
        """The target, the evidence and their ancestors, parents first; the tables of all others sum to one."""
        graph, wanted = self.network.graph, {self.target, *self.evidence}
        for node in reversed(graph.order):
            if node in wanted:
                wanted.update(graph.parents[node])
        return tuple(node for node in graph.order if node in wanted)

    @property
    def hidden(self) -> tuple[str, ...]:
        """The nodes that are summed over."""
        return tuple(node for node in self.nodes if node != self.target and node not in self.evidence)

    def _lines(self) -> list[Line]:
        given = ", ".join(_assignment(node, state) for node, state in self.evidence.items())
        states = self.network.states(self.target)
        sums = [self._products(state) for state in states]
        over = f" = sum over {', '.join(self.hidden)} of the product" if self.hidden else ""
        factors = " · ".join(self._factor(node) for node in self.nodes)
        lines: list[Line] = [(f"P({', '.join(self.nodes)}) = {factors}",)] if len(self.nodes) > 1 else []
        for state, products in zip(states, sums, strict=True):
            shown = [" · ".join(f"{p:.4g}" for p in some) for some in products[:SUMMANDS]]
            more = [f"... ({len(products) - SUMMANDS} more)"] if len(products) > SUMMANDS else []
            name = ", ".join(filter(None, [_assignment(self.target, state), given]))
            whole = f" = {_total(products):.4g}" if len(products) > 1 or len(self.nodes) > 1 else ""
            lines.append((f"P({name}){over}", *[NEXT] * bool(over), f" = {' + '.join([*shown, *more])}{whole}"))
        joint = [_total(products) for products in sums]
        whole = " + ".join(f"{p:.4g}" for p in joint)
        for state, p in zip(states, joint, strict=True):
            name = f"{_assignment(self.target, state)} | {given}" if given else _assignment(self.target, state)
            lines.append((f"P({name}) = {p:.4g} / ({whole}) = {p / sum(joint):.4g}",))
        return lines

    def _factor(self, node: str) -> str:
        parents = self.network.graph.parents[node]
        return f"P({node} | {', '.join(parents)})" if parents else f"P({node})"

    def _products(self, state: Label) -> list[list[float]]:
        """The entries of the tables whose product is one summand, for each configuration of the hidden nodes."""
        known = {**self.evidence, self.target: state}
        code = {node: self.network.code(node, value) for node, value in known.items()}
        sizes = [range(self.network.sizes[node]) for node in self.hidden]
        found = []
        for some in islice(product(*sizes), MOST):
            code.update(zip(self.hidden, some, strict=True))
            found.append([self._entry(node, code) for node in self.nodes])
        return found

    def _entry(self, node: str, code: Mapping[str, int]) -> float:
        where = tuple(code[n] for n in self.network.graph.family(node))
        return float(self.network.potentials[node][where])


def work_query(network: Network, target: Label, evidence: Mapping[str, object]) -> WorkedQuery:
    """The calculation of one target from states that are known."""
    if not isinstance(target, str):
        raise InputError(f"target={target!r}: the calculation by hand is that of one node; give its name")
    known = {node: state for node, state in evidence.items() if state is not None and state == state}
    for node, state in {target: network.states(target)[0], **known}.items():
        if isinstance(state, Mapping):
            raise InputError(f"the evidence on {node!r} is a likelihood; the calculation by hand takes states")
        network.code(node, state)
    if target in known:
        raise InputError(f"{target!r} is evidence itself; ask for a node that is not known")
    made = WorkedQuery(network, target, known)
    if (size := float(np.prod([float(network.sizes[node]) for node in made.hidden]))) > MOST:
        raise InputError(
            f"{len(made.hidden)} hidden nodes have {size:.3g} configurations, more than {MOST:,} to sum by hand; give "
            f"more evidence, or ask query, which is exact as well"
        )
    if not sum(_total(made._products(state)) for state in network.states(target)):
        raise InputError("the evidence has probability zero in this network; check it")
    return made


def _total(products: list[list[float]]) -> float:
    return float(sum(np.prod(some) for some in products))


def _assignment(node: str, state: Label) -> str:
    return f"{node} = {shorten(state)}"
