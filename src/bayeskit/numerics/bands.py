"""Bands of a reliability diagram: where shares may lie by chance alone, or where the true ones may lie."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from bayeskit.arrays import Bool, Float, Int
from bayeskit.numerics.rates import LEVEL

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
