"""Smooth calibration error: without cells whose edges decide."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.fft import dct, idct
from scipy.optimize import brentq

from bayeskit.arrays import Bool, Float
from bayeskit.evaluation.score import KeptScore
from bayeskit.numerics.rates import pick

if TYPE_CHECKING:
    from bayeskit.evaluation.out_of_fold import Repeat
    from bayeskit.model.labelled_table import Rows

CELLS = 1024  # of the grid that probabilities are put on


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

    def of_repeat(self, rows: Rows, repeat: Repeat, mask: Bool) -> float:
        taken = slice(None) if mask.all() else mask
        best = repeat.best[taken]
        return smooth_error(pick(repeat.proba[taken], best), best == rows.codes[taken], rows.weights[taken])


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
