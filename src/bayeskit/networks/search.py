"""Search: a graph with a high score, by steps of one arc."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from bayeskit import _core
from bayeskit.arrays import Bool, Float, Int
from bayeskit.errors import NetworkError
from bayeskit.networks.score import Scores

TOLERANCE = 1e-10  # of the score: what a step must gain, so that equivalent graphs are not walked in circles
TRIED = 16
NONE = np.empty((0, 2), dtype=np.int64)
MOVES = ADD, DROP, TURN = "add", "drop", "turn"


@dataclass(frozen=True)
class Step:
    """One arc added, dropped or turned, and the score after it."""

    move: str
    parent: int
    child: int
    score: float


@dataclass(frozen=True)
class Limits:
    """Which graphs may be found."""

    required: Bool  # (child, parent)
    forbidden: Bool  # (child, parent)
    most: Int  # (nodes,) parents of each node

    def __post_init__(self) -> None:
        if (self.required & self.forbidden).any():
            raise NetworkError("an arc is both required and forbidden; leave it out of one of them")
        if reach(self.required).diagonal().any():
            raise NetworkError("the required arcs form a cycle; leave one of them out")


def reach(arcs: Bool) -> Bool:
    """Which nodes can be reached from each by one arc or more, against their direction: (descendant, ancestor)."""
    found = arcs
    while True:
        wider: Bool = found | (found.astype(np.float32) @ found.astype(np.float32) > 0)
        if (wider == found).all():
            return found
        found = wider


@dataclass
class Climb:
    """A graph under way: which arcs it has, and what each step of one arc would gain."""

    scores: Scores
    limits: Limits
    arcs: Bool  # (child, parent)
    callback: Callable[[Step], object] | None = None
    rng: np.random.Generator | None = None  # breaks ties; without it the first node wins
    weighed: dict[tuple[int, bytes], tuple[float, Float]] = field(default_factory=dict)  # own and gain, by any climb
    own: Float = field(init=False)  # (nodes,) score of each family
    gain: Float = field(init=False)  # (child, parent) of adding the arc where it is not, of dropping it where it is
    score: float = field(init=False)  # of the graph
    path: list[Step] = field(default_factory=list)

    def __post_init__(self) -> None:
        d = len(self.arcs)
        self.own, self.gain = np.zeros(d), np.full((d, d), -np.inf)
        for node in range(d):
            self._weigh(node)

    def move_to(self, arcs: Bool) -> Climb:
        """A new climb from other arcs; what the nodes with the same parents would gain is known."""
        other = copy(self)
        other.arcs, other.own, other.gain, other.path = arcs, self.own.copy(), self.gain.copy(), []
        for node in np.flatnonzero((arcs != self.arcs).any(axis=1)).tolist():
            other._weigh(node)
        return other

    def _weigh(self, node: int) -> None:
        """What the steps at one node would gain, now that its parents have changed."""
        key = node, self.arcs[node].tobytes()
        if key not in self.weighed:
            self.weighed[key] = self._gains(node)
        self.own[node], self.gain[node] = self.weighed[key]
        self.score = float(self.own.sum())

    @cached_property
    def _offered(self) -> Bool:
        """The arcs (child, parent) that may be added; to a constant none: each costs nothing, and walking on downhill
        would give them all."""
        constant = np.array([self.scores.constant(node) for node in range(len(self.arcs))])
        out: Bool = ~(self.limits.forbidden | constant | constant[:, None] | np.eye(len(constant), dtype=bool))
        return out

    def _gains(self, node: int) -> tuple[float, Float]:
        """The score of a family, and what each step at its node would gain."""
        parents = self.arcs[node].nonzero()[0].tolist()
        own = self.scores(node, parents)
        others = (self._offered[node] & ~self.arcs[node]).nonzero()[0].tolist()
        gain = np.full(len(self.arcs), -np.inf)
        if len(parents) >= self.limits.most[node]:
            others = []
        if others:
            gain[others] = np.array(self.scores.beside(node, parents, others)) - own
        for p in parents:
            if not self.limits.required[node, p]:
                gain[p] = self.scores(node, [q for q in parents if q != p]) - own
        return own, gain

    def best(self, recent: Collection[tuple[int, int]] = (), most: float = -np.inf) -> tuple[float, str, int, int]:
        """The best legal step with its gain: gain, move, child, parent; -inf if there is none.

        A step on a ``recent`` arc, whichever way, must gain more than ``most``.
        """
        late, noise, seed = NONE, 0.0, 0
        if recent:
            late = np.array([*recent], dtype=np.int64)
        if self.rng is not None:  # equivalent steps, an arc one way or the other, lead to different peaks
            noise, seed = TOLERANCE * abs(self.score), int(self.rng.integers(1 << 63))
        gain, move, child, parent = _core.best_step(self.arcs, self.gain, late, most, noise, seed)
        return gain, MOVES[move], child, parent

    def take(self, move: str, child: int, parent: int) -> None:
        self.arcs[child, parent] = move == ADD
        self._weigh(child)
        if move == TURN:
            self.arcs[parent, child] = True
            self._weigh(parent)
        step = Step(move, parent, child, self.score)
        self.path.append(step)
        if self.callback is not None:
            self.callback(step)

    def isolate(self, nodes: Int) -> None:
        """Drop all arcs of some nodes, but those required."""
        touched = np.zeros_like(self.arcs)
        touched[nodes] = touched[:, nodes] = True
        for child, parent in np.argwhere(self.arcs & touched & ~self.limits.required).tolist():
            self.take(DROP, child, parent)

    def climb(self, patience: int = 0, memory: int = 0) -> Bool:
        """The best arcs met: uphill to a peak, then ``patience`` steps on without undoing the last ``memory`` ones."""
        best, top, left = self.arcs.copy(), self.score, patience
        recent: deque[tuple[int, int]] = deque(maxlen=max(memory, 1))
        while True:
            here = self.score
            slack = TOLERANCE * max(abs(here), 1.0)
            gain, move, child, parent = self.best(recent if patience else (), max(top + slack - here, slack))
            if gain <= (slack if left <= 0 else -np.inf):
                return best
            self.take(move, child, parent)
            recent.append((child, parent))
            if self.score > top + slack:
                best, top, left = self.arcs.copy(), self.score, patience
            elif patience and (left := left - 1) < 0:
                return best


def reverse_arcs(arcs: Bool, limits: Limits, rng: np.random.Generator, times: int) -> Bool:
    """An equivalent graph: arcs turned at random whose ends have the same other parents (covered arcs)."""
    out = arcs.copy()
    there, parents = [(c, p) for c, p in np.argwhere(arcs).tolist()], [0] * len(arcs)  # the parents of each as bits
    for c, p in there:
        parents[c] |= 1 << p
    fixed, most = (limits.required | limits.forbidden.T).tolist(), limits.most.tolist()
    for turn in rng.integers(len(there), size=TRIED * times).tolist() if there else ():
        child, parent = there[turn]
        above = parents[parent]
        if parents[child] ^ 1 << parent == above and not fixed[child][parent] and above.bit_count() < most[parent]:
            parents[child], parents[parent] = above, above | 1 << child
            out[child, parent], out[parent, child] = False, True
            there[turn] = parent, child
    return out


def in_order(scores: Scores, limits: Limits) -> Bool:
    """K2: each node takes the parents before it that raise its score, one at a time, best first."""
    arcs = limits.required.copy()
    for node in range(len(arcs)):
        while arcs[node].sum() < limits.most[node]:
            parents = np.flatnonzero(arcs[node]).tolist()
            others = [p for p in range(node) if not arcs[node, p] and not limits.forbidden[node, p]]
            gains = np.array(scores.beside(node, parents, others)) - scores(node, parents) if others else np.empty(0)
            if not len(gains) or gains.max() <= 0:
                break
            arcs[node, others[int(np.argmax(gains))]] = True
    return arcs


def chow_liu(scores: Scores) -> Bool:
    """The tree of largest likelihood, away from the first node."""
    information = scores.information()
    d = len(information)
    arcs = np.zeros((d, d), dtype=bool)
    reached, source = information[:, 0].copy(), np.zeros(d, dtype=np.int64)
    outside = np.arange(d) > 0
    for _ in range(d - 1):
        new = int(np.argmax(np.where(outside, reached, -np.inf)))
        arcs[new, source[new]], outside[new] = True, False
        nearer = outside & (information[:, new] > reached)
        reached[nearer], source[nearer] = information[nearer, new], new
    return arcs
