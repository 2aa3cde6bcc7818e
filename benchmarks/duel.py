"""Two functions timed in one process, taking turns, so that both meet the same machine."""

from __future__ import annotations

import time
from collections.abc import Callable


def seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def duel(name: str, ours: Callable[[], object], theirs: Callable[[], object], goal: float, turns: int = 5) -> float:
    """Best of several turns each, alternating; prints both and their ratio, and returns it."""
    ours(), theirs()  # caches, imports, page faults
    times = [(seconds(ours), seconds(theirs)) for _ in range(turns)]
    mine, peer = (min(column) for column in zip(*times, strict=True))
    ratio = peer / mine
    print(f"{name:<58} {mine * 1e3:9.1f} ms {peer * 1e3:9.1f} ms {ratio:8.1f}x  (goal {goal:g}x)", flush=True)
    return ratio
