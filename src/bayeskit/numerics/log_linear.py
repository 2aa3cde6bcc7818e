"""Log-linear weights and additive tables: how much evidence counts, by penalised conditional likelihood."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bayeskit import _core
from bayeskit.arrays import Array, Bool, Code, Float, Int
from bayeskit.deferred import deferred

cho_factor = deferred("scipy.linalg", "cho_factor")
cho_solve = deferred("scipy.linalg", "cho_solve")
minimize = deferred("scipy.optimize", "minimize")
minimize_scalar = deferred("scipy.optimize", "minimize_scalar")

LEAST = -40.0  # log-odds a single piece may count against a class while weights are fitted
STEPS = 60  # of Newton's method, or of L-BFGS
WIDE = 400  # pieces above which second derivatives cost more than they save
CLOSE = 1e-7  # share of the loss that is left to gain where Newton's method ends
HALVINGS = 40  # of a step
FAST = 0.75  # of what a step promised to gain, the next may promise, while second derivatives are not looked up again


@dataclass(frozen=True)
class Evidence:
    """Pieces of evidence for the classes of labelled rows, and what is known before them.

    log P(c | x_i) = base_c + bias_c + sum over j of weight_j terms_ijc + constant.
    """

    terms: Float  # (n, K, J), the best class of each piece at 0
    base: Float  # (K,) or (n, K)
    label: Int  # (n,)
    mass: Float  # (n,) weights of the rows

    @classmethod
    def of(cls, terms: Float, base: Float, label: Int, mass: Float | None = None) -> Evidence:
        """From terms (n, J, K), which may hold -inf."""
        best = terms.max(axis=2, keepdims=True)
        relative = np.maximum(terms - np.where(np.isfinite(best), best, 0.0), LEAST)
        aligned = np.ascontiguousarray(relative.transpose(0, 2, 1))
        return cls(aligned, np.maximum(base, LEAST), label, np.ones(len(label)) if mass is None else mass)

    def at(self, rows: Array) -> Evidence:
        """That of some rows."""
        base = self.base[rows] if self.base.ndim == 2 else self.base
        return Evidence(self.terms[rows], base, self.label[rows], self.mass[rows])

    def only(self, pieces: Array) -> Evidence:
        """That of some pieces."""
        return Evidence(np.ascontiguousarray(self.terms[:, :, pieces]), self.base, self.label, self.mass)

    def log_posterior(self, weight: Float, bias: Float) -> Float:
        """(n, K)"""
        out: Float = self.terms @ weight + self.base + bias
        _core.softmax(out, True)
        return out

    def loss(self, weight: Float, bias: Float) -> float:
        """Minus the sum of log P(label | row), in nats."""
        return self._slope(weight, bias)[0]

    def _slope(self, weight: Float, bias: Float) -> tuple[float, Float, Float]:
        """The loss and its gradient by weight and by bias."""
        n, k, j = self.terms.shape
        flat = self.terms.reshape(n * k, j)
        rest = (flat @ weight).reshape(n, k) + self.base + bias
        row, total = np.arange(n), np.empty(n)
        given = rest[row, self.label]
        _core.softmax(rest, False, total)
        rest[row, self.label] -= 1.0
        rest *= self.mass[:, None]
        return float(self.mass @ (total - given)), flat.T @ rest.ravel(), rest.sum(axis=0)

    def temperature(self) -> float:
        """The one weight for all pieces with the least loss."""
        together = Evidence(self.terms.sum(axis=2, keepdims=True), self.base, self.label, self.mass)
        still = np.zeros(self.terms.shape[1])
        best = minimize_scalar(
            lambda log_t: together.loss(np.exp([log_t]), still), bounds=(-5.0, 2.0), method="bounded"
        )
        return float(np.exp(best.x))

    def fit(
        self, toward: Float, strength: float, bias_strength: float, near: tuple[Float, Float] | None = None
    ) -> tuple[Float, Float]:
        """Weights >= 0, (J,), and biases, (K,), of the least loss + strength/2 |weight - toward|^2 + the like of bias.

        >>> terms = np.log([[[0.9, 0.1], [0.5, 0.5]], [[0.2, 0.8], [0.5, 0.5]]])
        >>> seen = Evidence.of(terms, np.log([0.5, 0.5]), np.array([0, 1]))
        >>> seen.fit(np.ones(2), 1.0, 1.0)[0].round(2)
        array([1.31, 1.  ])
        """
        k, j = self.terms.shape[1:]
        start = np.concatenate([np.broadcast_to(toward, j), np.zeros(k)])
        return self.drawn(start, np.repeat([strength, bias_strength], [j, k]), near)

    def drawn(self, start: Float, pull: Float, near: tuple[Float, Float] | None = None) -> tuple[Float, Float]:
        """Weights >= 0 and biases of the least loss + (both - start)' pull (both - start) / 2.

        ``pull`` may be a diagonal. ``near`` is a point to begin at, and about how the loss bends there.
        """
        k, j = self.terms.shape[1:]

        def objective(both: Float) -> tuple[float, Float]:
            loss, by_weight, by_bias = self._slope(both[:j], both[j:])
            gap = both - start
            slope = pull @ gap if pull.ndim == 2 else pull * gap
            return loss + float(gap @ slope) / 2, np.concatenate([by_weight, by_bias]) + slope

        if j > WIDE:
            bounds = [(0.0, None)] * j + [(None, None)] * k
            found = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": STEPS})
            return found.x[:j], found.x[j:]
        whole = pull if pull.ndim == 2 else np.diag(pull)
        begin, bend = (start, None) if near is None else (near[0], near[1] + whole)
        low = np.repeat([0.0, -np.inf], [j, k])
        best = minimise_bounded(objective, lambda both: self.curvature(both[:j], both[j:]) + whole, begin, low, bend)
        return best[:j], best[j:]

    def curvature(self, weight: Float, bias: Float) -> Float:
        """Second derivatives of the loss by weights and biases: (J + K, J + K)."""
        n, k, j = self.terms.shape
        p = np.exp(self.log_posterior(weight, bias))
        heavy = p * self.mass[:, None]
        spread = (self.terms * np.sqrt(heavy)[:, :, None]).reshape(n * k, j)
        mean = np.matmul(p[:, None, :], self.terms)[:, 0]
        middle = mean * np.sqrt(self.mass)[:, None]
        out = np.empty((j + k, j + k))
        out[:j, :j] = spread.T @ spread - middle.T @ middle
        for c in range(k):
            out[:j, j + c] = out[j + c, :j] = heavy[:, c] @ self.terms[:, c] - heavy[:, c] @ mean
        out[j:, j:] = np.diag(heavy.sum(axis=0)) - heavy.T @ p
        return out


def minimise_bounded(
    objective: Callable[[Float], tuple[float, Float]],
    curvature: Callable[[Float], Float],
    begin: Float,
    low: Float,
    known: Float | None = None,
) -> Float:
    """Where a smooth convex function is least, each number at least ``low``: Newton's method.

    Numbers at their bound whose slope holds them there stay; the others go Newton's step, or half of it, until the
    function falls (Bertsekas 1982). Second derivatives, ``known`` ones to begin with, serve as long as they lead down
    fast.

    >>> minimise_bounded(lambda x: ((x[0] - 1) ** 2 + (x[1] + 1) ** 2, 2 * (x - [1, -1])), lambda x: 2 * np.eye(2),
    ...           np.array([3.0, 3.0]), np.zeros(2))
    array([1., 0.])
    """
    x, bend, last = np.maximum(begin, low), known, np.inf
    value, slope = objective(x)
    for _ in range(STEPS):
        free = (x > low) | (slope < 0)
        fresh = bend is None
        bend = curvature(x) if bend is None else bend
        step = np.zeros_like(x)
        step[free] = -cho_solve(cho_factor(bend[np.ix_(free, free)]), slope[free])
        gain = -float(slope @ step)
        if gain <= CLOSE * max(abs(value), 1.0):
            break
        new, new_value, new_slope = x, value, slope
        for halving in range(HALVINGS if gain <= FAST * last or fresh else 0):
            new = np.maximum(x + step * 0.5**halving, low)
            new_value, new_slope = objective(new)
            if new_value <= value + 1e-4 * float(slope @ (new - x)):
                break
        if new_value < value:
            x, value, slope, last = new, new_value, new_slope, gain
        elif fresh:
            break  # nothing is left to gain but rounding
        else:
            bend, last = None, np.inf
    return x


def mixture_weights(log_p: Float, mass: Float | None = None, before: Float | float = 0.0, steps: int = 200) -> Float:
    """Shares v of candidates with the largest sum of log sum over m of v_m p_m, by EM: (M,).

    ``log_p`` is what each candidate gave the label of each row: (n, M). ``before`` is how many rows each is taken to
    have predicted best beforehand: (M,) or one number.

    >>> mixture_weights(np.log([[0.9, 0.5], [0.1, 0.5], [0.9, 0.5], [0.8, 0.5]])).round(2)
    array([0.59, 0.41])
    """
    p = np.exp(log_p - log_p.max(axis=1, keepdims=True))
    mass = np.ones(len(p)) if mass is None else mass
    share = np.full(p.shape[1], 1 / p.shape[1])
    for _ in range(steps):
        part = p * share
        new = mass @ (part / part.sum(axis=1, keepdims=True)) + before
        new = new / new.sum()
        if np.abs(new - share).max() < 1e-7:
            return np.asarray(new)
        share = new
    return share


TABLE_STEPS = 100  # of L-BFGS
TABLE_CLOSE = 1e-8  # share of the loss that is left to gain where it ends
ROUGH = 2e-5  # the same where a fit is only judged


@dataclass(frozen=True)
class AdditiveTables:
    """Labelled rows that look up a line of K numbers in each of several tables.

    log P(c | row) = base_c + sum over tables t of table_t[code_t]_c + constant. Fitted tables minimise the sum over
    rows of - mass log P(label | row), + the sum over cells of ridge |entry|^2 / 2 + fused |entry - next entry|^2 / 2.

    >>> rows = AdditiveTables(np.array([[0, 0, 0, 1]], dtype=np.int32), np.array([0, 4]), np.zeros((4, 2)),
    ...                       np.array([0, 0, 1, 1]), np.ones(4), np.zeros(4))
    >>> rows.fit(np.ones(4)).round(3)[2:]
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

    def fit(self, mass: Float, start: Float | None = None, close: float = TABLE_CLOSE) -> Float:
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

        options = {"maxiter": TABLE_STEPS, "ftol": close, "gtol": 1e-6}
        found = minimize(objective, begin.reshape(-1)[free] / unit, jac=True, method="L-BFGS-B", options=options)
        entries[free] = found.x * unit
        return table
