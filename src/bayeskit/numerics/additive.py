"""Additive tables: scores of the classes as a sum of table entries, fitted by penalised conditional likelihood."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import minimize

from bayeskit import _core
from bayeskit.arrays import Bool, Code, Float, Int

FRONT = 2  # cells in front of each table, for codes -2 (never seen) and -1 (missing): they stay 0
STEPS = 100  # of L-BFGS
CLOSE = 1e-8  # share of the loss that is left to gain where it ends
ROUGH = 2e-5  # the same where a fit is only judged


@dataclass(frozen=True)
class AdditiveTables:
    """Labelled rows that look up a line of K numbers in each of several tables.

    log P(c | row) = base_c + sum over tables t of table_t[code_t]_c + constant. Fitted tables minimise the sum over
    rows of - mass log P(label | row), + the sum over cells of ridge |entry|^2 / 2 + fused |entry - next entry|^2 / 2.

    >>> rows = AdditiveTables(np.array([[0, 0, 0, 1]], dtype=np.int32), np.array([0, 4]), np.zeros((4, 2)),
    ...                       np.array([0, 0, 1, 1]), np.ones(4), np.zeros(4))
    >>> rows.fit(np.ones(4)).round(3)[FRONT:]
    array([[ 0.202, -0.202],
           [-0.337,  0.337]])
    """

    codes: Code  # (T, n) from -2 on
    offset: Int  # (T + 1,) where the cells of each table begin
    base: Float  # (n, K)
    label: Int  # (n,)
    ridge: Float  # (cells,)
    fused: Float  # (cells,) 0 where the next cell is no neighbour

    @property
    def cells(self) -> int:
        return int(self.offset[-1])

    @cached_property
    def _free(self) -> Bool:
        """The cells that are fitted: (cells,)."""
        free = np.ones(self.cells, dtype=bool)
        free[self.offset[:-1]] = free[self.offset[:-1] + 1] = False
        return free

    @cached_property
    def _every(self) -> Code:
        return np.arange(len(self.codes), dtype=np.int32)

    def scores(self, table: Float) -> Float:
        """Of each row, up to a constant: (n, K)."""
        out = self.base.copy()
        _core.lookup_tables(self.codes, self._every, self.offset[:-1], table, out)
        return out

    def posterior(self, table: Float) -> Float:
        """(n, K)"""
        out = self.scores(table)
        _core.softmax(out, False)
        return out

    def loss(self, table: Float, mass: Float) -> float:
        """Minus the sum of mass log P(label | row), in nats."""
        scores, total = self.scores(table), np.empty(len(self.label))
        given = scores[np.arange(len(self.label)), self.label]
        _core.softmax(scores, False, total)
        return float(mass @ (total - given))

    def sums(self, values: Float) -> Float:
        """Values of the rows, (n, V), added up in the cells they point at: (cells, V)."""
        out = np.zeros((self.cells, values.shape[1]))
        _core.sum_by_code(self.codes, self.offset, values, out)
        return out

    def fit(self, mass: Float, start: Float | None = None, close: float = CLOSE) -> Float:
        """The tables of the least penalised loss, (cells, K); ``start`` is where the search begins.

        It ends where a step gains less than ``close`` of the loss.
        """
        begin = np.zeros((self.cells, self.base.shape[1])) if start is None else start
        p = self.posterior(begin)
        bend = self.sums(p * (1 - p) * mass[:, None]) + (self.ridge + self.fused + np.roll(self.fused, 1))[:, None]
        scale = np.where(self._free[:, None], 1 / np.sqrt(np.maximum(bend, 1e-9)), 0.0)
        free = np.flatnonzero(scale)
        unit = scale.ravel()[free]
        row, table = np.arange(len(self.label)), np.zeros_like(begin)
        entries = table.reshape(-1)

        def objective(x: Float) -> tuple[float, Float]:
            entries[free] = x * unit
            rest, total = self.scores(table), np.empty(len(row))
            given = rest[row, self.label]
            _core.softmax(rest, False, total)
            rest[row, self.label] -= 1.0
            rest *= mass[:, None]
            apart = table[1:] - table[:-1]
            pull, step = self.ridge[:, None] * table, self.fused[:-1, None] * apart
            penalty = float((pull * table).sum() + (step * apart).sum()) / 2
            value = float(mass @ (total - given)) + penalty
            slope = self.sums(rest) + pull
            slope[:-1] -= step
            slope[1:] += step
            return value, slope.reshape(-1)[free] * unit

        options = {"maxiter": STEPS, "ftol": close, "gtol": 1e-6}
        found = minimize(objective, begin.reshape(-1)[free] / unit, jac=True, method="L-BFGS-B", options=options)
        entries[free] = found.x * unit
        return table
