"""NormalDowndate: what the log densities of normal columns change by once a row's own values are taken out."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bayeskit import _core
from bayeskit._core import LooClassRow, LooColumnRow
from bayeskit.arrays import Bool, Float, Int
from bayeskit.data.block import Block, Columns
from bayeskit.densities.moment_summary import MomentSummary, remainders
from bayeskit.numerics.special import LOG_2, LOG_2PI
from bayeskit.statistics.moments import Moments

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
        return [np.flatnonzero(some) for some in doubt]
