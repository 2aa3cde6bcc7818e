"""Threads: the only place where bayeskit starts any, and where BLAS is kept from it."""

from __future__ import annotations

import os
import threading
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from copy import deepcopy
from functools import cache
from numbers import Integral
from typing import Any, TypeVar

import pyarrow as pa
from threadpoolctl import ThreadpoolController

from bayeskit.arrays import Batch
from bayeskit.engines.engine import Engine, R, slices
from bayeskit.engines.reading import Reading
from bayeskit.errors import InputError

Result = TypeVar("Result")
ROWS = 1 << 16  # at most in a batch
_lock = threading.Lock()
_inside = 0
_limited: Any = None


class Streamed(Engine):
    """An engine that reads batches in this process; what it reads them from is ``_batches``."""

    @abstractmethod
    def _batches(
        self, source: object, columns: Sequence[str], ordered: bool
    ) -> AbstractContextManager[Iterator[pa.RecordBatch]]:
        """The batches of these columns, in the order of the rows if asked for."""

    def reduce(self, source: object, columns: Sequence[str], empty: R) -> R:
        with self._batches(source, columns, ordered=False) as batches:
            return reduce_batches(self._watch(batches, source), empty, self.n_jobs)

    def map(self, source: object, columns: Sequence[str], step: Callable[[Batch, int], Result]) -> Iterator[Result]:
        with self._batches(source, columns, ordered=True) as batches:
            yield from map_batches(self._watch(batches, source), step, self.n_jobs)

    def _watch(self, batches: Iterable[pa.RecordBatch], source: object) -> Iterator[pa.RecordBatch]:
        """The batches that have rows, none too large; who watches is told how many rows they have."""
        watch = source.watch if isinstance(source, Reading) else None
        for batch in slices(batches, self.rows or ROWS):
            if watch is not None:
                watch(batch.num_rows)
            yield batch


def workers(n_jobs: int | None) -> int:
    """Threads asked for, as in scikit-learn: None is one, -1 is all cores."""
    if n_jobs is None:
        return 1
    if not isinstance(n_jobs, Integral) or n_jobs == 0:
        raise InputError(f"n_jobs={n_jobs!r}: give a number of threads, -1 for all cores, or None for one")
    n_jobs = int(n_jobs)
    return max(1, n_jobs if n_jobs > 0 else (os.cpu_count() or 1) + 1 + n_jobs)


def reduce_batches(batches: Iterable[Batch], empty: R, n_jobs: int | None) -> R:
    """Every worker counts its share; the shares are merged. Exact, so the split does not show.

    The first batch is counted before the others are shared out: what it brings in new levels is then known to all
    workers, which would otherwise find it out at the same time, waiting for each other.
    """
    count, source = workers(n_jobs), iter(batches)
    state = deepcopy(empty)
    for batch in source:
        state = state.update(batch)
        if count > 1:
            break
    lock = threading.Lock()

    def share(state: R) -> R:
        while True:
            with lock:
                batch = next(source, None)
            if batch is None:
                return state
            state = state.update(batch)

    if count == 1:
        return state
    starts = [state, *(state.without_counts() for _ in range(count - 1))]
    with ThreadPoolExecutor(count) as pool:
        first, *others = [future.result() for future in [pool.submit(share, start) for start in starts]]
    for other in others:
        first = first.merge(other)
    return first


def map_batches(batches: Iterable[Batch], step: Callable[[Batch, int], Result], n_jobs: int | None) -> Iterator[Result]:
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


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """One thread per BLAS call while any thread is inside; the number is global, so the last one out restores it."""
    global _inside, _limited
    with _lock:
        if _inside == 0:
            _limited = _controller().limit(limits=1)
            _limited.__enter__()
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                _limited.__exit__(None, None, None)
