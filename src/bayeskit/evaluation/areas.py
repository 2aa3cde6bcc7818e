"""Areas: under the ROC curve of each class against the rest, from log-odds, and how far their mean may be off."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit, ndtri

from bayeskit.arrays import Bool, Float, Int
from bayeskit.evaluation.intervals import effective, mean_of_ends, no_interval
from bayeskit.proportion import LEVEL, Interval

FEW = 10  # rows of a class below which the variance is that of a model, not of the rows


def log_odds(logs: Float) -> Float:
    """log P(c) - log P(another class), from log-probabilities: (n, K).

    They order rows whose probabilities are all 1.0 in double precision. With two classes one is the negative of the
    other, so both have the same area.

    >>> log_odds(np.array([[-1e-300, -690.0], [0.0, -1000.0]])).tolist()
    [[690.0, -690.0], [1000.0, -1000.0]]
    """
    if logs.shape[1] == 2:
        with np.errstate(invalid="ignore"):
            apart = np.nan_to_num(logs[:, 0] - logs[:, 1], nan=0.0) + np.where(np.isnan(logs[:, 0]), np.nan, 0.0)
        return np.stack([apart, -apart], axis=1)
    out = np.empty_like(logs)
    for c in range(logs.shape[1]):
        with np.errstate(invalid="ignore"):
            out[:, c] = logs[:, c] - np.logaddexp.reduce(np.delete(logs, c, axis=1), axis=1)
    return out


def placements(scores: Float, positive: Bool, weights: Float) -> Float:
    """The share of the other side that each row is rightly above (or below), a tie counting half: (n,)."""
    out = np.empty(len(scores))
    for side, sign in ((positive, 1.0), (~positive, -1.0)):
        order = np.argsort(scores[~side], kind="stable")
        ranked, passed = scores[~side][order], np.append(0.0, np.cumsum(weights[~side][order]))
        below, upto = (passed[np.searchsorted(ranked, scores[side], to)] for to in ("left", "right"))
        out[side] = (1 - sign) / 2 + sign * (below + upto) / (2 * passed[-1])
    return out


@dataclass(frozen=True)
class Areas:
    """Of the classes that have an area, with what is needed for an interval of their mean."""

    area: Float  # (K,)
    variance: Float  # (K,) DeLong's
    rows: Float  # (K, 2) effective rows of the class and of the others
    correlation: Float  # (K, K) of the areas

    @classmethod
    def of(cls, codes: Int, odds: Float, weights: Float) -> Areas:
        """From the log-odds of each class: (n, K).

        The variance is the sum over both sides of that of the placements, with n - 1, by n (DeLong, DeLong and
        Clarke-Pearson, Biometrics 44, 1988).
        """
        found, rows, shares = [], [], []
        for k in range(odds.shape[1]):
            positive = codes == k
            if not positive.any() or positive.all():
                continue
            placed, share, sizes = placements(odds[:, k], positive, weights), np.empty(len(codes)), []
            for side in (positive, ~positive):
                w = weights[side]
                n = float(effective(w.sum(), w @ w))
                mean = np.average(placed[side], weights=w)
                share[side] = w / w.sum() * (placed[side] - mean) * np.sqrt(n / max(n - 1, 1e-12))
                sizes.append(n)
            found.append(np.average(placed[positive], weights=weights[positive]))
            rows.append(sizes)
            shares.append(share)
        if not found:
            return cls(np.empty(0), np.empty(0), np.empty((0, 2)), np.empty((0, 0)))
        covariance = np.array(shares) @ np.array(shares).T
        variance = np.diagonal(covariance).copy()
        scale = np.sqrt(np.outer(variance, variance))
        correlation = np.divide(covariance, scale, out=np.ones_like(scale), where=scale > 0)
        return cls(np.array(found), variance, np.array(rows), correlation)

    def interval(self) -> Interval:
        """Of the mean over classes: of each on the scale of logits, or Newcombe's where rows are few or all is right."""
        if not len(self.area):
            return no_interval("no class with rows on both sides")
        if self.rows.min() <= 1:
            return no_interval("a class has one row")
        ends, ways = [], set()
        for area, variance, (mine, rest) in zip(self.area, self.variance, self.rows, strict=True):
            few = min(mine, rest) < FEW or not variance > 0
            ends.append(newcombe(area, mine, rest) if few else by_logit(area, np.sqrt(variance)))
            ways.add("Newcombe's method 5" if few else "DeLong, logit")
        low, high = np.array(ends).T
        return mean_of_ends(self.area, low, high, self.correlation, " and ".join(sorted(ways)))


def by_logit(area: float, error: float) -> tuple[float, float]:
    """Ends of logit(A) ± z s / (A (1 - A))."""
    half = float(ndtri((1 + LEVEL) / 2)) * error / (area * (1 - area))
    return float(expit(logit(area) - half)), float(expit(logit(area) + half))


def newcombe(area: float, mine: float, rest: float, folds: int = 1) -> tuple[float, float]:
    """Newcombe's method 5: the areas A with |A - area| = z √V(A), V that of exponential scores.

    V(A) = A (1 - A) (F + N (1 - A)/(2 - A) + N A/(1 + A)) / mn, N = (m + n)/2 - F, for the mean of F folds (F = 1:
    Statistics in Medicine 25, 2006).

    >>> [round(end, 4) for end in newcombe(1.0, 5, 20)]
    [0.7607, 1.0]
    """
    return _lower(area, mine, rest, folds), 1 - _lower(1 - area, mine, rest, folds)


def _lower(area: float, mine: float, rest: float, folds: int) -> float:
    z, more = float(ndtri((1 + LEVEL) / 2)), max((mine + rest) / 2 - folds, 0.0)

    def apart(a: float) -> float:
        variance = a * (1 - a) * (folds + more * (1 - a) / (2 - a) + more * a / (1 + a)) / (mine * rest)
        return area - a - z * float(np.sqrt(variance))

    if area <= 0:
        return 0.0
    return float(brentq(apart, 0.0, min(area, 1 - 1e-12)))  # at an area of 1 the variance is 0, which is no answer
