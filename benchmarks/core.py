"""Nanoseconds per value of every kernel of the core, by clone, beside the time just to read the memory.

python benchmarks/core.py [rows] [kernel ...]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator

import numpy as np

from bayeskit import _core as core

BLOCK = 32_768
rng = np.random.default_rng(0)


def seconds(run: Callable[[], object], repeats: int = 5) -> float:
    """The best of some runs, in CPU time of this thread."""
    best = float("inf")
    for _ in range(repeats):
        start = time.thread_time()
        run()
        best = min(best, time.thread_time() - start)
    return best


def blocks(n: int) -> Iterator[tuple[int, int]]:
    for i in range(0, n, BLOCK):
        yield i, min(BLOCK, n - i)


def columns(x: np.ndarray, i: int = 0) -> tuple[np.ndarray, np.ndarray]:
    d = x.shape[1]
    address = np.array([x.ctypes.data + i * x.strides[0] + j * x.strides[1] for j in range(d)], np.uint64)
    return address, np.full(d, x.strides[0], np.int64)


def scan(x: np.ndarray) -> Callable[[], object]:
    out = np.empty((len(core.RangeRow), x.shape[1]))
    return lambda: [core.column_ranges(*columns(x, i), m, out) for i, m in blocks(len(x))]


def moments(
    x: np.ndarray, groups: np.ndarray, n_groups: int, weights: np.ndarray | None = None
) -> Callable[[], object]:
    d = x.shape[1]
    s = [np.zeros((n_groups, d, k), np.int64) for k in (5, 10, 16)]
    lows = (-3, -6, -10)

    def run() -> None:
        for i, m in blocks(len(x)):
            w = None if weights is None else weights[i : i + m]
            core.add_moments(*columns(x, i), m, groups[i : i + m], w, s[0], lows[0], s[1], lows[1], s[2], lows[2])
            for v in s:
                core.carry_limbs(v.reshape(-1, v.shape[-1]))

    return run


def cases(n: int) -> Iterator[tuple[str, float, Callable[[], object]]]:
    """Name, number of values, what to run."""
    d, k = 20, 5
    x = rng.normal(size=(n, d))
    f = np.asfortranarray(x)
    holes = x.copy()
    holes[rng.random(x.shape) < 0.1] = np.nan
    groups = rng.integers(0, k, n).astype(np.int32)
    many = rng.integers(0, 1000, n).astype(np.int32)
    weights = rng.random(n)
    values = float(n * d)
    yield "read (np.sum)", values, lambda: x.sum()
    yield "scan C", values, scan(x)
    yield "scan F", values, scan(f)
    yield "moments C", values, moments(x, groups, k)
    yield "moments F", values, moments(f, groups, k)
    yield "moments C 10% NaN", values, moments(holes, groups, k)
    yield "moments C 100 groups", values, moments(x, many % 100, 100)
    yield "moments C 1000 groups", values, moments(x, many, 1000)
    yield "moments C lognormal s=6", values, moments(np.exp(x * 6) if n <= 4_000_000 else x, groups, k)
    part = n // 8
    yield "moments C weighted", float(part * d), moments(x[:part], groups[:part], k, weights[:part])
    mean, precision, constant = rng.random((3, d, k)) + 0.5
    out = np.zeros((n, k))
    one = np.ones(d)
    for name, y in {"C": x, "F": f, "C 10% NaN": holes}.items():

        def run(y: np.ndarray = y) -> None:
            for i, m in blocks(n):
                core.gaussian_log_density(*columns(y, i), m, one, mean, precision, constant, out[i : i + m])

        yield f"gaussian {name} (per row, column)", values, run
    del f, holes
    joint = rng.normal(size=(n, k)) * 10
    evidence = np.empty(n)

    def posterior(log: bool) -> Callable[[], object]:
        def run() -> None:
            out[:] = joint
            for i, m in blocks(n):
                core.softmax(out[i : i + m], log, evidence[i : i + m])

        return run

    yield "softmax (per class)", float(n * k), posterior(False)
    yield "softmax log (per class)", float(n * k), posterior(True)
    size = np.full(d, 10, np.int32)
    codes = np.ascontiguousarray(rng.integers(0, 10, (d, n)).astype(np.int32))
    parts = [np.ascontiguousarray(codes[:, i : i + m]) for i, m in blocks(n)]

    def tables(arity: int, w: np.ndarray | None = None) -> Callable[[], object]:
        t = d // arity
        cols, start = np.arange(t * arity, dtype=np.int32), np.arange(0, t * arity + 1, arity)
        offset = np.arange(t) * 10**arity
        limbs = np.zeros((k, t * 10**arity, 5), np.int64)

        def run() -> None:
            for (i, m), c in zip(blocks(n), parts, strict=True):
                ww = None if w is None else w[i : i + m]
                core.count_tables(c, groups[i : i + m], ww, cols, start, size, offset, limbs, -3)

        return run

    yield "count arity 1", values, tables(1)
    yield "count arity 2 (per table)", values / 2, tables(2)
    yield "count arity 3 (per table)", n * 6.0, tables(3)
    yield "count arity 1 weighted", values, tables(1, weights)
    offsets = np.arange(d) * 12
    table = rng.normal(size=(12 * d, k))
    order = np.arange(d, dtype=np.int32)

    def score() -> None:
        for (i, m), c in zip(blocks(n), parts, strict=True):
            core.lookup_tables(c, order, offsets, table, out[i : i + m])

    yield "lookup (per row, column)", values, score
    for levels in (2, 4, 10, 30):
        m40, n40 = 40, min(n, 1_000_000) if levels <= 4 else 100_000
        c40 = np.ascontiguousarray(rng.integers(0, levels, (m40, n40)).astype(np.int32))
        each = [np.ascontiguousarray(c40[:, i : i + m]) for i, m in blocks(n40)]
        which = np.array([(a, b) for a in range(m40) for b in range(a)], np.int32)
        limbs = np.zeros((3, len(which) * levels**2, 2), np.int64)
        at = np.arange(len(which)) * levels**2
        sizes = np.full(m40, levels, np.int32)
        g3 = groups[:n40] % 3

        def count_pairs(
            each: list[np.ndarray] = each, n40: int = n40, which: np.ndarray = which, sizes: np.ndarray = sizes,
            at: np.ndarray = at, limbs: np.ndarray = limbs, g3: np.ndarray = g3,
        ) -> None:  # fmt: skip
            for (i, m), c in zip(blocks(n40), each, strict=True):
                core.count_pairs(c, g3[i : i + m], which, sizes, at, limbs, 0)

        yield f"pairs {levels} levels (per row, pair)", float(n40 * len(which)), count_pairs
    whole = rng.integers(0, 30, (n, d))
    start, base = np.arange(d + 1) * 30, np.zeros(d, np.int64)
    codebook = rng.integers(0, 30, 30 * d).astype(np.int32)
    coded = np.empty((d, BLOCK), np.int32)

    def encode() -> None:
        for i, m in blocks(n):
            core.integer_codes(*columns(whole, i), m, base, start, codebook, coded.reshape(-1)[: d * m].reshape(d, m))

    yield "integers C", values, encode
    cells = 50_000
    s0, s1, s2 = (np.zeros((50, 1000, 8), np.int64) for _ in range(3))
    s0[..., 4] = 1000
    s1[..., 1:5] = rng.integers(0, 2**20, (50, 1000, 4))
    s2[..., :6] = rng.integers(2**20, 2**32, (50, 1000, 6))
    zero = np.zeros(1000, np.int64)
    yield "finish (per cell)", float(cells), lambda: core.means_and_deviations(s0, -4, s1, -4, s2, -4, zero)
    flat = s2.reshape(-1, 8)
    yield "rounded (per cell)", float(cells), lambda: core.round_sums(flat, -4)


def main(arguments: list[str]) -> None:
    n = int(arguments[0]) if arguments and arguments[0].isdigit() else 1_000_000
    wanted = [a for a in arguments if not a.isdigit()]
    names = core.clones()
    best = core.clone()
    print(f"{'ns per value, ' + str(n) + ' rows':<42}" + "".join(f"{c:>10}" for c in names) + f"{'of read':>10}")
    read = float("nan")
    for name, values, run in cases(n):
        if wanted and not any(name.startswith(w) for w in [*wanted, "read"]):
            continue
        times = []
        for clone in names:
            core.use_clone(clone)
            once = seconds(run, 1)
            times.append(min(once, seconds(run, 4) if once < 2 else once))
        core.use_clone(best)
        cost = [t / values * 1e9 for t in times]
        read = cost[-1] if name.startswith("read") else read
        print(f"{name:<42}" + "".join(f"{c:>10.3f}" for c in cost) + f"{read / cost[-1]:>10.2f}")


if __name__ == "__main__":
    main(sys.argv[1:])
