"""Intervals: how far a score, or a measure of the confusion table, may be off, and by which reasoning."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from scipy.special import stdtrit

from bayeskit.arrays import Float
from bayeskit.numerics.rates import LEVEL, Interval, wilson

STEEPNESS, LARGEST = 0.8, 1.4  # of the design effect
MANY = 1e6  # a quantile beyond which Wilson's interval is all of 0 to 1


def design_effect(new: float, own: float) -> float:
    """By how much the variance of a cross-validated score exceeds that of as many rows of their own.

    1 + 0.8 G, at most 1.4, where G = (own - new) / (1 - new) is the share of the errors on new rows that the model of
    all rows does not make on these. In simulations the variance is 1.0 to 1.2 times that of independent rows for naive
    Bayes (G up to 0.27), 1.0 to 1.5 for three neighbours (0.24 to 0.46), one neighbour and full trees (1).

    >>> round(design_effect(0.8, 0.82), 2), design_effect(0.8, 1.0)
    (1.08, 1.4)
    """
    if not own > new:
        return 1.0
    return float(min(1 + STEEPNESS * (own - new) / (1 - new), LARGEST))


def by_rows(value: float, variance: float, third: float, rows: float) -> Interval:
    """Of a mean over n rows whose values have central moments s² and m₃: Student's t after Hall's cubic transformation.

    x̄ - T(±t) s/√(n - 1), T(q) = 3 ((1 + a (q - a/6))^⅓ - 1) / a, a = m₃ / (s³ √n). Losses are skew: most rows cost
    little, a few a lot, and plain t misses the truth above far more often than below (Hall, JRSS B 54, 1992).

    >>> interval = by_rows(2.0, 2 / 3, 0.0, 3)
    >>> round(interval.low, 4), round(interval.high, 4)
    (-0.4841, 4.4841)
    """
    if not rows > 1 or value != value:
        return no_interval("too few rows")
    if not variance > 0:
        return Interval(value, value, "rows, t")
    t, skewness = float(stdtrit(rows - 1, (1 + LEVEL) / 2)), third / variance**1.5 / np.sqrt(rows)

    def quantile(q: float) -> float:
        if abs(skewness) < 1e-6:
            return q
        return float(3 * (np.cbrt(1 + skewness * (q - skewness / 6)) - 1) / skewness)

    error = float(np.sqrt(variance / (rows - 1)))
    return Interval(value - quantile(t) * error, value - quantile(-t) * error, "rows, t after Hall")


def mean_of_shares(shares: Float, rows: Float) -> Interval:
    """The mean of proportions of different rows, from Wilson's interval (l, u) of each.

    x̄ - √Σ(x - l)² / K to x̄ + √Σ(u - x)² / K (MOVER: Zou, Huang and Zhang, Statistics in Medicine 28, 2009). Wilson's
    score is held against Student's t with n_c - 1 degrees of freedom: with the normal quantile the mean of classes
    of 8 to 30 rows held the truth in 91 to 92 % of simulated tables (benchmarks/HISTORY.md). One row says nothing.

    >>> interval = mean_of_shares(np.array([0.5, 0.5]), np.array([10.0, 10.0]))
    >>> round(interval.low, 4), round(interval.high, 4)
    (0.2943, 0.7057)
    """
    t = [float(stdtrit(n - 1, (1 + LEVEL) / 2)) if n > 1 else np.inf for n in rows.tolist()]
    ends = [
        wilson(share, n, q) if q < MANY else Interval(0.0, 1.0, "")
        for share, n, q in zip(shares.tolist(), rows.tolist(), t, strict=True)
    ]
    low, high = np.array([e.low for e in ends]), np.array([e.high for e in ends])
    return mean_of_ends(shares, low, high, np.eye(len(shares)), "Wilson by class with t, MOVER")


def mean_of_ends(values: Float, low: Float, high: Float, correlation: Float, how: str) -> Interval:
    """The mean of measures with intervals of their own, (K,) each, and correlation (K, K), by the same method."""
    below, above, mean = values - low, high - values, float(np.mean(values))
    down, up = (float(np.sqrt(max(float(s @ correlation @ s), 0.0))) / len(values) for s in (below, above))
    return Interval(mean - down, mean + up, how)


def by_folds(value: float, scores: Float, ratio: float, how: str = "folds, corrected t") -> Interval:
    """Student's 95 % interval from the scores of folds, whose training rows overlap.

    The variance of the mean is s² (1/J + test/train) for J folds (Nadeau and Bengio, Machine Learning 52, 2003).
    """
    found = scores[np.isfinite(scores)]
    if len(found) < 2:
        return Interval(np.nan, np.nan, "too few folds")
    half = float(stdtrit(len(found) - 1, (1 + LEVEL) / 2)) * corrected_error(found, ratio)
    return Interval(value - half, value + half, how)


def corrected_error(scores: Float, ratio: float) -> float:
    """Standard error of the mean of J scores of overlapping training sets; ``ratio`` is test to training rows."""
    return float(np.sqrt(np.var(scores, ddof=1) * (1 / len(scores) + ratio)))


def no_interval(why: str) -> Interval:
    """None is better than a false one."""
    return Interval(float("nan"), float("nan"), why)


def known_mean(values: Float) -> float:
    """The mean of those that are numbers; NaN if none is."""
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else float("nan")


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
