"""Smooth calibration error: without cells whose edges decide."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.fft import dct, idct
from scipy.optimize import brentq

from bayeskit.arrays import Bool, Float
from bayeskit.evaluation.gaps import Gaps, gaps_interval, share_below
from bayeskit.evaluation.recalibration import crossings, folded_mean
from bayeskit.evaluation.score import KeptScore
from bayeskit.numerics.rates import Interval, pick, width_bins

if TYPE_CHECKING:
    from bayeskit.evaluation.measures import Measures
    from bayeskit.evaluation.out_of_fold import OutOfFold, Repeat
    from bayeskit.model.labelled_table import Rows

CELLS = 1024  # of the grid that probabilities are put on
GRID, DRAWS = 128, 500  # of an interval


class SmoothECE(KeptScore):
    """The integral of |mean of (right - top probability) K(t, top probability)| over t, K a normal kernel reflected at
    0 and 1 whose deviation is the error itself (Błasiok and Nakkiran 2023).

    On 1,024 cells; the reflected kernel is a product in the cosine basis. Known where rows are kept.
    """

    name = "smooth_ece"
    title = "Calibration error, smooth"
    meaning = "calibration error by a kernel in place of cells; less is better"
    topic = "calibration"
    larger_is_better = False
    chance_adds = True

    def of_repeat(self, rows: Rows, repeat: Repeat, mask: Bool) -> float:
        taken = slice(None) if mask.all() else mask
        best = repeat.best[taken]
        return smooth_error(pick(repeat.proba[taken], best), best == rows.codes[taken], rows.weights[taken])

    def interval(self, found: Measures) -> Interval:
        def ends(kept: OutOfFold) -> tuple[float, float]:
            return smooth_ends(*kept.judged_top(), found.design_effect)

        return gaps_interval(found, ends, "folded normals, smoothed")


def smooth_error(said: Float, came: Bool, weights: Float) -> float:
    """The error of probabilities, (n,), by whether each came true.

    >>> round(smooth_error(np.full(4, 0.7), np.array([True, True, True, False]), np.ones(4)), 3)
    0.05
    """
    total = float(weights.sum())
    if total <= 0:
        return float("nan")
    cell = np.minimum((said * CELLS).astype(np.int64), CELLS - 1)
    wave = dct(np.bincount(cell, weights * (came - said), minlength=CELLS) / total)
    decay = -0.5 * (np.pi * np.arange(CELLS)) ** 2

    def excess(deviation: float) -> float:
        """The error, which falls as the kernel widens, less the deviation: one deviation equals its error."""
        return float(np.abs(idct(wave * np.exp(decay * deviation**2))).sum()) - deviation

    if not excess(0.0) > 0:
        return 0.0
    return 1.0 if excess(1.0) >= 0 else float(brentq(excess, 0.0, 1.0, xtol=1e-15))


def smooth_ends(said: Float, came: Bool, weights: Float, design_effect: float) -> tuple[float, float]:
    """Ends of the error without chance, as ``Gaps.absolute_ends``: at most θ where a kernel of deviation θ says so.

    The kernel is at least as wide as that of the error found, for wider ones leave less to chance.
    """
    bins, place = np.unique(width_bins(said), return_inverse=True)
    gaps = Gaps.of(said[:, None], said[:, None], came[:, None], weights)
    square = weights**2
    variance = (np.diagonal(gaps.within) / np.bincount(place, square, minlength=len(bins)))[place] * square.sum()
    cell = np.minimum((said * GRID).astype(np.int64), GRID - 1)
    size = np.bincount(cell, weights * (came - said), minlength=GRID) / weights.sum()
    each = np.bincount(cell, square * variance, minlength=GRID) / weights.sum() ** 2
    if not each.any():
        return float("nan"), float("nan")
    drawn = np.random.default_rng(0).standard_normal((DRAWS, GRID)) * np.sqrt(each)
    waves, decay = dct(np.eye(GRID), axis=0), -0.5 * (np.pi * np.arange(GRID)) ** 2
    least = smooth_error(said, came, weights)

    def below(error: float) -> float:
        """P(less than was seen) where the error is ``error``."""
        kernel = idct(np.exp(decay * max(error, least) ** 2)[:, None] * waves, axis=0)
        means = kernel @ size
        profile = np.copysign(folded_mean(means, np.sqrt(kernel**2 @ each)), means)
        means_of = error / np.abs(profile).sum() * profile
        return share_below(float(np.abs(means).sum()), drawn @ kernel.T, means_of, design_effect)

    return crossings(below, 1.0)
