"""Smooth calibration error: without cells whose edges decide."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.fft import dct, idct

from bayeskit.arrays import Bool, Float
from bayeskit.evaluation.score import KeptScore

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
        p, weights, best = repeat.proba[mask], rows.weights[mask], repeat.best[mask]
        return smooth_error(p[np.arange(len(p)), best], best == rows.codes[mask], weights)


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

    def error(deviation: float) -> float:
        return float(np.abs(idct(wave * np.exp(decay * deviation**2))).sum())

    low, high = 0.0, 1.0
    for _ in range(48):  # the error falls as the kernel widens, so one deviation equals it
        middle = (low + high) / 2
        low, high = (middle, high) if error(middle) > middle else (low, middle)
    return (low + high) / 2
