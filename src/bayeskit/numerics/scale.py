"""Scale: a column of numbers on another scale."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from bayeskit.arrays import Float


@dataclass(frozen=True)
class Scale:
    """Through knots, straight between them, level beyond them; what is missing stays missing."""

    values: Float  # (q,) ascending
    scores: Float  # (q,)

    @classmethod
    def normal(cls, values: Float, weights: Float) -> Scale:
        """Normal scores: the quantile of N(0, 1) at the middle of the ranks each value has.

        >>> Scale.normal(np.array([1.0, 10.0, 100.0]), np.ones(3)).scores.round(2)
        array([-0.97,  0.  ,  0.97])
        """
        share = weights / weights.max()
        share = share / share.sum()
        return cls(values, ndtri(np.cumsum(share) - share / 2))

    def of(self, x: Float) -> Float:
        gone = np.isnan(x)
        out: Float = np.where(gone, np.nan, np.interp(np.where(gone, 0.0, x), self.values, self.scores))
        return out
