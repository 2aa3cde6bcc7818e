"""Normals: a normal density of several columns in every class or cell, with or without each row."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bayeskit.arrays import Bool, Float, Int
from bayeskit.densities.moment_summary import MomentSummary
from bayeskit.errors import InputError
from bayeskit.numerics.special import LOG_2, LOG_2PI
from bayeskit.structures.covariance import Covariance, Factor, class_scale, factor_of, oas, variances
from bayeskit.structures.joint import Cells, Joint, LeftOutRows
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
        covariance = self.covariance.again(new.values if flat else new.weight, raw)
        covariance.refuse_singular_class(k, new.total, new.columns)
        return Normals(new, covariance, every)


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
        partial = rows[(~np.isnan(points.z[rows])).any(axis=1)]
        if len(partial) and may_be.any():
            out[partial] = _mixture(joint, normals, points.at(partial), codes[partial], may_be)
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


def left_out(normals: Normals, points: Points, own: LeftOutRows) -> tuple[Float, Float]:
    """As ``Normals.squares`` without each row's own mass, of numbers alone: (n, K) both."""
    shape, slow = normals.covariance.shape, np.arange(len(own.row))
    if shape == "diagonal" and not normals.covariance.share.any() and normals.covariance.shrinkage != "pooled":
        return _apart(normals, points, own)
    squares, constant = normals.squares(points, None)
    if shape in ("full", "tied") and not normals.numbers.missing:
        classes = np.unique(own.group).tolist()
        left = [_downdate(normals, points, own, k, squares, constant) for k in classes]
        slow = np.concatenate([slow[:0], *left])
    for i, k, w in zip(own.row[slow].tolist(), own.group[slow].tolist(), own.mass[slow].tolist(), strict=True):
        less = normals.without(k, own.z[i], w, -1)
        squares[i], constant[i] = (part[0] for part in less.squares(points.at(slice(i, i + 1)), None))
    return squares, constant


def _apart(normals: Normals, points: Points, own: LeftOutRows) -> tuple[Float, Float]:
    """Column by column, from exact sums where differences cancel, as in naive Bayes."""
    squares, constant = normals.squares(points, None)
    squares[own.row] = constant[own.row] = 0.0
    moments = normals.numbers.moments
    assert moments is not None
    sums = MomentSummary.of(moments)
    for j in range(len(normals.numbers.columns)):
        x = np.ascontiguousarray(own.points.columns.column(j)[own.row])
        here = np.flatnonzero(~np.isnan(x) & ~np.isnan(points.z[own.row, j]))
        x, row = x[here], own.row[here]
        less = sums.without(moments, j, x, own.group[here], own.mass[here])
        mean, deviation = less.normal()
        with np.errstate(over="ignore"):
            near = np.minimum(((np.ldexp(x, less.shift) - mean) / deviation) ** 2, 1e280)
        size = -np.log(deviation) - LOG_2PI / 2 + less.shift * LOG_2
        squares[row] += np.where(less.varying, near, 0.0).T
        constant[row] += np.where(less.varying, size, 0.0).T
    return squares, constant


@dataclass(frozen=True)
class Downdate:
    """The covariance of a class without each of some rows: S' = (1 - rho') a (S - c u u') + rho' mu' D.

    In deviations of the target D, with A = D^-1/2 S D^-1/2 and u = D^-1/2 (x - mean), where w of W has left:
    a = W/(W - w), c = w/(W - w), and the traces of A' = a (A - c u u') give rho' and mu'. By Sherman and Morrison,
    with B = (1 - rho') a A + rho' mu' I = V (...) V', V the eigenvectors of A, and b = (1 - rho') a c,
    r' S'^-1 r = r' B^-1 r + b (r' B^-1 u)^2 / (1 - b u' B^-1 u) and |S'| = |B| (1 - b u' B^-1 u).
    """

    normals: Normals
    group: int
    scaled: Float  # (d, d) A
    away: Float  # (n, d) u
    moved: Float  # (n,) W/(W - w) of the class, whose mean moves
    times: Float  # (n,) (1 - rho') a
    added: Float  # (n,) rho' mu'
    taken: Float  # (n,) b

    @classmethod
    def of(cls, normals: Normals, k: int, z: Float, mass: Float) -> Downdate:
        """Of rows of class k."""
        held, numbers = normals.covariance, normals.numbers
        tied, d, weight = held.shape == "tied", len(held.target), float(numbers.weight[k])
        whole = float(numbers.weight.sum()) if tied else weight
        left, rest = weight - mass, whole - mass
        size = np.sqrt(held.target)
        scaled = (held.pooled[0] if tied else held.raw[k]) / np.outer(size, size)
        u = (z - numbers.mean[k]) / size
        a, c, far = whole / rest, mass * (weight / left / whole), np.einsum("ni,ni->n", u, u)
        trace = a * (np.trace(scaled) - c * far)
        square = a**2 * ((scaled**2).sum() - 2 * c * np.einsum("ni,ni->n", u @ scaled, u) + (c * far) ** 2)
        share = oas(trace, square, rest, d) if held.shrinkage == "auto" else np.full(len(z), held.share[k])
        times = (1 - share) * a
        return cls(normals, k, scaled, u, weight / left, times, share * class_scale(trace, square, rest, d), times * c)

    @property
    def floored(self) -> Bool:
        """Which rows leave a variance so small that its floor counts: (n,)."""
        held = self.normals.covariance
        rest = self.times[:, None] * np.diag(self.scaled) - self.taken[:, None] * self.away**2 + self.added[:, None]
        return np.asarray((rest * held.target < held.least).any(axis=1))

    def write(self, z: Float, which: Int, there: Bool, rows: Int, squares: Float, constant: Float) -> None:
        """Squares and constants of some of the rows, by the columns that are there, into the rows of a table."""
        held, numbers, present = self.normals.covariance, self.normals.numbers, np.flatnonzero(there)
        classes = np.arange(len(numbers.weight)) if held.shape == "tied" else np.array([self.group])
        value, vector = np.linalg.eigh(self.scaled[np.ix_(present, present)])
        size = np.sqrt(held.target[present])
        far = ((z[:, None, present] - numbers.mean[classes][:, present]) / size) @ vector  # (n, K', o)
        far[:, classes == self.group] *= self.moved[which, None, None]
        u = self.away[np.ix_(which, present)] @ vector
        spread = self.times[which, None] * np.maximum(value, 0.0) + self.added[which, None]  # (n, o) of B
        with np.errstate(divide="ignore", invalid="ignore"):
            left = 1 - self.taken[which] * (u * u / spread).sum(axis=1)
            if not (left > 1e-13).all():
                raise InputError(
                    "a class covariance becomes singular when one of its rows is left out; pass shrinkage='auto'"
                )
        cross = np.einsum("nko,no->nk", far, u / spread)
        near = np.einsum("nko,no->nk", far**2, 1 / spread) + (self.taken[which] / left)[:, None] * cross**2
        units = numbers.shift[present].sum() * LOG_2 - len(present) / 2 * LOG_2PI - np.log(size).sum()
        squares[np.ix_(rows, classes)] = near
        constant[np.ix_(rows, classes)] = (units - 0.5 * (np.log(spread).sum(axis=1) + np.log(left)))[:, None]


def _downdate(normals: Normals, points: Points, own: LeftOutRows, k: int, squares: Float, constant: Float) -> Int:
    """Write what the rows of class k are without themselves; gives those of ``own`` that have to go another way."""
    mine = np.flatnonzero(own.group == k)
    last = own.mass[mine] >= (1 - 1e-12) * normals.numbers.weight[k]
    slow, mine = mine[last], mine[~last]
    rows = own.row[mine]
    step = Downdate.of(normals, k, own.z[rows], own.mass[mine])
    low = step.floored
    for there, at in points.at(rows).patterns():
        which = np.flatnonzero(~low) if at is None else at[~low[at]]
        if there.any() and len(which):
            step.write(points.z[rows[which]], which, there, rows[which], squares, constant)
    return np.concatenate([slow, mine[low]])
