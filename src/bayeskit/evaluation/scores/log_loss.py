"""Log loss: what the true class was said to be unlikely by."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayeskit.arrays import Float
from bayeskit.evaluation.score import RowScore

if TYPE_CHECKING:
    from bayeskit.evaluation.score import PredictedRows

CLIP = 1e-15


class LogLoss(RowScore):
    """The mean of -log P(true class), probabilities of at least 1e-15."""

    name = "log_loss"
    title = "Log loss"
    meaning = "mean of −log P(true class); less is better"
    topic = "probabilities"
    larger_is_better = False
    limits = (0.0, np.inf)
    headline = True

    def of_rows(self, rows: PredictedRows) -> Float:
        return -np.log(np.clip(rows.true, CLIP, 1.0))
