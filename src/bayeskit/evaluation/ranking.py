"""Ranking: whether rows of a class get higher probabilities of it than the others; exact, or from bins of scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayeskit.arrays import Bool, Float, Int
from bayeskit.reliability import BINS, gap, mass_bins

CELLS = 4096
SPAN = float(np.arcsinh(40.0))  # beyond log-odds of 40 scores share the outer cells


def influence(scores: Float, positive: Bool, weights: Float) -> Float:
    """What a row adds to the area per weight, beyond the mean of its side: (n,).

    The variance of the area is the sum of weight times its square (DeLong, DeLong and Clarke-Pearson, Biometrics 44,
    1988).
    """
    out = np.empty(len(scores))
    for side, sign in ((positive, 1.0), (~positive, -1.0)):
        order = np.argsort(scores[~side], kind="stable")
        ranked, passed = scores[~side][order], np.append(0.0, np.cumsum(weights[~side][order]))
        below, upto = (passed[np.searchsorted(ranked, scores[side], to)] for to in ("left", "right"))
        share = sign * (below + upto) / (2 * passed[-1])
        out[side] = (share - np.average(share, weights=weights[side])) / weights[side].sum()
    return out


@dataclass(frozen=True)
class Ranks:
    """Weights by cells of score, for rows that cannot all be kept; cells are of equal width in
    arsinh(log-odds): fine in the middle, where most pairs are, and reaching far out.

    Groups first, then for each class the rest and the class, and last the top probability by wrong and right.
    """

    table: Float  # (G, K + 1, 2, CELLS)

    @classmethod
    def empty(cls, groups: int, classes: int) -> Ranks:
        return cls(np.zeros((groups, classes + 1, 2, CELLS)))

    def update(self, codes: Int, proba: Float, weights: Float, groups: Int) -> Ranks:
        """Some rows more; ``codes`` are their classes. May consume self."""
        top = np.argmax(proba, axis=1)
        table = self.table
        n_groups, wide = table.shape[0], CELLS * 2
        for k in range(table.shape[1]):
            last = k == proba.shape[1]
            scores = proba[np.arange(len(top)), top] if last else proba[:, k]
            hit = top == codes if last else codes == k
            place = groups * wide + hit * CELLS + _cell(scores)
            table[:, k] += np.bincount(place, weights, minlength=n_groups * wide).reshape(n_groups, 2, CELLS)
        return self

    def merge(self, other: Ranks) -> Ranks:
        return Ranks(self.table + other.table)

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

    def ece_mass(self) -> float:
        """Calibration error of the top probability over cells of equal mass, a score counting as its cell's centre."""
        wrong, right = self.table[:, -1].sum(axis=0)
        weight, p = wrong + right, _centres()
        cell = mass_bins(p, weight)
        fields = [np.bincount(cell, w, minlength=BINS) for w in (weight, weight * p, right)]
        return gap(np.stack(fields))


def _cell(p: Float) -> Int:
    with np.errstate(divide="ignore"):
        odds = np.log(p) - np.log1p(-p)
    scaled = (np.clip(np.arcsinh(odds), -SPAN, SPAN) + SPAN) * (CELLS / (2 * SPAN))
    cells: Int = np.minimum(scaled.astype(np.int64), CELLS - 1)
    return cells


def _centres() -> Float:
    odds = np.sinh((np.arange(CELLS) + 0.5) * (2 * SPAN / CELLS) - SPAN)
    centres: Float = 1 / (1 + np.exp(-odds))
    return centres
