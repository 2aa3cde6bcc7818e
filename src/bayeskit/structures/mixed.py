"""Mixed: numbers and categories together; where the cell is known in part, a mixture over the cells it may be."""

from __future__ import annotations

import numpy as np

from bayeskit.arrays import Bool, Float, Int
from bayeskit.structures.joint import Joint, LeftOutRows
from bayeskit.structures.normals import Normals
from bayeskit.structures.numbers import Points


def mixed(joint: Joint, normals: Normals, points: Points, codes: Int, own: LeftOutRows | None) -> Float:
    """log of the sum over cells of p(cell | c) N(numbers | c, cell), over the cells a row may be in: (n, K)."""
    if own is not None:
        out = mixed(joint, normals, points, codes, None)
        theirs = joint.find(own.codes)
        for i, k, w in zip(own.row.tolist(), own.group.tolist(), own.mass.tolist(), strict=True):
            one = slice(i, i + 1)
            fewer, less = joint.without(own.codes[i], k, w), normals.without(k, own.z[i], w, int(theirs[i]))
            out[i] = mixed(fewer, less, points.at(one), codes[one], None)[0]
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
    known, whole = joint.rounded[which], joint.weight.rounded()
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
            shift = factor.moved(k, cells.offset[held])
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
