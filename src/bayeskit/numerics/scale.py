"""Scale: a column of numbers on another scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskit.arrays import Float
from bayeskit.deferred import deferred
from bayeskit.portable.symbol import place, take

ndtri = deferred("scipy.special", "ndtri")


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

    def symbol(self, x: Any) -> Any:
        """The same of a symbol that is not missing, with np.interp's own arithmetic."""
        values, scores = self.values, self.scores
        if len(values) < 2:
            return float(scores[0])
        with np.errstate(invalid="ignore", divide="ignore"):
            slope = np.nan_to_num(np.diff(scores) / np.diff(values), nan=0.0, posinf=0.0, neginf=0.0)
        j = np.minimum(place(np.nextafter(values, -np.inf), x) - 1, len(values) - 2.0)  # how many are not above x
        between = take(slope, j) * (x - take(values, j)) + take(scores, j)
        inside = np.where(x >= values[-1], scores[-1], between)
        return np.where(x <= values[0], scores[0], inside)

    def of(self, x: Float) -> Float:
        gone = np.isnan(x)
        out: Float = np.where(gone, np.nan, np.interp(np.where(gone, 0.0, x), self.values, self.scores))
        return out
