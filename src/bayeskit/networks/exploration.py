"""Exploration: which graphs a search looks at, by its name, on the same rows with missing values filled."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Any, Protocol

import numpy as np

from bayeskit.arrays import Bool, Code, Float, Int
from bayeskit.data.levels import Levels
from bayeskit.errors import InputError, NetworkError
from bayeskit.networks.graph import Graph
from bayeskit.networks.inference import Inference
from bayeskit.networks.learning import Learning, tables_from_counts
from bayeskit.networks.network import Network
from bayeskit.networks.optimal import optimal
from bayeskit.networks.ordering import Ordering
from bayeskit.networks.score import Rule, Scores, total
from bayeskit.networks.search import TOLERANCE, Climb, Limits, Step, chow_liu, in_order, reverse_arcs
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
    rule: Rule

    def begin(self) -> Bool:
        """The tree of the most informative pairs; what is filled in would confirm an arc of pure chance."""
        scores, free = Scores(self.codes, self.sizes, self.rule, self.weights), np.array(self.sizes) - 1.0
        price = np.log(max(float(self.weights.sum()), 1.0)) / 2 * np.outer(free, free)
        return np.asarray(chow_liu(scores) & (scores.information() > price))

    def scores(self, filled: Code) -> Scores:
        """Of rows that are complete."""
        return Scores(filled, self.sizes, self.rule, None if (self.share == 1).all() else self.share)

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
            members = self.codes[[int(n) for n in family]]
            there = (members >= 0).all(axis=0)
            cell = np.ravel_multi_index(tuple(members[:, there]), shape)
            weight = np.bincount(cell, self.weights[there], minlength=int(np.prod(shape)))
            counts[name] = weight.astype(np.float64, copy=False).reshape(shape)
        found = tables_from_counts(counts, 1.0, 1.0)
        levels = {name: Levels.of(range(size)) for name, size in sizes.items()}
        return Network(graph, levels, {n: Table(n, graph.parents[n], found[n]) for n in names})


class Incomplete(Protocol):
    """Rows with missing values that networks fill."""

    def begin(self) -> Bool:
        """Arcs (child, parent) by which they are filled first."""

    def fill(self, arcs: Bool, rng: np.random.Generator) -> Any:
        """The rows completed by draws from a network of these arcs."""

    def scores(self, filled: Any) -> Scores:
        """Of the rows completed."""


SEARCHES = ("hill-climb", "tabu", "order", "exact", "k2", "chow-liu")
TESTED = ("pc", "mmhc")  # by tests of independence, alone or before a search by score
PATIENCE, MEMORY = 30, 15  # of tabu search: steps without a new best, and steps that may not be undone
ROUNDS = 6  # of filling missing values and searching
SHAKEN = 2  # nodes that lose their arcs when a graph is shaken
ORDERS = 20  # of nodes, shaken, for each restart
TURNINGS = 8  # times an equivalent graph is tried from a peak


@dataclass(frozen=True)
class Exploration:
    """A search by name: "hill-climb", "tabu", "order", "exact" (the best of all graphs), "k2" (in the order of the
    nodes) or "chow-liu" (from the first node on).

    From a peak, hill climbing climbs on from equivalent graphs; each of ``restarts`` climbs again from the start, with
    ties between equivalent steps broken at random; and ``shakes`` times two nodes of the best graph lose their arcs,
    and it climbs on from there. Tabu search does the same, and goes on from the highest peak, also downhill, without
    undoing its last steps. The search by orders moves nodes within an order of the best graph, each order taking the
    best families that climbing has scored, and climbs on where that finds a better graph.
    """

    search: str = "hill-climb"
    restarts: int = 1
    random_state: int | None = 0
    shakes: int = 0

    def __post_init__(self) -> None:
        if self.search not in SEARCHES:
            raise InputError(f"search={self.search!r}: choose one of {', '.join(SEARCHES)}")
        object.__setattr__(self, "restarts", check_count("restarts", self.restarts) or 0)

    def find(
        self,
        scores: Scores,
        limits: Limits,
        callback: Callable[[Step], object] | None = None,
        start: Bool | None = None,
    ) -> tuple[Bool, list[Step]]:
        """The arcs (child, parent) and the way there; from a ``start`` that was found before there are no restarts."""
        if self.search == "k2":
            return in_order(scores, limits), []
        if self.search == "chow-liu":
            return chow_liu(scores), []
        if self.search == "exact":
            order = replace(self, search="order")
            return optimal(scores, limits, lambda: graph_score(scores, order.find(scores, limits, callback)[0])), []
        scores.pairs()
        rng = np.random.default_rng(self.random_state)

        def climb_from(climb: Climb, patience: int = 0) -> tuple[float, Bool, list[Step]]:
            arcs = climb.climb(patience, MEMORY)
            return graph_score(scores, arcs), arcs, climb.path

        top, best, path = -np.inf, limits.required, list[Step]()
        begin = limits.required if start is None else start
        for attempt in range(self.restarts + 1 if start is None else 1):
            climb = Climb(scores, limits, begin.copy(), callback, rng if attempt else None)
            here, left = climb_from(climb), TURNINGS
            while left:  # a peak may be none for an equivalent graph
                climb = climb.move_to(reverse_arcs(here[1], limits, rng, len(limits.required)))
                score, arcs, steps = climb_from(climb)
                left -= 1
                if score > here[0] + TOLERANCE * abs(here[0]):
                    here, left = (score, arcs, here[2] + steps), TURNINGS
            if here[0] > top:
                top, best, path = here
        for _ in range(self.shakes if start is None else 0):
            climb = climb.move_to(best.copy())
            climb.isolate(rng.choice(len(best), min(SHAKEN, len(best)), replace=False))
            score, arcs, steps = climb_from(climb)
            if score > top + TOLERANCE * abs(top):
                top, best, path = score, arcs, path + steps
        if self.search == "tabu":
            score, arcs, steps = climb_from(climb.move_to(best.copy()), PATIENCE)
            if score > top:
                best, path = arcs, path + steps
        if self.search == "order":
            return self._reorder(climb, best, rng), path
        return best, path

    def _reorder(self, climb: Climb, best: Bool, rng: np.random.Generator) -> Bool:
        """From one order to the next, first that of the best graph, then with some nodes moved at random."""
        scores, top = climb.scores, graph_score(climb.scores, best)
        orders = Ordering(scores, climb.limits)
        order = orders.sort(best)
        for turn in range(ORDERS * self.restarts + 1):
            arcs, _ = orders.climb(orders.shake(order, rng) if turn else order, TOLERANCE * abs(top))
            if graph_score(scores, arcs) > top + TOLERANCE * abs(top):
                best = climb.move_to(arcs).climb()
                top, orders = graph_score(scores, best), Ordering(scores, climb.limits)
                order = orders.sort(best)
        return best

    def find_with_missing(
        self, rows: Incomplete, limits: Limits, callback: Callable[[Step], object] | None = None
    ) -> tuple[Bool, list[Step], Scores]:
        """The same for rows with missing values, and the scores of the last round: structural EM with draws.

        Missing values are filled from what the network of the round before holds likely, first that of the pairs that
        tell most of each other; then arcs are searched as if the rows were complete, until they stay as they are, in
        ``ROUNDS`` rounds at most. A network too wide for exact inference fills nothing anew.
        """
        rng = np.random.default_rng(self.random_state)
        arcs = rows.begin()
        filled, path = rows.fill(arcs, rng), list[Step]()
        for turn in range(ROUNDS):
            scores = rows.scores(filled)
            before, (arcs, steps) = arcs, self.find(scores, limits, callback, arcs if turn else None)
            path += steps
            if turn and (arcs == before).all():
                break
            if turn < ROUNDS - 1:
                with suppress(NetworkError):
                    filled = rows.fill(arcs, rng)
        return arcs, path, scores


def graph_score(scores: Scores, arcs: Bool) -> float:
    """Of all families of a graph (child, parent)."""
    parents: dict[int, list[int]] = {c: [] for c in range(len(arcs))}
    for c, p in np.argwhere(arcs).tolist():
        parents[c].append(p)
    return total(scores, parents)


def check_count(name: str, value: object) -> int | None:
    """A setting as a whole number of at least 0; None stays."""
    if value is not None and (not isinstance(value, Integral) or isinstance(value, bool) or value < 0):
        raise InputError(f"{name}={value!r}: give a whole number of at least 0")
    return None if value is None else int(value)
