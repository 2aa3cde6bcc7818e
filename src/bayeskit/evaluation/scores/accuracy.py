"""Accuracy: the share of rows predicted rightly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayeskit.arrays import Float
from bayeskit.evaluation.score import TableScore
from bayeskit.numerics.rates import Interval, effective, ratio, wilson

if TYPE_CHECKING:
    from bayeskit.evaluation.confusion import Confusion
    from bayeskit.evaluation.score import PredictedRows


class Accuracy(TableScore):
    """Σ_c n_cc / n; NaN where no row was given a class."""

    name = "accuracy"
    title = "Accuracy"
    meaning = "share of rows predicted rightly"
    larger_is_better = True
    percent = True
    headline = True

    def of_tables(self, tables: Float) -> Float:
        classes = tables.shape[-2]
        named = tables[..., :classes].sum(axis=(-2, -1)) > 0
        right = np.diagonal(tables, axis1=-2, axis2=-1).sum(axis=-1)
        return ratio(right, np.where(named, tables.sum(axis=(-2, -1)), 0.0))

    def of_rows(self, rows: PredictedRows) -> Float:
        return np.equal(rows.done, rows.codes).astype(np.float64)

    def of_table(self, table: Confusion) -> Interval:
        return wilson(table.value(self.name), float(effective(table.weight, table.squared.sum())))
