"""Cells: the combinations of levels that occur in a class, and the means of numbers in them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayeskit.arrays import Float, Int
from bayeskit.structures.missing import without_row

PULL = 5.0  # rows of the class that the mean of a cell is drawn toward


@dataclass(frozen=True)
class Cells:
    """The cells of one class: their places among all cells, weights and means from that of the class."""

    cell: Int  # (C,)
    weight: Float  # (C, d)
    away: Float  # (C, d)

    @property
    def offset(self) -> Float:
        """From the mean of the class to (n x_cell + 5 x_class) / (n + 5): (C, d)."""
        return self.weight / (self.weight + PULL) * self.away

    def around(self, covariance: Float, weight: Float | float) -> Float:
        """A covariance about the class mean, (d, d) or variances (d,), as one about the means of the cells.

        It has sum of n (1 - (5/(n+5))^2) d d' too much, divided by the weight of the class.
        """
        if not len(self.cell) or not np.any(weight > 0):
            return covariance
        part = np.sqrt(self.weight * (1 - (PULL / (self.weight + PULL)) ** 2)) * self.away
        if covariance.ndim == 1:
            left: Float = np.maximum(covariance - (part * part).sum(axis=0) / np.maximum(weight, 1e-300), 0.0)
            return left
        rest: Float = covariance - part.T @ part / weight
        values, vectors = np.linalg.eigh(rest)
        if values.min(initial=0.0) >= 0:
            return rest
        fixed: Float = (vectors * np.maximum(values, 0.0)) @ vectors.T  # holes, or rounding
        return fixed

    def without(self, cell: int, z: Float, mass: float, before: Float, after: Float) -> Cells:
        """The same once a row has left its cell (-1: none), and the class mean has moved."""
        weight, mean = self.weight.copy(), self.away + before
        for c in np.flatnonzero(self.cell == cell).tolist():
            x, taken = np.where(np.isnan(z), mean[c], z), np.where(np.isnan(z), 0.0, mass)
            weight[c], mean[c], _ = without_row(weight[c], mean[c], np.zeros_like(mean[c]), x, taken)
        return Cells(self.cell, weight, np.where(weight > 0, mean - after, 0.0))


def places(known: Int, wanted: Int) -> Int:
    """Where each wanted number stands among known ones in order, -1 where it does not."""
    if not len(known):
        return np.full(len(wanted), -1, dtype=np.int64)
    at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    return np.where(known[at] == wanted, at, -1)
