"""Downdate: normal densities of rows by what is left of their class without them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayeskit.arrays import Bool, Float, Int
from bayeskit.densities.moment_summary import MomentSummary
from bayeskit.errors import InputError
from bayeskit.numerics.special import LOG_2, LOG_2PI
from bayeskit.structures.covariance import class_scale, oas
from bayeskit.structures.joint import LeftOutRows
from bayeskit.structures.normals import Normals
from bayeskit.structures.numbers import Points


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
        held, numbers, some = self.normals.covariance, self.normals.numbers, np.flatnonzero(there)
        classes = np.arange(len(numbers.weight)) if held.shape == "tied" else np.array([self.group])
        value, vector = np.linalg.eigh(self.scaled[np.ix_(some, some)])
        size = np.sqrt(held.target[some])
        far = ((z[:, None, some] - numbers.mean[classes][:, some]) / size) @ vector  # (n, K', o)
        far[:, classes == self.group] *= self.moved[which, None, None]
        u = self.away[np.ix_(which, some)] @ vector
        spread = self.times[which, None] * np.maximum(value, 0.0) + self.added[which, None]  # (n, o) of B
        with np.errstate(divide="ignore", invalid="ignore"):
            left = 1 - self.taken[which] * (u * u / spread).sum(axis=1)
            if not (left > 1e-13).all():
                raise InputError(
                    "a class covariance becomes singular when one of its rows is left out; pass shrinkage='auto'"
                )
        cross = np.einsum("nko,no->nk", far, u / spread)
        near = np.einsum("nko,no->nk", far**2, 1 / spread) + (self.taken[which] / left)[:, None] * cross**2
        units = numbers.shift[some].sum() * LOG_2 - len(some) / 2 * LOG_2PI - np.log(size).sum()
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
