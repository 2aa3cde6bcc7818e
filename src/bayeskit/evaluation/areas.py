"""Areas: under the ROC curve of each class against the rest, from the log-odds of rows or of bins (ScoreHistogram)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit, ndtri, stdtrit

from bayeskit import _core
from bayeskit.arrays import Bool, Float, Int
from bayeskit.evaluation.intervals import mean_of_ends, no_interval
from bayeskit.numerics.rates import BINS, LEVEL, Interval, effective, mass_bins

Z = float(ndtri((1 + LEVEL) / 2))
SURE = -1e-3  # log-probability from which on the others say how sure
FEW = 10  # rows of a class below which the variance is that of a model, not of the rows


def log_odds(logs: Float) -> Float:
    """log P(c) - log P(another class), from log-probabilities: (n, K).

    They order rows whose probabilities are all 1.0 in double precision. With two classes one is the negative of the
    other, so both have the same area.

    >>> log_odds(np.array([[-1e-300, -690.0], [0.0, -1000.0]])).tolist()
    [[690.0, -690.0], [1000.0, -1000.0]]
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        if logs.shape[1] == 2:
            apart = logs[:, 0] - logs[:, 1]
            return np.stack([apart, -apart], axis=1)
        out = logs - np.log1p(-np.exp(logs))  # of P(c) alone, so that rows that tie in it stay tied
        sure = logs > SURE
        for c in np.flatnonzero(sure.any(axis=0)).tolist():  # 1 - P(c) has lost its digits, the others have not
            at = sure[:, c]
            out[at, c] = logs[at, c] - np.logaddexp.reduce(np.delete(logs[at], c, axis=1), axis=1)
        return out


def placements(scores: Float, positive: Bool, weights: Float) -> Float:
    """The share of the other side that each row is rightly above (or below), a tie counting half: (n,)."""
    order = np.argsort(scores)
    ranked, hit = scores[order], positive[order]
    first = np.append(True, ranked[1:] != ranked[:-1])  # of those that tie
    start, group = np.flatnonzero(first), np.cumsum(first) - 1
    placed = np.empty(len(scores))
    for side, sign in ((hit, 1.0), (~hit, -1.0)):
        passed = np.append(0.0, np.cumsum(np.where(side, 0.0, weights[order])))
        below, upto = passed[start], passed[np.append(start[1:], len(scores))]
        share = (1 - sign) / 2 + sign * (below + upto) / (2 * passed[-1])
        placed[side] = share[group[side]]
    out = np.empty(len(scores))
    out[order] = placed
    return out


@dataclass(frozen=True)
class Areas:
    """Of each class against the rest, with what an interval of their mean needs; NaN without rows on both sides.

    The variance of an area is that of the placements of either side, with n - 1, by n (DeLong, DeLong and
    Clarke-Pearson, Biometrics 44, 1988).
    """

    area: Float  # (K,)
    spread: Float  # (K, 2) variance of the placements of the class and of the others
    rows: Float  # (K, 2) effective rows of the class and of the others
    correlation: Float  # (K, K) of the areas

    @classmethod
    def of(cls, codes: Int, odds: Float, weights: Float) -> Areas:
        """From the log-odds of each class: (n, K)."""
        classes = odds.shape[1]
        area, spread, rows = np.full(classes, np.nan), np.full((classes, 2), np.nan), np.zeros((classes, 2))
        shares = np.zeros((classes, len(codes)))
        for k in range(classes):
            positive = codes == k
            if not positive.any() or positive.all():
                continue
            if k == 1 and classes == 2 and rows[0].all():  # the other side of the same pairs
                area[1], spread[1], rows[1], shares[1] = area[0], spread[0, ::-1], rows[0, ::-1], shares[0]
                continue
            placed = placements(odds[:, k], positive, weights)
            area[k] = np.average(placed[positive], weights=weights[positive])
            for j, side in enumerate((positive, ~positive)):
                w, apart = weights[side], placed[side] - area[k]
                rows[k, j] = n = float(effective(w.sum(), w @ w))
                spread[k, j] = np.average(apart**2, weights=w) * n / max(n - 1, 1e-12)
                shares[k, side] = w / w.sum() * apart
        if classes == 2:  # one area is the other
            return cls(area, spread, rows, np.ones((2, 2)))
        covariance = shares @ shares.T
        scale = np.sqrt(np.outer(np.diagonal(covariance), np.diagonal(covariance)))
        return cls(area, spread, rows, np.divide(covariance, scale, out=np.ones_like(scale), where=scale > 0))

    @property
    def variance(self) -> Float:
        """DeLong's: (K,)."""
        by_side = np.divide(self.spread, self.rows, out=np.full(self.rows.shape, np.nan), where=self.rows > 0)
        total: Float = by_side.sum(axis=1)
        return total

    def interval(self, by_fold: Float | None = None, folds: int = 1) -> Interval:
        """Of the mean over classes: of each on the scale of logits, or Newcombe's where rows are few or all is right.

        Student's t of the smaller side, not the normal: with few rows of a class the models of the folds are unlike.

        ``by_fold`` are the mean areas within folds, (K,): pairs of rows that met the same model. There are fewer of
        them, by as many folds, so the part of the variance that is by pairs, A(1 - A) less both spreads, is larger.
        """
        centre = self.area if by_fold is None else by_fold
        there = np.flatnonzero(np.isfinite(self.area) & np.isfinite(centre))
        if not len(there) or self.rows[there].min() <= 1:
            return no_interval("too few rows of a class")
        ends, ways = [], set()
        for k in there.tolist():
            area, (mine, rest), variance = float(centre[k]), self.rows[k].tolist(), float(self.variance[k])
            if by_fold is not None:
                variance += max(area * (1 - area) - self.spread[k].sum(), 0.0) * folds / (mine * rest)
            few = min(mine, rest) < FEW or not variance > 0 or not 0 < area < 1
            t = float(stdtrit(min(mine, rest) - 1, (1 + LEVEL) / 2))
            ends.append(newcombe(area, mine, rest, folds, t) if few else by_logit(area, float(np.sqrt(variance)), t))
            ways.add("Newcombe's method 5" if few else "DeLong, logit")
        low, high = np.array(ends).T
        how = " and ".join(sorted(ways)) + ("" if by_fold is None else ", by fold")
        return mean_of_ends(centre[there], low, high, self.correlation[np.ix_(there, there)], how)


def by_logit(area: float, error: float, z: float = Z) -> tuple[float, float]:
    """Ends of logit(A) ± z s / (A (1 - A))."""
    half = z * error / (area * (1 - area))
    return float(expit(logit(area) - half)), float(expit(logit(area) + half))


def newcombe(area: float, mine: float, rest: float, folds: int = 1, z: float = Z) -> tuple[float, float]:
    """Newcombe's method 5: the areas A with |A - area| = z √V(A), V that of exponential scores.

    V(A) = A (1 - A) (F + N (1 - A)/(2 - A) + N A/(1 + A)) / mn, N = (m + n)/2 - F, for the mean of F folds (F = 1:
    Statistics in Medicine 25, 2006).

    >>> [round(end, 4) for end in newcombe(1.0, 5, 20)]
    [0.7607, 1.0]
    """
    return _lower(area, mine, rest, folds, z), 1 - _lower(1 - area, mine, rest, folds, z)


def _lower(area: float, mine: float, rest: float, folds: int, z: float) -> float:
    more = max((mine + rest) / 2 - folds, 0.0)

    def apart(a: float) -> float:
        variance = a * (1 - a) * (folds + more * (1 - a) / (2 - a) + more * a / (1 + a)) / (mine * rest)
        return area - a - z * float(np.sqrt(variance))

    if area <= 0:
        return 0.0
    return float(brentq(apart, 0.0, min(area, 1 - 1e-12)))  # at an area of 1 the variance is 0, which is no answer


CELLS = 4096
RANKED = 1000  # folds times classes whose scores are binned apart, at 64 KB each
OUTER = 64  # cells on either side for rows of which a model is surer than it can say by a probability
NEAR, FAR = 30.0, 1e4  # log-odds up to which cells are of equal width in arsinh, and from there in the logarithm
INNER = CELLS // 2 - OUTER
SCALE = NEAR, FAR, float(INNER / np.arcsinh(NEAR)), float(INNER), float(OUTER / np.log(FAR / NEAR))


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
        return self.add(codes, log_odds(logs), np.argmax(logs, axis=1), weights, groups)

    def add(self, codes: Int, odds: Float, best: Int, weights: Float, groups: Int) -> ScoreHistogram:
        """Likewise, by the log-odds of each class and the most probable one."""
        best, codes, groups = (np.ascontiguousarray(a, np.int64) for a in (best, codes, groups))
        odds, weights = np.ascontiguousarray(odds), np.ascontiguousarray(weights)
        _core.add_scores(odds, best, codes, weights, groups, SCALE, self.table)
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


def _centres() -> Float:
    """The probability in the middle of each cell: (CELLS,)."""
    place = np.arange(CELLS) + 0.5 - CELLS / 2
    size = np.abs(place)
    outer = NEAR * np.exp((size - INNER) / SCALE[4])
    odds = np.where(size <= INNER, np.sinh(np.minimum(size, INNER) / SCALE[2]), outer)
    centres: Float = expit(np.copysign(odds, place))
    return centres
