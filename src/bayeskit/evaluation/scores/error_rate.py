"""Error rate: the share of rows not predicted rightly."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayeskit.arrays import Float
from bayeskit.evaluation.scores.accuracy import Accuracy

if TYPE_CHECKING:
    from bayeskit.evaluation.score import PredictedRows


class ErrorRate(Accuracy):
    """1 - accuracy."""

    name = "error_rate"
    title = "Error rate"
    meaning = "share of rows not predicted rightly"
    larger_is_better = False
    headline = False

    def of_tables(self, tables: Float) -> Float:
        return 1 - super().of_tables(tables)

    def of_rows(self, rows: PredictedRows) -> Float:
        return 1 - super().of_rows(rows)
