"""Optimal: the graph of the highest score there is, by branch and bound over orders of the nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log, prod

import numpy as np
from scipy.sparse.csgraph import connected_components

from bayeskit import _core
from bayeskit.arrays import Bool, Float, Int
from bayeskit.errors import InputError, MemoryRefusal, NetworkError
from bayeskit.memory import free_memory
from bayeskit.networks.score import Scores, aic, bic
from bayeskit.networks.search import TOLERANCE, Limits

MOST_NODES = 58  # a set of them and the last one of it are a word of 64 bits
UNBOUNDED = 12  # nodes of which all sets of parents are scored where no bound rules any out
Choice = tuple[float, int]  # the score of a family, and its parents as bits
Left = tuple[int, float, Float]


def optimal(scores: Scores, limits: Limits, climb: Callable[[], float], memory: int | None = None) -> Bool:
    """The arcs (child, parent) of largest score among all graphs within the limits; ``climb`` finds the score of one.

    A family is left out where a subset of its parents scores as much, or where no graph that has it scores as much as
    the one found by climbing, though all other nodes have their best parents. Nodes that may then stand on no common
    cycle are ordered apart (strong components). Within a component, sets of nodes are placed one node at a time, all
    sets of a size together; each is kept with its best score if what the others can add at most leads as far (Malone
    and Yuan 2013). The sets take at most ``memory`` bytes, all that is free if None.
    """
    d = len(limits.required)
    if d > MOST_NODES:
        raise NetworkError(
            f'search="exact" looks at all graphs of up to {MOST_NODES} nodes, and the table has {d} columns; leave '
            f'some out, or take search="order"'
        )
    families = ParentSets.of(scores, limits)
    known = [families.choices(v) for v in range(d)]
    top = np.array([choices[0][0] for choices in known])
    least = climb()
    least -= TOLERANCE * max(abs(least), 1.0)
    known = [[c for c in choices if c[0] - choices[0][0] + top.sum() >= least] for choices in known]
    if not (np.isfinite(top).all() and all(known)):
        raise NetworkError("no graph within the limits has a score; allow more parents, or require fewer arcs")
    possible = np.array([[any(mask >> p & 1 for _, mask in choices) for p in range(d)] for choices in known])
    count, component = connected_components(possible.reshape(d, d), connection="strong")
    arcs, bound = np.zeros((d, d), dtype=bool), float(top.sum())  # what no graph can exceed, as far as known
    for c in range(count):
        nodes = np.flatnonzero(component == c)
        own = float(top[nodes].sum())
        found, order = _order([known[v] for v in nodes.tolist()], nodes, least - (bound - own), memory)
        bound += found - own
        before = ~sum(1 << v for v in nodes.tolist())
        for v in nodes[order].tolist():
            parents = next(mask for _, mask in known[v] if not mask & ~before)
            arcs[v, [p for p in range(d) if parents >> p & 1]] = True
            before |= 1 << v
    return arcs


def _order(known: Sequence[list[Choice]], nodes: Int, least: float, memory: int | None) -> tuple[float, list[int]]:
    """The best score of these nodes, whose families are given best first, and their order; others stand anywhere."""
    if len(nodes) == 1:
        return known[0][0][0], [0]
    masks = [
        sum((mask >> v & 1) << i for i, v in enumerate(nodes.tolist())) for choices in known for _, mask in choices
    ]
    begin = np.cumsum([0, *map(len, known)], dtype=np.int64)
    values = np.array([score for choices in known for score, _ in choices])
    room = free_memory() if memory is None else memory
    score, order, sets = _core.best_order(np.array(masks, dtype=np.int64), values, begin, least, room)
    if not order:
        raise MemoryRefusal(
            f'search="exact" met {sets:,} sets of columns that may begin the best order, more than {room / 1e9:,.1f} '
            f'GB hold; give max_parents, tiers or forbidden arcs, leave columns out, or take search="order"'
        )
    return score, order


@dataclass(frozen=True)
class ParentSets:
    """The sets of parents of each node that may be part of the best graph.

    A set and all larger ones are left out where a subset scores more than they can: log-likelihoods of levels are at
    most 0, so that BIC and AIC are at most their penalty (de Campos and Ji 2011); and a parent z of v adds no more than
    the entropy, times the rows, that v or z has left given the other parents (de Campos and others 2018).
    """

    scores: Scores
    limits: Limits
    price: Float  # (nodes,) what BIC or AIC takes for each configuration of the parents; NaN where no bound is known
    entropy: Float  # (nodes, nodes) of each given another, times the rows; its own on the diagonal

    @classmethod
    def of(cls, scores: Scores, limits: Limits) -> ParentSets:
        sizes, every = np.array(scores.sizes), range(len(scores.sizes))
        rows = float(scores.codes.shape[1] if scores.weights is None else scores.weights.sum())
        each = {bic: log(max(rows, 1.0)) / 2, aic: 1.0}.get(scores.rule, np.nan)
        price = np.where([scores.bounded(v) for v in every], each * (sizes - 1.0), np.nan)
        entropy = np.full((len(sizes), len(sizes)), np.nan)
        scores.pairs()
        for v in np.flatnonzero(~np.isnan(price)).tolist():
            for p in np.flatnonzero(~np.isnan(price)).tolist():
                entropy[v, p] = -scores(v, [p] if p != v else []) - price[v] * (sizes[p] if p != v else 1)
        return cls(scores, limits, price, entropy)

    def choices(self, v: int) -> list[Choice]:
        """Those of a node, the best first; none has a subset that scores as much."""
        scores, limits, price = self.scores, self.limits, float(self.price[v])
        required = np.flatnonzero(limits.required[v]).tolist()
        others = [p for p in range(len(limits.required)) if p != v and not limits.forbidden[v, p] and p not in required]
        if np.isnan(price) and len(others) > UNBOUNDED - 1 and limits.most[v] > UNBOUNDED - 1:
            raise InputError(
                f'search="exact" with this score looks at all sets of parents of up to {UNBOUNDED} columns; give '
                f'max_parents, with which it finds the best graph, or take score="bic" of levels'
            )
        base, states = sum(1 << p for p in required), prod(scores.sizes[p] for p in required)
        found = {base: scores(v, required)}
        top = dict(found)  # the best of each set and its subsets, as far as known
        # of each set that is scored: its states, what v has left given it, what each node has left given one of it
        left = {base: (states, -found[base] - price * states, self.entropy[:, required].min(axis=1, initial=np.inf))}
        layer = [(base, -1)]
        while layer and layer[0][0].bit_count() < limits.most[v]:
            wider = []
            for mask, last in layer:
                states, _, given = left[mask]
                parents = [p for p in range(len(limits.required)) if mask >> p & 1]
                free = [p for p in parents if p not in required]
                new = []
                for at in range(last + 1, len(others)):
                    here = mask | 1 << others[at]
                    below = self._below(v, here, (*free, others[at]), top, left)
                    if below is not None and not below >= -price * states * scores.sizes[others[at]]:
                        top[here] = below
                        new.append((at, here))
                beside = scores.beside(v, parents, [others[at] for at, _ in new]) if new else ()
                for (at, here), score in zip(new, beside, strict=True):
                    p = others[at]
                    lines = states * scores.sizes[p]
                    left[here] = lines, -score - price * lines, np.minimum(given, self.entropy[:, p])
                    if score > top[here]:
                        found[here] = top[here] = score
                    wider.append((here, at))
            layer = wider
        return sorted(((score, mask) for mask, score in found.items()), key=lambda choice: (-choice[0], choice[1]))

    def _below(
        self, v: int, here: int, members: Iterable[int], top: Mapping[int, float], left: Mapping[int, Left]
    ) -> float | None:
        """The best score of the subsets of a set; None where a member cannot be worth its price."""
        below = -np.inf
        for p in members:
            subset = here ^ 1 << p
            if subset not in left:  # left out with all that have it
                return None
            states, own, given = left[subset]
            if self.price[v] * states * (self.scores.sizes[p] - 1) >= min(own, given[p], self.entropy[p, p]):
                return None
            below = max(below, top[subset])
        return below
