"""Mixture: a sum of equal normal densities over weighted centres, and the curves that stand for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from bayeskit import _core
from bayeskit.arrays import Bool, Float, Int
from bayeskit.data.block import Columns
from bayeskit.deferred import deferred
from bayeskit.numerics.special import LOG_2PI
from bayeskit.portable import nodes as portable
from bayeskit.portable.nodes import Kernel
from bayeskit.portable.symbol import Symbol

gammaln = deferred("scipy.special", "gammaln")

SUMMED = 256  # rows whose kernels are summed at a time
EIGHT = 8  # the core sums eight centres at a time
STEPS = 16  # cells of a curve to a bandwidth
MARGIN = 8.0  # bandwidths of a curve beyond its outermost centres
CELLS = 1 << 16  # of the curve of one mixture, at most
NODE_DEPTH, FULL_DEPTH = 28.0, 40.0  # kernels below e^-depth of the sum are left out
MOST_TERMS = 28  # of the series of a mixture near one of its centres
GOOD = 2e-7  # a curve must keep to the sum so closely
ROUND = 2e-8  # bandwidths below this share of a place are too narrow for a curve there


@dataclass(frozen=True)
class Mixture:
    """f(x) = sum over k of w_k / W N(x; centre_k, h).

    >>> two = Mixture.of(np.array([-1.0, 0.0, 1.0]), np.array([1.0, 0.0, 1.0]), 1.0)
    >>> np.exp(two.log_density(np.array([0.0]))).round(6)
    array([0.241971])
    """

    cell: Int  # (real,) which of the cells have weight
    centre: Float  # (m,) theirs, padded to a multiple of eight
    log_weight: Float  # (m,) relative to the heaviest
    bandwidth: float
    heaviest: float
    share: float  # of the heaviest in the whole

    @classmethod
    def of(cls, centres: Float, weights: Float, bandwidth: float) -> Mixture:
        cell = np.flatnonzero(weights > 0)
        padding = -len(cell) % EIGHT
        heaviest = float(weights.max())
        relative = np.log(weights[cell]) - np.log(heaviest)  # their ratio may underflow
        log_weight = np.pad(relative, (0, padding), constant_values=-np.inf)
        centre = np.pad(centres[cell], (0, padding), mode="edge")
        return cls(cell, centre, log_weight, bandwidth, heaviest, float(1 / np.exp(relative).sum()))

    @property
    def real(self) -> int:
        return len(self.cell)

    @property
    def constant(self) -> float:
        """What log f has besides the sum of the core."""
        return float(np.log(self.share) - np.log(self.bandwidth)) - LOG_2PI / 2

    def log_density(self, x: Float) -> Float:
        """The sum itself: (n,)."""
        return self._sum(x, self.log_weight, FULL_DEPTH)[0] + self.constant

    def _sum(self, x: Float, log_weight: Float, depth: float) -> tuple[Float, Float]:
        precision = 1 / self.bandwidth
        value, slope = _core.mixture_log_density(
            self.centre, log_weight, self.real, precision, depth, np.ascontiguousarray(x)
        )
        return value, slope

    def nearest(self, x: Float) -> Float:
        """The centre nearest to each value: (n,)."""
        centre = self.centre[: self.real]
        after = np.minimum(np.searchsorted(centre, x), self.real - 1)
        before = np.maximum(after - 1, 0)
        with np.errstate(invalid="ignore", over="ignore"):
            return np.where(np.abs(x - centre[before]) < np.abs(x - centre[after]), centre[before], centre[after])

    def around(self, places: Float, reach: float) -> Around:
        """What it gives near each of these places (ascending) without what stands there; x within ``reach`` of one."""
        t = reach / self.bandwidth
        terms = np.arange(2, MOST_TERMS + 1, 2)
        enough = np.flatnonzero(terms * np.log(max(t, 1e-300)) - gammaln(terms + 1) / 2 < np.log(1e-15))
        n = 0 if t == 0 else int(terms[enough[0]]) if len(enough) else MOST_TERMS
        scale, moments = _core.kernel_moments(
            *(self.centre, self.log_weight, self.real, 1 / self.bandwidth, FULL_DEPTH, places, n + 1)
        )
        with np.errstate(invalid="ignore", over="ignore"):
            rest = moments[:, n] * np.exp(n * np.log(max(t, 1e-300)) - gammaln(n + 1))
        good = np.isneginf(scale) | (rest <= 1e-14 * moments[:, 0]) if n else np.ones(len(places), dtype=bool)
        return Around(self, places, scale, np.ascontiguousarray(moments[:, : max(n, 1)]), good)


class LeftMass(NamedTuple):
    """The cell of each value, and the mass left in it and in all cells: (n,) each."""

    cell: Int
    rest: Float
    total: Float

    def at(self, which: Int) -> LeftMass:
        return LeftMass(self.cell[which], self.rest[which], self.total[which])


@dataclass(frozen=True)
class Around:
    """A mixture seen from the cells of its column, each without its own mass: what leave-one-out asks for.

    Near a centre the sum over the others is a power series in the distance from it; where that is too short, the sum
    is made anew.
    """

    mixture: Mixture
    places: Float  # (m,) centres of all cells
    scale: Float  # (m,) log of the unit of the moments
    moments: Float  # (m, terms)
    good: Bool  # (m,) whether the series is long enough

    def log_density(self, x: Float, left: LeftMass) -> Float:
        """log f(x) of what is left: (n,)."""
        cell, rest, total = left
        m, out = self.mixture, np.empty(len(x))
        seen, rows = (
            (self.places, self.scale, self.moments),
            (np.ascontiguousarray(x), cell, np.ascontiguousarray(rest)),
        )
        _core.loo_kernel_sums(m.centre, m.log_weight, m.real, 1 / m.bandwidth, *seen, self.good, m.heaviest, *rows, out)
        with np.errstate(divide="ignore"):
            out += np.log(m.heaviest) - np.log(total) - np.log(m.bandwidth) - LOG_2PI / 2
        return out


@dataclass(frozen=True)
class Curves:
    """Piecewise cubics of log f for each class of a column, in stretches where centres lie close together.

    Values and slopes at the ends of each cell are those of the sum. Every second end says how far a cubic twice as
    long goes wrong; where an eighth of that is too much there is no cubic, and the sum is asked.
    """

    mixtures: tuple[Mixture, ...]
    scale: float
    base: float  # taken off the scaled values: centres count from here
    constant: float

    @cached_property
    def _stretches(self) -> list[tuple[Float, Float, list[Float]]]:
        """Lows, highs and cubics of the stretches of each mixture."""
        return [_curve(m) for m in self.mixtures]

    @cached_property
    def _arguments(self) -> tuple[Any, ...]:
        """What the core asks for after the column."""
        mixtures, made = self.mixtures, self._stretches
        cubics = [c for _, _, pieces in made for c in pieces]
        return (
            np.array([self.scale]),
            np.array([self.base]),
            np.concatenate([m.centre for m in mixtures]),
            np.concatenate([m.log_weight for m in mixtures]),
            _ends([len(m.centre) for m in mixtures]),
            np.array([m.real for m in mixtures], dtype=np.int64),
            np.array([1 / m.bandwidth for m in mixtures]),
            np.array([m.constant + self.constant for m in mixtures]),
            np.array([STEPS / m.bandwidth for m in mixtures]),
            _ends([len(low) for low, _, _ in made]),
            np.concatenate([low for low, _, _ in made]),
            np.concatenate([high for _, high, _ in made]),
            _ends([len(c) for c in cubics]),
            np.concatenate([np.empty((0, 4)), *cubics]),
        )

    def portable(self, x: Any) -> Any:
        """log f of each class, of a symbol."""
        kernels = [
            Kernel(
                *(m.centre[: m.real], m.log_weight[: m.real], 1 / m.bandwidth, m.constant + self.constant),
                tuple((a, b, c) for a, b, c in zip(low.tolist(), high.tolist(), cubics, strict=True)),
                STEPS / m.bandwidth,
            )
            for m, (low, high, cubics) in zip(self.mixtures, self._stretches, strict=True)
        ]
        return Symbol("mixture", portable.Mixture(tuple(kernels)), x * self.scale - self.base)

    def add(self, column: Columns, out: Float) -> None:
        """Add log f of each class to out (n, K); a missing value adds nothing."""
        _core.mixture_curves(*(column.address, column.stride, column.rows, *self._arguments, out))


def _ends(sizes: Sequence[int]) -> Int:
    return np.cumsum([0, *sizes], dtype=np.int64)


def _curve(m: Mixture) -> tuple[Float, Float, list[Float]]:
    centre, h = m.centre[: m.real], m.bandwidth
    step = h / STEPS
    cut = np.flatnonzero(np.diff(centre) > 2 * MARGIN * h) + 1
    first, last = centre[[0, *cut]], centre[[*(cut - 1), -1]]
    low, high = first - MARGIN * h, last + MARGIN * h
    with np.errstate(over="ignore"):
        cells = 2 * np.ceil((high - low) / (2 * step))
    weight = np.add.reduceat(np.exp(m.log_weight[: m.real]), [0, *cut])
    cells[h < ROUND * np.maximum(np.abs(low), np.abs(high))] = np.inf
    dear = np.argsort(-weight / cells, kind="stable")  # the heaviest to the cell first
    kept = np.sort(dear[np.cumsum(cells[dear]) <= CELLS])
    low, cells = low[kept], cells[kept].astype(np.int64)
    begin = _ends([n + 1 for n in cells])
    x = np.concatenate([np.empty(0), *(a + step * np.arange(n + 1) for a, n in zip(low, cells, strict=True))])
    value, slope = m._sum(x, m.log_weight, NODE_DEPTH) if len(x) else (x, x)
    cubics = [
        _cubics(value[a:b], slope[a:b] / STEPS) for a, b in zip(begin[:-1].tolist(), begin[1:].tolist(), strict=True)
    ]
    return low, low + step * (cells - 0.25), cubics


def _cubics(value: Float, slope: Float) -> Float:
    """Coefficients of t^0 .. t^3 on each cell, NaN where the cubic is not good enough: (cells, 4)."""
    rise = np.diff(value)
    left, right = slope[:-1], slope[1:]
    out = np.stack([value[:-1], left, 3 * rise - 2 * left - right, left + right - 2 * rise], axis=1)
    middle = (value[:-2:2] + value[2::2]) / 2 + (slope[:-2:2] - slope[2::2]) / 4
    bad = ~(np.abs(middle - value[1::2]) / 8 <= GOOD)
    out[np.repeat(bad, 2)] = np.nan
    return out


def log_sums(y: Float, centre: Float, mass: Float, left: LeftMass, width: Float) -> Float:
    """log f(y) of what is left of kernels as wide as each row says: (n,)."""
    (cell, stays, total), out = left, np.empty(len(y))
    with np.errstate(divide="ignore", over="ignore"):  # kernels too far away add nothing
        known = np.log(mass)
        for start in range(0, len(y), SUMMED):
            rows = slice(start, start + SUMMED)
            logs = (y[rows, None] - centre) * (np.sqrt(0.5) / width[rows, None])
            np.subtract(known, np.square(logs, out=logs), out=logs)
            rest = np.log(stays[rows]) - ((y[rows] - centre[cell[rows]]) / width[rows]) ** 2 / 2
            logs[np.arange(len(logs)), cell[rows]] = rest
            top = logs.max(axis=1)
            top[np.isneginf(top)] = 0.0
            logs -= top[:, None]
            out[rows] = top + np.log(np.exp(logs, out=logs).sum(axis=1))
    return out - np.log(total) - np.log(width) - LOG_2PI / 2
