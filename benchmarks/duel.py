"""Two functions timed in one process, taking turns, so that both meet the same machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

LONGEST = 12.0  # seconds for the turns of a duel; two turns at least


@dataclass(frozen=True)
class Duel:
    """The best of the turns of both. A goal below 1 is a cost: at most 1 / goal times the other."""

    name: str
    ours: float
    theirs: float
    goal: float

    @property
    def ratio(self) -> float:
        return self.theirs / self.ours

    @property
    def reached(self) -> bool:
        return self.ratio >= self.goal


FOUGHT: list[Duel] = []  # all of this process, in order


def seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def duel(name: str, ours: Callable[[], object], theirs: Callable[[], object], goal: float, turns: int = 5) -> float:
    """Best of several turns each, alternating; prints both and their ratio, and returns it."""
    ours(), theirs()  # caches, imports, page faults
    times: list[tuple[float, float]] = []
    while len(times) < turns and (len(times) < 2 or sum(map(sum, times)) < LONGEST):
        times.append((seconds(ours), seconds(theirs)))
    mine, peer = (min(column) for column in zip(*times, strict=True))
    found = Duel(name, mine, peer, goal)
    FOUGHT.append(found)
    print(f"{name:<58} {mine * 1e3:9.1f} ms {peer * 1e3:9.1f} ms {found.ratio:8.1f}x  (goal {goal:g}x)", flush=True)
    return found.ratio
