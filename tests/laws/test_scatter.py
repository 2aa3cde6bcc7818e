"""Scatter against exact fractions: the sums to the bit, means and covariances to the last digits."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from bayeskit.data.block import Block
from bayeskit.data.domain import Domain
from bayeskit.data.encode import Roles, encode
from bayeskit.data.kinds import infer
from bayeskit.data.levels import Levels
from bayeskit.statistics.scatter import Scatter

NAMES = ("p", "q", "r")


def columns(sort: str, rows: int = 700) -> np.ndarray:
    """Numbers that need one slice, three, six, or none that would hold them."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(rows, 3)) @ [[1.0, 0.3, 0.0], [0.0, 1.0, 0.5], [0.0, 0.0, 1.0]]
    made = {
        "whole": np.round(x * 9),
        "ordinary": x,
        "far from zero": x + np.array([1e8, -3e7, 0]),
        "wide": np.exp(12 * x),
        "extreme": x * rng.choice([1e-300, 1.0, 1e300], (rows, 1)),
        "with holes": np.where(rng.random(x.shape) < 0.2, np.nan, x),
    }
    return made[sort]


SORTS = ("whole", "ordinary", "far from zero", "wide", "extreme", "with holes")
every_sort = pytest.mark.parametrize("sort", SORTS)


def block(x: np.ndarray, weights: np.ndarray | None = None) -> Block:
    table = {**dict(zip(NAMES, map(pa.array, x.T), strict=True)), "class": pa.array(["a", "b"] * (len(x) // 2))}
    if weights is not None:
        table["w"] = pa.array(weights)
    batch = pa.RecordBatch.from_pydict(table)
    schema = infer(batch.schema.empty_table().select(NAMES).schema)
    return encode(batch, schema, Domain(Levels.of(["a", "b"])), Roles("class", None if weights is None else "w"))[0]


def exact(x: np.ndarray, weights: np.ndarray) -> list[list[Fraction]]:
    """The sum of w a_i a_j of some rows, a = (1, x)."""
    rows = [[Fraction(1), *(Fraction(0) if np.isnan(v) else Fraction(v) for v in row)] for row in x.tolist()]
    mass = [Fraction(w) for w in weights.tolist()]
    return [[sum(w * r[i] * r[j] for w, r in zip(mass, rows, strict=True)) for j in range(4)] for i in range(4)]


@every_sort
@pytest.mark.parametrize("weighted", [False, True])
def test_every_sum_of_products_is_exact(sort: str, weighted: bool) -> None:
    x = columns(sort)
    weights = np.random.default_rng(1).random(len(x)) if weighted else None
    found = Scatter.empty(NAMES, 2).update(block(x, weights))
    mass = np.ones(len(x)) if weights is None else weights
    row, column = np.triu_indices(4)
    for g in range(2):
        wanted = exact(x[g::2], mass[g::2])
        for cell, (i, j) in enumerate(zip(row.tolist(), column.tolist(), strict=True)):
            assert found.sums.fraction(g, cell) == wanted[i][j]


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
    x = columns("with holes")
    covariance, _ = Scatter.empty(NAMES, 2, available=True).update(block(x)).covariances(np.zeros(3, dtype=np.int64))
    mine = x[::2]
    for i in range(3):
        for j in range(3):
            both = mine[~np.isnan(mine[:, i]) & ~np.isnan(mine[:, j])]
            assert covariance[i, j] == pytest.approx(np.cov(both[:, i], both[:, j], ddof=0)[0, 1], rel=1e-12)
