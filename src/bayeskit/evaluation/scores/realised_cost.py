"""Realised cost: what actions did cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayeskit.arrays import Float
from bayeskit.evaluation.scores.expected_cost import ExpectedCost

if TYPE_CHECKING:
    from bayeskit.evaluation.score import PredictedRows


class RealisedCost(ExpectedCost):
    """The mean over rows of what the action did cost."""

    name = "realised_cost"
    title = "Realised cost"
    meaning = "what the action of a row did cost; less is better"

    def of_rows(self, rows: PredictedRows) -> Float:
        realised: Float = rows.paid[1]
        return realised
