"""HybridCompletion: missing levels and numbers filled by draws, so that graphs are compared on the same rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bayeskit.arrays import Bool, Code, Float
from bayeskit.data.levels import Levels
from bayeskit.networks.exploration import ENOUGH, STEPS
from bayeskit.networks.graph import Graph
from bayeskit.networks.hybrid import HybridInference
from bayeskit.networks.hybrid_learning import HybridLearning, independent_normal
from bayeskit.networks.linear import split_parents
from bayeskit.networks.network import Network
from bayeskit.networks.number_score import MixedScores
from bayeskit.networks.table import Table, cells_of


@dataclass(frozen=True)
class HybridCompletion:
    """Rows of which some cells are missing, drawn from p(cells | what the row has); as ``Completion`` of levels."""

    names: tuple[str, ...]
    levels: Mapping[str, Levels]  # in the order of codes
    codes: Code  # (levels, rows)
    numbers: Float  # (numbers, rows)
    weights: Float | None
    score: str
    ess: float

    @property
    def _numbers(self) -> list[str]:
        return [n for n in self.names if n not in self.levels]

    @property
    def _mass(self) -> Float:
        return np.ones(self.codes.shape[1]) if self.weights is None else self.weights

    @property
    def _sizes(self) -> dict[str, int]:
        return {name: max(len(states), 1) for name, states in self.levels.items()}

    def begin(self) -> Bool:
        """A forest of the most informative pairs, each counted where both are there, and worth an arc."""
        d = len(self.names)
        order = [*self.levels, *self._numbers]  # levels above numbers
        gains = []
        for i, child in enumerate(order):
            for parent in order[:i]:
                gains.append((self._gain(parent, child), parent, child))
        leader = {n: n for n in self.names}

        def find(n: str) -> str:
            while leader[n] != n:
                n = leader[n]
            return n

        arcs = np.zeros((d, d), dtype=bool)
        for gain, parent, child in sorted(gains, key=lambda g: -g[0]):
            if gain > 0 and find(parent) != find(child):
                leader[find(parent)] = find(child)
                arcs[self.names.index(child), self.names.index(parent)] = True
        return arcs

    def _gain(self, parent: str, child: str) -> float:
        """What an arc gains in the rows that have both."""
        there = self._present(parent) & self._present(child)
        if there.sum() < 3:
            return 0.0
        pair = [parent, child]
        levels = [n for n in self.levels if n in pair]
        codes = self.codes[[list(self.levels).index(n) for n in levels]][:, there]
        values = self.numbers[[self._numbers.index(n) for n in pair if n not in levels]][:, there]
        sizes = {n: self._sizes[n] for n in levels}
        weights = None if self.weights is None else self.weights[there]
        if values.shape[0]:
            score = "bic" if self.score == "bge" else self.score
            scores = MixedScores.of(pair, sizes, (codes, values), score, self.ess, weights)
        else:
            scores = MixedScores.of(pair, sizes, (codes, np.empty((0, codes.shape[1]))), "bic", self.ess, weights)
        before = scores(1, ())
        return scores(1, (0,)) - before if np.isfinite(before) else 0.0

    def _present(self, name: str) -> Bool:
        if name in self.levels:
            return np.asarray(self.codes[list(self.levels).index(name)] >= 0)
        return np.asarray(~np.isnan(self.numbers[self._numbers.index(name)]))

    def fill(self, arcs: Bool, rng: np.random.Generator) -> tuple[Code, Float]:
        """Rows completed by a network of these arcs (child, parent), learned by EM."""
        start = self._network(arcs)
        learning = HybridLearning(start, self.codes, self.numbers, self._mass)
        found = learning.learn(1, rng, ENOUGH, STEPS).network
        return HybridInference(found).draw(self.codes, self.numbers, rng)

    def _network(self, arcs: Bool) -> Network:
        """Tables all alike, numbers as they are by themselves: where EM begins."""
        nodes: Sequence[str] = self.names
        graph = Graph({nodes[c]: tuple(nodes[p] for p in np.flatnonzero(row).tolist()) for c, row in enumerate(arcs)})
        sizes, normals = self._sizes, {}
        tables = {}
        for name in self.levels:
            shape = cells_of(name, sizes, graph.family(name))
            tables[name] = Table(name, graph.parents[name], np.full(shape, 1 / shape[-1]))
        for name, values in zip(self._numbers, self.numbers, strict=True):
            levels, numbers = split_parents(graph.parents[name], sizes)
            shape = cells_of(name, sizes, levels)
            normals[name] = independent_normal(name, levels, numbers, shape, values, self._mass)
        order = {n: self.levels[n] for n in graph.nodes if n in self.levels}
        return Network(graph, order, tables, {}, normals)

    def scores(self, filled: tuple[Code, Float]) -> MixedScores:
        """Of rows that are complete."""
        return MixedScores.of(self.names, self._sizes, filled, self.score, self.ess, self.weights)
