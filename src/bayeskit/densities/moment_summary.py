"""MomentSummary: what a parametric family reads from the moments of a column, with or without each row's own mass."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from bayeskit import _core
from bayeskit._core import LooClassRow, LooColumnRow
from bayeskit.arrays import Array, Bool, Float, Int
from bayeskit.data.block import Block, Columns
from bayeskit.numerics.special import LOG_2, LOG_2PI
from bayeskit.statistics.exact import DOUBT
from bayeskit.statistics.moments import Moments

FLOOR = 1e-9  # of the column's total variance: below it a class variance counts as zero
NEAR_TIE = 1 + 2.0**-18
FAR_OFF = 2.0**14  # deviations from zero beyond which the last bit of a mean shows
TINY, HUGE = 2.0**-900, 2.0**900


@dataclass(frozen=True)
class MomentSummary:
    """Weight, mean and deviation (ddof 0) by class and of the whole column.

    Means and deviations are in units of 2^-shift, so that 1e300 and 5e-324 are ordinary numbers. The second axis
    is that of the columns; for one column without each of its values in turn, that of the rows.
    """

    shift: Int  # (d,)
    weight: Float  # (K, d)
    mean: Float  # (K, d)
    deviation: Float  # (K, d)
    total_weight: Float  # (d,) weight of the whole column
    grand_mean: Float  # (d,) mean of the whole column
    total_deviation: Float  # (d,) deviation of the whole column

    @classmethod
    def of(cls, moments: Moments) -> MomentSummary:
        """Of every column, each number rounded once."""
        total = moments.total()
        total_deviation, enlarged = (total.finish(np.full(len(moments.columns), s))[1][0] for s in (0, 1000))
        grand_mean = np.abs(total.finish()[0][0])
        tiny = ((total_deviation < TINY) & (enlarged > 0)) | (
            (total_deviation == 0) & (grand_mean > 0) & (grand_mean < TINY)
        )
        shift = np.where(tiny, 1000, np.where(total_deviation > HUGE, -200, 0)).astype(np.int64)
        mean, deviation, _ = moments.finish(shift)
        grand_mean, total_deviation, _ = total.finish(shift)
        weight, total_weight = moments.present.to_float(), total.present.to_float()[0]
        return cls(shift, weight, mean, deviation, total_weight, grand_mean[0], total_deviation[0])

    @property
    def varying(self) -> Bool:  # (d,)
        return self.total_deviation > 0

    @property
    def scale(self) -> Float:  # (d,) the spread, or 1 where there is none
        return np.where(self.varying, self.total_deviation, 1.0)

    @property
    def variance_ratio(self) -> Float:
        """Variance of each class as a share of the total variance: (K, d)."""
        out: Float = (self.deviation / self.scale) ** 2
        return out

    @property
    def within(self) -> Float:
        """Pooled within-class variance as a share of the total variance: (d,)."""
        weight = self.weight / np.maximum(self.weight.max(axis=0), 1e-300)
        out: Float = (weight * self.variance_ratio).sum(axis=0) / np.maximum(weight.sum(axis=0), 1e-300)
        return out

    def normal(self) -> tuple[Float, Float]:
        """Mean and deviation of a normal density in each class, (K, d) both: no variance is 0, no class is empty.

        A class variance below 1e-9 of the total variance T becomes max(P/(W + 1), 1e-9 T), where P is the pooled
        within-class variance and W the weight of the class; a class without values takes the whole column's.
        """
        floor = np.maximum(self.within / (self.weight + 1), FLOOR)
        deviation = np.where(self.variance_ratio < FLOOR, self.scale * np.sqrt(floor), self.deviation)
        empty = self.weight <= 0
        return np.where(empty, self.grand_mean, self.mean), np.where(empty, self.scale, deviation)

    def unscale(self, tiny: bool = True) -> MomentSummary:
        """The same in units of 1, rounded where a double does not reach; tiny columns only if asked."""
        by = -self.shift if tiny else np.maximum(-self.shift, 0)
        mean, deviation, grand_mean, total_deviation = (
            np.ldexp(a, by) for a in (self.mean, self.deviation, self.grand_mean, self.total_deviation)
        )
        return MomentSummary(
            self.shift + by, self.weight, mean, deviation, self.total_weight, grand_mean, total_deviation
        )

    @property
    def _parts(self) -> tuple[Array, ...]:
        """Its arrays, in the order of its fields."""
        of_all = self.total_weight, self.grand_mean, self.total_deviation
        return self.shift, self.weight, self.mean, self.deviation, *of_all

    def at(self, index: Int | Bool) -> MomentSummary:
        """Some of the columns."""
        return MomentSummary(*(part[..., index] for part in self._parts))

    def repeat(self, column: int, n: int) -> MomentSummary:
        """One column n times, to be written over."""
        return MomentSummary(*(np.repeat(part[..., column : column + 1], n, axis=-1) for part in self._parts))

    def put(self, index: Int, other: MomentSummary) -> None:
        """Other numbers in place of some columns'."""
        for mine, theirs in zip(self._parts, other._parts, strict=True):
            mine[..., index] = theirs

    def left_out(self, moments: Moments, column: int, x: Float, block: Block) -> MomentSummary:
        """One column without each row's own value x[i], as far as it was counted: (K, n)."""
        row, group, mass = block.values_with_weight(x)
        if len(row) == len(x):
            return self.without(moments, column, x, group, mass)
        each = self.repeat(column, len(x))
        if len(row):
            each.put(row, self.without(moments, column, x[row], group, mass))
        return each

    def without(self, moments: Moments, column: int, x: Float, groups: Int, weights: Float) -> MomentSummary:
        """One column without each of its values in turn: value x[i], of weight weights[i], left class groups[i].

        With d = x - mean, in a class and in the whole column alike: W' = W - w, mean' = mean - d w / W',
        W' S' = W S - d^2 w W / W' (S the variance). Where a difference cancels, the exact sums decide.
        """
        n = len(x)
        each = self.repeat(column, n)
        lost = remainders(moments.column(column), self.shift[column : column + 1], self.mean[:, column : column + 1])
        low = lost[:, 0]
        low_grand_mean = remainders(
            moments.column(column).total(), self.shift[column : column + 1], self.grand_mean[None, column : column + 1]
        )[0]
        rows, scale = np.arange(n), each.scale
        value = np.ldexp(x, each.shift)
        near = (groups, rows)
        mine = _Normal(each.weight[near], each.mean[near], low[groups], each.deviation[near])
        every = _Normal(each.total_weight, each.grand_mean, low_grand_mean, each.total_deviation)
        own, all_ = (_Removal.of(before, value, weights, scale) for before in (mine, every))
        weight, mean, deviation = each.weight, each.mean, each.deviation
        weight[near], mean[near], deviation[near] = own.weight, own.mean, own.deviation
        left = replace(each, total_weight=all_.weight, grand_mean=all_.mean, total_deviation=all_.deviation)
        doubt = np.flatnonzero(~(own.sure & all_.sure))
        for part in np.array_split(doubt, len(doubt) // 4096 + 1):
            if len(part):
                left.put(part, MomentSummary.of(moments.without(column, x[part], groups[part], weights[part])))
        return left


class _Normal(NamedTuple):
    """Weights, means, what the rounding of the means lost, and deviations: (n,) each."""

    weight: Float
    mean: Float
    low: Float
    deviation: Float


@dataclass(frozen=True)
class _Removal:
    """Weight, mean and deviation after one value left, and whether all digits can be trusted: (n,) each."""

    weight: Float
    mean: Float
    deviation: Float
    sure: Bool

    @classmethod
    def of(cls, before: _Normal, x: Float, mass: Float, unit: Float) -> _Removal:
        weight, mean, low, deviation = before
        with np.errstate(all="ignore"):
            left = weight - mass
            away = (x - mean) - low
            far, share = (away / unit) ** 2, (deviation / unit) ** 2
            rest = share - mass / left * far
            step = low - away * (mass / left)
            new_mean = mean + step
            # a refit rounds once: where the mean lies nearly halfway between two doubles, only exact sums know how
            far_off = np.abs(mean) > FAR_OFF * np.where(deviation > 0, deviation, unit)
            tie = far_off & (new_mean + (step - (new_mean - mean)) * NEAR_TIE != new_mean)
            new_deviation = unit * np.sqrt(np.maximum(rest * (weight / left), 0.0))
            still = (deviation == 0) & (away == 0)
            plain = (share > 1e-250) & (rest > DOUBT * share)
            sure = (left > DOUBT * weight) & np.isfinite(weight) & np.isfinite(away) & (still | plain) & ~tie
        return cls(left, new_mean, new_deviation, sure)


def remainders(moments: Moments, shift: Int, mean: Float) -> Float:
    """What the rounding of the means lost: (G, d)."""
    s0, s1 = moments.present, moments.first
    out: Float = _core.mean_rounding_errors(
        *(np.ascontiguousarray(s0.limbs), s0.low, np.ascontiguousarray(s1.limbs), s1.low),
        *(np.ascontiguousarray(shift), np.ascontiguousarray(mean)),
    )
    return out


SAFE = 2.0**-18  # share of the whole variance above which no floor comes near when a row leaves
PLAIN = 1e-280, 1e280  # numbers the core may multiply


@dataclass(frozen=True)
class NormalDowndate:
    """Weights, means and variances of the columns that vary, as the core asks for them.

    A class that has few values, nearly none or no variance is delicate: floors and the whole column decide about it,
    and those move with every row.
    """

    by_class: Float  # (rows of LooClassRow, K, d)
    delicate: Bool  # (K, d)
    by_column: Float  # (rows of LooColumnRow, d)
    most: float  # a row that weighs more is not left to plain doubles
    plain: bool  # whether all these are ordinary numbers

    @classmethod
    def of(
        cls, moments: Moments, sums: MomentSummary, scale: Float, mean: Float, precision: Float, constant: Float
    ) -> NormalDowndate:
        """Of the columns that vary; mean, precision and constant (K, d) are those of their density."""
        low = remainders(moments, sums.shift, sums.mean)[:, sums.varying]
        low_grand_mean = remainders(moments.total(), sums.shift, sums.grand_mean[None])[0, sums.varying]
        live = sums.at(sums.varying)
        by_class = {
            LooClassRow.WEIGHT: live.weight,
            LooClassRow.MEAN: live.mean,
            LooClassRow.MEAN_ERROR: low,
            LooClassRow.DENSITY_MEAN: mean,
            LooClassRow.DENSITY_PRECISION: precision,
            LooClassRow.DENSITY_CONSTANT: constant,
            LooClassRow.VARIANCE_RATIO: live.variance_ratio,
        }
        base = -np.log(live.total_deviation) - LOG_2PI / 2 + live.shift * LOG_2
        by_column = {
            LooColumnRow.SCALE: scale,
            LooColumnRow.WEIGHT: live.total_weight,
            LooColumnRow.MEAN: live.grand_mean,
            LooColumnRow.MEAN_ERROR: low_grand_mean,
            LooColumnRow.DEVIATION: live.total_deviation,
            LooColumnRow.WITHIN: live.within,
            LooColumnRow.CONSTANT: base,
        }
        sizes = np.concatenate(
            [np.abs(a).ravel() for a in (live.weight, precision, live.total_deviation, live.total_weight)]
        )
        plain = bool(((sizes == 0) | ((sizes > PLAIN[0]) & (sizes < PLAIN[1]))).all())
        most = float(live.total_weight.min(initial=np.inf)) / 2
        delicate = np.ascontiguousarray((live.variance_ratio < SAFE) | (live.weight <= 0))
        of_class = np.array([by_class[row] for row in LooClassRow])
        of_column = np.array([by_column[row] for row in LooColumnRow])
        return cls(of_class, delicate, of_column, most, plain)

    def at(self, column: int) -> NormalDowndate:
        """Those of one column."""
        one = slice(column, column + 1)
        by_class, delicate = np.ascontiguousarray(self.by_class[:, :, one]), np.ascontiguousarray(self.delicate[:, one])
        by_column = np.ascontiguousarray(self.by_column[:, one])
        return replace(self, by_class=by_class, delicate=delicate, by_column=by_column)

    def add(self, columns: Columns, block: Block, out: Float) -> Int:
        """Add what changes to out (n, K); the rows that exact sums must decide about are left and named."""
        if not self.plain:
            return np.arange(block.rows)
        doubt: Int = _core.loo_gaussian(
            *(columns.address, columns.stride, columns.rows, block.classes, block.weights),
            *(self.by_class, self.delicate, self.by_column, self.most, out),
        )
        return doubt

    def odds(self, columns: Columns, block: Block, floor: float, out: Float) -> list[Int]:
        """Add the log-odds of the other classes against each row's own, by column alone: out (d, K - 1, n).

        Log densities count as -floor at least. The rows of each column that exact sums must decide about are left and
        named.
        """
        if not self.plain:
            return [np.arange(block.rows)] * len(columns)
        rows = columns.address, columns.stride, columns.rows, block.classes, block.weights
        doubt = _core.loo_gaussian_odds(*rows, self.by_class, self.delicate, self.by_column, self.most, floor, out)
        return [np.flatnonzero(doubtful) for doubtful in doubt]
