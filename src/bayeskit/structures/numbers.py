"""Numbers: weight, mean and covariance of numeric columns by class, from exact sums or with missing values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from bayeskit._core import RangeRow, UnitRow
from bayeskit.arrays import Bool, Float, Int
from bayeskit.data.block import Block, Columns
from bayeskit.densities.moment_summary import MomentSummary
from bayeskit.statistics.exact import ExactSum
from bayeskit.statistics.keyed import Keyed, distinct
from bayeskit.statistics.moments import Moments
from bayeskit.statistics.scatter import Scatter

STEPS, CLOSE = 2000, 1e-11
RIDGE = 1e-13  # of a variance: what keeps combinations without any from being divided by


@dataclass(frozen=True)
class Pattern:
    """The rows that hold the same columns: their weight, mean and covariance (ddof 0; zeros where missing)."""

    there: Bool  # (d,)
    weight: float
    mean: Float  # (d,)
    covariance: Float  # (d, d)

    def without(self, z: Float, mass: float) -> Pattern:
        """The same without one of the rows."""
        x = np.where(self.there, z, 0.0)
        weight, mean, covariance = without_row(np.array(self.weight), self.mean, self.covariance, x, np.array(mass))
        return Pattern(self.there, float(weight), mean, covariance)


def without_row(weight: Float, mean: Float, covariance: Float, x: Float, mass: Float) -> tuple[Float, Float, Float]:
    """Weight, mean and covariance (ddof 0), or variances by column, once a row x has left with its mass w.

    W' = W - w, m' = m - w/W' (x - m) and S' = W/W' (S - w/W' (x - m)(x - m)'); as they were where no weight is left.
    """
    left, away = weight - mass, x - mean
    gone = left <= 1e-12 * weight
    rest = np.where(gone, 1.0, left)
    share, square = mass / rest, away**2 if covariance.ndim == mean.ndim else np.outer(away, away)
    moved = np.where(gone, covariance, (weight / rest) * (covariance - share * square))
    if covariance.ndim == mean.ndim:
        moved = np.maximum(moved, 0.0)
    return np.where(gone, 0.0, left), np.where(gone, mean, mean - share * away), moved


def likeliest(patterns: list[Pattern], mean: Float, covariance: Float) -> tuple[Float, Float]:
    """Mean (d,) and covariance (d, d) of a normal density, by expectation and maximisation from a start.

    Expectation fills the missing values of a pattern by regression on what is there, beta = S_mo S_oo^-1, and adds the
    covariance S_mm - beta S_om that regression leaves; a column no row holds keeps what it starts with.
    """
    if len(patterns) == 1 and patterns[0].there.all():
        return patterns[0].mean, patterns[0].covariance
    variance = np.diag(covariance)
    for _ in range(STEPS):
        new_mean, new = _step(patterns, mean, covariance)
        size = _sizes(np.maximum(np.diag(new), 1e-9 * variance))
        far = max(np.abs((new_mean - mean) / size).max(), np.abs((new - covariance) / np.outer(size, size)).max())
        mean, covariance = new_mean, new
        if far < CLOSE:
            break
    return mean, covariance


def _step(patterns: list[Pattern], mean: Float, covariance: Float) -> tuple[Float, Float]:
    total = sum(p.weight for p in patterns)
    size = _sizes(np.diag(covariance))
    shared = covariance / np.outer(size, size) + RIDGE * np.eye(len(size))
    filled = [_fill(p, mean, covariance, size, shared) for p in patterns]
    middle: Float = sum((p.weight / total * f[0] for p, f in zip(patterns, filled, strict=True)), np.zeros_like(mean))
    spread = np.zeros_like(covariance)
    for p, (centre, around) in zip(patterns, filled, strict=True):
        away = centre - middle
        spread += p.weight / total * (around + np.outer(away, away))
    return middle, spread


def _sizes(variance: Float) -> Float:
    """Deviations; 1 of a column that is too small for its unit, and then is not informative of the others."""
    return np.where(variance > 0, np.sqrt(variance), 1.0)


def _fill(p: Pattern, mean: Float, covariance: Float, size: Float, shared: Float) -> tuple[Float, Float]:
    """Mean and second moment about it that the rows of a pattern are expected to have in full; shared: correlations."""
    if p.there.all():
        return p.mean, p.covariance
    o, m = np.flatnonzero(p.there), np.flatnonzero(~p.there)
    beta = np.linalg.solve(shared[np.ix_(o, o)], shared[np.ix_(o, m)]).T * np.divide.outer(size[m], size[o])
    centre = p.mean.copy()
    centre[m] = mean[m] + beta @ (p.mean[o] - mean[o])
    around = np.zeros_like(covariance)
    around[np.ix_(o, o)] = own = p.covariance[np.ix_(o, o)]
    around[np.ix_(m, o)] = cross = beta @ own
    around[np.ix_(o, m)] = cross.T
    around[np.ix_(m, m)] = cross @ beta.T + covariance[np.ix_(m, m)] - beta @ covariance[np.ix_(o, m)]
    return centre, around


FARTHEST = 1e140  # deviations: what is farther counts as that far, so that squares stay doubles


@dataclass(frozen=True)
class Numbers:
    """Every column in units of 2^-shift, about its deviation, from an origin: its mean over all rows."""

    columns: tuple[str, ...]  # that vary
    constant: tuple[str, ...]  # that do not, and say nothing
    shift: Int  # (d,)
    origin: Float  # (d,)
    total: Float  # (d,) variance over all rows
    total_weight: Float  # (d,) weight of the values
    grand_mean: Float  # (d,) what the rounding of the origin left of the mean over all rows
    weight: Float  # (K,) of the rows; where variances stand alone, the most values of a column
    values: Float  # (K, d) weight of the values
    mean: Float  # (K, d)
    covariance: Float  # (K, d, d) with ddof 0, or variances alone: (K, d)
    patterns: list[list[Pattern]]  # (K) rows that hold the same columns; none for what is available
    moments: Moments | None = None  # of the columns that vary, where variances stand alone

    @classmethod
    def of(cls, statistic: Keyed | Scatter | Moments, one_unit: bool) -> Numbers:
        """From patterns of missing values, from what is available of every two columns, or from single columns."""
        moments = moments_of(statistic)
        sums = MomentSummary.of(moments) if moments.columns else None
        varying = np.zeros(0, dtype=bool) if sums is None else sums.varying
        names = np.array(moments.columns, dtype=object)
        live = np.flatnonzero(varying)
        columns, constant = tuple(names[varying]), tuple(names[~varying])
        weight = _weights(statistic)
        if sums is None or not len(live):
            nothing = np.zeros((len(weight), 0))
            flat, still = np.zeros(0), nothing if isinstance(statistic, Moments) else nothing[..., None]
            bare = (flat.astype(np.int64), flat, flat, flat, flat, weight, nothing, nothing, still)
            return cls(columns, constant, *bare, [])
        spread = sums.at(live)
        shift = spread.shift - np.frexp(spread.total_deviation)[1]
        if one_unit:
            shift = np.full_like(shift, shift.min())
        total = np.ldexp(spread.total_deviation, shift - spread.shift) ** 2
        every = np.zeros(len(varying), dtype=np.int64)
        every[live] = shift
        origin = np.ldexp(sums.grand_mean, -sums.shift)
        held = moments.present.nonzero()[:, live]
        total_weight, grand_mean = spread.total_weight, moments.total().means(origin, every)[0, live]
        mean = np.where(held, moments.means(origin, every)[:, live], grand_mean)
        deviation = np.where(held, moments.finish(every)[1][:, live], np.sqrt(total))
        known = (columns, constant, shift, origin[live], total, total_weight, grand_mean, weight, spread.weight, mean)
        if isinstance(statistic, Moments):
            return cls(*known, deviation**2, [], _columns_of(moments, columns))
        if isinstance(statistic, Scatter):
            raw = [_possible(c[np.ix_(live, live)]) for c in statistic.covariances(every)]
            return cls(*known, np.array(raw).reshape(len(mean), len(live), len(live)), [])
        patterns = _patterns(statistic, origin, every, live)
        start = np.maximum(deviation**2, 1e-9 * total)
        covariance = np.zeros((len(mean), len(live), len(live)))
        for k, found in enumerate(patterns):
            if found:
                mean[k], covariance[k] = likeliest(found, mean[k], np.diag(start[k]))
        return cls(*known, covariance, patterns)

    @property
    def missing(self) -> bool:
        """Whether rows with missing values were learned."""
        return any(not p.there.all() for found in self.patterns for p in found)

    def without(self, k: int, z: Float, mass: float) -> Numbers:
        """The same without one row of class k."""
        there = ~np.isnan(z)
        known, taken = np.where(there, z, 0.0), mass * there
        whole = without_row(self.total_weight, self.grand_mean, self.total, known, taken)
        if self.covariance.ndim == 2:
            return self._apart(k, known, taken, *whole)
        weight = self.weight[k] - (mass if there.any() else 0.0)
        left = [p.without(z, mass) if np.array_equal(p.there, there) else p for p in self.patterns[k]]
        left = [p for p in left if p.weight > 0]
        if left:
            mean, covariance = likeliest(left, self.mean[k], self.covariance[k])
        else:
            weight, mean, covariance = 0.0, whole[1], np.zeros_like(self.covariance[k])
        return self._with(k, weight, self.values[k] - taken, mean, covariance)

    def _apart(self, k: int, z: Float, mass: Float, total_weight: Float, grand_mean: Float, total: Float) -> Numbers:
        """Column by column; that of all rows too, which a class without values takes over."""
        values, mean, variance = without_row(self.values[k], self.mean[k], self.covariance[k], z, mass)
        new = self._with(k, float(values.max(initial=0.0)), values, mean, variance)
        empty = new.values <= 0
        mean, covariance = np.where(empty, grand_mean, new.mean), np.where(empty, total, new.covariance)
        return replace(new, total=total, total_weight=total_weight, mean=mean, covariance=covariance)

    def _with(self, k: int, weight: float, values: Float, mean: Float, covariance: Float) -> Numbers:
        weights, held, means, matrices = (a.copy() for a in (self.weight, self.values, self.mean, self.covariance))
        weights[k], held[k], means[k], matrices[k] = weight, values, mean, covariance
        return replace(self, weight=weights, values=held, mean=means, covariance=matrices)

    def read(self, block: Block) -> Points:
        """The columns of a block, in these units from the origin."""
        columns, span = block.numbers(self.columns)
        half = self.shift // 2  # 2^shift may be no double, but is the product of two
        units = {
            UnitRow.SCALE: np.ldexp(1.0, half),
            UnitRow.SCALE_AGAIN: np.ldexp(1.0, self.shift - half),
            UnitRow.ORIGIN: np.ldexp(self.origin, self.shift),
        }
        return Points(columns, np.array([units[row] for row in UnitRow]), bool(span[RangeRow.MISSING].any()))

    def symbol(self, x: Any, j: int) -> Any:
        """A column of a portable program, in these units from the origin."""
        scale = float(np.ldexp(1.0, self.shift[j]))
        low, high = (float(self.origin[j] + far / scale) for far in (-FARTHEST, FARTHEST))
        return np.minimum(np.maximum(x, low), high) * scale - float(np.ldexp(self.origin[j], self.shift[j]))

    def cells(self, moments: Moments) -> tuple[Float, Float]:
        """Weight and mean, from the origin, of these columns in each cell: (C, d) both."""
        chosen = _columns_of(moments, self.columns)
        return chosen.present.to_float(), chosen.means(self.origin, self.shift)


def _columns_of(moments: Moments, columns: tuple[str, ...]) -> Moments:
    """The moments of some columns."""
    place = {name: j for j, name in enumerate(columns)}
    index = np.array([place.get(name, -1) for name in moments.columns], dtype=np.int64)
    present, first, second = (s.place(index, len(place), axis=1) for s in moments.sums)
    return replace(moments, columns=columns, present=present, first=first, second=second)


def moments_of(statistic: Keyed | Scatter | Moments) -> Moments:
    """Of every column by class."""
    if isinstance(statistic, Moments):
        return statistic
    if isinstance(statistic, Scatter):
        return statistic.moments()
    by_pattern: Moments = statistic.inner.moments(statistic.keys[:, 1:] >= 0)
    return by_pattern.place(statistic.keys[:, 0], statistic.groups, {})


def _weights(statistic: Keyed | Scatter | Moments) -> Float:
    """Of the rows: (K,)."""
    if isinstance(statistic, Moments):
        most: Float = statistic.present.to_float().max(axis=1, initial=0.0)
        return most
    if isinstance(statistic, Scatter):
        return statistic.weight.to_float()
    weight: ExactSum = statistic.inner.weight
    return weight.place(statistic.keys[:, 0], statistic.groups).to_float()


def _patterns(statistic: Keyed, origin: Float, shift: Int, live: Int) -> list[list[Pattern]]:
    """By class, the rows that hold the same columns."""
    found: list[list[Pattern]] = [[] for _ in range(statistic.groups)]
    there = statistic.keys[:, 1:][:, live] >= 0
    weight, mean = statistic.inner.weight.to_float(), statistic.inner.moments().means(origin, shift)[:, live]
    for k, w, m, c, t in zip(
        statistic.keys[:, 0], weight, mean, statistic.inner.covariances(shift), there, strict=True
    ):
        if t.any():
            found[k].append(Pattern(t, float(w), np.where(t, m, 0.0), c[np.ix_(live, live)]))
    return found


def _possible(covariance: Float) -> Float:
    """The nearest matrix without negative eigenvalues, in units of the deviations: pairs may contradict each other."""
    size = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    values, vectors = np.linalg.eigh(covariance / np.outer(size, size))
    if values.min(initial=0.0) >= 0:
        return covariance
    fixed: Float = (vectors * np.maximum(values, 0.0)) @ vectors.T * np.outer(size, size)
    return fixed


@dataclass(frozen=True)
class Points:
    """Rows as numbers from an origin: z = x * SCALE * SCALE_AGAIN - ORIGIN (UnitRow), NaN where missing."""

    columns: Columns  # (n, d) x
    units: Float  # (rows of UnitRow, d)
    missing: bool

    @classmethod
    def of(cls, z: Float) -> Points:
        units = np.ones((len(UnitRow), z.shape[1]))
        units[UnitRow.ORIGIN] = 0.0
        return cls(Columns(z, len(z)), units, bool(np.isnan(z).any()))

    def __len__(self) -> int:
        return self.columns.rows

    @cached_property
    def z(self) -> Float:  # (n, d)
        with np.errstate(over="ignore", invalid="ignore"):
            out: Float = self.columns.matrix() * self.units[UnitRow.SCALE]
            out *= self.units[UnitRow.SCALE_AGAIN]
            out -= self.units[UnitRow.ORIGIN]
            np.clip(out, -FARTHEST, FARTHEST, out=out)
        return out

    def at(self, rows: Int | slice) -> Points:
        """Some of the rows."""
        return Points.of(self.z[rows])

    def patterns(self) -> list[tuple[Bool, Int | None]]:
        """The rows by which columns they hold: the columns (d,) and the rows of each pattern, None for all."""
        if not self.missing:
            return [(np.ones(len(self.columns), dtype=bool), None)]
        masks, each = distinct(~np.isnan(self.z))
        order = np.argsort(each, kind="stable")
        groups = np.split(order, np.cumsum(np.bincount(each))[:-1])
        return [(held.astype(bool), rows) for held, rows in zip(masks, groups, strict=True)]
