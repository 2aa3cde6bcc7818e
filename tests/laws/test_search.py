"""Search: every way of finding the nearest points finds the same ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from bayeskit import _core
from bayeskit.numerics.neighbor_search import BlasBruteForce, BruteForce, PointWeights, Queries, Tree, near


def sheet(points: np.ndarray, power: int = 2) -> BruteForce:
    none = np.empty((0, len(points)), dtype=np.int32)
    return BruteForce(np.ascontiguousarray(points.T), none, np.ones(points.shape[1]), np.empty(0), power)


def asked(rows: np.ndarray) -> Queries:
    return Queries(rows, np.empty((len(rows), 0), dtype=np.int32))


@pytest.mark.parametrize("columns", [1, 2, 7, 60])
@pytest.mark.parametrize("offset", [0.0, 1e4, 1e8])
def test_all_ways_find_the_nearest(columns: int, offset: float) -> None:
    rng = np.random.default_rng(columns)
    points, rows = offset + rng.normal(size=(700, columns)), offset + rng.normal(size=(40, columns))
    for power, name in ((1, "cityblock"), (2, "euclidean")):
        every = cdist(rows, points, name)
        truth = np.sort(every, axis=1)[:, :9]
        plain = sheet(points, power)
        ways: list[Any] = [
            plain,
            Tree(plain),
            *([BlasBruteForce(plain), BlasBruteForce(plain, 7, 100)] if power == 2 else []),
        ]
        for way in ways:
            index, distance = way.nearest(asked(rows), 9)
            np.testing.assert_allclose(distance, truth, rtol=1e-9)
            np.testing.assert_allclose(every[np.arange(40)[:, None], index], truth, rtol=1e-9)
            np.testing.assert_allclose(way.distances(asked(rows)), every, rtol=1e-9)


def test_single_precision_that_cannot_decide_is_not_trusted() -> None:
    """Points that differ in the ninth digit only."""
    rng = np.random.default_rng(0)
    points = np.repeat(rng.normal(size=(20, 30)), 40, axis=0) * (1 + 1e-9 * rng.normal(size=(800, 30)))
    rows = points[::50] + 1e-11
    truth = np.sort(cdist(rows, points), axis=1)[:, :5]
    assert BlasBruteForce(sheet(points)).nearest(asked(rows), 5)[1] == pytest.approx(truth, rel=1e-6)


def test_columns_both_rows_have() -> None:
    points = np.array([[0.0, 2.0], [np.nan, 5.0], [3.0, np.nan]])
    found = sheet(points).distances(asked(np.array([[1.0, 1.0], [np.nan, 1.0], [np.nan, np.nan]])))
    known = [[np.sqrt(2), np.sqrt(32), np.sqrt(8)], [1.0, 4.0, np.inf], [np.inf] * 3]
    assert found == pytest.approx(np.array(known))


def test_levels_that_differ_are_one_apart() -> None:
    codes = np.array([[0, 1, -1, 1]], dtype=np.int32)
    both = BruteForce(np.array([[0.0, 0.5, 1.0, np.nan]]), codes, np.ones(1), np.ones(1), 1, mean=True)
    rows = Queries(np.array([[0.0], [0.0], [np.nan]]), np.array([[0], [-1], [-2]], dtype=np.int32))
    known = [[0, 0.75, 1, 1], [0, 0.5, 1, np.inf], [1, 1, np.inf, 1]]
    assert both.distances(rows) == pytest.approx(np.array(known))


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_the_smallest_of_many_in_pieces(kind: Any) -> None:
    values = np.random.default_rng(0).integers(0, 300, (6, 1000)).astype(kind)
    best, index = np.full((6, 12), np.inf, dtype=kind), np.full((6, 12), -1, dtype=np.int64)
    for start in range(0, 1000, 130):
        _core.merge_smallest(np.ascontiguousarray(values[:, start : start + 130]), start, best, index)
    order = np.argsort(values, axis=1, kind="stable")[:, :12]
    assert np.array_equal(index, order)
    assert np.array_equal(best, np.take_along_axis(values, order, axis=1))


def test_all_points_as_far_as_the_last_count() -> None:
    points = np.repeat([[0.0], [1.0], [-1.0], [3.0]], 30, axis=0)
    nobody = np.full(1, -1, dtype=np.int64), np.zeros(1)
    for way in (sheet(points), Tree(sheet(points)), BlasBruteForce(sheet(points))):
        found = near(way, asked(np.zeros((1, 1))), 31, PointWeights(np.ones(120), *nobody))
        assert len(found.index) == 90
        assert (found.radius.tolist(), found.beyond.tolist()) == ([1.0], [3.0])


def test_a_row_left_out_makes_room_for_the_next() -> None:
    points = np.array([[0.0], [1.0], [5.0], [6.0]])
    own = np.zeros(1, dtype=np.int64)
    found = near(sheet(points), asked(np.zeros((1, 1))), 2, PointWeights(np.ones(4), own, np.zeros(1)))
    assert found.index.tolist() == [1, 2]
    assert found.beyond.tolist() == [6.0]
