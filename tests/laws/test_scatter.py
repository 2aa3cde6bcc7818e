"""Scatter against exact fractions: the sums to the bit, means and covariances to the last digits."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from bayeskit import _core
from bayeskit.data.block import Block
from bayeskit.data.encode import Roles, encode
from bayeskit.data.kinds import infer
from bayeskit.data.levels import Domain, Levels
from bayeskit.statistics.exact import ExactSum
from bayeskit.statistics.scatter import Scatter
from whole_numbers import whole

NAMES = ("p", "q", "r")
MANY = tuple(f"x{j}" for j in range(13))  # so many that rows are added in slices, not one by one


def columns(sort: str, rows: int = 700, width: int = 3) -> np.ndarray:
    """Numbers that need one slice, three, six, or none that would hold them."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(rows, width)) @ (np.eye(width) + np.diag(np.linspace(0.3, 0.5, width - 1), 1))
    made = {
        "whole": np.round(x * 9),
        "ordinary": x,
        "far from zero": x + np.resize([1e8, -3e7, 0], width),
        "wide": np.exp(12 * x),
        "extreme": x * rng.choice([1e-300, 1.0, 1e300], (rows, 1)),
        "with missing values": np.where(rng.random(x.shape) < 0.2, np.nan, x),
    }
    return made[sort]


SORTS = ("whole", "ordinary", "far from zero", "wide", "extreme", "with missing values")
every_sort = pytest.mark.parametrize("sort", SORTS)


def block(x: np.ndarray, weights: np.ndarray | None = None) -> Block:
    names = NAMES if x.shape[1] == 3 else MANY
    table = {**dict(zip(names, map(pa.array, x.T), strict=True)), "class": pa.array(["a", "b"] * (len(x) // 2))}
    if weights is not None:
        table["w"] = pa.array(weights)
    batch = pa.RecordBatch.from_pydict(table)
    schema = infer(batch.schema.empty_table().select(names).schema)
    return encode(batch, schema, Domain(Levels.of(["a", "b"])), Roles("class", None if weights is None else "w"))[0]


def exact(x: np.ndarray, weights: np.ndarray) -> list[list[Fraction]]:
    """The sum of w a_i a_j of some rows, a = (1, x)."""
    (a, power), (w, unit) = whole(np.column_stack([np.ones(len(x)), x])), whole(weights)
    sums = (a * w[:, None]).T @ a
    return [[Fraction(v, unit * power**2) for v in row] for row in sums.tolist()]


def assert_exact(found: Scatter, x: np.ndarray, mass: np.ndarray) -> None:
    row, column = np.triu_indices(1 + x.shape[1])
    for g in range(2):
        wanted = exact(x[g::2], mass[g::2])
        for cell, (i, j) in enumerate(zip(row.tolist(), column.tolist(), strict=True)):
            assert found.sums.fraction(g, cell) == wanted[i][j]


def weights_of(sort: str, rows: int) -> np.ndarray:
    rng = np.random.default_rng(1)
    made = {"none": np.ones(rows), "whole": rng.integers(1, 9, rows).astype(float), "fractions": rng.random(rows)}
    return {**made, "wide": np.exp(30 * rng.normal(size=rows)), "huge": 1e306 * (1 + rng.random(rows))}[sort]


@every_sort
@pytest.mark.parametrize("weighted", ["none", "fractions"])
def test_every_sum_of_products_is_exact(sort: str, weighted: str) -> None:
    x, mass = columns(sort), weights_of(weighted, 700)
    assert_exact(Scatter.empty(NAMES, 2).update(block(x, None if weighted == "none" else mass)), x, mass)


@pytest.mark.parametrize("weighted", ["none", "whole", "fractions", "wide", "huge"])
@pytest.mark.parametrize("sort", [s for s in SORTS if s != "extreme"])
def test_sums_of_products_in_slices_are_exact(sort: str, weighted: str) -> None:
    """With 260 rows of a class two tiles are full, and one is not."""
    x, mass = columns(sort, 520, len(MANY)), weights_of(weighted, 520)
    assert_exact(Scatter.empty(MANY, 2).update(block(x, None if weighted == "none" else mass)), x, mass)


@pytest.mark.parametrize("width", [1, 7, 8, 50, 200])
def test_every_clone_sums_the_same(width: int) -> None:
    """Whatever the number of columns in the last panel is, and however they lie in memory."""
    rng, chosen = np.random.default_rng(5), _core.clone()
    x = rng.normal(size=(300, width))
    both = [np.ascontiguousarray(x), np.asfortranarray(x)]
    exponent, rows = np.full(width, 3, dtype=np.int64), np.arange(299, -1, -1)
    totals = []
    for clone in _core.clones():
        for y in both:
            sums = ExactSum.zeros((1, width * (width + 1) // 2)).room(*_core.limb_window(1e-9, 8.0, 2, 1.0, 1.0))
            address, stride = y.ctypes.data + y.strides[1] * np.arange(width), np.full(width, y.strides[0])
            try:
                _core.use_clone(clone)
                place = (address.astype(np.uint64), stride, 300, rows)
                lost = _core.gram_by_slices(*place, None, exponent, 0, 3, 1, sums.limbs, sums.low, 0)
            finally:
                _core.use_clone(chosen)
            totals.append((lost.tobytes(), sums.carry().limbs.tobytes()))
            kept = x[rows][~lost]
    assert len(set(totals)) == 1
    assert np.allclose(sums.to_float()[0], (kept.T @ kept)[np.triu_indices(width)], rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("sort", ["whole", "ordinary", "far from zero", "wide"])
def test_means_and_covariances_have_all_their_digits(sort: str) -> None:
    x = columns(sort)
    found = Scatter.empty(NAMES, 2).update(block(x))
    origin, shift = np.array([x[:, j].mean() for j in range(3)]), np.zeros(3, dtype=np.int64)
    means, covariances = found.moments().means(origin, shift), list(found.covariances(shift))
    for g in range(2):
        sums = exact(x[g::2], np.ones(len(x) // 2))
        n = sums[0][0]
        for i in range(3):
            away = sums[0][1 + i] / n - Fraction(origin[i])
            assert abs(Fraction(means[g, i]) - away) <= abs(away) * Fraction(1, 10**15)
            for j in range(3):
                wanted = sums[1 + i][1 + j] / n - sums[0][1 + i] * sums[0][1 + j] / n**2
                size = (float(covariances[g][i, i]) * float(covariances[g][j, j])) ** 0.5
                assert abs(float(Fraction(covariances[g][i, j]) - wanted)) <= 1e-15 * size


def test_what_is_available_of_two_columns_has_its_own_sums() -> None:
    x = columns("with missing values")
    covariance, _ = Scatter.empty(NAMES, 2, available=True).update(block(x)).covariances(np.zeros(3, dtype=np.int64))
    mine = x[::2]
    for i in range(3):
        for j in range(3):
            both = mine[~np.isnan(mine[:, i]) & ~np.isnan(mine[:, j])]
            assert covariance[i, j] == pytest.approx(np.cov(both[:, i], both[:, j], ddof=0)[0, 1], rel=1e-12)
