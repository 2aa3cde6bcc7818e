"""Resolution: what telling rows apart takes off the Brier score."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayeskit.arrays import Float
from bayeskit.evaluation.score import SumScore
from bayeskit.numerics.rates import ratio

if TYPE_CHECKING:
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
    no_interval = "chance adds to it, and no interval was shown to hold the truth"

    def of_sums(self, sums: ScoreSums) -> Float:
        weight, came = sums.each[:, :, 0], sums.each[:, :, 2]  # (G, K, BINS)
        share = ratio(came.sum(axis=2), weight.sum(axis=2))[:, :, None]
        apart = weight * (ratio(came, weight) - share) ** 2
        return ratio(np.nansum(apart, axis=(1, 2)), weight[:, 0].sum(axis=1))
