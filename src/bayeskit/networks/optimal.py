"""Optimal: the graph of the highest score there is, by dynamic programming over sets of nodes."""

from __future__ import annotations

from math import log, prod

import numpy as np

from bayeskit.arrays import Bool, Float, Int
from bayeskit.errors import InputError, NetworkError
from bayeskit.networks.score import Scores, aic, bic
from bayeskit.networks.search import Limits

MOST_NODES = 22  # a number for each set of nodes and each node: 370 MB
UNBOUNDED = 12  # nodes of which all sets of parents are scored where no bound rules any out


def optimal(scores: Scores, limits: Limits) -> Bool:
    """The arcs (child, parent) of largest score among all graphs within the limits.

    R(S) = max over v in S of R(S - v) + best score of v with parents in S - v: the best graph over a set of nodes has a
    node without children (Silander and Myllymäki 2006). A set of parents is not scored where a subset scores more than
    it and all larger ones can: log-likelihoods of levels are at most 0, so that BIC and AIC are at most their penalty
    (de Campos and Ji 2011).
    """
    d = len(limits.required)
    if d > MOST_NODES:
        raise NetworkError(
            f'search="exact" looks at all graphs of up to {MOST_NODES} nodes, and the table has {d} columns; leave '
            f'some out, or take search="tabu"'
        )
    known: list[dict[int, float]] = []
    best = np.empty((d, 1 << d >> 1))
    for v in range(d):
        known.append(_score_parents(scores, limits, v))
        best[v] = -np.inf
        for mask, score in known[v].items():
            best[v, _squeeze(mask, v)] = score
        for bit in range(d - 1):  # the best of all subsets
            half = best[v].reshape(-1, 2, 1 << bit)
            np.maximum(half[:, 1], half[:, 0], out=half[:, 1])
    reached = _best_by_set(best, d)
    if not np.isfinite(reached[-1]):
        raise NetworkError("no graph within the limits has a score; allow more parents, or require fewer arcs")
    arcs = np.zeros((d, d), dtype=bool)
    left = (1 << d) - 1
    while left:
        for v in range(d):
            rest = left & ~(1 << v)
            top = best[v, _squeeze(rest, v)]
            if left >> v & 1 and reached[rest] + top == reached[left]:
                mask = min(m for m, s in known[v].items() if s == top and not m & ~rest)
                arcs[v, [p for p in range(d) if mask >> p & 1]] = True
                left = rest
                break
    return arcs


def _best_by_set(best: Float, d: int) -> Float:
    """The best score of a graph over every set of nodes: (2^d,), set by set of one node more."""
    size = np.zeros(1 << d, dtype=np.int8)
    for bit in range(d):
        size[1 << bit : 2 << bit] = size[: 1 << bit] + 1
    order = np.argsort(size, kind="stable")
    ends = np.searchsorted(size[order], np.arange(d + 2))
    reached = np.full(1 << d, -np.inf)
    reached[0] = 0.0
    for count in range(1, d + 1):
        sets = order[ends[count] : ends[count + 1]]
        top = np.full(len(sets), -np.inf)
        for v in range(d):
            has = np.flatnonzero(sets >> v & 1)
            rest: Int = sets[has] & ~(1 << v)
            low = rest & ((1 << v) - 1)
            top[has] = np.maximum(top[has], reached[rest] + best[v, low | (rest >> 1 & ~((1 << v) - 1))])
        reached[sets] = top
    return reached


def _squeeze(mask: int, v: int) -> int:
    """A set of the other nodes, without the place of v."""
    low = (1 << v) - 1
    return mask & low | mask >> 1 & ~low


def _score_parents(scores: Scores, limits: Limits, v: int) -> dict[int, float]:
    """The scores of the sets of parents of a node that may be part of the best graph, as bits."""
    required = np.flatnonzero(limits.required[v]).tolist()
    others = [p for p in range(len(limits.required)) if p != v and not limits.forbidden[v, p] and p not in required]
    price = _price(scores, v)
    if price is None and len(others) > UNBOUNDED - 1 and limits.most[v] > UNBOUNDED - 1:
        raise InputError(
            f'search="exact" with this score looks at all sets of parents of up to {UNBOUNDED} columns; give '
            f'max_parents, with which it finds the best graph, or take score="bic" of levels'
        )
    base = sum(1 << p for p in required)
    found = {base: scores(v, required)}
    top = dict(found)  # the best of each set and its subsets, as far as known
    layer = [(base, -1)]
    while layer and (bin(layer[0][0]).count("1") < limits.most[v]):
        wider = []
        for mask, last in layer:
            parents = [p for p in range(len(limits.required)) if mask >> p & 1]
            new = []
            for at in range(last + 1, len(others)):
                here = mask | 1 << others[at]
                below = max(top.get(here & ~(1 << p), -np.inf) for p in others if here >> p & 1)
                if price is not None and below >= -price * prod(scores.sizes[p] for p in (*parents, others[at])):
                    continue
                top[here] = below
                new.append((at, here))
            for (at, here), score in zip(
                new, scores.beside(v, parents, [others[at] for at, _ in new]) if new else (), strict=True
            ):
                if score > top[here]:
                    found[here] = top[here] = score
                wider.append((here, at))
        layer = wider
    return found


def _price(scores: Scores, v: int) -> float | None:
    """What BIC or AIC takes for each configuration of the parents of a level; None where no bound is known."""
    if not scores.bounded(v):
        return None
    rows = float(scores.codes.shape[1] if scores.weights is None else scores.weights.sum())
    if scores.rule is bic:
        return log(max(rows, 1.0)) / 2 * (scores.sizes[v] - 1)
    return float(scores.sizes[v] - 1) if scores.rule is aic else None
