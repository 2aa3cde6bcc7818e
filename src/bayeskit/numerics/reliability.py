"""Reliability: whether what is said with probability p comes true in a share p of the cases."""

from __future__ import annotations

import numpy as np

from bayeskit.arrays import Bool, Float, Int

BINS = 15
FIELDS = 4  # weight, weight times probability, weight of what came true, squared weight


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


def tallied(p: Float, true: Bool, weights: Float, cell: Int, cells: int) -> Float:
    """Weight, weight times probability, weight of what came true and squared weight, by cell: (FIELDS, cells)."""
    each = (weights, weights * p, weights * true, weights**2)
    return np.stack([np.bincount(cell, w, minlength=cells) for w in each])


def gap(table: Float) -> float:
    """Calibration error: the mean over rows of |share that came true - mean probability| of their cell."""
    weight, said, came, _ = table
    total = float(weight.sum())
    return float(np.abs(came - said).sum() / total) if total > 0 else float("nan")
