"""Gaps: how far shares that came true are from probabilities, by cells, and where they lie once chance is taken out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import chndtr, softmax

from bayeskit.arrays import Bool, Float
from bayeskit.evaluation.intervals import no_interval
from bayeskit.evaluation.recalibration import LARGEST, crossings, folded_mean, square_ends
from bayeskit.numerics.rates import BINS, Interval, effective, ratio, width_bins

if TYPE_CHECKING:
    from bayeskit.evaluation.measures import Measures
    from bayeskit.evaluation.out_of_fold import OutOfFold

DRAWS, BATCH = 1000, 1 << 16
MOST_CLASSES = 50  # beyond, the covariance of all cells is large


@dataclass(frozen=True)
class Gaps:
    """The mean of (came true - expected) in the cells of each class; a row lies in one cell of each class.

    The variance of a cell of n rows, k of which came true, is s(1 - s), s = (k + m) / (n + 1): all of few rows came
    true by chance alone. m is half the mean expected and half the share of the class. Less than chance adds on average
    counts as that: else the interval of a lucky sample had no width.
    """

    share: Float  # (cells,) of the weight; cells without rows are left out
    gap: Float  # (cells,)
    within: Float  # (cells, cells) covariance of what one row adds to two cells, about their gaps
    both: Float  # (cells, cells) share of the rows in both
    rows: float  # of equal weight that would say as much

    @classmethod
    def of(cls, said: Float, expected: Float, came: Bool, weights: Float) -> Gaps:
        """By what was said of each class, in 15 cells of equal width; gaps are to what was ``expected``: (n, K) each.

        >>> said, came = np.full((100, 1), 0.5), np.arange(100)[:, None] < 70
        >>> gaps = Gaps.of(said, said, came, np.ones(100))
        >>> gaps.gap.round(2).tolist(), [round(end, 3) for end in gaps.absolute_ends()]
        ([0.2], [0.115, 0.287])
        """
        classes, whole, square = said.shape[1], float(weights.sum()), float((weights**2).sum())
        first = BINS * np.arange(classes)  # cells of all classes, one class after the other
        batches = [slice(start, start + BATCH) for start in range(0, len(said), BATCH)]
        sums = np.zeros((4, classes * BINS))
        for rows in batches:
            cell, each = (width_bins(said[rows]) + first).ravel(), np.repeat(weights[rows], classes)
            parts = (each, each**2, each * came[rows].ravel(), each * expected[rows].ravel())
            for out, values in zip(sums, parts, strict=True):
                out += np.bincount(cell, values, classes * BINS)
        weight, squared = sums[:2]
        shares, said_mean = (np.nan_to_num(ratio(part, weight)) for part in sums[2:])
        gap, count, likely = shares - said_mean, effective(weight, squared), np.repeat(weights @ came / whole, BINS)
        smooth = (count * shares + (said_mean + likely) / 2) / (count + 1)
        within, both = np.zeros((2, classes, BINS, classes, BINS))
        for rows in batches:
            cell, heavy = width_bins(said[rows]), weights[rows] ** 2 / square
            apart = came[rows] - expected[rows] - gap[cell + first]
            for j, k in combinations_with_replacement(range(classes), 2):
                at = cell[:, j] * BINS + cell[:, k]
                for out, values in ((within, heavy * apart[:, j] * apart[:, k]), (both, heavy)):
                    out[j, :, k] += np.bincount(at, values, BINS**2).reshape(BINS, BINS)
        for j, k in combinations(range(classes), 2):
            within[k, :, j], both[k, :, j] = within[j, :, k].T, both[j, :, k].T
        used = np.flatnonzero(weight > 0)
        within, both = (table.reshape(classes * BINS, -1)[np.ix_(used, used)] for table in (within, both))
        variance = (smooth * (1 - smooth) * squared / square)[used]
        scale = np.nan_to_num(np.sqrt(ratio(variance, np.where(np.diagonal(within) > 1e-18, np.diagonal(within), 0))))
        within = within * np.outer(scale, scale)
        np.fill_diagonal(within, variance)
        return cls(weight[used] / whole, gap[used], within, both, float(effective(whole, square)))

    def square_ends(self, design_effect: float = 1.0) -> tuple[float, float]:
        """Ends of the mean over rows of g², summed over classes; cells are not independent, nor is their weight known.

        As in ``square_interval``, with tr (AV)² for Σ (sv)².
        """
        square, v = self.gap**2, self.within / np.outer(self.share, self.share)
        chance = float(self.share @ np.diagonal(v)) / self.rows
        among = float(self.share @ v**2 @ self.share) / self.rows**2
        moved = float(square @ self.both @ square - (self.share @ square) ** 2)  # by the weight of the cells
        noise = (float(self.gap @ self.within @ self.gap) + moved / 4) / self.rows
        seen = max(float(self.share @ square), chance)
        return square_ends(seen, chance, design_effect * among, design_effect * noise)

    def absolute_ends(self, design_effect: float = 1.0) -> tuple[float, float]:
        """Ends of the mean over rows of |g|, summed over classes, θ: T = Σ |D| of normal D about means of sum θ.

        The means are shared out over the cells as E|N(D, v)|, so that no cell is taken for calibrated because it looks
        so; chance is drawn. The ends are the θ for which what was seen is the 97.5 % and 2.5 % point.
        """
        size = self.share * self.gap
        covariance = (self.within + self.both * np.outer(self.gap, self.gap) - np.outer(size, size)) / self.rows
        deviation = np.sqrt(np.diagonal(covariance))
        known = deviation > 0
        if not known.any():
            return float("nan"), float("nan")
        profile = np.copysign(folded_mean(size[known], deviation[known]), size[known])
        profile /= np.abs(profile).sum()
        values, axes = np.linalg.eigh(covariance[np.ix_(known, known)])
        drawn = np.random.default_rng(0).standard_normal((DRAWS, len(values))) * np.sqrt(np.maximum(values, 0)) @ axes.T
        seen = float(np.abs(size).sum())
        return crossings(lambda total: share_below(seen, drawn, total * profile, design_effect), LARGEST)


def share_below(seen: float, drawn: Float, means: Float, design_effect: float) -> float:
    """P(Σ |mean + noise| < seen), by draws of the noise: (draws, cells). Chance adds as much, but varies more."""
    found = np.abs(drawn + means).sum(axis=1)
    middle, least = found.mean(), float(np.abs(drawn).sum(axis=1).mean())
    return float(np.mean((found - middle) * np.sqrt(design_effect) < max(seen, least) - middle))


def gaps_interval(
    found: Measures, ends: Callable[[OutOfFold], tuple[float, float]], how: str, classes: int = 1
) -> Interval:
    """The interval that the gaps of the kept rows give; folds would say how the figure varies, not what chance adds."""
    if found.grouped:
        return no_interval("rows come in groups")
    if found.kept is None:
        return no_interval("rows are not kept")
    if classes > MOST_CLASSES:
        return no_interval(f"more than {MOST_CLASSES} classes")
    if not found.rows > 1:
        return no_interval("too few rows")
    low, high = ends(found.kept)
    return no_interval("all rows are sure, and right") if np.isnan(low) else Interval(low, high, how)


def uncertainty_ends(share: Float, rows: float) -> tuple[float, float]:
    """Ends of Σ p(1 - p), from the shares of the classes: Q = Σ (p - 1/K)² is about c χ²_ν(θ/c) where it is θ.

    p goes from 1/K each through the shares to one class alone, p_c ∝ exp(t log share_c), and has the variance of its
    place, as in Wilson's interval.

    >>> [round(end, 3) for end in uncertainty_ends(np.array([0.5, 0.5]), 100.0)]
    [0.459, 0.5]
    """
    classes = len(share)
    pseudo = np.where(np.arange(classes) == np.argmax(share), 1.0, 0.5)  # equal shares point to the first class
    way = np.log(rows * share + pseudo)
    way = (way - way.mean()) / np.ptp(way)
    chance = (1 - 1 / classes) / rows
    seen = max(float(((share - 1 / classes) ** 2).sum()), chance)

    def below(t: float) -> float:
        p = softmax(t * way)
        gap, covariance = p - 1 / classes, (np.diag(p) - np.outer(p, p)) / rows
        chance, square = float(np.trace(covariance)), float(gap @ gap)
        c = float((covariance**2).sum() + 2 * gap @ covariance @ gap) / (chance + 2 * square)
        return float(chndtr(seen / c, chance / c, square / c))

    low, high = (1 - float((softmax(t * way) ** 2).sum()) for t in crossings(below, 30.0)[::-1])
    return low, high
