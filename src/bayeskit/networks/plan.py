"""Plan: variable elimination for one pattern of evidence, in a good order, for all rows of a batch."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heapify, heappop, heappush
from math import log2, prod
from random import Random
from typing import Any

import numpy as np

from bayeskit import _core
from bayeskit.arrays import Code, Float, Int
from bayeskit.networks.network import Network

MODEST = 1 << 12  # products below which a second opinion on the order costs more than it saves
LARGE = 1 << 21  # and from which many are worth asking for
TRIES = 12
PATIENCE = 2000  # nodes to order, over all tries


@dataclass(frozen=True)
class Elimination:
    """An order, and what it costs for one row."""

    order: tuple[int, ...]
    cells: float  # of all messages together
    work: float  # of all products together
    widest: float  # of the largest product
    hub: int = -1  # the variable that is summed out of it


def eliminate(near: Mapping[int, Collection[int]], sizes: Sequence[int], kept: Collection[int]) -> Elimination:
    """The order of least fill (ties: smallest product), or of smallest product where that turns out cheaper.

    For networks that stay wide, ties and near ties are also broken by chance, always the same.

    >>> eliminate({0: {1}, 1: {0, 2}, 2: {1}}, [2, 2, 2], kept=[0]).order
    (2, 1)
    """
    found = _greedy(near, sizes, kept, lambda fill, weight: (fill, weight))
    if found.work > MODEST:
        found = min(found, _greedy(near, sizes, kept, lambda fill, weight: (weight, fill)), key=lambda e: e.work)
    rng = Random(0)
    for _ in range(min(TRIES, PATIENCE // len(near)) if found.work > LARGE else 0):
        found = min(found, _greedy(near, sizes, kept, _chance(rng, rng.random())), key=lambda e: e.work)
    return found


def _chance(rng: Random, share: float) -> Callable[[float, float], tuple[float, float]]:
    """A score by some of the fill's logarithm beside that of the product, shaken a little."""
    return lambda fill, weight: (share * log2(fill + 1) + weight * rng.uniform(0.95, 1.05), weight)


def _greedy(
    near: Mapping[int, Collection[int]],
    sizes: Sequence[int],
    kept: Collection[int],
    score: Callable[[float, float], tuple[float, float]],
) -> Elimination:
    left = {v: set(others) for v, others in near.items()}
    log_size = [log2(size) for size in sizes]

    def cost_of(v: int) -> tuple[float, float]:
        around = left[v]
        degree = len(around)
        fill = sum(degree - 1 - len(around & left[u]) for u in around)
        return score(fill, log_size[v] + sum(log_size[u] for u in around))

    now = {v: cost_of(v) for v in left if v not in kept}
    heap = [(rank, v) for v, rank in now.items()]
    heapify(heap)
    order: list[int] = []
    cells = work = widest = 0.0
    hub = -1
    while heap:
        rank, v = heappop(heap)
        if now.get(v) != rank:
            continue
        del now[v]
        order.append(v)
        around = left.pop(v)
        message = 2.0 ** sum(log_size[u] for u in around)
        cells += message
        work += message * sizes[v]
        if message * sizes[v] > widest:
            widest, hub = message * sizes[v], v
        touched = set(around)
        for u in around:
            left[u].discard(v)
            if new := around - left[u] - {u}:
                touched |= left[u]  # whoever knows both ends of a new edge has less to fill
                left[u] |= new
        for u in touched:
            if u in now and (fresh := cost_of(u)) != now[u]:
                now[u] = fresh
                heappush(heap, (fresh, u))
    return Elimination(tuple(order), cells, work, widest, hub)


TILES = (32, 8, 1)
ARENA_BYTES = 1 << 28


@dataclass(frozen=True)
class Pattern:
    """Which variables every row has observed, which some have, and which are asked for."""

    observed: frozenset[int] = frozenset()
    mixed: frozenset[int] = frozenset()
    targets: tuple[int, ...] = ()
    likelihoods: tuple[int, ...] = ()  # with a likelihood for each state, in the order of its cells
    folded: bool = True  # whether what no row changes is summed once and for all


@dataclass(frozen=True)
class Numbered:
    """A network by numbers, and its tables one after the other."""

    network: Network

    @cached_property
    def number(self) -> dict[str, int]:
        return {node: v for v, node in enumerate(self.network.nodes)}

    @cached_property
    def sizes(self) -> list[int]:
        return list(self.network.sizes.values())

    @cached_property
    def families(self) -> list[tuple[int, ...]]:
        return [tuple(self.number[n] for n in self.network.graph.family(node)) for node in self.network.nodes]

    @cached_property
    def begin(self) -> list[int]:
        """Where each table begins, and the end of the last."""
        widths = [table.size for table in self.network.potentials.values()]
        return [int(x) for x in np.cumsum([0, *widths])]

    @cached_property
    def tables(self) -> Float:
        return np.concatenate([self.network.potentials[node].ravel() for node in self.network.nodes])

    @cached_property
    def floors(self) -> list[float]:
        positive = (p[p > 0] for p in (self.network.potentials[node] for node in self.network.nodes))
        return [float(np.log2(p.min())) for p in positive]

    @cached_property
    def arrays(self) -> tuple[Int, Code, Code, Int, Float, Float]:
        """Where families begin, their members, sizes of the nodes, where tables begin, their cells and floors."""
        start = np.cumsum([0, *map(len, self.families)], dtype=np.int64)
        member = np.array([u for family in self.families for u in family], dtype=np.int32)
        size, begin = np.array(self.sizes, dtype=np.int32), np.array(self.begin, dtype=np.int64)
        return start, member, size, begin, self.tables, np.array(self.floors)

    def near(self, pattern: Pattern) -> dict[int, set[int]]:
        """The variables that a pattern leaves open, each with those it shares a family with."""
        relevant = self.relevant(pattern)
        free = relevant - pattern.observed
        found: dict[int, set[int]] = {v: set() for v in free}
        for v in relevant:
            family = [u for u in self.families[v] if u in free]
            for u in family:
                found[u].update(family)
        return {v: others - {v} for v, others in found.items()}

    def relevant(self, pattern: Pattern) -> set[int]:
        """What is observed or asked for, and all above it: what else there is sums to one."""
        return self.ancestors({*pattern.observed, *pattern.mixed, *pattern.likelihoods, *pattern.targets})

    def ancestors(self, nodes: Iterable[int]) -> set[int]:
        found: set[int] = set()
        left = list(nodes)
        while left:
            if (v := left.pop()) not in found:
                found.add(v)
                left += self.families[v][:-1]
        return found


@dataclass(frozen=True)
class Plan:
    """A program for the core; the first cells of its arena are the likelihoods of the states of some variables."""

    words: Int
    tables: Float
    cells: int
    result: int
    shape: tuple[int, ...]  # of the targets' states
    indicators: dict[int, int]  # variable -> its first cell
    elimination: Elimination
    room: int = ARENA_BYTES

    @property
    def tile(self) -> int:
        """Rows at once, so that messages stay within bounds."""
        return next(t for t in TILES if t == 1 or self.cells * t * 8 <= self.room)

    def run(self, codes: Code, likelihood: Float | None = None) -> tuple[Float, Float]:
        """The result (targets' cells, rows) and the exponents of two by which it is to be multiplied (rows,)."""
        return self._propagate(codes, likelihood)

    def trace(self, codes: Code, largest: bool, seed: int) -> tuple[Code, Float, Float]:
        """States of all variables, the most probable or drawn, (variables, rows), and the result."""
        states = codes.copy()
        return states, *self._propagate(codes, None, largest=largest, chosen=states, seed=seed)

    def count(self, codes: Code, counts: Float, weights: Float | None, tables: Float | None) -> tuple[Float, Float]:
        """The result; expected counts of the cells of all tables are added to ``counts``."""
        return self._propagate(codes, None, tables, counts=counts, weights=weights)

    def believe(self, codes: Code, belief: Float) -> Float:
        """The result; P(state | evidence) of the indicated variables is written to ``belief`` (cells, rows)."""
        return self._propagate(codes, None, counts=np.zeros(len(self.tables)), belief=belief)[0]

    def _propagate(
        self, codes: Code, likelihood: Float | None, tables: Float | None = None, largest: bool = False, **kept: Any
    ) -> tuple[Float, Float]:
        """Run the program; ``kept`` are the arrays that a pass back fills."""
        rows = codes.shape[1]
        out, exponent = np.empty((prod(self.shape), rows)), np.empty(rows)
        tile = min(self.tile, 1 if rows == 1 else 8 if rows <= 8 else 32)
        values = self.tables if tables is None else tables
        program = self.words, values, self.cells, self.result
        _core.propagate(*program, codes, likelihood, tile, largest, out, exponent, **kept)
        return out, exponent
