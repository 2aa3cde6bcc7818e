"""Bandwidth: how wide a kernel must be, from the weights of the cells of a column."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bayeskit import _core
from bayeskit.arrays import Float, Int
from bayeskit.deferred import deferred
from bayeskit.statistics.bins import WIDEST, BinnedColumn

dct = deferred("scipy.fft", "dct")

FACTORS = {"silverman": 0.9, "scott": 1.059}
GRID = 4096  # most cells of the transform of "isj"
STAGES = 7  # as in the paper


def bandwidths(column: BinnedColumn, rule: str, shift: int) -> tuple[Float, float]:
    """By group and for the column as a whole, in units of 2^-shift, by "silverman", "scott" or "isj".

    h = 0.9 A n^(-1/5) or 1.059 A n^(-1/5), A the smaller of deviation and quartile distance / 1.349, the
    deviation where the quartiles meet. A constant group takes A^2 = max(P / (n + 1), 1e-9 T), P the pooled
    within-group variance and T the variance of the column. Never below half the step in which values were recorded.
    """
    masses, centres = np.vstack([column.weights, column.pooled]), np.ldexp(column.centres, shift)
    least = max(float(np.ldexp(column.step, shift)) / 2, 2.0**-1000)
    *groups, of_all = _core.bandwidths(centres, masses, FACTORS.get(rule, FACTORS["silverman"]), least)
    by_group = np.array(groups)
    if rule == "isj":
        by_group = np.array([isj(column, w, shift) or h for w, h in zip(column.weights, by_group, strict=True)])
        of_all = isj(column, column.pooled, shift) or of_all
    return np.maximum(by_group, least), max(of_all, least)


class Remaining(NamedTuple):
    """What is left of a cell of a group, and of that cell of all groups, without a row: (n,) each."""

    group: Int
    cell: Int
    rest: Float
    every: Float


def bandwidths_without(column: BinnedColumn, rule: str, shift: int, left: Remaining) -> Float:
    """The same without rows, one at a time.

    By "silverman" or "scott", of a column whose cells are its values: (n, groups + 1), the column as a whole last.
    """
    group, cell, rest, every = left
    masses, centres = np.vstack([column.weights, column.pooled]), np.ldexp(column.centres, shift)
    steps = np.where(every > 0, column.step, _steps_without(column.edges)[cell])
    with np.errstate(over="ignore"):
        least = np.clip(np.ldexp(steps, shift) / 2, 2.0**-1000, 2.0**1000)
    out = np.empty((len(group), len(masses)))
    for i, (k, c) in enumerate(zip(group.tolist(), cell.tolist(), strict=True)):
        before = masses[k, c], masses[-1, c]
        masses[k, c], masses[-1, c] = rest[i], every[i]
        out[i] = _core.bandwidths(centres, masses, FACTORS[rule], float(least[i]))
        masses[k, c], masses[-1, c] = before
    return np.fmax(out, least[:, None])  # a mass below the range of doubles has no spread: the least there is


def _steps_without(edges: Float) -> Float:
    """The smallest gap between values without each of them: (m,)."""
    with np.errstate(over="ignore"):
        gaps = np.concatenate([[np.inf], np.diff(edges), [np.inf]])  # before each value, and after the last
        over = np.concatenate([[np.inf], edges[2:] - edges[:-2], [np.inf]])[: len(edges)]
    before = np.concatenate([[np.inf], np.minimum.accumulate(gaps)[:-2]])
    after = np.concatenate([np.minimum.accumulate(gaps[::-1])[::-1][2:], [np.inf]])
    least: Float = np.minimum(np.minimum(np.minimum(before, after), over), WIDEST)
    return least


def isj(column: BinnedColumn, weights: Float, shift: int = 0) -> float | None:
    """The improved Sheather-Jones bandwidth; None where its equation has no root.

    t = (2 n sqrt(pi) |f''|^2)^(-2/5), with the norm of f'' estimated through a chain of higher derivatives, each at the
    bandwidth that suits it, from the cosine transform of the data (Botev, Grotowski and Kroese, Kernel density
    estimation via diffusion, Annals of Statistics 38, 2010). The grid of the transform is no finer than the values were
    recorded, or their comb would count as structure.
    """
    used = np.flatnonzero(weights > 0)
    if len(used) < 3:
        return None
    x, mass = np.ldexp(column.centres[used], shift), weights[used] / weights[used].sum()
    low, high = x[0] - (x[-1] - x[0]) / 2, x[-1] + (x[-1] - x[0]) / 2
    fine = (high - low) / max(float(np.ldexp(column.step, shift)), (high - low) / GRID)
    size = 2 ** int(np.log2(max(fine, 64)))
    place = (x - low) / (high - low) * (size - 1)
    left = np.minimum(place.astype(np.int64), size - 2)
    grid = np.bincount(left, mass * (left + 1 - place), size) + np.bincount(left + 1, mass * (place - left), size)
    squares = (dct(grid)[1:] / 2) ** 2
    waves = np.arange(1, size, dtype=np.float64) ** 2
    n = float(max(weights.sum(), 1.0))

    def norm(s: int, t: float) -> float:
        """|f^(s)|^2 of the data smoothed to time t."""
        return float(2 * np.pi ** (2 * s) * (waves**s * squares * np.exp(-waves * np.pi**2 * t)).sum())

    def excess(t: float) -> float:
        f = norm(STAGES, t)
        for s in range(STAGES - 1, 1, -1):
            odd = float(np.prod(np.arange(1, 2 * s, 2))) / np.sqrt(2 * np.pi)
            f = norm(s, (2 * (1 + 0.5 ** (s + 0.5)) / 3 * odd / (n * f)) ** (2 / (3 + 2 * s)))
        return float(t - (2 * n * np.sqrt(np.pi) * f) ** -0.4)

    with np.errstate(all="ignore"):
        times = np.geomspace(1e-12, 0.1, 60)
        signs = np.array([excess(t) for t in times])
        cross = np.flatnonzero((signs[:-1] < 0) & (signs[1:] >= 0))
        if not len(cross):
            return None
        from scipy.optimize import brentq  # a fifth of a second that no other model needs

        found = brentq(excess, times[cross[0]], times[cross[0] + 1])
    return float(np.sqrt(found) * (high - low))
