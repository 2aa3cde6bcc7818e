"""Reliability: what miscalibration adds to the Brier score."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayeskit.arrays import Float
from bayeskit.evaluation.gaps import gaps_interval
from bayeskit.evaluation.score import SumScore
from bayeskit.numerics.rates import Interval, ratio

if TYPE_CHECKING:
    from bayeskit.evaluation.measures import Measures
    from bayeskit.evaluation.out_of_fold import OutOfFold
    from bayeskit.evaluation.score_sums import ScoreSums


class BrierReliability(SumScore):
    """Sum over classes of the mean of (share that came true - mean probability)² over 15 cells of equal width.

    Murphy (1973): the Brier score is uncertainty - resolution + reliability, but for what differs within a cell;
    uncertainty, the sum of shares times (1 - share), is that of the classes alone.
    """

    name = "brier_reliability"
    title = "Brier, reliability"
    meaning = "what miscalibration adds to the Brier score; less is better"
    topic = "calibration"
    larger_is_better = False
    limits = (0.0, 2.0)
    chance_adds = True

    def of_sums(self, sums: ScoreSums) -> Float:
        weight, said, came = (sums.each[:, :, field] for field in range(3))  # (G, K, BINS)
        off = weight * (ratio(came, weight) - ratio(said, weight)) ** 2
        return ratio(np.nansum(off, axis=(1, 2)), weight[:, 0].sum(axis=1))

    def interval(self, found: Measures) -> Interval:
        def ends(kept: OutOfFold) -> tuple[float, float]:
            return kept.gaps.square_ends(found.design_effect)

        classes = found.sums.each.shape[1]
        return gaps_interval(found, ends, "noncentral chi-squared", classes)
