"""Means and covariances of rows with missing values, by maximum likelihood."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayeskit.arrays import Bool, Float

STEPS, CLOSE = 2000, 1e-11
RIDGE = 1e-13  # of a variance: what keeps combinations without any from being divided by


@dataclass(frozen=True)
class Pattern:
    """The rows that hold the same columns: their weight, mean and covariance (ddof 0; zeros in the holes)."""

    there: Bool  # (d,)
    weight: float
    mean: Float  # (d,)
    covariance: Float  # (d, d)

    def without(self, z: Float, mass: float) -> Pattern:
        """The same without one of the rows."""
        x = np.where(self.there, z, 0.0)
        weight, mean, covariance = without_row(np.array(self.weight), self.mean, self.covariance, x, np.array(mass))
        return Pattern(self.there, float(weight), mean, covariance)


def without_row(weight: Float, mean: Float, covariance: Float, x: Float, mass: Float) -> tuple[Float, Float, Float]:
    """Weight, mean and covariance (ddof 0), or variances by column, once a row x has left with its mass w.

    W' = W - w, m' = m - w/W' (x - m) and S' = W/W' (S - w/W' (x - m)(x - m)'); as they were where no weight is left.
    """
    left, away = weight - mass, x - mean
    gone = left <= 1e-12 * weight
    rest = np.where(gone, 1.0, left)
    share, square = mass / rest, away**2 if covariance.ndim == mean.ndim else np.outer(away, away)
    moved = np.where(gone, covariance, (weight / rest) * (covariance - share * square))
    if covariance.ndim == mean.ndim:
        moved = np.maximum(moved, 0.0)
    return np.where(gone, 0.0, left), np.where(gone, mean, mean - share * away), moved


def likeliest(patterns: list[Pattern], mean: Float, covariance: Float) -> tuple[Float, Float]:
    """Mean (d,) and covariance (d, d) of a normal density, by expectation and maximisation from a start.

    Expectation fills the holes of a pattern by regression on what is there, beta = S_mo S_oo^-1, and adds the
    covariance S_mm - beta S_om that regression leaves; a column no row holds keeps what it starts with.
    """
    if len(patterns) == 1 and patterns[0].there.all():
        return patterns[0].mean, patterns[0].covariance
    variance = np.diag(covariance)
    for _ in range(STEPS):
        new_mean, new = _step(patterns, mean, covariance)
        size = _sizes(np.maximum(np.diag(new), 1e-9 * variance))
        far = max(np.abs((new_mean - mean) / size).max(), np.abs((new - covariance) / np.outer(size, size)).max())
        mean, covariance = new_mean, new
        if far < CLOSE:
            break
    return mean, covariance


def _step(patterns: list[Pattern], mean: Float, covariance: Float) -> tuple[Float, Float]:
    total = sum(p.weight for p in patterns)
    size = _sizes(np.diag(covariance))
    shared = covariance / np.outer(size, size) + RIDGE * np.eye(len(size))
    filled = [_fill(p, mean, covariance, size, shared) for p in patterns]
    middle: Float = sum((p.weight / total * f[0] for p, f in zip(patterns, filled, strict=True)), np.zeros_like(mean))
    spread = np.zeros_like(covariance)
    for p, (centre, around) in zip(patterns, filled, strict=True):
        away = centre - middle
        spread += p.weight / total * (around + np.outer(away, away))
    return middle, spread


def _sizes(variance: Float) -> Float:
    """Deviations; 1 of a column that is too small for its unit, and then tells nothing of the others."""
    return np.where(variance > 0, np.sqrt(variance), 1.0)


def _fill(p: Pattern, mean: Float, covariance: Float, size: Float, shared: Float) -> tuple[Float, Float]:
    """Mean and second moment about it that the rows of a pattern are expected to have in full; shared: correlations."""
    if p.there.all():
        return p.mean, p.covariance
    o, m = np.flatnonzero(p.there), np.flatnonzero(~p.there)
    beta = np.linalg.solve(shared[np.ix_(o, o)], shared[np.ix_(o, m)]).T * np.divide.outer(size[m], size[o])
    centre = p.mean.copy()
    centre[m] = mean[m] + beta @ (p.mean[o] - mean[o])
    around = np.zeros_like(covariance)
    around[np.ix_(o, o)] = own = p.covariance[np.ix_(o, o)]
    around[np.ix_(m, o)] = cross = beta @ own
    around[np.ix_(o, m)] = cross.T
    around[np.ix_(m, m)] = cross @ beta.T + covariance[np.ix_(m, m)] - beta @ covariance[np.ix_(o, m)]
    return centre, around
