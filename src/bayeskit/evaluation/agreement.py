"""Agreement: what follows from many confusion tables at a time, and how far it may be off."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from bayeskit.arrays import Float
from bayeskit.numerics.rates import LEVEL, Interval

DRAWS = 2000
CELLS = 1 << 22  # of the tables drawn at a time


def against_rest(table: Float, k: int) -> Float:
    """Class k and the others, by whether it was predicted: (K, actions) to (2, 2), the class first."""
    mine, rest = table[k], np.delete(table, k, axis=0).sum(axis=0)
    return np.array([[side[k], np.delete(side, k).sum()] for side in (mine, rest)])


def f1(tables: Float) -> Float:
    """Harmonic mean of sensitivity and precision of the first of two classes, NaN without a row of it."""
    right, both = tables[..., 0, 0], tables[..., 0, :].sum(axis=-1) + tables[..., :, 0].sum(axis=-1)
    out: Float = np.divide(2 * right, both, out=np.full(np.shape(right), np.nan), where=both > 0)
    return out


def agreement(tables: Float) -> Float:
    """The weight on the diagonal: (..., K, actions) to (...)."""
    right: Float = np.trace(tables, axis1=-2, axis2=-1)
    return right


def dirichlet_interval(measure: Callable[[Float], Float], value: float, table: Float) -> Interval:
    """Percentiles of a measure over tables that could have given this one, (K, actions) in rows of equal weight.

    Rows of the table are drawn from Dirichlet(count + 2/cells of the table), class shares from Dirichlet(count + 1/K):
    with two classes Jeffreys' prior, with more of them still two rows in all, where Jeffreys' K²/2 would drown them.
    """
    values = np.concatenate([measure(batch) for batch in _draw_tables(table)])
    known = values[np.isfinite(values)]
    if value != value or 2 * len(known) < len(values):
        return Interval(np.nan, np.nan, "too few rows")
    low, high = np.quantile(known, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]).tolist()
    return Interval(min(low, value), max(high, value), "Dirichlet percentiles")


def _draw_tables(table: Float) -> Iterator[Float]:
    """Tables of shares of all rows, (some, K, actions) at a time, the same at each call; 0 without rows of a class."""
    rng, there = np.random.default_rng(0), table.sum(axis=1) > 0
    draws = int(np.clip(32 * CELLS // max(table.size, 1), 200, DRAWS))
    at_once = max(1, CELLS // max(table.size, 1))
    for start in range(0, draws, at_once):
        batch = min(at_once, draws - start)
        shares, rows = (
            rng.standard_gamma(counts + few, (batch, *counts.shape))
            for counts, few in ((table[there].sum(axis=1), 1 / there.sum()), (table[there], 2 / table[there].size))
        )
        rows /= rows.sum(axis=2, keepdims=True)
        out = np.zeros((batch, *table.shape))
        out[:, there] = rows * (shares / shares.sum(axis=1, keepdims=True))[:, :, None]
        yield out
