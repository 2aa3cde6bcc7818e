"""Factor: what the densities of some columns need of the class covariances, of matrices or of variances alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy.linalg import solve_triangular

from bayeskit import _core
from bayeskit.arrays import Float, Int
from bayeskit.engines.workers import single_threaded_blas
from bayeskit.numerics.special import LOG_2, LOG_2PI
from bayeskit.structures.cells import Cells, places
from bayeskit.structures.numbers import FARTHEST, Points


class Factor(Protocol):
    """Rows in deviations of each class, of some of the columns: L^-1 (z - mean), L L' the covariance."""

    @property
    def columns(self) -> Int:
        """Which columns: (o,)."""

    @property
    def sizes(self) -> Float:
        """-log L_jj: (K, o)."""

    @property
    def constant(self) -> Float:
        """log density at the mean: (K,)."""

    def whiten(self, z: Float) -> Float:
        """L^-1 (z - mean) in every class: (n, K, o)."""

    def whiten_offset(self, k: int, offset: Float) -> Float:
        """L^-1 of offsets (C, d) from the mean of class k: (C, o)."""

    def squares(self, points: Points, rows: Int | None, cells: tuple[Cells, ...], cell: Int | None) -> Float:
        """|L^-1 (z - mean)|^2 of some rows in every class, about the mean of their cell where it has one: (n, K)."""


def factor_of(columns: Int, matrix: Float, mean: Float, shift: Int) -> Factor:
    """Of covariances (K, d, d), or variances (K, d)."""
    units = float(shift[columns].sum()) * LOG_2 - len(columns) / 2 * LOG_2PI
    if matrix.ndim == 2:
        return Deviations(columns, np.sqrt(matrix[:, columns]), mean[:, columns], units)
    lower = np.linalg.cholesky(matrix[:, columns[:, None], columns])
    unit = np.eye(len(columns))
    inverse = np.array([solve_triangular(m, unit, lower=True, check_finite=False) for m in lower])
    return Triangles(columns, inverse.reshape(lower.shape), mean[:, columns], units)


@dataclass(frozen=True)
class Triangles:
    """Of matrices, by the inverse of the Cholesky factor of each class."""

    columns: Int  # (o,)
    inverse: Float  # (K, o, o)
    mean: Float  # (K, o)
    units: float  # log density of a standard normal at 0, in units of the columns

    @cached_property
    def sizes(self) -> Float:
        return np.log(np.diagonal(self.inverse, axis1=1, axis2=2))

    @cached_property
    def constant(self) -> Float:
        out: Float = self.sizes.sum(axis=1) + self.units
        return out

    @cached_property
    def start(self) -> Float:
        """L^-1 mean: (K, o)."""
        out: Float = np.einsum("kij,kj->ki", self.inverse, self.mean)
        return out

    def whiten(self, z: Float) -> Float:
        k, o = self.mean.shape
        wide = self.inverse.transpose(2, 0, 1).reshape(o, k * o)
        with single_threaded_blas():
            out: Float = z[:, self.columns] @ wide
        out -= self.start.ravel()
        return out.reshape(len(z), k, o)

    def whiten_offset(self, k: int, offset: Float) -> Float:
        out: Float = offset[:, self.columns] @ self.inverse[k].T
        return out

    def squares(self, points: Points, rows: Int | None, cells: tuple[Cells, ...], cell: Int | None) -> Float:
        whole = len(self.columns) == len(points.columns)
        columns, units = points.columns, points.units
        if not whole:
            columns, units = columns.take(self.columns), np.ascontiguousarray(units[:, self.columns])
        shifts, place = np.zeros((0, len(self.columns))), None
        if cell is not None:
            found = [places(c.cell, cell if rows is None else cell[rows]) for c in cells]
            before = np.cumsum([0, *(len(c.cell) for c in cells)])
            place = np.column_stack([np.where(at >= 0, at + b, -1) for at, b in zip(found, before[:-1], strict=True)])
            shifts = np.ascontiguousarray(
                np.concatenate([self.whiten_offset(k, c.offset) for k, c in enumerate(cells)])
            )
        where = (columns.address, columns.stride, columns.rows, rows)
        return _core.mahalanobis(*where, units, FARTHEST, self.inverse, self.start, shifts, place)


@dataclass(frozen=True)
class Deviations:
    """Of variances alone."""

    columns: Int  # (o,)
    deviation: Float  # (K, o)
    mean: Float  # (K, o)
    units: float

    @cached_property
    def sizes(self) -> Float:
        return -np.log(self.deviation)

    @cached_property
    def constant(self) -> Float:
        out: Float = self.sizes.sum(axis=1) + self.units
        return out

    def whiten(self, z: Float) -> Float:
        out: Float = (z[:, None, self.columns] - self.mean) / self.deviation
        return out

    def whiten_offset(self, k: int, offset: Float) -> Float:
        out: Float = offset[:, self.columns] / self.deviation[k]
        return out

    def squares(self, points: Points, rows: Int | None, cells: tuple[Cells, ...], cell: Int | None) -> Float:
        z = points.z[:, self.columns] if rows is None else points.z[np.ix_(rows, self.columns)]
        out = np.empty((len(z), len(self.mean)))
        for k, (mean, deviation) in enumerate(zip(self.mean, self.deviation, strict=True)):
            away = (z - mean) / deviation
            if cell is not None:
                at = places(cells[k].cell, cell if rows is None else cell[rows])
                away[at >= 0] -= self.whiten_offset(k, cells[k].offset)[at[at >= 0]]
            out[:, k] = np.einsum("nj,nj->n", away, away)
        return out
