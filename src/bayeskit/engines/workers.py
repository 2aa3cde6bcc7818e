"""Threads for an engine: the only place where bayeskit starts any."""

from __future__ import annotations

import copy
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from numbers import Integral
from typing import Any, TypeVar

from bayeskit.engines.engine import R
from bayeskit.errors import InputError

Result = TypeVar("Result")


def workers(n_jobs: int | None) -> int:
    """Threads asked for, as in scikit-learn: None is one, -1 is all cores."""
    if n_jobs is None:
        return 1
    if not isinstance(n_jobs, Integral) or n_jobs == 0:
        raise InputError(f"n_jobs={n_jobs!r}: give a number of threads, -1 for all cores, or None for one")
    n_jobs = int(n_jobs)
    return max(1, n_jobs if n_jobs > 0 else (os.cpu_count() or 1) + 1 + n_jobs)


def reduce_batches(batches: Iterable[Any], empty: R, n_jobs: int | None) -> R:
    """Every worker counts its share from empty; the shares are merged. Exact, so the split does not show."""
    count = workers(n_jobs)
    if count == 1:
        state = copy.deepcopy(empty)
        for batch in batches:
            state = state.update(batch)
        return state
    source, lock = iter(batches), threading.Lock()

    def share() -> R:
        state = copy.deepcopy(empty)
        while True:
            with lock:
                batch = next(source, None)
            if batch is None:
                return state
            state = state.update(batch)

    with ThreadPoolExecutor(count) as pool:
        shares = [future.result() for future in [pool.submit(share) for _ in range(count)]]
    whole = shares[0]
    for other in shares[1:]:
        whole = whole.merge(other)
    return whole


def map_batches(batches: Iterable[Any], step: Callable[[Any, int], Result], n_jobs: int | None) -> Iterator[Result]:
    """Results in order, with a few batches under way at a time; a step is told the number of its first row."""
    count = workers(n_jobs)
    start = 0
    if count == 1:
        for batch in batches:
            yield step(batch, start)
            start += batch.num_rows
        return
    with ThreadPoolExecutor(count) as pool:
        pending: deque[Future[Result]] = deque()
        for batch in batches:
            pending.append(pool.submit(step, batch, start))
            start += batch.num_rows
            if len(pending) > 2 * count:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
