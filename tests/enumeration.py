"""The joint distribution of a small network in exact fractions, by enumeration: what inference is held against."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from typing import Any

from hypothesis import strategies as st

import bayeskit as bk

Tables = dict[str, dict[tuple[Any, ...], dict[Any, Fraction]]]


class Enumeration:
    """Every state of all nodes with its probability; tables map parents' states to {state: fraction}."""

    def __init__(self, parents: Mapping[str, tuple[str, ...]], tables: Tables) -> None:
        self.parents, self.tables = dict(parents), tables
        self.states = {node: list(next(iter(rows.values()))) for node, rows in tables.items()}
        self.joint: list[tuple[dict[str, Any], Fraction]] = []
        for values in product(*self.states.values()):
            state = dict(zip(self.states, values, strict=True))
            p = Fraction(1)
            for node, rows in tables.items():
                p *= rows[tuple(state[n] for n in parents[node])][state[node]]
            self.joint.append((state, p))

    def network(self) -> bk.Network:
        edges = [(p, node) for node, some in self.parents.items() for p in some]
        tables: dict[str, Any] = {}
        for node, rows in self.tables.items():
            floats = {key: {s: float(p) for s, p in row.items()} for key, row in rows.items()}
            tables[node] = floats if self.parents[node] else floats[()]
        return bk.Network(edges, tables, nodes=self.parents)

    def weight(self, evidence: Mapping[str, Any]) -> Fraction:
        """P(evidence)."""
        return sum((p for s, p in self.joint if all(s[n] == v for n, v in evidence.items())), Fraction(0))

    def posterior(self, target: str, evidence: Mapping[str, Any]) -> dict[Any, Fraction]:
        total = self.weight(evidence)
        return {s: self.weight({**evidence, target: s}) / total if evidence.get(target, s) == s else Fraction(0)
                for s in self.states[target]}  # fmt: skip

    def best(self, evidence: Mapping[str, Any]) -> Fraction:
        """The probability of the most probable state of all nodes that agrees with the evidence."""
        return max(p for s, p in self.joint if all(s[n] == v for n, v in evidence.items()))


@st.composite
def networks(draw: st.DrawFn, most: int = 6, zeros: bool = True) -> Enumeration:
    """A network of a few nodes with up to three parents and three states, some probabilities zero."""
    names = [f"n{i}" for i in range(draw(st.integers(1, most)))]
    parents, tables = {}, {}
    states: dict[str, list[str]] = {}
    for i, node in enumerate(names):
        some = draw(st.lists(st.sampled_from(names[:i]), unique=True, max_size=3)) if i else []
        parents[node] = tuple(some)
        states[node] = [f"s{k}" for k in range(draw(st.integers(1 if i else 2, 3)))]
        rows = {}
        for key in product(*(states[p] for p in some)):
            weights = draw(
                st.lists(st.integers(0 if zeros else 1, 7), min_size=len(states[node]), max_size=len(states[node]))
            )
            if not any(weights):
                weights[0] = 1
            rows[key] = {s: Fraction(w, sum(weights)) for s, w in zip(states[node], weights, strict=True)}
        tables[node] = rows
    order = draw(st.permutations(names))  # nodes need not stand in the order of the arcs
    return Enumeration({n: parents[n] for n in order}, {n: tables[n] for n in order})
