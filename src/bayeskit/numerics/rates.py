"""Rates: shares of rows and how far they may be off, ROC curves, and whether probabilities come true."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from bayeskit.arrays import Bool, Float, Int

LEVEL = 0.95
BINS = 15
FIELDS = 4  # weight, weight times probability, weight of what came true, squared weight


@dataclass(frozen=True)
class Interval:
    """Where a score lies with 95 % confidence, and how that was found."""

    low: float
    high: float
    how: str


def effective(weight: Float | float, squared: Float | float) -> Float:
    """How many rows of equal weight say as much: (Σw)² / Σw², 0 without rows.

    >>> effective(np.array([1e6, 3.0]), np.array([1e10, 5.0])).tolist()
    [100.0, 1.8]
    """
    rows: Float = np.divide(np.square(weight), squared, out=np.zeros(np.shape(weight)), where=np.greater(squared, 0))
    return rows


def ratio(part: Float | float, whole: Float | float) -> Float:
    """part / whole, NaN where the whole is nothing.

    >>> ratio(np.array([1.0, 0.0]), np.array([2.0, 0.0])).tolist()
    [0.5, nan]
    """
    part, whole = np.asarray(part, dtype=np.float64), np.asarray(whole, dtype=np.float64)
    share: Float = np.divide(part, whole, out=np.full(np.broadcast(part, whole).shape, np.nan), where=whole > 0)
    return share


def wilson(share: float, weight: float, quantile: float = float(ndtri((1 + LEVEL) / 2))) -> Interval:
    """Wilson's interval of a proportion p seen in a weight of n rows; ``quantile`` z is the normal one unless given.

    (p + z²/2n ± z sqrt(p(1-p)/n + z²/4n²)) / (1 + z²/n)

    >>> interval = wilson(0.5, 10)
    >>> round(interval.low, 4), round(interval.high, 4)
    (0.2366, 0.7634)
    """
    if not weight > 0 or share != share:
        return Interval(np.nan, np.nan, "no rows")
    z2 = quantile**2
    middle = share + z2 / (2 * weight)
    half = np.sqrt(z2 * (share * (1 - share) / weight + z2 / (4 * weight * weight)))
    low, high = (middle - half) / (1 + z2 / weight), (middle + half) / (1 + z2 / weight)
    return Interval(max(0.0, float(low)), min(1.0, float(high)), "Wilson")


@dataclass(frozen=True)
class Curve:
    """The ROC curve of one class against the rest: a point for every distinct score, from (0, 0) to (1, 1)."""

    threshold: Float  # (points,) scores of at least this count as the class; inf at the start
    false_positive: Float  # (points,) share of the others
    true_positive: Float  # (points,) share of the class

    @property
    def area(self) -> float:
        """The chance that a row of the class scores above one of the others, a tie counting half."""
        return float(np.trapezoid(self.true_positive, self.false_positive))


def curve(scores: Float, positive: Bool, weights: Float) -> Curve:
    """The exact curve, from all scores; NaN shares where the class or the rest has no weight.

    >>> curve(np.array([0.1, 0.4, 0.35, 0.8]), np.array([False, False, True, True]), np.ones(4)).area
    0.75
    """
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    last = np.append(np.flatnonzero(np.diff(ranked)), len(ranked) - 1) if len(ranked) else np.zeros(0, dtype=np.int64)
    shares = []
    for members in (~positive, positive):
        passed = np.append(0.0, np.cumsum((weights * members)[order])[last])
        with np.errstate(invalid="ignore"):
            shares.append(passed / passed[-1] if passed[-1] > 0 else np.full(len(passed), np.nan))
    return Curve(np.append(np.inf, ranked[last]), *shares)


def best_class(p: Float) -> Int:
    """The column of the largest number in each row, the first in a tie: (n,).

    >>> best_class(np.array([[0.5, 0.5], [0.2, 0.8]])).tolist()
    [0, 1]
    """
    best: Int = np.argmax(p, axis=1) if p.shape[1] != 2 else (p[:, 1] > p[:, 0]).astype(np.int64)  # 10 times as fast
    return best


def pick(p: Float, column: Int) -> Float:
    """The number of each row in a column of its own: (n,).

    >>> pick(np.array([[0.8, 0.2], [0.6, 0.4]]), np.array([0, 1])).tolist()
    [0.8, 0.4]
    """
    found: Float = p[np.arange(len(p)), column] if p.shape[1] != 2 else np.where(column == 0, p[:, 0], p[:, 1])
    return found


def width_bins(p: Float, bins: int = BINS) -> Int:
    """Cells of equal width, right-closed: ((b-1)/bins, b/bins], 0 in the first.

    >>> width_bins(np.array([0.0, 1 / 15, 0.0667, 1.0])).tolist()
    [0, 0, 1, 14]
    """
    return np.clip(np.ceil(p * bins).astype(np.int64) - 1, 0, bins - 1)


def mass_bins(p: Float, weights: Float, bins: int = BINS) -> Int:
    """Cells of about equal weight in the order of p; equal probabilities stay together, whatever the order of rows.

    >>> mass_bins(np.array([0.9, 0.5, 0.5, 0.7]), np.ones(4), 2).tolist()
    [1, 0, 0, 1]
    """
    values, where = np.unique(p, return_inverse=True)
    mass = np.bincount(where, weights, minlength=len(values))
    middle = np.cumsum(mass) - mass / 2
    total = mass.sum()
    cell = np.floor(bins * middle / total).astype(np.int64) if total > 0 else np.zeros(len(values), dtype=np.int64)
    cells: Int = np.minimum(cell, bins - 1)[where]
    return cells


def sum_cells(p: Float, true: Bool, weights: Float, cell: Int, cells: int) -> Float:
    """Weight, weight times probability, weight of what came true and squared weight, by cell: (FIELDS, cells)."""
    each = (weights, weights * p, weights * true, weights**2)
    return np.stack([np.bincount(cell, w, minlength=cells) for w in each])


def gap(table: Float) -> float:
    """Calibration error: the mean over rows of |share that came true - mean probability| of their cell."""
    weight, said, came, _ = table
    total = float(weight.sum())
    return float(np.abs(came - said).sum() / total) if total > 0 else float("nan")


BANDS = ("wilson", "consistency", "bootstrap")
DRAWS = 2000
MANY = 5000  # rows of a cell beyond which a sum of their draws is as good as normal


def band_of(how: str, p: Float, came: Bool, weights: Float, cell: Int, cells: int) -> tuple[Float, Float]:
    """Where the share that comes true of each cell lies in 95 % of draws, NaN without rows: (cells,) each.

    ``consistency``: each row comes true with the probability it was given, so shares outside speak against the model
    (Bröcker and Smith 2007). ``bootstrap``: the rows of a cell are drawn anew, with replacement.

    >>> low, high = band_of("consistency", np.full(400, 0.5), np.zeros(400, bool), np.ones(400), np.zeros(400, int), 1)
    >>> low.round(2).tolist(), high.round(2).tolist()
    ([0.45], [0.55])
    """
    rng, ends = np.random.default_rng(0), np.full((2, cells), np.nan)
    for b in np.unique(cell[weights > 0]).tolist():
        mine = (cell == b) & (weights > 0)
        q, hit, w = p[mine], came[mine], weights[mine] / weights[mine].sum()
        share = float(w @ (q if how == "consistency" else hit))
        if len(q) > MANY:
            spread = q * (1 - q) if how == "consistency" else (hit - share) ** 2
            half = float(ndtri((1 + LEVEL) / 2) * np.sqrt(w**2 @ spread))
            ends[:, b] = share - half, share + half
            continue
        if how == "consistency":
            drawn = (rng.random((DRAWS, len(q))) < q) @ w
        else:
            rows = rng.integers(0, len(q), (DRAWS, len(q)))
            drawn = np.einsum("ij,ij->i", w[rows], hit[rows].astype(np.float64)) / w[rows].sum(axis=1)
        ends[:, b] = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    low, high = np.clip(ends, 0.0, 1.0)
    return low, high
