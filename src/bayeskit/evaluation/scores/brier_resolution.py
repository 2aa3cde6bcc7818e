"""Resolution: what telling rows apart takes off the Brier score."""

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


class BrierResolution(SumScore):
    """Sum over classes of the mean of (share that came true in a cell - share of the class)² over 15 cells.

    The other half of Murphy's decomposition; see ``brier_reliability``.
    """

    name = "brier_resolution"
    title = "Brier, resolution"
    meaning = "what telling rows apart takes off the Brier score"
    topic = "probabilities"
    larger_is_better = True
    chance_adds = True

    def of_sums(self, sums: ScoreSums) -> Float:
        weight, came = sums.each[:, :, 0], sums.each[:, :, 2]  # (G, K, BINS)
        share = ratio(came.sum(axis=2), weight.sum(axis=2))[:, :, None]
        apart = weight * (ratio(came, weight) - share) ** 2
        return ratio(np.nansum(apart, axis=(1, 2)), weight[:, 0].sum(axis=1))

    def interval(self, found: Measures) -> Interval:
        def ends(kept: OutOfFold) -> tuple[float, float]:
            return kept.apart.square_ends(found.design_effect)

        classes = found.sums.each.shape[1]
        return gaps_interval(found, ends, "noncentral chi-squared", classes)
