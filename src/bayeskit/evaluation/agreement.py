"""Agreement: Matthews' correlation, Cohen's kappa and F1 of many confusion tables at once, and how far they may be off."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from bayeskit.arrays import Float
from bayeskit.proportion import LEVEL, Interval

DRAWS = 2000
CELLS = 1 << 22  # of the tables drawn at a time


def correlation(tables: Float) -> Float:
    """Matthews' correlation of truth and prediction, 0 where either is constant: (..., K, K) to (...)."""
    weight, true, predicted = tables.sum(axis=(-2, -1)), tables.sum(axis=-1), tables.sum(axis=-2)
    top = np.trace(tables, axis1=-2, axis2=-1) * weight - (true * predicted).sum(axis=-1)
    sides = [np.sqrt(np.maximum(weight**2 - (side**2).sum(axis=-1), 0.0)) for side in (predicted, true)]
    below = sides[0] * sides[1]
    out: Float = np.divide(top, below, out=np.zeros(np.shape(top)), where=below > 0)
    return out


def kappa(tables: Float) -> Float:
    """Cohen's kappa, 1 - observed / expected disagreement, NaN where none is expected: (..., K, K) to (...)."""
    weight, true, predicted = tables.sum(axis=(-2, -1)), tables.sum(axis=-1), tables.sum(axis=-2)
    wrong = (weight - np.trace(tables, axis1=-2, axis2=-1)) * weight
    by_chance = weight**2 - (true * predicted).sum(axis=-1)
    out: Float = 1 - np.divide(wrong, by_chance, out=np.full(np.shape(wrong), np.nan), where=by_chance > 0)
    return out


def f1(tables: Float, k: int) -> Float:
    """Harmonic mean of sensitivity and precision of class k, NaN without a row of it: (..., K, K) to (...)."""
    right, both = tables[..., k, k], tables[..., k, :].sum(axis=-1) + tables[..., :, k].sum(axis=-1)
    out: Float = np.divide(2 * right, both, out=np.full(np.shape(right), np.nan), where=both > 0)
    return out


def of_tables(measure: Callable[[Float], Float], value: float, table: Float) -> Interval:
    """Percentiles of a measure over tables that could have given this one, (K, K) in effective rows.

    Rows of the table and class shares are drawn from Dirichlet(count + 1/K): Jeffreys' prior of two classes, and one row
    in all for any number of them, where Jeffreys' K/2 would drown small classes.
    """
    values = np.concatenate([measure(some) for some in _drawn(table)])
    known = values[np.isfinite(values)]
    if value != value or 2 * len(known) < len(values):
        return Interval(np.nan, np.nan, "too few rows")
    low, high = np.quantile(known, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]).tolist()
    return Interval(min(low, value), max(high, value), "Dirichlet percentiles")


def _drawn(table: Float) -> Iterator[Float]:
    """Tables of shares of all rows: (some, K, K) at a time, the same whenever asked."""
    rng, classes = np.random.default_rng(0), len(table)
    draws = int(np.clip(32 * CELLS // table.size, 200, DRAWS))
    at_once = max(1, CELLS // table.size)
    for start in range(0, draws, at_once):
        some = min(at_once, draws - start)
        shares, rows = (
            rng.standard_gamma(counts + 1 / classes, (some, *counts.shape)) for counts in (table.sum(axis=1), table)
        )
        rows /= rows.sum(axis=2, keepdims=True)
        yield rows * (shares / shares.sum(axis=1, keepdims=True))[:, :, None]
