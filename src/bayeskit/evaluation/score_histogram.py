"""ScoreHistogram: how rows of a class and the others spread over bins of log-odds, where rows cannot all be kept."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from bayeskit.arrays import Float, Int
from bayeskit.evaluation.areas import Areas, log_odds
from bayeskit.numerics.rates import BINS, mass_bins

CELLS = 4096
OUTER = 64  # cells on either side for rows of which a model is surer than it can say by a probability
NEAR, FAR = 30.0, 1e4  # log-odds up to which cells are of equal width in arsinh, and from there in the logarithm


@dataclass(frozen=True)
class ScoreHistogram:
    """Weights by cells of score, for rows that cannot all be kept; cells are of equal width in
    arsinh(log-odds): fine in the middle, where most pairs are; a few more reach far out.

    Groups first, then for each class the rest and the class, and last the top probability by wrong and right.
    """

    table: Float  # (G, K + 1, 2, CELLS)

    @classmethod
    def empty(cls, groups: int, classes: int) -> ScoreHistogram:
        return cls(np.zeros((groups, classes + 1, 2, CELLS)))

    def update(self, codes: Int, logs: Float, weights: Float, groups: Int) -> ScoreHistogram:
        """Some rows more, by their log-probabilities; ``codes`` are their classes. May consume self."""
        top, odds = np.argmax(logs, axis=1), log_odds(logs)
        table = self.table
        n_groups, wide = table.shape[0], CELLS * 2
        for k in range(table.shape[1]):
            last = k == logs.shape[1]
            scores = odds[np.arange(len(top)), top] if last else odds[:, k]
            hit = top == codes if last else codes == k
            place = groups * wide + hit * CELLS + cells(scores)
            table[:, k] += np.bincount(place, weights, minlength=n_groups * wide).reshape(n_groups, 2, CELLS)
        return self

    def merge(self, other: ScoreHistogram) -> ScoreHistogram:
        return ScoreHistogram(self.table + other.table)

    def area(self, k: int) -> tuple[float, float]:
        """The area under the curve of class k, and how far binning may have moved it.

        Only pairs within a cell can be ordered wrongly: the error is at most half their share of all pairs.
        """
        rest, mine = self.table[:, k].sum(axis=0)
        pairs = float(rest.sum() * mine.sum())
        if not pairs > 0:
            return float("nan"), float("nan")
        below = np.cumsum(rest) - rest
        return float(mine @ (below + rest / 2)) / pairs, float(mine @ rest) / 2 / pairs

    def areas(self, rows: Float) -> Areas:
        """Of all classes, with their intervals; ``rows`` are the effective rows of each and of the others: (K, 2).

        How the areas hang together is not known from bins; taking them as one makes the interval of their mean too wide
        rather than too narrow.
        """
        found = [self._placements(k) for k in range(self.table.shape[1] - 1)]
        area, spread = np.array([a for a, _ in found]), np.array([s for _, s in found])
        return Areas(area, spread * rows / np.maximum(rows - 1, 1e-12), rows, np.ones((len(area), len(area))))

    def _placements(self, k: int) -> tuple[float, tuple[float, float]]:
        """The area of class k, and the variance (with n) of the placements of the class and of the others."""
        rest, mine = self.table[:, k].sum(axis=0)
        area, spread = self.area(k)[0], []
        if area != area:
            return area, (area, area)
        below, above = ((np.cumsum(side) - side / 2) / side.sum() for side in (rest, mine))
        for side, placed in ((mine, below), (rest, 1 - above)):
            spread.append(float(side @ (placed - area) ** 2) / float(side.sum()))
        return area, (spread[0], spread[1])

    def mass_table(self, each: float) -> Float:
        """Reliability of the top probability in cells of equal mass, a score being its bin's centre: (FIELDS, BINS).

        ``each`` is the weight that every row is taken to have.
        """
        wrong, right = self.table[:, -1].sum(axis=0)
        weight, p = wrong + right, _centres()
        cell = mass_bins(p, weight)
        fields = [np.bincount(cell, w, minlength=BINS) for w in (weight, weight * p, right, weight * each)]
        return np.stack(fields)


def cells(odds: Float) -> Int:
    """The cell of each score: (n,)."""
    size, inner = np.abs(odds), CELLS // 2 - OUTER
    with np.errstate(divide="ignore"):
        outer = inner + np.log(np.maximum(size, NEAR) / NEAR) * (OUTER / np.log(FAR / NEAR))
    place = np.where(size <= NEAR, np.arcsinh(size) * (inner / np.arcsinh(NEAR)), outer)
    signed = np.copysign(np.minimum(place, CELLS / 2), odds) + CELLS / 2
    found: Int = np.minimum(signed.astype(np.int64), CELLS - 1)
    return found


def _centres() -> Float:
    """The probability in the middle of each cell: (CELLS,)."""
    inner = CELLS // 2 - OUTER
    place = np.arange(CELLS) + 0.5 - CELLS / 2
    size = np.abs(place)
    outer = NEAR * np.exp((size - inner) * (np.log(FAR / NEAR) / OUTER))
    odds = np.where(size <= inner, np.sinh(np.minimum(size, inner) * (np.arcsinh(NEAR) / inner)), outer)
    centres: Float = expit(np.copysign(odds, place))
    return centres
