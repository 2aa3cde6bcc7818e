"""Level codes: counted, looked up, shrunk toward."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from bayeskit import _core as core

from .memory import BEST, CLONES, INF, value
from .sums import exact_window


def random_codes(rng: np.random.Generator, sizes: list[int], n: int, holes: float = 0.1) -> np.ndarray:
    codes = np.stack([rng.integers(0, max(s, 1), n) for s in sizes]).astype(np.int32).reshape(len(sizes), n)
    codes[rng.random(codes.shape) < holes] = -1
    codes[rng.random(codes.shape) < holes / 3] = -2
    return np.ascontiguousarray(codes)


def run_count(
    codes: np.ndarray, groups: np.ndarray, w: np.ndarray | None, tables: list[list[int]], sizes: list[int], g: int
) -> tuple[np.ndarray, np.ndarray, int]:
    size = np.array(sizes, np.int32)
    start = np.cumsum([0] + [len(t) for t in tables]).astype(np.int64)
    cells = [int(np.prod([sizes[j] for j in t])) for t in tables]
    offset = np.cumsum([1, *cells])[:-1].astype(np.int64)
    low, high = (0, 2) if w is None else exact_window(np.ones(1), 0, w)
    limbs = np.zeros((g, 1 + sum(cells), high - low), np.int64)
    flat = np.array([j for t in tables for j in t], np.int32)
    core.count_tables(codes, groups, w, flat, start, size, offset, limbs, low)
    core.carry_limbs(limbs.reshape(-1, limbs.shape[-1]))
    return limbs, offset, low


def count_reference(
    codes: np.ndarray, groups: np.ndarray, w: np.ndarray | None, table: list[int], sizes: list[int], g: int
) -> list[list[Fraction]]:
    cells = int(np.prod([sizes[j] for j in table]))
    out = [[Fraction(0)] * cells for _ in range(g)]
    for i in range(codes.shape[1]):
        c = [int(codes[j, i]) for j in table]
        if groups[i] >= 0 and min(c) >= 0:
            cell = 0
            for j, v in zip(table, c, strict=True):
                cell = cell * sizes[j] + v
            out[groups[i]][cell] += 1 if w is None else Fraction(float(w[i]))
    return out


@pytest.mark.parametrize("weights", [None, [1, 2, 0], [0.1, 5e-324, 1e300]])
@pytest.mark.parametrize("sizes", [[4, 3, 5], [1, 2, 1], [300, 7, 90]])
def test_count(clone: str, sizes: list[int], weights: list[float] | None) -> None:
    rng = np.random.default_rng(8)
    n, g = 2100, 4
    tables = [[0], [2], [0, 1], [2, 0, 1], [1]]
    codes = random_codes(rng, sizes, n)
    groups = rng.integers(-1, g, n).astype(np.int32)
    w = None if weights is None else rng.choice(np.array(weights, float), n)
    limbs, offset, low = run_count(codes, groups, w, tables, sizes, g)
    assert not limbs[:, 0].any()
    for t, at in zip(tables, offset.tolist(), strict=True):
        expected = count_reference(codes, groups, w, t, sizes, g)
        for c in range(g):
            for k, v in enumerate(expected[c]):
                if v or k < 200:
                    assert value(limbs[c, at + k], low) == v


def test_count_of_many_rows_and_groups(clone: str) -> None:
    rng = np.random.default_rng(9)
    n = 70_000
    for g, sizes in [(1, [2, 3]), (5, [10, 4]), (1000, [12, 3]), (3, [5000, 2])]:
        codes = random_codes(rng, sizes, n)
        groups = rng.integers(-1, g, n).astype(np.int32)
        limbs, offset, _ = run_count(codes, groups, None, [[0], [1], [1, 0]], sizes, g)
        for j in range(2):
            expected = np.zeros((g, sizes[j]), np.int64)
            good = (groups >= 0) & (codes[j] >= 0)
            np.add.at(expected, (groups[good], codes[j][good]), 1)
            assert (limbs[:, offset[j] : offset[j] + sizes[j], 0] == expected).all()
        both = np.zeros((g, sizes[1] * sizes[0]), np.int64)
        good = (groups >= 0) & (codes >= 0).all(axis=0)
        np.add.at(both, (groups[good], (codes[1] * sizes[0] + codes[0])[good]), 1)
        assert (limbs[:, offset[2] :, 0] == both).all()


def test_count_refuses(clone: str) -> None:
    codes = np.zeros((1, 3), np.int32)
    one = np.array([0], np.int32)

    def run(codes: np.ndarray, groups: list[int], cells: int = 2, start: tuple[int, ...] = (0, 1)) -> None:
        limbs = np.zeros((2, cells, 2), np.int64)
        core.count_tables(
            codes, np.array(groups, np.int32), None, one, np.array(start, np.int64), np.array([2], np.int32),
            np.zeros(1, np.int64), limbs, 0,
        )  # fmt: skip

    run(codes, [0, 1, -1])
    for bad in [[0, 0, 2], [0, 0, -2], [0, 0]]:
        with pytest.raises(ValueError, match="group"):
            run(codes, bad)
    for code in (2, -3):
        with pytest.raises(ValueError, match="code"):
            run(np.full((1, 3), code, np.int32), [0, 0, 0])
    with pytest.raises(ValueError, match="cells"):
        run(codes, [0, 0, 0], 1)
    with pytest.raises(ValueError, match="start"):
        run(codes, [0, 0, 0], 2, (0, 2))


@pytest.mark.parametrize("holes", [0.0, 0.1])
@pytest.mark.parametrize("n", [0, 1, 63, 64, 65, 1000, 40_000])
def test_pairs_equal_count(clone: str, n: int, holes: float) -> None:
    rng = np.random.default_rng(10)
    for g in (1, 3, 40):
        sizes = [2, 3, 4, 1, 9, 40, 8]
        codes = random_codes(rng, sizes, n, holes)
        if n > 100:
            codes[4, :50] = -1
        groups = rng.integers(-1, g, n).astype(np.int32)
        tables = [[a, b] for a in range(7) for b in range(7) if a != b]
        expected, offset, _ = run_count(codes, groups, None, tables, sizes, g)
        limbs = np.zeros_like(expected)
        core.count_pairs(codes, groups, np.array(tables, np.int32), np.array(sizes, np.int32), offset, limbs, 0)
        core.carry_limbs(limbs.reshape(-1, limbs.shape[-1]))
        assert (limbs == expected).all()


@pytest.mark.parametrize("classes", [1, 2, 3, 4, 5, 7, 8, 9, 16, 70])
def test_lookup(clone: str, classes: int) -> None:
    rng = np.random.default_rng(11)
    sizes = [4, 3, 50, 1, 2, 3]
    n = 1300
    codes = random_codes(rng, sizes, n)
    offset = np.cumsum([0] + [s + 2 for s in sizes])
    table = rng.normal(size=(offset[-1], classes))
    table[rng.random(table.shape) < 0.05] = -INF
    order = np.array([2, 0, 1, 5, 3, 4, 2], np.int32)
    start = rng.normal(size=(n, classes))
    expected = start.copy()
    for j in order:
        expected += table[offset[j] + codes[j] + 2]
    out = start.copy()
    core.lookup_tables(codes, order, offset[order].astype(np.int64), table, out)
    assert out.tobytes() == expected.tobytes()
    by_class = np.array(start, order="F")
    core.lookup_tables(codes, order, offset[order].astype(np.int64), table, by_class)
    assert by_class.tobytes() == expected.tobytes()
    for i in (0, 700):
        row = start[i : i + 1].copy()
        core.lookup_tables(np.ascontiguousarray(codes[:, i : i + 1]), order, offset[order].astype(np.int64), table, row)
        assert row.tobytes() == expected[i : i + 1].tobytes()


def test_lookup_refuses(clone: str) -> None:
    table, out = np.zeros((7, 2)), np.zeros((1, 2))
    offset, order = np.array([0, 4], np.int64), np.array([0, 1], np.int32)
    core.lookup_tables(np.array([[1], [0]], np.int32), order, offset, table, out)
    for bad in ([[2], [0]], [[0], [1]], [[-3], [0]]):
        with pytest.raises(ValueError, match="code"):
            core.lookup_tables(np.array(bad, np.int32), order, offset, table, out)
    with pytest.raises(ValueError, match="outside"):
        core.lookup_tables(np.array([[1], [0]], np.int32), order, np.array([0, 7], np.int64), table, out)


def test_cells_are_codes_in_steps() -> None:
    rng = np.random.default_rng(12)
    codes = random_codes(rng, [4, 3, 5], 100)
    child, parents = np.array([2, 0, 1], np.int32), np.array([[0, 1], [2, -1], [-1, -1]], np.int32)
    steps = np.array([[35, 7], [6, 99], [99, 99]], np.int32)
    out = np.empty((3, 100), np.int32)
    core.table_cells(codes, child, parents, steps, out)
    assert (out[0] == codes[2] + 35 * (codes[0] + 2) + 7 * (codes[1] + 2)).all()
    assert (out[1] == codes[0] + 6 * (codes[2] + 2)).all()
    assert (out[2] == codes[1]).all()
    for bad in (-2, 3):
        with pytest.raises(ValueError, match="not there"):
            core.table_cells(codes, child, np.full((3, 2), bad, np.int32), steps, out)


def test_lean_is_the_sum_of_logarithms() -> None:
    rng = np.random.default_rng(13)
    start = np.array([0, 1, 1, 18, 40], np.int64)
    weight, mass, known = rng.random(40) * 9, rng.random(40) * 8, rng.random((3, 40))
    total, strength = mass + rng.random(40) * 20, 2.0 ** rng.integers(-3, 9, (2, 4))
    mass[3] = known[1, 3] = 0.0  # a share of nothing counts as the smallest normal number
    found = set()
    for name in CLONES:
        core.use_clone(name)
        out = core.shrinkage_scores(weight, mass, total, known, start, strength)
        found.add(out.tobytes())
    core.use_clone(BEST)
    assert len(found) == 1
    with mpmath.workdps(40):
        for s, b, t in np.ndindex(out.shape):
            r = strength[s, t]
            terms = [
                weight[i] * mpmath.log(max((mass[i] + r * known[b, i]) / (total[i] + r), 2.0**-1022))
                for i in range(start[t], start[t + 1])
            ]
            assert abs(out[s, b, t] - mpmath.fsum(terms)) <= 1e-14 * mpmath.fsum(map(abs, terms))
