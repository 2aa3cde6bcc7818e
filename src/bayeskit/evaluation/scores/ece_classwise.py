"""Calibration error of the probability of each class."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayeskit.arrays import Float
from bayeskit.evaluation.scores.ece import ECE
from bayeskit.numerics.rates import gap

if TYPE_CHECKING:
    from bayeskit.evaluation.score_sums import ScoreSums


class ClasswiseECE(ECE):
    """The calibration error of P(c), 15 cells of equal width, averaged over the classes."""

    name = "ece_classwise"
    title = "Calibration error by class"
    meaning = "calibration error of each class's probability, averaged; less is better"
    headline = False

    def of_sums(self, sums: ScoreSums) -> Float:
        return np.array([np.mean([gap(table) for table in group]) for group in sums.each])
