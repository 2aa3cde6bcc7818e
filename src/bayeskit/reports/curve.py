"""Curve: how the log-density of a number depends on it, in a form small enough to be written down."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from bayeskit.arrays import Float, Json
from bayeskit.reports.packed import Store

CLOSE = 1e-9  # of the terms: what counts as the same curve
BASIS: dict[str, Callable[[Float, Float], Float]] = {  # of x, and of z = (x - centre) / scale
    "1": lambda x, z: np.ones_like(x),
    "z": lambda x, z: z,
    "zz": lambda x, z: z * z,
    "log": lambda x, z: np.log(x),
    "loglog": lambda x, z: np.log(x) ** 2,
    "log1m": lambda x, z: np.log1p(-x),
    "cos": lambda x, z: np.cos(x),
    "sin": lambda x, z: np.sin(x),
}


class Curve(Protocol):
    """Terms of all classes at some values, up to what the classes have in common."""

    def at(self, x: Float) -> Float:
        """(n, K)."""

    def json(self, store: Store) -> Json:
        """The same to be read by the page."""


@dataclass(frozen=True)
class Formula:
    """A sum of simple functions: exact for Gaussian, LogNormal, Gamma, Poisson, Beta and other columns.

    >>> x = np.linspace(1, 3, 9)
    >>> Formula.through(x, np.column_stack([x**2, 1 - x])).names
    ('1', 'z', 'zz')
    """

    names: tuple[str, ...]
    centre: float
    scale: float
    factor: Float  # (names, K)

    @classmethod
    def through(cls, x: Float, terms: Float) -> Formula | None:
        """The one that goes through all points, if there is one."""
        low, high = float(x.min()), float(x.max())
        centre, scale = low / 2 + high / 2, (high / 2 - low / 2) or 1.0
        tried: list[tuple[str, ...]] = [("1", "z", "zz"), ("1", "cos", "sin")]
        if low > 0:
            tried += [("1", "z", "log"), ("1", "log", "loglog")]
            if high < 1:
                tried.append(("1", "log", "log1m"))
        for names in tried:
            matrix = np.column_stack([BASIS[name](x, (x - centre) / scale) for name in names])
            factor: Float = np.linalg.lstsq(matrix, terms, rcond=None)[0].astype(np.float64)
            if np.abs(matrix @ factor - terms).max() <= CLOSE * max(1.0, float(np.abs(terms).max())):
                return cls(names, centre, scale, factor)
        return None

    def at(self, x: Float) -> Float:
        z = (x - self.centre) / self.scale
        matrix = np.column_stack([BASIS[name](x, z) for name in self.names])
        out: Float = matrix @ self.factor
        return out

    def json(self, store: Store) -> Json:
        return {"form": "formula", "names": self.names, "centre": self.centre, "scale": self.scale,
                "factor": self.factor.tolist()}  # fmt: skip


@dataclass(frozen=True)
class Whole:
    """A value for each whole number from ``first`` on."""

    first: int
    values: Float  # (numbers, K)

    def at(self, x: Float) -> Float:
        place = np.rint(x).astype(np.int64) - self.first
        return self.values[np.clip(place, 0, len(self.values) - 1)]

    def json(self, store: Store) -> Json:
        return {"form": "whole", "first": self.first, "values": store.close(self.values)}


@dataclass(frozen=True)
class Pieces:
    """Straight between breaks, with jumps at them; a break belongs to the piece on its left."""

    breaks: Float  # (m + 1,)
    left: Float  # (m, K) at the left end of each piece
    slope: Float  # (m, K)

    @staticmethod
    def probes(points: Float, low: float, high: float) -> tuple[Float, Float]:
        """The breaks within a range, and where to look: thrice in each piece, (3 m,)."""
        breaks = np.concatenate([[low], points[(points > low) & (points < high)], [high]])
        wide = np.diff(breaks)
        return breaks, (breaks[:-1, None] + wide[:, None] * np.array([0.25, 0.5, 0.75])).ravel()

    @classmethod
    def through(cls, breaks: Float, terms: Float) -> Pieces | None:
        """From terms at the probes, (3 m, K), if each piece is straight."""
        first, middle, last = np.moveaxis(terms.reshape(len(breaks) - 1, 3, -1), 1, 0)
        if np.abs(first + last - 2 * middle).max() > CLOSE * max(1.0, float(np.abs(terms).max())):
            return None
        wide = np.diff(breaks)[:, None]
        slope = (last - first) / (wide / 2)
        return cls(breaks, middle - slope * wide / 2, slope)

    def at(self, x: Float) -> Float:
        i = np.clip(np.searchsorted(self.breaks, x, side="left") - 1, 0, len(self.left) - 1)
        out: Float = self.left[i] + self.slope[i] * (x - self.breaks[i])[:, None]
        return out

    def json(self, store: Store) -> Json:
        return {"form": "pieces", "breaks": store.exact(self.breaks), "left": store.exact(self.left),
                "slope": store.exact(self.slope)}  # fmt: skip
