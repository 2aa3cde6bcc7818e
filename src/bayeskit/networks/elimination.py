"""Elimination: in which order to sum variables out, so that messages stay small."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from math import log2
from random import Random

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
    left = {v: set(some) for v, some in near.items()}
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
        widest = max(widest, message * sizes[v])
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
    return Elimination(tuple(order), cells, work, widest)
