"""Mixture: what a network says of a number, a normal for each configuration of the levels it hangs on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayeskit.arrays import Float
from bayeskit.deferred import deferred
from bayeskit.errors import InputError

ndtr = deferred("scipy.special", "ndtr")
ndtri = deferred("scipy.special", "ndtri")


@dataclass(frozen=True, eq=False)
class Mixture:
    """p(x) = sum over k of weight_k N(x; mean_k, deviation_k), for every row; a deviation of 0 is a point.

    >>> Mixture(np.array([[0.5, 0.5]]), np.array([[-1.0, 1.0]]), np.array([[1.0, 1.0]])).deviation.round(4)
    array([1.4142])
    """

    weights: Float  # (rows, normals)
    means: Float  # (rows, normals)
    deviations: Float  # (rows, normals)

    @property
    def mean(self) -> Float:
        """(rows,)"""
        found: Float = (self.weights * self.means).sum(axis=1)
        return found

    @property
    def deviation(self) -> Float:
        """(rows,)"""
        away = self.means - self.mean[:, None]
        found: Float = np.sqrt((self.weights * (self.deviations**2 + away**2)).sum(axis=1))
        return found

    def cdf(self, x: Float) -> Float:
        """P(number <= x) of each row, (rows,)."""
        apart = x[:, None] - self.means
        with np.errstate(divide="ignore", invalid="ignore"):
            below = np.where(self.deviations > 0, ndtr(apart / self.deviations), apart >= 0)
        found: Float = (self.weights * below).sum(axis=1)
        return found

    def quantile(self, p: float) -> Float:
        """Where the cdf reaches p, (rows,): by bisection between the quantiles of the normals, to the last digit."""
        if not 0 < p < 1:
            raise InputError(f"quantile({p!r}): give a number between 0 and 1")
        each = self.means + self.deviations * float(ndtri(p))
        used = self.weights > 0
        low = np.where(used, each, np.inf).min(axis=1)
        high = np.where(used, each, -np.inf).max(axis=1)
        while True:
            middle = low / 2 + high / 2
            going = (middle > low) & (middle < high)
            if not going.any():
                return np.asarray(high)
            below = self.cdf(middle) < p
            low, high = np.where(going & below, middle, low), np.where(going & ~below, middle, high)

    def density(self, x: Float) -> Float:
        """p(x) of each row, (rows,); infinite at a point."""
        with np.errstate(divide="ignore", invalid="ignore"):
            z = (x[:, None] - self.means) / self.deviations
            each = np.exp(-0.5 * z**2) / (self.deviations * np.sqrt(2 * np.pi))
        point = (self.deviations == 0) & (self.weights > 0)
        each = np.where(point, np.where(x[:, None] == self.means, np.inf, 0.0), each)
        found: Float = np.where(self.weights > 0, self.weights * np.where(self.weights > 0, each, 0.0), 0.0).sum(axis=1)
        return found


@dataclass(frozen=True)
class NumberAnswer:
    """What is known of one number: its mean, deviation and quantiles, and the normals it is a mixture of.

    Attributes
    ----------
    mean, deviation : float
        Of the whole mixture.
    weights, means, deviations : array of shape (normals,)
        One normal for each configuration of the levels that the number hangs on and that are not observed.
    """

    mixture: Mixture

    @property
    def mean(self) -> float:
        return float(self.mixture.mean[0])

    @property
    def deviation(self) -> float:
        return float(self.mixture.deviation[0])

    @property
    def weights(self) -> Float:
        return np.asarray(self.mixture.weights[0])

    @property
    def means(self) -> Float:
        return np.asarray(self.mixture.means[0])

    @property
    def deviations(self) -> Float:
        return np.asarray(self.mixture.deviations[0])

    def quantile(self, p: float) -> float:
        """Where P(number <= x) reaches p."""
        return float(self.mixture.quantile(p)[0])

    def cdf(self, x: float) -> float:
        """P(number <= x)."""
        return float(self.mixture.cdf(np.array([x], dtype=np.float64))[0])

    def density(self, x: float) -> float:
        """p(x)."""
        return float(self.mixture.density(np.array([x], dtype=np.float64))[0])

    def __repr__(self) -> str:
        many = int((self.weights > 0).sum())
        normals = "" if many == 1 else f", a mixture of {many} normals"
        return f"NumberAnswer(mean {self.mean:.6g}, deviation {self.deviation:.6g}{normals})"
