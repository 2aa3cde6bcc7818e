"""Ordering: the best graph along an order of the nodes, from families that were scored on the way, order by order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from bayeskit.arrays import Bool
from bayeskit.networks.score import Scores
from bayeskit.networks.search import Limits

KEPT = 400  # families of a node, the best of those known
LIFTED = 4  # nodes that change place when an order is shaken
Choice = tuple[float, int]  # the score of a family, and its parents as bits


@dataclass(frozen=True)
class Ordering:
    """Families known so far, of which each order takes the best for every node (Teyssier and Koller 2005)."""

    scores: Scores
    limits: Limits
    found: dict[tuple[int, int], Choice] = field(default_factory=dict, repr=False)

    @cached_property
    def _choices(self) -> list[list[Choice]]:
        """Of each node, the best first; the last needs nothing but what is required."""
        required, forbidden = (
            [sum(1 << p for p in np.flatnonzero(row).tolist()) for row in matrix]
            for matrix in (self.limits.required, self.limits.forbidden)
        )
        known: list[list[Choice]] = [[] for _ in required]
        for (node, parents), score in self.scores.known.items():
            mask = sum(1 << p for p in parents)
            allowed = not mask & forbidden[node] and not required[node] & ~mask
            if allowed and len(parents) <= self.limits.most[node] and score > -np.inf:
                known[node].append((score, mask))
        for node, choices in enumerate(known):
            choices.sort(key=lambda choice: (-choice[0], choice[1]))
            del choices[KEPT:]
            least = np.flatnonzero(self.limits.required[node]).tolist()
            choices.append((self.scores(node, least), required[node]))
        return known

    def _best(self, node: int, before: int) -> Choice:
        """The best family of a node among those that stand before it; -inf where a required parent does not."""
        key = node, before
        if key not in self.found:
            after = ~before
            self.found[key] = next((c for c in self._choices[node] if not c[1] & after), (-np.inf, 0))
        return self.found[key]

    def sort(self, arcs: Bool) -> list[int]:
        """An order of a graph: parents before children."""
        left, order, done = dict(enumerate(arcs)), list[int](), np.zeros(len(arcs), dtype=bool)
        while left:
            node = next(v for v, row in left.items() if not (row & ~done).any())
            del left[node]
            order.append(node)
            done[node] = True
        return order

    def shake(self, order: Sequence[int], rng: np.random.Generator) -> list[int]:
        """Some nodes moved to anywhere, required arcs apart."""
        out = list(order)
        for node in rng.choice(len(out), min(LIFTED, len(out)), replace=False).tolist():
            out.remove(node)
            above = [out.index(p) for p in np.flatnonzero(self.limits.required[node]).tolist()]
            below = [out.index(c) for c in np.flatnonzero(self.limits.required[:, node]).tolist()]
            first, last = max(above, default=-1) + 1, min(below, default=len(out))
            out.insert(int(rng.integers(first, last + 1)), node)
        return out

    def climb(self, order: Sequence[int], slack: float) -> tuple[Bool, list[int]]:
        """Move one node at a time to its best place, until none gains more than ``slack``: arcs and order."""
        out = list(order)
        while True:
            moved = [self._move(out, node, slack) for node in tuple(out)]
            if not any(moved):
                break
        arcs = np.zeros((len(out), len(out)), dtype=bool)
        for node, before in zip(out, _before(out), strict=True):
            parents = self._best(node, before)[1]
            arcs[node, [p for p in range(len(out)) if parents >> p & 1]] = True
        return arcs, out

    def _move(self, order: list[int], node: int, slack: float) -> bool:
        """Put a node where the graph scores most; passing a neighbour changes the families of these two alone."""
        place, before = order.index(node), _before(order)
        own = self._best(node, before[place])[0]
        top, best = slack, place
        gain, mask = 0.0, before[place]
        for at in range(place + 1, len(order)):
            other = order[at]
            gain += self._best(other, mask)[0] - self._best(other, before[at])[0]
            mask |= 1 << other
            if (here := gain + self._best(node, mask)[0] - own) > top:
                top, best = here, at
        gain, mask = 0.0, before[place]
        for at in range(place - 1, -1, -1):
            other = order[at]
            mask &= ~(1 << other)
            gain += self._best(other, mask | 1 << node)[0] - self._best(other, before[at])[0]
            if (here := gain + self._best(node, mask)[0] - own) > top:
                top, best = here, at
        if best != place:
            order.insert(best, order.pop(place))
        return best != place


def _before(order: Sequence[int]) -> list[int]:
    """The nodes before each place, as bits."""
    out, mask = [], 0
    for node in order:
        out.append(mask)
        mask |= 1 << node
    return out
