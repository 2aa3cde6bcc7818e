"""Normals: a normal density of several columns in every class, about a mean of the class or of a cell of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bayeskit.arrays import Bool, Float, Int
from bayeskit.structures.cells import Cells
from bayeskit.structures.covariance import Covariance, variances
from bayeskit.structures.factor import Factor, factor_of
from bayeskit.structures.joint import Joint, LeftOutRows
from bayeskit.structures.numbers import Numbers, Points


@dataclass(frozen=True)
class Normals:
    """log N(x; mean of the class or cell, covariance of the class), of the columns that are there."""

    numbers: Numbers
    covariance: Covariance
    cells: tuple[Cells, ...]  # (K); of no cell where there are no categories

    @classmethod
    def of(cls, numbers: Numbers, cells: tuple[Cells, ...], shape: str, shrinkage: float | str | None) -> Normals:
        weight = numbers.weight if numbers.covariance.ndim == 3 else numbers.values
        raw = np.array([c.around(s, w) for c, s, w in zip(cells, numbers.covariance, weight, strict=True)])
        raw = raw.reshape(numbers.covariance.shape)
        return cls(numbers, Covariance.of(shape, shrinkage, weight, raw, numbers.total), cells)

    @property
    def means(self) -> Float:
        """Of the classes, in the units of the columns: (K, d)."""
        return self.numbers.origin + np.ldexp(self.numbers.mean, -self.numbers.shift)

    @property
    def covariances(self) -> Float:
        """Of the classes, in the units of the columns: (K, d, d)."""
        return np.ldexp(self.covariance.dense, -np.add.outer(self.numbers.shift, self.numbers.shift))

    @property
    def deviations(self) -> Float:
        """Of the classes, in the units of the columns: (K, d)."""
        return np.ldexp(np.sqrt(variances(self.covariance.matrix)), -self.numbers.shift)

    @cached_property
    def _factors(self) -> dict[bytes, Factor]:
        return {}

    def factor(self, there: Bool) -> Factor:
        """For the columns that are there; kept."""
        key = there.tobytes()
        if key not in self._factors:
            matrix, shift = self.covariance.matrix, self.numbers.shift
            self._factors[key] = factor_of(np.flatnonzero(there), matrix, self.numbers.mean, shift)
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
        """The normals once one row, of class k, has left; the target is held, but for "diagonal"."""
        new = self.numbers.without(k, z, mass)
        cells = self.cells[k].without(cell, z, mass, self.numbers.mean[k], new.mean[k])
        every = (*self.cells[:k], cells, *self.cells[k + 1 :])
        if self.covariance.shape == "diagonal":
            return Normals.of(new, every, self.covariance.shape, self.covariance.shrinkage)
        flat = new.covariance.ndim == 2
        raw = self.covariance.raw.copy()
        raw[k] = cells.around(new.covariance[k], new.values[k] if flat else new.weight[k])
        return Normals(new, self.covariance.again(new.values if flat else new.weight, raw), every)


def mixture_log_density(joint: Joint, normals: Normals, points: Points, codes: Int, own: LeftOutRows | None) -> Float:
    """log of the sum over cells of p(cell | c) N(numbers | c, cell), over the cells a row may be in: (n, K)."""
    if own is not None:
        out = mixture_log_density(joint, normals, points, codes, None)
        theirs = joint.find(own.codes)
        for i, k, w in zip(own.row.tolist(), own.group.tolist(), own.mass.tolist(), strict=True):
            one = slice(i, i + 1)
            fewer, less = joint.without(own.codes[i], k, w), normals.without(k, own.z[i], w, int(theirs[i]))
            out[i] = mixture_log_density(fewer, less, points.at(one), codes[one], None)[0]
        return out
    squares, constant = normals.squares(points, joint.find(codes))
    out = joint.log(codes) + constant - 0.5 * squares
    for rows, may_be in joint.partial(codes):
        some = rows[(~np.isnan(points.z[rows])).any(axis=1)]
        if len(some) and may_be.any():
            out[some] = _mixture(joint, normals, points.at(some), codes[some], may_be)
    return out


def _mixture(joint: Joint, normals: Normals, points: Points, codes: Int, may_be: Bool) -> Float:
    """For rows that know the same part of their cell."""
    which, classes = np.flatnonzero(may_be), range(len(normals.cells))
    known, whole = joint.rounded[which], joint.weight.to_float()
    spare = joint.spare(joint.cells[which], whole)  # (M', K)
    together = joint.spare(codes[:1], whole)[0]  # (K,) what smoothing puts on all cells they may be
    nothing = np.zeros((1, len(classes)))
    unit = joint.probability(nothing + 1, whole + nothing, nothing - np.inf, codes[:1])[0]  # -log of all
    out = np.empty((len(points), len(classes)))
    for there, held_by in points.patterns():
        rows = np.arange(len(points)) if held_by is None else held_by
        factor = normals.factor(there)
        white = factor.whiten(points.z[rows])
        for k, cells in zip(classes, normals.cells, strict=True):
            held = np.flatnonzero(may_be[cells.cell])
            place = np.searchsorted(which, cells.cell[held])
            with np.errstate(divide="ignore"):
                mass = np.logaddexp(np.log(known[place, k]), spare[place, k])
            rest = _rest(together[k], spare[place, k])
            shift = factor.whiten_offset(k, cells.offset[held])
            near = ((white[:, k, None] - shift) ** 2).sum(axis=2)
            far = (white[:, k] ** 2).sum(axis=1)
            logs = np.column_stack([mass - 0.5 * near, rest - 0.5 * far])
            out[rows, k] = np.logaddexp.reduce(logs, axis=1) + unit[k] + factor.constant[k]
    return out


def _rest(together: float, parts: Float) -> float:
    """log of what is left of a mass without its parts."""
    if np.isneginf(together):
        return -np.inf
    used = min(float(np.exp(parts - together).sum()), 1.0)
    with np.errstate(divide="ignore"):
        return together + float(np.log1p(-used))
