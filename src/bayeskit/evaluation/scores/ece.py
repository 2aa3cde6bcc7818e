"""Calibration error: how far confidence is from being right."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayeskit.arrays import Float
from bayeskit.evaluation.score import SumScore
from bayeskit.numerics.rates import gap

if TYPE_CHECKING:
    from bayeskit.evaluation.score_sums import ScoreSums


class ECE(SumScore):
    """Mean of |share right - mean top probability| over 15 cells of equal width; chance adds to it: no interval."""

    name = "ece"
    title = "Calibration error"
    meaning = "how far confidence is from being right; less is better"
    topic = "calibration"
    larger_is_better = False
    headline = True
    no_interval = "no valid interval; see ece_l2"

    def of_sums(self, sums: ScoreSums) -> Float:
        return np.array([gap(table) for table in sums.top])
