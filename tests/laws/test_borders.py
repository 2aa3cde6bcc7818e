"""Cuts: those of Fayyad and Irani as published and by brute force, and cuts of equal weight and width."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris

from bayeskit.data.encode import Roles, encode
from bayeskit.data.kinds import infer
from bayeskit.data.levels import Domain
from bayeskit.numerics.cut_points import CutPoints, few, short
from bayeskit.statistics.bins import Bins

from .references.histogram import mdlp


def borders(x: Any, y: Any, weights: Any = None, budget: int = 1024) -> CutPoints:
    """Of one column by class."""
    columns = {
        "x": np.asarray(x, dtype=float),
        "y": np.asarray(y),
        "w": np.ones(len(x)) if weights is None else weights,
    }
    batch = pa.RecordBatch.from_pydict({name: pa.array(values) for name, values in columns.items()})
    schema = infer(pa.schema({"x": pa.float64()}))
    block, domain, _ = encode(batch, schema, Domain(), Roles("y", "w"))
    return CutPoints(Bins.empty(["x"], len(domain.classes), budget).update(block).column(0))


def test_mdlp_of_iris_as_published() -> None:
    """As Weka's Discretize and R's discretization::mdlp cut the iris."""
    X, y = load_iris(return_X_y=True)
    known = [[5.55, 6.15], [2.95, 3.35], [2.45, 4.75], [0.8, 1.75]]
    for j, cuts in enumerate(known):
        assert borders(X[:, j], y).mdlp() == pytest.approx(cuts)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), rows=st.integers(0, 60), classes=st.integers(1, 4), weighted=st.booleans())
def test_mdlp_is_the_recursion_of_fayyad_and_irani(seed: int, rows: int, classes: int, weighted: bool) -> None:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, rows)
    x = np.round(rng.normal(2 * y, 0.7), rng.integers(0, 3))
    w = rng.integers(1, 5, rows).astype(float) if weighted else np.ones(rows)
    groups = [[(Fraction(a), Fraction(b)) for a, b in zip(x[y == c], w[y == c], strict=True)] for c in range(classes)]
    assert borders(x, y, w).mdlp() == pytest.approx([float(cut) for cut in mdlp(groups)])


def test_a_coarse_grid_is_cut_at_ends_of_its_cells() -> None:
    """Then the weights on both sides of a cut are those of the rows."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 5000)
    x = rng.normal(y, 1)
    made = borders(x, y, budget=64)
    exact = borders(x, y, budget=1 << 14)
    for cuts in (made.mdlp(), made.equal_frequency(7), made.equal_width(9)):
        assert len(cuts) > 2
        below = [made.column.pooled[made.column.edges <= c].sum() for c in cuts]
        assert below == [(x <= c).sum() for c in cuts]
    cell = 2.0**made.column.exponent
    assert made.mdlp()[:1] == pytest.approx(exact.mdlp()[:1], abs=4 * cell)


def test_equal_frequency_is_numpys_quantiles() -> None:
    x = np.random.default_rng(1).lognormal(size=1000)
    cuts = borders(x, np.zeros(1000, int)).equal_frequency(8)
    assert np.histogram(x, [-np.inf, *cuts, np.inf])[0].tolist() == [125] * 8
    assert cuts == pytest.approx(np.quantile(x, np.arange(1, 8) / 8, method="averaged_inverted_cdf"))


def test_equal_frequency_keeps_equal_values_together() -> None:
    assert borders([1, 1, 1, 1, 1, 2, 3], [0] * 7).equal_frequency(3).tolist() == [1.5]
    assert borders([4, 4, 4], [0] * 3).equal_frequency(3).tolist() == []


def test_equal_width_is_numpys_linspace() -> None:
    x = np.random.default_rng(1).normal(size=500)
    assert borders(x, np.zeros(500, int)).equal_width(6) == pytest.approx(np.linspace(x.min(), x.max(), 7)[1:-1])


@pytest.mark.parametrize("x", [[], [3.0], [np.nan, np.nan], [2.0, 2.0]])
def test_nothing_to_cut(x: list[float]) -> None:
    made = borders(x, np.arange(len(x)))
    assert [len(cuts) for cuts in (made.mdlp(), made.equal_frequency(4), made.equal_width(4))] == [0, 0, 0]


def test_neighbouring_doubles_are_told_apart() -> None:
    a, b = 1.0, np.nextafter(1.0, 2.0)
    for low, high in ((a, b), (-b, -a), (0.0, 5e-324), (-1.7e308, 1.7e308)):
        (cut,) = borders([low, high] * 20, [0, 1] * 20).mdlp()
        assert low <= cut < high
    assert np.isfinite(borders([-1.7e308, 1.7e308], [0, 1]).equal_width(4)).all()


def test_a_few_cells() -> None:
    assert [few(n) for n in (0, 1, 64, 125, 1e6)] == [3, 3, 4, 5, 12]


doubles = st.floats(-1e15, 1e15, allow_subnormal=False).map(lambda x: x + 0.0)


@given(doubles, doubles)
@settings(max_examples=300, deadline=None)
def test_a_short_number_lies_between_and_has_few_digits(one: float, two: float) -> None:
    """The nearest double to a decimal of as few digits as the distance needs, by decimal arithmetic."""
    low, high = min(one, two), max(one, two)
    (found,) = short(np.array([low]), np.array([high])).tolist()
    if np.nextafter(low, np.inf) >= high:
        assert np.isnan(found)
        return
    assert low < found < high
    gap, middle = Decimal(high) - Decimal(low), (Decimal(low) + Decimal(high)) / 2
    unit = Decimal(10) ** (gap / 2).adjusted()
    if unit < max(Decimal("1e-20"), abs(middle) * Decimal("1e-13")):
        return  # no more than the doubles themselves can tell
    assert abs(Decimal(found) - middle) <= gap * Decimal("0.26")
    assert found == float((Decimal(found) / unit).to_integral_value() * unit)


def test_held_cuts_are_no_values() -> None:
    """Between two values with no double between them there is none."""
    beside = float(np.nextafter(1.0, 2.0))
    cuts = replace(borders([0.0, 1.0, beside, 4.0], [0, 0, 1, 1]), held=True)
    assert cuts.between.tolist()[0] == 0.5
    assert np.isnan(cuts.between[1])
    assert cuts.between.tolist()[2] == 2.0
    grid = replace(borders(np.arange(40.0), np.arange(40) % 2, budget=8), held=True)
    assert (np.diff(grid.between) > 0).all()
    assert (grid.between > grid.last[:-1]).all()
    assert (grid.between < grid.last[1:]).all()
    assert not set(grid.between) & set(np.arange(40.0))
