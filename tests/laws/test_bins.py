"""Bins: the grid of exact arithmetic, whatever the order, and what coarsening costs."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given

from bayeskit.errors import ForgetError
from bayeskit.statistics.bins import FINEST, Bins

from .tables import DOMAIN, batches, random_batch, seeds
from .test_statistics import blank, count, law, of_one_class, state

Batch = pa.RecordBatch
SMALL = Bins.empty(["x", "y", "hits"], 0, budget=6)
LARGEST = Fraction(1.7976931348623157e308)
BUDGETS = (2, 3, 10, 100)


def values(batch: Batch, name: str) -> list[tuple[str, float, Fraction]]:
    """Class, value and exact weight of the rows that count."""
    mass = batch.column("w").to_pylist() if "w" in batch.schema.names else [1.0] * batch.num_rows
    rows = zip(batch.column("class").to_pylist(), batch.column(name).to_pylist(), mass, strict=True)
    return [(c, float(x), Fraction(w)) for c, x, w in rows if c is not None and x is not None and x == x and w > 0]


def edge(x: float, e: int) -> Fraction:
    """The next multiple of 2^e, in rational arithmetic."""
    return min(math.ceil(Fraction(x) / Fraction(2) ** e) * Fraction(2) ** e, LARGEST)


def expected(batch: Batch, name: str, budget: int) -> tuple[int, Counter[tuple[str, Fraction]]]:
    """The smallest exponent that keeps the budget, and the weights of the cells."""
    there = values(batch, name)
    low, high = FINEST - 1, 1024
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if len({edge(x, middle) for _, x, _ in there}) <= budget else (middle, high)
    cells: Counter[tuple[str, Fraction]] = Counter()
    for c, x, w in there:
        cells[c, edge(x, high)] += w  # type: ignore[assignment]
    return high, cells


def found(bins: Bins, name: str) -> tuple[int, Counter[tuple[str, Fraction]]]:
    column = bins.column(bins.columns.index(name))
    cells = Counter(
        {
            (c, Fraction(x)): column.cells.fraction(g, i)
            for g, c in enumerate(DOMAIN.classes.values)
            for i, x in enumerate(column.edges.tolist())
            if column.cells.fraction(g, i)
        }
    )
    return column.exponent, cells


@given(a=batches)
@law
@pytest.mark.parametrize("budget", BUDGETS)
def test_cells_are_those_of_rational_arithmetic(a: Batch, budget: int) -> None:
    bins = count(Bins.empty(["x", "y", "hits"], 0, budget), a)
    for name in bins.columns:
        assert found(bins, name) == expected(a, name, budget)


SHAPES = {
    "normal": lambda z: z,
    "skewed": lambda z: np.exp(2 * z),
    "far from 0": lambda z: 1e6 + z * 1e-3,
    "farther": lambda z: -1e9 + z * 1e-6,
    "some far away": lambda z: np.where(np.abs(z) > 2, z * 1e12, z),
    "tiny": lambda z: z * 1e-310,
    "vast": lambda z: z * 1e307,
    "heaped": lambda z: np.where(np.abs(z) < 0.5, 0.25, np.round(z, 2)),
}


@pytest.mark.parametrize("budget", [2, 5, 32])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=list(SHAPES))
def test_cells_foreseen_from_some_rows_are_those_of_all(shape: Any, budget: int) -> None:
    """Rows beyond twice the budget: where the first cells lie is guessed from some of them."""
    rng = np.random.default_rng(budget)
    x = shape(rng.normal(size=30 * budget + 17))
    x[:3] = x[3:].max() * 1.5, x[3:].min() * 1.5, np.nan
    batch = random_batch(budget, len(x), None)
    batch = batch.set_column(batch.schema.get_field_index("x"), "x", pa.array(x, from_pandas=False))
    bins = count(Bins.empty(["x"], 0, budget), batch)
    assert found(bins, "x") == expected(batch, "x", budget)


@pytest.mark.parametrize("sort", [None, "any"])
def test_cells_of_a_long_table(sort: str | None) -> None:
    a = random_batch(8, 3000, sort)
    assert found(count(Bins.empty(["x"], 0, 200), *(a.slice(i, 700) for i in range(0, 3000, 700))), "x") == expected(
        a, "x", 200
    )


@given(a=batches, b=batches, c=batches, seed=seeds)
@law
def test_merging_is_counting_in_any_order(a: Batch, b: Batch, c: Batch, seed: int) -> None:
    x, y, z = (count(SMALL, t) for t in (a, b, c))
    one = state(count(SMALL, a, b, c))
    assert state(x.merge(y).merge(z)) == state(z.merge(y.merge(x))) == state(x.merge(z).merge(y)) == one
    order = np.random.default_rng(seed).permutation(a.num_rows)
    assert state(count(SMALL, a.take(pa.array(order)))) == state(x)


@given(a=batches, b=batches)
@law
def test_forgetting_leaves_the_grid_as_coarse_as_it_was(a: Batch, b: Batch) -> None:
    """A + B - B = A on the grid of A + B."""
    x, y = count(SMALL, a), count(SMALL, b)
    both = x.merge(y)
    assert state(both.subtract(y)) == state(x.coarsen(both.exponent))
    assert state(both.subtract(x).subtract(y)) == state(blank(SMALL).coarsen(both.exponent))


@given(a=batches)
@law
def test_arrays_hold_a_coarse_state(a: Batch) -> None:
    x = count(SMALL, a)
    assert state(blank(SMALL).with_arrays(x.arrays())) == state(x)


def test_what_has_no_cell_cannot_be_forgotten() -> None:
    learned = count(SMALL, of_one_class([1.0, 2.0]))
    with pytest.raises(ForgetError, match=r"'x'.*3\.0"):
        learned.subtract(count(SMALL, of_one_class([3.0])))


TAMPERED = {
    "an edge off the grid": lambda a: {**a, "edges": a["edges"] * 1.0001},
    "edges out of order": lambda a: {**a, "edges": a["edges"][::-1].copy()},
    "an exponent out of range": lambda a: {**a, "exponent": a["exponent"] + 5000},
    "an edge at infinity": lambda a: {**a, "edges": a["edges"] + np.inf},
    "more cells than the budget": lambda a: {**a, "exponent": a["exponent"] * 0 + FINEST},
    "cells of another column": lambda a: {**a, "edges.sizes": a["edges.sizes"][::-1].copy()},
    "a cell without weight": lambda a: {**a, "cells": a["cells"] * 0},
}


@pytest.mark.parametrize("tamper", TAMPERED.values(), ids=list(TAMPERED))
def test_cells_no_table_could_have_are_refused(tamper: Any) -> None:
    rng, a = np.random.default_rng(1), random_batch(3, 200)
    a = a.set_column(0, "x", pa.array(rng.normal(size=200)))
    example = Bins.empty(["x", "hits"], 0, budget=20)
    arrays = count(example, a).arrays()
    if tamper is TAMPERED["more cells than the budget"]:
        wide = count(Bins.empty(["x", "hits"], 0, budget=21), a).arrays()
        arrays = {**wide} if len(wide["edges"]) > len(arrays["edges"]) else pytest.skip("the grids agree")
    with pytest.raises(ValueError, match=r"."):
        blank(example).with_arrays(tamper(arrays))


def test_one_outlier_does_not_swallow_the_rest() -> None:
    x = np.append(np.random.default_rng(0).normal(size=5000), 1e6)
    column = count(Bins.empty(["x"], 0), of_one_class(x.tolist())).column(0)
    assert len(column.edges) > 500
    assert column.step < 0.05


@pytest.mark.parametrize("q", [0.0, 0.1, 0.25, 0.5, 0.77, 1.0])
@pytest.mark.parametrize("rows", [1, 2, 9, 40])
def test_quantiles_of_distinct_values(q: float, rows: int) -> None:
    x = np.random.default_rng(rows).normal(size=rows)
    column = count(Bins.empty(["x"], 0), of_one_class(x.tolist())).column(0)
    ham = DOMAIN.classes.values.index("ham")
    known = np.quantile(x, q, method="averaged_inverted_cdf")
    assert column.quantile(q)[ham] == pytest.approx(known, rel=1e-15)
    assert column.quantile(q, column.pooled)[0] == column.quantile(q)[ham]
    assert np.isnan(np.delete(column.quantile(q), ham)).all()


def test_the_step_is_the_smallest_gap_while_values_are_distinct() -> None:
    x = [0.0, -0.0, 1.5, 1.75, 9.0]
    assert count(Bins.empty(["x"], 0), of_one_class(x)).column(0).step == 0.25
    assert count(Bins.empty(["x"], 0), of_one_class([3.0, 3.0])).column(0).step == 0.0
