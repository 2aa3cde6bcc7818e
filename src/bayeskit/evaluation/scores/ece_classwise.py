"""Calibration error of the probability of each class."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from bayeskit.arrays import Float
from bayeskit.evaluation.gaps import gaps_interval
from bayeskit.evaluation.scores.ece import ECE
from bayeskit.numerics.rates import Interval, gap

if TYPE_CHECKING:
    from bayeskit.evaluation.measures import Measures
    from bayeskit.evaluation.out_of_fold import OutOfFold
    from bayeskit.evaluation.score_sums import ScoreSums


class ClasswiseECE(ECE):
    """The calibration error of P(c), 15 cells of equal width, averaged over the classes."""

    name = "ece_classwise"
    title = "Calibration error by class"
    meaning = "calibration error of each class's probability, averaged; less is better"
    headline = False

    def of_sums(self, sums: ScoreSums) -> Float:
        return np.array([np.mean([gap(table) for table in group]) for group in sums.each])

    def interval(self, found: Measures) -> Interval:
        def ends(kept: OutOfFold) -> tuple[float, float]:
            return kept.gaps.absolute_ends(found.design_effect)

        classes = found.sums.each.shape[1]
        whole = gaps_interval(found, ends, "folded normals", classes)
        return replace(whole, low=whole.low / classes, high=whole.high / classes)
