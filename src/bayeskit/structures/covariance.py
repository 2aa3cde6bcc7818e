"""Covariance: the shape of class covariances, shrunk to the pooled diagonal, and what densities need of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from bayeskit import _core
from bayeskit.arrays import Array, Float, Int
from bayeskit.deferred import deferred
from bayeskit.densities.moment_summary import FLOOR
from bayeskit.engines.workers import single_threaded_blas
from bayeskit.errors import InputError
from bayeskit.numerics.special import LOG_2, LOG_2PI
from bayeskit.structures.joint import Cells, places
from bayeskit.structures.numbers import FARTHEST, Points

solve_triangular = deferred("scipy.linalg", "solve_triangular")

SHAPES = ("full", "tied", "diagonal", "spherical")
FLAT = ("diagonal", "spherical")  # variances alone: (K, d) instead of (K, d, d)
SINGULAR = 1e-12
PRIOR_ROWS = 5.0  # rows at the scale of all classes that the scale of one is drawn toward
DIAGONAL, MATRIX = 1, 2  # what is scaled: entries are as many as this power of the columns


@dataclass(frozen=True)
class Covariance:
    """S_c' = (1 - rho_c) S_c + rho_c mu_c D, D the diagonal of the pooled within-class variance P.

    mu_c is the scale of the class (``class_scale``), so that classes that differ in scale alone stay apart. rho_c is
    the share of the oracle approximating shrinkage (``oas``), unless given; "diagonal" has none. With "pooled", S_c is
    first drawn by d + 2 rows toward the pooled covariance at the scale of the class. Then a variance below 1e-9 of the
    column's total variance T becomes max(P/(W + 1), 1e-9 T), as in naive Bayes.
    """

    shape: str
    shrinkage: float | str | None
    weight: Float  # (K,), or (K, d) of the values of each column where variances stand alone
    raw: Float  # (K, d, d) or (K, d) S_c before its shape is imposed
    target: Float  # (d,) D
    least: Float  # (d,) 1e-9 T
    share: Float  # (K,) rho
    scale: Float  # (K,) mu
    matrix: Float  # (K, d, d) or (K, d)

    @classmethod
    def of(cls, shape: str, shrinkage: float | str | None, weight: Float, raw: Float, total: Float) -> Covariance:
        """From class covariances (ddof 0) and the variance of each column over all rows."""
        least = FLOOR * total
        target = np.maximum(variances(_pool(weight, raw))[0], least)
        if shape == "spherical" and len(target):
            target = np.full_like(target, target.mean())
        nothing = np.zeros(len(raw))
        plain = cls(shape, shrinkage, weight, raw, target, least, nothing, nothing, raw)
        return plain.again(weight, raw) if len(target) else plain

    def again(self, weight: Float, raw: Float) -> Covariance:
        """Of other class covariances; target and floor are held."""
        own, rows = self._shape(weight, raw), weight if weight.ndim == 1 else weight.max(axis=1, initial=0.0)
        every = np.full_like(rows, rows.sum())
        if self.shape == "tied":
            rows = every
        if self.shrinkage == "pooled" and self.shape != "tied":  # d + 2 pseudo-rows of all classes together
            pseudo, scale = len(self.target) + 2.0, class_scale(*self._traces(own), rows, len(self.target), MATRIX)
            part, scale = (each.reshape(-1, *(1,) * (raw.ndim - 1)) for each in (rows / (rows + pseudo), scale))
            together = np.broadcast_to(_pool(weight, raw), raw.shape)
            own = part * own + (1 - part) * scale * self._shape(weight, together)
        trace, square = self._traces(own)
        scale = class_scale(trace, square, rows, len(self.target))
        if self.shape == "diagonal" and self.shrinkage in ("auto", "pooled", None):
            share = np.zeros_like(scale)
        elif self.shrinkage in ("auto", "pooled"):
            share = oas(trace, square, every if self.shrinkage == "pooled" else rows, len(self.target))
        else:
            share = np.where(rows > 0, float(self.shrinkage or 0.0), 1.0)
        new = replace(self, weight=weight, raw=raw, share=share, scale=scale)
        return replace(new, matrix=new._shrunk(own))

    def _shape(self, weight: Float, raw: Float) -> Float:
        """The covariances with the shape imposed."""
        if self.shape == "tied":
            return np.broadcast_to(_pool(weight, raw), raw.shape)
        if self.shape == "spherical":
            every = np.maximum(weight.sum(axis=1, keepdims=True), 1e-300)
            return np.broadcast_to((weight * raw).sum(axis=1, keepdims=True) / every, raw.shape)
        return raw

    def _traces(self, own: Float) -> tuple[Float, Float]:
        """tr and tr^2 of D^-1/2 S D^-1/2: (K,) both."""
        trace = (variances(own) / self.target).sum(axis=1)
        scaled = own / (self.target if own.ndim == 2 else np.sqrt(np.outer(self.target, self.target)))
        return trace, (scaled * scaled).sum(axis=tuple(range(1, own.ndim)))

    def _shrunk(self, own: Float) -> Float:
        share, goal = self.share[:, None], (self.share * self.scale)[:, None] * self.target
        rows = self.weight if self.weight.ndim == 2 else self.weight[:, None]
        flat = (1 - share) * variances(own) + goal
        flat = np.where(flat < self.least, np.maximum(self.target / (rows + 1), self.least), flat)
        if own.ndim == 2:
            return flat
        out: Float = (1 - share)[..., None] * own
        at = np.arange(out.shape[1])
        out[:, at, at] = flat
        return out

    @property
    def pooled(self) -> Float:
        """The pooled covariance, for every class: (K, d, d)."""
        return np.broadcast_to(_pool(self.weight, self.raw), self.raw.shape)

    @property
    def dense(self) -> Float:
        """The covariances as matrices: (K, d, d)."""
        return self.matrix if self.matrix.ndim == 3 else self.matrix[..., None] * np.eye(self.matrix.shape[1])

    def singular(self, total: Float) -> list[tuple[int, ...]]:
        """The columns of each class that its own covariance alone does not tell apart."""
        return [_dependent(m, total) for m in self._shape(self.weight, self.raw)]

    def refuse_singular_class(self, k: int, total: Float, columns: Sequence[str]) -> None:
        """Refuse what a row that left has left of a class, where nothing is shrunk, as a fit without it would."""
        rows = self.weight if self.weight.ndim == 1 else self.weight.max(axis=1, initial=0.0)
        if not self.shrinkage and rows[k] > 0 and (found := _dependent(self._shape(self.weight, self.raw)[k], total)):
            _refuse("a class, once one of its rows is left out,", found, columns)

    def overlap(self, mean: Float) -> Float:
        """log of the integral of sqrt(p_a p_b) for each pair of classes: (K, K).

        With S = (S_a + S_b)/2 it is -(m_a - m_b)' S^-1 (m_a - m_b)/8 - log(|S| / sqrt(|S_a| |S_b|))/2.
        """
        middle, apart = (self.matrix[:, None] + self.matrix[None]) / 2, mean[:, None] - mean[None]
        if self.matrix.ndim == 2:
            size, between = np.log(self.matrix).sum(axis=1), np.log(middle).sum(axis=2)
            far = (apart**2 / middle).sum(axis=2)
        else:
            size, between = np.linalg.slogdet(self.matrix)[1], np.linalg.slogdet(middle)[1]
            far = (apart * np.linalg.solve(middle, apart[..., None])[..., 0]).sum(axis=2)
        whole: Float = -far / 8 - (between - (size[:, None] + size[None]) / 2) / 2
        return whole

    def colour(self, group: int, white: Float) -> Float:
        """Independent standard normal rows (n, d) as rows with the covariance of a class."""
        own = self.matrix[group]
        out: Float = white * np.sqrt(own) if own.ndim == 1 else white @ np.linalg.cholesky(own).T
        return out


def variances(matrix: Float) -> Float:
    """The diagonals of covariances, (K, d, d), or variances as they are, (K, d)."""
    return matrix if matrix.ndim == 2 else np.diagonal(matrix, axis1=1, axis2=2)


def oas(trace: Float, square: Float, weight: Float, d: int) -> Float:
    """Shares ((1 - 2/d) tr S^2 + tr^2 S) / ((n + 1 - 2/d) (tr S^2 - tr^2 S / d)) of at most 1 (Chen et al. 2010).

    1 also for fewer than two rows, and where the formula is 0/0: of one column, or equal variances alone.
    """
    above = (1 - 2 / d) * square + trace**2
    below = (weight + 1 - 2 / d) * (square - trace**2 / d)
    known = (weight >= 2) & (below > above)
    out: Float = np.where(known, above / np.where(known, below, 1.0), 1.0)
    return out


def class_scale(trace: Float, square: Float, weight: Float, d: int, entries: int = DIAGONAL) -> Float:
    """mu = 1 + f (M - 1), M = (W m + 5) / (max(W - 1, 0) + 5), m = tr A / d, A = D^-1/2 S D^-1/2.

    Columns that hang together have few directions that m measures, tr^2 A / tr A^2 with tr A^2 less what chance adds to
    it, W^2 (tr A^2 - tr^2 A / W) / ((W - 1)(W + 2)); f is their share of the d, or of the d^2 of a matrix. Along the
    others nothing says that the scale is not that of all classes, and their determinant counts d times.
    """
    own: Float = (weight * (trace / d) + PRIOR_ROWS) / (np.maximum(weight - 1, 0.0) + PRIOR_ROWS)
    rows = np.maximum(weight, 1.0)
    plain = np.where(rows > 1, rows**2 * (square - trace**2 / rows) / np.maximum((rows - 1) * (rows + 2), 1e-300), 0.0)
    share = np.divide(trace**2, d * plain, out=np.ones_like(own), where=d * plain > trace**2)
    out: Float = 1 + share**entries * (own - 1)
    return out


def _pool(weight: Float, raw: Float) -> Float:
    """(1, d, d), or (1, d)."""
    part = weight / np.maximum(weight.max(axis=0, initial=0.0), 1e-300)
    part = part.reshape(*part.shape, *(1,) * (raw.ndim - part.ndim))
    out: Float = (part * raw).sum(axis=0, keepdims=True) / np.maximum(part.sum(axis=0, keepdims=True), 1e-300)
    return out


def _dependent(covariance: Float, total: Float) -> tuple[int, ...]:
    """Columns without variance, and those of combinations without variance."""
    variance = covariance if covariance.ndim == 1 else np.diag(covariance)
    still = variance < FLOOR * total
    moving = np.flatnonzero(~still)
    if len(moving) and covariance.ndim == 2:
        size = np.sqrt(variance[moving])
        values, vectors = np.linalg.eigh(covariance[np.ix_(moving, moving)] / np.outer(size, size))
        mixed = np.abs(vectors[:, values < SINGULAR * len(size)]) > 1e-3
        still[moving[mixed.any(axis=1)]] = True
    return tuple(np.flatnonzero(still).tolist())


def refuse_singular(found: list[tuple[int, ...]], weight: Float, columns: Sequence[str], labels: Array | None) -> None:
    """Say which class and which columns leave a covariance without an inverse."""
    for k, singular in enumerate(found):
        if singular and weight[k] > 0:
            _refuse(f"class {k if labels is None else labels.tolist()[k]!r}", singular, columns)


def _refuse(what: str, dependent: tuple[int, ...], columns: Sequence[str]) -> None:
    names = ", ".join(repr(columns[j]) for j in dependent[:8]) + (", ..." if len(dependent) > 8 else "")
    raise InputError(
        f"the covariance of {what} is singular: columns {names} are constant in it or depend on each other; pass "
        f"shrinkage='auto' (or a number between 0 and 1), covariance='diagonal', or drop columns"
    )


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
