"""Balanced accuracy: the mean over the classes of the share found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayeskit.arrays import Float
from bayeskit.evaluation.intervals import mean_of_shares
from bayeskit.evaluation.score import TableScore
from bayeskit.numerics.rates import Interval, ratio

if TYPE_CHECKING:
    from bayeskit.evaluation.confusion import Confusion


class BalancedAccuracy(TableScore):
    """The mean of n_cc / n_c over the classes that have rows; NaN where no row was given a class."""

    name = "balanced_accuracy"
    title = "Balanced accuracy"
    meaning = "mean over the classes of the share found"
    larger_is_better = True
    percent = True
    headline = True

    def of_tables(self, tables: Float) -> Float:
        true, right = tables.sum(axis=-1), np.diagonal(tables, axis1=-2, axis2=-1)
        there = (true > 0) & (tables[..., : tables.shape[-2]].sum(axis=(-2, -1)) > 0)[..., None]
        return ratio(np.where(there, ratio(right, true), 0.0).sum(axis=-1), there.sum(axis=-1))

    def of_table(self, table: Confusion) -> Interval:
        there = table.true > 0
        return mean_of_shares(ratio(table.right, table.true)[there], table.rows_by_class[there])
