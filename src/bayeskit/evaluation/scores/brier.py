"""Brier score: how far the probabilities are from the truth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayeskit.arrays import Float
from bayeskit.evaluation.score import RowScore

if TYPE_CHECKING:
    from bayeskit.evaluation.score import PredictedRows


class Brier(RowScore):
    """The mean squared distance of the probabilities from the truth, summed over classes: Σ p² - 2 P(true) + 1."""

    name = "brier"
    title = "Brier score"
    meaning = "mean squared distance from the truth, 0 to 2; less is better"
    topic = "probabilities"
    larger_is_better = False
    limits = (0.0, 2.0)
    headline = True

    def of_rows(self, rows: PredictedRows) -> Float:
        squares: Float = np.einsum("ij,ij->i", rows.proba, rows.proba) - 2 * rows.true + 1
        return squares
