"""Expected cost: what actions were expected to cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayeskit.arrays import Float
from bayeskit.evaluation.score import RowScore

if TYPE_CHECKING:
    from bayeskit.evaluation.score import PredictedRows


class ExpectedCost(RowScore):
    """The mean over rows of what the action was expected to cost: the model's own, else that of least expected cost."""

    name = "expected_cost"
    title = "Expected cost"
    meaning = "what the action of a row was expected to cost; less is better"
    topic = "costs"
    larger_is_better = False
    limits = (-np.inf, np.inf)
    headline = True
    needs = "costs"

    def of_rows(self, rows: PredictedRows) -> Float:
        expected: Float = rows.paid[0]
        return expected
