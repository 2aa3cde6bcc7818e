"""Normals: a normal density of several columns in every class, about a mean of the class or of a cell of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import solve_triangular

from bayeskit import _core
from bayeskit.arrays import Bool, Float, Int
from bayeskit.errors import InputError
from bayeskit.statistics.blas import alone
from bayeskit.structures.covariance import Covariance
from bayeskit.structures.numbers import FARTHEST, Numbers, Points

PULL = 5.0  # rows of the class that the mean of a cell is drawn toward
LOG_2PI, LOG_2 = float(np.log(2 * np.pi)), float(np.log(2))


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

    @property
    def explained(self) -> Float:
        """What the covariance about the class mean has too much, times the weight: sum of n (1 - (5/(n+5))^2) d d'."""
        part = np.sqrt(self.weight * (1 - (PULL / (self.weight + PULL)) ** 2)) * self.away
        out: Float = part.T @ part
        return out

    def without(self, cell: int, z: Float, mass: float, before: Float, after: Float) -> Cells:
        """The same once a row has left its cell (-1: none), and the class mean has moved."""
        weight, mean = self.weight.copy(), self.away + before
        for c in np.flatnonzero(self.cell == cell).tolist():
            left = weight[c] - np.where(np.isnan(z), 0.0, mass)
            left = np.where(left > 1e-12 * weight[c], left, 0.0)
            away = np.where(np.isnan(z), 0.0, z - mean[c])
            mean[c] = np.where(left > 0, mean[c] - mass / np.maximum(left, 1e-300) * away, 0.0)
            weight[c] = left
        return Cells(self.cell, weight, np.where(weight > 0, mean - after, 0.0))


@dataclass(frozen=True)
class Factor:
    """What some columns need: the inverse Cholesky factor of each class and its determinant."""

    columns: Int  # (o,)
    inverse: Float  # (K, o, o) of the lower factor
    constant: Float  # (K,) log density at the mean
    mean: Float  # (K, o)

    @classmethod
    def of(cls, columns: Int, matrix: Float, mean: Float, shift: Int) -> Factor:
        lower = np.linalg.cholesky(matrix[:, columns[:, None], columns])
        unit = np.eye(len(columns))
        inverse = np.array([solve_triangular(m, unit, lower=True, check_finite=False) for m in lower])
        diagonal = np.diagonal(lower, axis1=1, axis2=2)
        log = -np.log(diagonal).sum(axis=1) - len(columns) / 2 * LOG_2PI + shift[columns].sum() * LOG_2
        return cls(columns, inverse.reshape(lower.shape), log, mean[:, columns])

    @cached_property
    def start(self) -> Float:
        """L^-1 mean: (K, o)."""
        out: Float = np.einsum("kij,kj->ki", self.inverse, self.mean)
        return out

    def whiten(self, z: Float) -> Float:
        """L^-1 (z - mean) in every class: (n, K, o)."""
        k, o = self.mean.shape
        wide = self.inverse.transpose(2, 0, 1).reshape(o, k * o)
        with alone():
            out: Float = z[:, self.columns] @ wide
        out -= self.start.ravel()
        return out.reshape(len(z), k, o)

    def squares(self, points: Points, rows: Int | None, cells: tuple[Cells, ...], cell: Int | None) -> Float:
        """|L^-1 (z - mean)|^2 of some rows in every class, about the mean of their cell where it has one: (n, K)."""
        whole = len(self.columns) == len(points.columns)
        columns, units = points.columns, points.units
        if not whole:
            columns, units = columns.take(self.columns), np.ascontiguousarray(units[:, self.columns])
        shifts, place = np.zeros((0, len(self.columns))), None
        if cell is not None:
            wanted = cell if rows is None else cell[rows]
            before = np.cumsum([0, *(len(c.cell) for c in cells)])
            found = [_place(c.cell, wanted) for c in cells]
            place = np.column_stack([np.where(at >= 0, at + b, -1) for at, b in zip(found, before[:-1], strict=True)])
            away = [c.offset[:, self.columns] @ i.T for c, i in zip(cells, self.inverse, strict=True)]
            shifts = np.ascontiguousarray(np.concatenate(away))
        where = (columns.address, columns.stride, columns.rows, rows)
        return _core.whiten(*where, units, FARTHEST, self.inverse, self.start, shifts, place)


@dataclass(frozen=True)
class Normals:
    """log N(x; mean of the class or cell, covariance of the class), of the columns that are there."""

    numbers: Numbers
    covariance: Covariance
    cells: tuple[Cells, ...]  # (K); of no cell where there are no categories

    @classmethod
    def of(cls, numbers: Numbers, cells: tuple[Cells, ...], shape: str, shrinkage: float | str | None) -> Normals:
        raw = np.array([_about_cells(*part) for part in zip(numbers.covariance, numbers.weight, cells, strict=True)])
        raw = raw.reshape(numbers.covariance.shape)
        return cls(numbers, Covariance.of(shape, shrinkage, numbers.weight, raw, numbers.total), cells)

    @property
    def means(self) -> Float:
        """Of the classes, in the units of the columns: (K, d)."""
        return self.numbers.origin + np.ldexp(self.numbers.mean, -self.numbers.shift)

    @property
    def covariances(self) -> Float:
        """Of the classes, in the units of the columns: (K, d, d)."""
        return np.ldexp(self.covariance.matrix, -np.add.outer(self.numbers.shift, self.numbers.shift))

    @cached_property
    def _factors(self) -> dict[bytes, Factor]:
        return {}

    def factor(self, there: Bool) -> Factor:
        """For the columns that are there; kept."""
        key = there.tobytes()
        if key not in self._factors:
            matrix, shift = self.covariance.matrix, self.numbers.shift
            self._factors[key] = Factor.of(np.flatnonzero(there), matrix, self.numbers.mean, shift)
        return self._factors[key]

    def squares(self, points: Points, cell: Int | None) -> tuple[Float, Float]:
        """Squared distance to the mean of each class, and log density at it: (n, K) both."""
        out, constant = np.zeros((2, len(points), len(self.numbers.weight)))
        for there, rows in points.patterns():
            if there.any():
                factor, which = self.factor(there), slice(None) if rows is None else rows
                out[which], constant[which] = factor.squares(points, rows, self.cells, cell), factor.constant
        return out, constant

    def without(self, k: int, z: Float, mass: float, cell: int) -> Normals:
        """The normals once one row, of class k, has left; shares and target of the shrinkage are held."""
        numbers, held = self.numbers, self.covariance
        weight, mean, covariance = numbers.without(k, z, mass)
        cells = self.cells[k].without(cell, z, mass, numbers.mean[k], mean)
        new = replace(
            numbers,
            weight=_with(numbers.weight, k, weight),
            mean=_with(numbers.mean, k, mean),
            covariance=_with(numbers.covariance, k, covariance),
        )
        raw = _with(held.raw, k, _about_cells(covariance, weight, cells))
        share = held.share if weight > 0 or held.shape == "tied" else _with(held.share, k, 1.0)
        after = held.held(new.weight, raw, share)
        return Normals(new, after, (*self.cells[:k], cells, *self.cells[k + 1 :]))

    @property
    def downdated(self) -> bool:
        """Whether a row leaves by a rank-one step: no cells, no holes, and a covariance of a shape that allows it."""
        plain = self.covariance.shape in ("full", "tied") and not any(len(c.cell) for c in self.cells)
        return plain and not self.numbers.holes

    def own(self, points: Points, whole: Float, row: Int, group: Int, mass: Float) -> tuple[Float, Float]:
        """As ``squares`` without each row's own mass, by a rank-one step: (n, K) both.

        With u = x - mean and B = (1 - rho) W/(W - w) S + rho D: S' = B - b u u', so that by Sherman and Morrison
        r' S'^-1 r = r' B^-1 r + b (r' B^-1 u)^2 / (1 - b u' B^-1 u) and |S'| = |B| (1 - b u' B^-1 u).
        """
        squares, constant = self.squares(points, None)
        held, numbers = self.covariance, self.numbers
        tied = held.shape == "tied"
        raw = held.pooled if tied else held.raw
        for k in range(len(numbers.weight)):
            mine = np.flatnonzero(group == k)
            for w in np.unique(mass[mine]).tolist():
                some = mine[mass[mine] == w]
                rows, total = row[some], float(numbers.weight.sum() if tied else numbers.weight[k])
                left, rest = numbers.weight[k] - w, total - w
                if left <= 1e-12 * numbers.weight[k]:
                    for i in rows.tolist():
                        alone_ = self.without(k, whole[i], w, -1)
                        squares[i], constant[i] = (part[0] for part in alone_.squares(points.at(slice(i, i + 1)), None))
                    continue
                rho = held.share[k]
                base = (1 - rho) * total / rest * raw[k] + rho * np.diag(held.target)
                beta = (1 - rho) * w * numbers.weight[k] / left / rest
                for there, at in points.at(rows).patterns():
                    if there.any():
                        these = rows if at is None else rows[at]
                        self._step(points.z, these, there, k, base, beta, numbers.weight[k] / left, squares, constant)
        return squares, constant

    def _step(
        self,
        z: Float,
        rows: Int,
        there: Bool,
        k: int,
        base: Float,
        beta: float,
        stretch: float,
        squares: Float,
        constant: Float,
    ) -> None:
        """Write the squares and constants of some rows of class k without themselves."""
        classes = np.arange(len(self.numbers.weight)) if self.covariance.shape == "tied" else np.array([k])
        mean = self.numbers.mean[classes]
        factor = Factor.of(
            np.flatnonzero(there), np.broadcast_to(base, (len(classes), *base.shape)), mean, self.numbers.shift
        )
        white = factor.whiten(z[rows])
        own = int(np.flatnonzero(classes == k)[0])
        u = white[:, own].copy()
        white[:, own] *= stretch
        t = np.einsum("ni,ni->n", u, u)
        rest = 1 - beta * t
        if not (rest > 1e-13).all():
            raise InputError(
                "a class covariance becomes singular when one of its rows is left out; pass shrinkage='auto'"
            )
        cross = np.einsum("nki,ni->nk", white, u)
        near = np.einsum("nki,nki->nk", white, white) + beta * cross**2 / rest[:, None]
        squares[rows[:, None], classes] = near
        constant[rows[:, None], classes] = factor.constant - 0.5 * np.log(rest)[:, None]


def _about_cells(covariance: Float, weight: float, cells: Cells) -> Float:
    """The covariance about the means of the cells."""
    if not len(cells.cell) or weight <= 0:
        return covariance
    rest = covariance - cells.explained / weight
    values, vectors = np.linalg.eigh(rest)
    if values.min(initial=0.0) >= 0:
        return rest
    fixed: Float = (vectors * np.maximum(values, 0.0)) @ vectors.T  # holes, or rounding
    return fixed


def _with(array: Float, k: int, value: Float | float) -> Float:
    out = array.copy()
    out[k] = value
    return out


def _place(known: Int, wanted: Int) -> Int:
    """Where each wanted number stands among known ones in order, -1 where it does not."""
    if not len(known):
        return np.full(len(wanted), -1, dtype=np.int64)
    at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    return np.where(known[at] == wanted, at, -1)
