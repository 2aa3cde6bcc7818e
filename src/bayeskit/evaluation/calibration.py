"""Calibration errors without the part that chance adds, from tables of reliability."""

from __future__ import annotations

import numpy as np
from scipy.special import chdtri, chndtrinc, ndtr

from bayeskit.arrays import Float
from bayeskit.evaluation.intervals import no_interval
from bayeskit.proportion import LEVEL, Interval


def debiased_gap(table: Float, scale: float = 1.0) -> float:
    """The mean of |share that came true - mean probability| over cells, less what chance adds to it; at least 0.

    A cell's gap g with variance v = ȳ(1 - ȳ)/n is larger than its true size by E|N(g, v)| - |g| on average (Kumar,
    Liang and Ma, NeurIPS 2019). ``table`` has weight, probability and truth by cell, (3, cells); weight times ``scale``
    is the number of rows.

    >>> round(debiased_gap(np.array([[100.0], [70.0], [72.0]])), 5)
    0.00068
    """
    weight, gap, came = _cells(table)
    if not len(weight):
        return float("nan")
    deviation = np.sqrt(came * (1 - came) / (weight * scale))
    ratio = np.divide(gap, deviation, out=np.full(len(gap), np.inf), where=deviation > 0)
    folded = deviation * np.sqrt(2 / np.pi) * np.exp(-(ratio**2) / 2) + gap * (1 - 2 * ndtr(-ratio))
    return max(0.0, float(weight @ (2 * gap - folded)) / float(weight.sum()))


def debiased_square(table: Float, scale: float = 1.0) -> float:
    """The mean of the squared gap over cells, less what chance adds: Σ n/N (g² - ȳ(1 - ȳ)/(n - 1)).

    It may be negative; its root, 0 then, is the calibration error. Cells of one row say nothing of chance and are left
    out.

    >>> round(debiased_square(np.array([[100.0], [70.0], [80.0]])), 6)
    0.008384
    """
    share, gap, variance = _known(table, scale)
    return float(share @ (gap**2 - variance)) if len(share) else float("nan")


def square_interval(table: Float, scale: float = 1.0) -> Interval:
    """Of the root of the mean squared gap θ: Σ n/N g² is about c χ²_ν(θ/c), with c and ν by Satterthwaite.

    cν = Σ n/N v and c²ν = Σ (n/N v)²; the ends are the θ for which what was seen is the 97.5 % and 2.5 % point.
    """
    share, gap, variance = _known(table, scale)
    if not len(share) or not (variance > 0).any():
        return no_interval("too few rows")
    part = share * variance
    c = float(part @ part) / float(part.sum())
    freedom, seen = float(part.sum()) / c, float(share @ gap**2) / c
    tails = (1 + LEVEL) / 2, (1 - LEVEL) / 2
    ends = [0.0 if seen <= chdtri(freedom, 1 - p) else c * float(chndtrinc(seen, freedom, p)) for p in tails]
    return Interval(float(np.sqrt(ends[0])), float(np.sqrt(ends[1])), "noncentral chi-squared")


def _known(table: Float, scale: float) -> tuple[Float, Float, Float]:
    """Share of the rows, gap and variance by chance of the cells that have more than one row: (cells,) each."""
    weight, gap, came = _cells(table)
    rows = weight * scale
    some = rows > 1
    rows, gap, came = rows[some], gap[some], came[some]
    return rows / rows.sum() if len(rows) else rows, gap, came * (1 - came) / (rows - 1)


def _cells(table: Float) -> tuple[Float, Float, Float]:
    """Weight, |gap| and share that came true of the cells with rows: (cells,) each."""
    weight, said, came = table[:, table[0] > 0]
    return weight, np.abs(came - said) / weight, np.clip(came / weight, 0.0, 1.0)
