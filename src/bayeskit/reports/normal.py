"""Normal: a member of normal densities, about the mean of the class or of a cell of its categories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from bayeskit.arrays import Float, Int, Json
from bayeskit.densities.tabular import FRONT
from bayeskit.reports.factors import Coding
from bayeskit.reports.inputs import InputMap
from bayeskit.reports.packed import Store
from bayeskit.structures.full import FullDensity
from bayeskit.structures.joint import Joint


@dataclass(frozen=True)
class Cells:
    """The cells of the categories, and what smoothing puts on those that are not there."""

    of: tuple[int, ...]  # questions
    codings: tuple[Coding, ...]
    codes: tuple[Int, ...]  # by class (cells, columns)
    mass: tuple[Float, ...]  # by class (cells,) log of weight and smoothing
    spare: tuple[Float, ...]  # by class (cells,) log of the smoothing alone
    offset: tuple[Float, ...]  # by class (cells, d) from the mean of the class
    margins: tuple[Float, ...]  # by column (levels + 2, K) log of what the smoothing of a level counts
    base: Float  # (K,) log of the smoothing of a cell without its margins
    whole: Float  # (K,) log of all weight and smoothing

    @classmethod
    def of_joint(cls, joint: Joint, density: FullDensity, questions: Sequence[int], codings: Sequence[Coding]) -> Cells:
        weight, known = joint.weight.rounded(), joint.rounded
        spare = joint.spare(joint.cells, weight)
        classes = range(known.shape[1])
        held = [cells.cell for cells in density.normals.cells]
        if not density.normals.numbers.columns:
            held = [np.flatnonzero(known[:, k] > 0) for k in classes]
        wide = len(density.normals.numbers.columns)
        offset = [c.offset if wide else np.zeros((len(h), 0)) for c, h in zip(density.normals.cells, held, strict=True)]
        with np.errstate(divide="ignore"):
            mass = [np.logaddexp(np.log(known[h, k]), spare[h, k]) for k, h in zip(classes, held, strict=True)]
            hidden = np.full((1, len(joint.columns)), -1, dtype=np.int64)
            whole = np.logaddexp(np.log(weight), joint.all_spare(hidden, weight[None])[0])
        margins = []
        for j, size in enumerate(joint.sizes.tolist()):
            some = np.repeat(hidden, size + FRONT, axis=0)
            some[FRONT:, j] = np.arange(size)
            margins.append(joint.spare(some, weight) - joint.spare(hidden, weight))
        return cls(
            tuple(questions),
            tuple(codings),
            tuple(joint.cells[h] for h in held),
            tuple(mass),
            tuple(spare[h, k] for k, h in zip(classes, held, strict=True)),
            tuple(offset),
            tuple(margins),
            joint.spare(hidden, weight)[0],
            whole,
        )

    def read(self, answers: Sequence[Float]) -> Int:
        """Codes of some rows: (n, columns)."""
        columns = [np.maximum(c.of(answers[q]), -1) for q, c in zip(self.of, self.codings, strict=True)]
        return np.stack(columns, axis=1)

    def json(self, store: Store) -> Json:
        many = ("codes", "offset")
        lists = {name: [store.exact(part) for part in getattr(self, name)] for name in many}
        close = {name: [store.close(part) for part in getattr(self, name)] for name in ("mass", "spare", "margins")}
        return {
            "of": self.of,
            "codings": [c.json() for c in self.codings],
            **lists,
            **close,
            "base": [None if np.isneginf(b) else b for b in self.base.tolist()],
            "whole": self.whole.tolist(),
        }


@dataclass(frozen=True)
class Normal:
    """log N(z; mean, covariance) of the numbers that are there, z = (x - origin) * scale."""

    input_map: InputMap
    origin: Float  # (d,)
    scale: Float  # (d,)
    mean: Float  # (K, d)
    covariance: Float  # (K, d, d), or (1, d, d) if all classes share one
    cells: Cells | None = None
    note: str = ""

    @classmethod
    def of(cls, density: FullDensity, input_map: InputMap, cells: Cells | None = None) -> Normal:
        """With an input map that has an input for each of its columns of numbers."""
        numbers, matrix = density.normals.numbers, density.normals.covariance.dense
        shared = len(matrix) > 1 and bool((matrix == matrix[0]).all())
        return cls(
            input_map,
            numbers.origin,
            np.ldexp(1.0, numbers.shift),
            numbers.mean,
            matrix[:1] if shared else matrix,
            cells,
        )

    def log(self, read: Sequence[Float]) -> Float:
        """(n, K)."""
        n, k = len(read[0]), len(self.mean)
        z = (self.input_map.matrix(read) - self.origin) * self.scale if self.input_map.inputs else np.zeros((n, 0))
        matrix = np.broadcast_to(self.covariance, (k, *self.covariance.shape[1:]))
        codes = None if self.cells is None else self.cells.read(read)
        out = np.empty((n, k))
        factor: dict[tuple[bytes, int], Float] = {}
        for i, row in enumerate(z):
            there = np.flatnonzero(~np.isnan(row))
            for c in range(k):
                if (which := (there.tobytes(), c)) not in factor:
                    factor[which] = np.linalg.cholesky(matrix[c][np.ix_(there, there)])
                lower = factor[which]
                away = solve_triangular(lower, row[there] - self.mean[c, there], lower=True) if len(there) else row[:0]
                size = -np.log(np.diag(lower)).sum()
                if self.cells is None or codes is None:
                    out[i, c] = size - 0.5 * away @ away
                else:
                    out[i, c] = size + _mixed(self.cells, c, codes[i], away, lower, there)
        return out

    def json(self, store: Store) -> Json:
        lower = np.tril_indices(len(self.origin))
        return {
            "kind": "normal",
            "lens": self.input_map.json(store),
            "origin": store.exact(self.origin),
            "scale": store.exact(self.scale),
            "mean": store.exact(self.mean),
            "covariance": store.exact(self.covariance[:, lower[0], lower[1]]),
            "shared": len(self.covariance) < len(self.mean),
            "cells": None if self.cells is None else self.cells.json(store),
        }


def _mixed(cells: Cells, c: int, codes: Int, away: Float, lower: Float, there: Int) -> float:
    """log of the sum over the cells a row may be in of their mass times the density about their mean."""
    together = cells.base[c] + sum(margin[code + FRONT, c] for margin, code in zip(cells.margins, codes, strict=True))
    may_be = ((cells.codes[c] == codes) | (codes == -1)).all(axis=1)
    spare = cells.spare[c][may_be]
    with np.errstate(divide="ignore", invalid="ignore"):
        left = 1 - min(float(np.exp(spare - together).sum()), 1.0) if np.isfinite(together) else 0.0
        logs = [together + np.log(left) - 0.5 * away @ away if left > 0 else -np.inf]
    if may_be.any():
        shift = solve_triangular(lower, cells.offset[c][may_be][:, there].T, lower=True) if len(there) else None
        near = np.zeros(may_be.sum()) if shift is None else ((away[:, None] - shift) ** 2).sum(axis=0)
        logs += (cells.mass[c][may_be] - 0.5 * near).tolist()
    return float(np.logaddexp.reduce(logs) - cells.whole[c])
