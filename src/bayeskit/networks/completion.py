"""Completion: missing values filled as a network holds likely, so that graphs are compared on the same rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bayeskit.arrays import Bool, Code, Float, Int
from bayeskit.data.levels import Levels
from bayeskit.errors import NetworkError
from bayeskit.networks.graph import Graph
from bayeskit.networks.inference import Inference
from bayeskit.networks.learning import Learning, tables_from_counts
from bayeskit.networks.network import Network
from bayeskit.networks.table import Table, cells_of

MOST_DRAWN = 1 << 20  # rows completed, beyond which a draw stands for several
STEPS, ENOUGH = 5, 1e-4  # of EM at most, and the gain of a row below which it stops: tables need not be perfect here


@dataclass(frozen=True)
class Completion:
    """Rows of which some cells are missing: drawn from P(cells | what the row has), anew for each unit of weight.

    Scores of families counted where they happen to be complete compare different rows: of ten thousand rows a column
    with 30 % of missing values then gains or loses tens of nats by chance, more than an arc costs, and false arcs
    appear.
    """

    codes: Code  # (nodes, rows): distinct and sorted, -1 where missing
    sizes: tuple[int, ...]
    weights: Float  # (rows,)

    @cached_property
    def draws(self) -> Int:
        """How often each row is completed: once for every unit of weight.

        Where weights are fractions, rows without a missing value are taken once; rows of weight one are counted faster.
        """
        often = np.ceil(self.weights * min(1.0, MOST_DRAWN / float(self.weights.sum()))).astype(np.int64)
        whole = bool((often == self.weights).all())
        return often if whole else np.where((self.codes < 0).any(axis=0), often, 1)

    @cached_property
    def share(self) -> Float:
        """The weight of each completed row: (draws,)."""
        return np.repeat(self.weights / self.draws, self.draws)

    def fill(self, arcs: Bool, rng: np.random.Generator) -> Code:
        """Rows completed by a network of these arcs (child, parent), its tables learned by EM: (nodes, draws)."""
        start = self._network(arcs)
        tables = Learning(start, self.codes, self.weights).learn("em", 1, rng, ENOUGH, STEPS).network
        return Inference(tables).draw(np.repeat(self.codes, self.draws, axis=1), rng)

    def _network(self, arcs: Bool) -> Network:
        """With tables from the rows in which a family is complete."""
        names = [str(node) for node in range(len(arcs))]
        graph = Graph({names[c]: tuple(names[p] for p in np.flatnonzero(row)) for c, row in enumerate(arcs)})
        sizes = dict(zip(names, self.sizes, strict=True))
        counts: dict[str, Float] = {}
        for name in names:
            family = graph.family(name)
            shape = cells_of(name, sizes, family)
            some = self.codes[[int(n) for n in family]]
            there = (some >= 0).all(axis=0)
            cell = np.ravel_multi_index(tuple(some[:, there]), shape)
            weight = np.bincount(cell, self.weights[there], minlength=int(np.prod(shape)))
            counts[name] = weight.astype(np.float64, copy=False).reshape(shape)
        found = tables_from_counts(counts, 1.0, 1.0)
        levels = {name: Levels.of(range(size)) for name, size in sizes.items()}
        return Network(graph, levels, {n: Table(n, graph.parents[n], found[n]) for n in names})

    def refill(self, before: Code, arcs: Bool, rng: np.random.Generator) -> Code:
        """As ``fill``; as they were before where the network is too wide for exact inference."""
        try:
            return self.fill(arcs, rng)
        except NetworkError:
            return before
