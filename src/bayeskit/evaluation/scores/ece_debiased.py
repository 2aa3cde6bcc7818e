"""Calibration error without what chance adds to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayeskit.arrays import Float
from bayeskit.evaluation.recalibration import debiased_gap
from bayeskit.evaluation.scores.ece import ECE

if TYPE_CHECKING:
    from bayeskit.evaluation.score_sums import ScoreSums


class DebiasedECE(ECE):
    """Each cell's gap less what chance adds to it on average (Kumar, Liang and Ma, NeurIPS 2019)."""

    name = "ece_debiased"
    title = "Calibration error, debiased"
    meaning = "calibration error less what chance adds; less is better"
    headline = False

    def of_sums(self, sums: ScoreSums) -> Float:
        return np.array([debiased_gap(table) for table in sums.top])
