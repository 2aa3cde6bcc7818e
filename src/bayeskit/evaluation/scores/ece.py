"""Calibration error: how far confidence is from being right."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayeskit.arrays import Float
from bayeskit.evaluation.gaps import gaps_interval
from bayeskit.evaluation.score import SumScore
from bayeskit.numerics.rates import Interval, gap

if TYPE_CHECKING:
    from bayeskit.evaluation.measures import Measures
    from bayeskit.evaluation.out_of_fold import OutOfFold
    from bayeskit.evaluation.score_sums import ScoreSums


class ECE(SumScore):
    """Mean of |share right - mean top probability| over 15 cells of equal width; chance adds to it.

    The interval is of what it is without chance, so that the figure may lie above it.
    """

    name = "ece"
    title = "Calibration error"
    meaning = "how far confidence is from being right; less is better"
    topic = "calibration"
    larger_is_better = False
    headline = True
    chance_adds = True

    def of_sums(self, sums: ScoreSums) -> Float:
        return np.array([gap(table) for table in sums.top])

    def interval(self, found: Measures) -> Interval:
        def ends(kept: OutOfFold) -> tuple[float, float]:
            return kept.top_gaps.absolute_ends(found.design_effect)

        return gaps_interval(found, ends, "folded normals")
