"""Threads: the only place where bayeskit starts any, and where BLAS is kept from it."""

from __future__ import annotations

import math
import os
import sys
import threading
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import AbstractContextManager, contextmanager
from copy import deepcopy
from functools import cache
from numbers import Integral
from pathlib import Path
from queue import SimpleQueue
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
        """The batches that have rows, none too large; ``watch`` gets how many rows they have."""
        watch = source.watch if isinstance(source, Reading) else None
        for batch in slices(batches, self.rows or ROWS):
            if watch is not None:
                watch(batch.num_rows)
            yield batch


def workers(n_jobs: int | None) -> int:
    """Threads that rows are shared among: None is what the machine gives this process, -1 all cores."""
    if n_jobs is None:
        return available_cores()
    if not isinstance(n_jobs, Integral) or n_jobs == 0:
        raise InputError(f"n_jobs={n_jobs!r}: give a number of threads, -1 for all cores, or None for those to be had")
    n_jobs = int(n_jobs)
    return max(1, n_jobs if n_jobs > 0 else (os.cpu_count() or 1) + 1 + n_jobs)


def available_cores() -> int:
    """Cores this process may use: its affinity, the quota of its control group and OMP_NUM_THREADS, which joblib, Spark
    and Dask set for their workers; one in a daemonic process of multiprocessing, whose siblings use the others.
    """
    processes = sys.modules.get("multiprocessing.process")
    if processes is not None and processes.current_process().daemon:
        return 1
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    asked = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    if asked.isdigit() and int(asked):
        cores = min(cores, int(asked))
    return max(1, min(cores, quota("/proc/self/cgroup", "/sys/fs/cgroup")))


@cache
def quota(membership: str, mount: str) -> int:
    """Cores that the control groups of this process grant, rounded up; very many where none limits them."""
    most = sys.maxsize
    try:
        groups = [line.split(":", 2) for line in Path(membership).read_text().splitlines()]
    except OSError:
        return most
    for _, controllers, place in groups:
        if controllers and "cpu" not in controllers.split(","):
            continue
        root = Path(mount, controllers)
        own = root / place.lstrip("/")
        for group in (own, *own.parents):  # inside a container the group is mounted at the root
            try:
                if controllers:
                    limit, period = ((group / f"cpu.cfs_{what}_us").read_text() for what in ("quota", "period"))
                else:
                    limit, period = (group / "cpu.max").read_text().split()
            except (OSError, ValueError):
                limit = period = "max"
            if limit.strip().isdigit() and int(period):
                most = min(most, max(1, math.ceil(int(limit) / int(period))))
            if group == root:
                break
    return most


class Threads:
    """Threads that wait for work, started once; they end with the process, and a fork begins without any."""

    def __init__(self) -> None:
        self._work: SimpleQueue[tuple[Future[Any], Callable[..., Any], tuple[Any, ...]]] = SimpleQueue()
        self._inside = threading.local()
        self._lock = threading.Lock()
        self._started = 0

    def prepare(self, n_jobs: int | None) -> int:
        """How many may share work, the caller among them; one inside a thread of these, which must not wait."""
        if vars(self._inside):
            return 1
        count = workers(n_jobs)
        with self._lock:
            while self._started < count - 1:
                try:
                    threading.Thread(target=self._run, name="bayeskit", daemon=True).start()
                except RuntimeError:  # the system gives no more, or the interpreter ends
                    break
                self._started += 1
        return min(count, self._started + 1)

    def submit(self, run: Callable[..., Result], *given: object) -> Future[Result]:
        future: Future[Result] = Future()
        self._work.put((future, run, given))
        return future

    def _run(self) -> None:
        self._inside.here = True
        while True:
            future, run, given = self._work.get()
            _settle(future, run, given)
            del future, run, given  # a thread that waits keeps no rows


def _settle(future: Future[Result], run: Callable[..., Result], given: tuple[Any, ...]) -> Future[Result]:
    """The future with what the run gives or raises, unless it was cancelled."""
    if future.set_running_or_notify_cancel():
        try:
            future.set_result(run(*given))
        except BaseException as error:
            future.set_exception(error)
    return future


_threads = Threads()


def _begin_anew() -> None:
    """After a fork: the threads stayed with the parent, and so may have whoever held the lock."""
    global _threads, _lock, _inside
    _threads, _lock, _inside = Threads(), threading.Lock(), 0


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_begin_anew)


def reduce_batches(batches: Iterable[Batch], empty: R, n_jobs: int | None) -> R:
    """Every worker counts its share; the shares are merged. Exact, so the split does not show.

    The first batch is counted before the others are shared out: what it brings in new levels is then known to all
    workers, which would otherwise find it out at the same time, waiting for each other.
    """
    threads, source = _threads, iter(batches)
    count = threads.prepare(n_jobs)
    state = deepcopy(empty)
    for batch in source:
        state = state.update(batch)
        if count > 1:
            break
    if count == 1:
        return state
    lock, failed = threading.Lock(), threading.Event()

    def share(state: R) -> R:
        try:
            while True:
                with lock:
                    batch = None if failed.is_set() else next(source, None)
                if batch is None:
                    return state
                state = state.update(batch)
        except BaseException:
            failed.set()
            raise

    others = [threads.submit(share, state.without_counts()) for _ in range(count - 1)]
    try:
        state = share(state)
    finally:
        started = [other for other in others if not other.cancel()]  # who has not begun finds no batch any more
        wait(started)
    for other in started:
        state = state.merge(other.result())
    return state


def map_batches(batches: Iterable[Batch], step: Callable[[Batch, int], Result], n_jobs: int | None) -> Iterator[Result]:
    """Results in order, with a few batches under way at a time; a step is given the number of its first row."""
    threads = _threads
    count = threads.prepare(n_jobs)
    start = 0
    if count == 1:
        for batch in batches:
            yield step(batch, start)
            start += batch.num_rows
        return
    pending: deque[Future[Result]] = deque()
    try:
        for batch in batches:
            given = batch, start
            busy = sum(not future.done() for future in pending) >= 2 * (count - 1)  # then the caller takes its share
            pending.append(_settle(Future(), step, given) if busy else threads.submit(step, *given))
            start += batch.num_rows
            while pending and (pending[0].done() or len(pending) > 4 * count):
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        wait([future for future in pending if not future.cancel()])


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
