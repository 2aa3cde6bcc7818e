"""Threads: how many, what they share, and what becomes of them when something fails, forks or is left half-way."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import numpy as np
import pyarrow as pa
import pytest

import bayeskit as bk
from bayeskit.engines.workers import available_cores, map_batches, quota, reduce_batches, workers


def batches(count: int = 40) -> Iterator[pa.RecordBatch]:
    return (pa.record_batch({"x": [i]}) for i in range(count))


class Total:
    """A sum that is reduced, and who took part."""

    def __init__(self, value: int = 0, wrong: int | None = None) -> None:
        self.value, self.wrong = value, wrong

    def update(self, batch: pa.RecordBatch) -> Self:
        x = batch["x"][0].as_py()
        if x == self.wrong:
            raise KeyError(x)
        self.value += x
        return self

    def merge(self, other: Total) -> Total:
        return Total(self.value + other.value)

    def without_counts(self) -> Total:
        return Total(0, self.wrong)


@pytest.mark.parametrize("n_jobs", [None, 1, 2, 5, -1])
def test_shares_add_up_and_answers_keep_their_order(n_jobs: int | None) -> None:
    assert reduce_batches(batches(), Total(), n_jobs).value == sum(range(40))
    assert list(map_batches(batches(), lambda b, start: (b["x"][0].as_py(), start), n_jobs)) == [
        (i, i) for i in range(40)
    ]


@pytest.mark.parametrize("n_jobs", [1, 4])
def test_an_error_in_a_batch_is_raised(n_jobs: int) -> None:
    with pytest.raises(KeyError, match="17"):
        reduce_batches(batches(), Total(wrong=17), n_jobs)

    def step(batch: pa.RecordBatch, start: int) -> int:
        if start >= 17:
            raise KeyError(start)
        return start

    with pytest.raises(KeyError, match="17"):  # the first that fails in the order of rows, whoever met it
        list(map_batches(batches(), step, n_jobs))


def test_answers_may_be_left_half_way() -> None:
    under_way = map_batches(batches(), lambda b, start: start, 3)
    assert next(under_way) == 0
    under_way.close()
    assert reduce_batches(batches(), Total(), 3).value == sum(range(40))


def test_threads_stay_and_work_inside_them_is_done_there() -> None:
    def inner(batch: pa.RecordBatch, start: int) -> int:
        return reduce_batches(batches(), Total(), 8).value  # would wait for itself if it asked for threads

    assert set(map_batches(batches(), inner, 3)) == {sum(range(40))}
    before = threading.active_count()
    for _ in range(20):
        reduce_batches(batches(), Total(), 3)
    assert threading.active_count() == before


def _child(y: np.ndarray, X: np.ndarray, out: multiprocessing.queues.Queue[tuple[str, int]]) -> None:
    out.put((bk.NaiveBayes(n_jobs=3).fit(X, y).model_.digest, available_cores()))


@pytest.mark.skipif(sys.platform == "win32", reason="processes are not forked on Windows")
@pytest.mark.filterwarnings("ignore:This process.*multi-threaded:DeprecationWarning")
def test_a_fork_starts_threads_of_its_own() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60_000, 20)), rng.integers(0, 2, 60_000)
    digest = bk.NaiveBayes(n_jobs=3).fit(X, y).model_.digest
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    child = context.Process(target=_child, args=(y, X, answers), daemon=True)
    child.start()
    assert answers.get(timeout=60) == (digest, 1)  # a daemonic process has siblings
    child.join()


def test_cores_follow_affinity_and_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    free = available_cores()
    assert 1 <= free <= (os.cpu_count() or 1)
    assert workers(None) == free
    for said, count in (("1", 1), ("1,4", 1), ("0", free), ("many", free), ("1000", free)):
        monkeypatch.setenv("OMP_NUM_THREADS", said)
        assert available_cores() == count
    monkeypatch.delenv("OMP_NUM_THREADS")
    if sys.platform == "linux":
        allowed = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {min(allowed)})
        try:
            assert available_cores() == 1
        finally:
            os.sched_setaffinity(0, allowed)


@pytest.mark.parametrize(
    ("membership", "files", "cores"),
    [
        ("0::/a/b\n", {"a/b/cpu.max": "150000 100000"}, 2),
        ("0::/a/b\n", {"a/b/cpu.max": "max 100000", "a/cpu.max": "300000 100000"}, 3),
        ("0::/gone\n", {"cpu.max": "50000 100000"}, 1),
        ("0::/\n", {"cpu.max": "max 100000"}, sys.maxsize),
        ("0::/\n", {}, sys.maxsize),
        (
            "4:cpu,io:/x\n3:memory:/x\n",
            {"cpu,io/x/cpu.cfs_quota_us": "400000\n", "cpu,io/x/cpu.cfs_period_us": "100000"},
            4,
        ),
        ("4:cpu:/x\n", {"cpu/x/cpu.cfs_quota_us": "-1\n", "cpu/x/cpu.cfs_period_us": "100000\n"}, sys.maxsize),
    ],
)
def test_cores_follow_the_control_group(membership: str, files: dict[str, str], cores: int, tmp_path: Path) -> None:
    (tmp_path / "cgroup").write_text(membership)
    for name, text in files.items():
        (tmp_path / "mount" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "mount" / name).write_text(text)
    assert quota(str(tmp_path / "cgroup"), str(tmp_path / "mount")) == cores
    assert quota(str(tmp_path / "nothing"), str(tmp_path)) == sys.maxsize


def test_joblib_workers_share_the_cores() -> None:
    from joblib import Parallel, delayed

    each = Parallel(n_jobs=os.cpu_count() or 1)(delayed(available_cores)() for _ in range(2))
    assert each == [1, 1]
