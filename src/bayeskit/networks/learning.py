"""Learning: probabilities of a known graph from counts, and from rows with missing values by EM or by gradient."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bayeskit.arrays import Code, Float, Int
from bayeskit.errors import InputError, NetworkError
from bayeskit.networks.contradiction import check_possible
from bayeskit.networks.inference import Inference
from bayeskit.networks.network import Network

BDEU = "bdeu"
SMALLEST = 1e-300


def pseudo_counts(shape: tuple[int, ...], smoothing: float | str, ess: float) -> float:
    """What smoothing adds to each cell of a table: a number as it is (Laplace), or ess / cells for "bdeu".

    >>> pseudo_counts((3, 2), 1.0, 10.0), pseudo_counts((3, 2), "bdeu", 12.0)
    (1.0, 2.0)
    """
    if isinstance(smoothing, str):
        if smoothing != BDEU or not 0 < ess < np.inf:
            raise InputError(f'smoothing={smoothing!r}, ess={ess!r}: choose a number, or "bdeu" with ess > 0')
        return ess / int(np.prod(shape))
    if isinstance(smoothing, bool) or not isinstance(smoothing, int | float | np.number) or not 0 <= smoothing < np.inf:
        raise InputError(f'smoothing={smoothing!r}: choose a number of at least 0, or "bdeu"')
    return float(smoothing)


def probabilities(counts: Float) -> Float:
    """Rows divided by their sums; a row without a count is uniform, the limit of vanishing smoothing.

    >>> probabilities(np.array([[1.0, 3.0], [0.0, 0.0]])).tolist()
    [[0.25, 0.75], [0.5, 0.5]]
    """
    total = counts.sum(axis=-1, keepdims=True)
    return np.where(total > 0, counts / np.where(total > 0, total, 1.0), 1.0 / counts.shape[-1])


@dataclass(frozen=True)
class Learned:
    """A network learned from rows with missing values, and the way there."""

    network: Network
    path: tuple[float, ...]  # log-likelihood of the rows, plus the log prior of the tables, after each iteration
    log_likelihood: float
    converged: bool
    climbs: tuple[float, ...] = ()  # where each climb ended, from every beginning


@dataclass(frozen=True)
class Learning:
    """Rows with missing values, and the pseudo-counts of a smoothing; both methods climb the same hill.

    L = sum over rows of weight * log P(row) + sum over cells of pseudo-count * log theta.
    """

    start: Network  # graph and states; its tables are where the first climb begins
    codes: Code  # (nodes, rows), -1 where not observed
    weights: Float  # (rows,)
    smoothing: float | str = 1.0
    ess: float = 1.0

    @cached_property
    def inference(self) -> Inference:
        return Inference(self.start)

    @cached_property
    def hidden(self) -> tuple[str, ...]:
        """Nodes that no row has observed."""
        seen = np.asarray((self.codes >= 0).any(axis=1)).tolist()
        return tuple(node for node, observed in zip(self.start.nodes, seen, strict=True) if not observed)

    @cached_property
    def prior(self) -> Float:
        """Pseudo-counts of all cells, table after table."""
        shapes = [table.shape for table in self.start.potentials.values()]
        return np.concatenate([np.full(int(np.prod(s)), pseudo_counts(s, self.smoothing, self.ess)) for s in shapes])

    @cached_property
    def row(self) -> Int:
        """Which row of a table each cell belongs to, counted over all tables."""
        widths = np.concatenate([np.full(t.size // t.shape[-1], t.shape[-1]) for t in self.start.potentials.values()])
        return np.repeat(np.arange(len(widths)), widths)

    def tables(self, counts: Float) -> Float:
        """Counts of all cells as probabilities."""
        total = np.bincount(self.row, counts)[self.row]
        return np.where(total > 0, counts / np.where(total > 0, total, 1.0), 1.0 / np.bincount(self.row)[self.row])

    def network(self, tables: Float) -> Network:
        begin, shapes = self.inference.numbered.begin, self.start.potentials
        parts = zip(self.start.nodes, begin, begin[1:], strict=False)
        return self.start.with_tables({node: tables[a:b].reshape(shapes[node].shape) for node, a, b in parts})

    def expect(self, tables: Float) -> tuple[Float, float, float]:
        """Expected counts under these tables, L and the log-likelihood alone."""
        counts, logs = self.inference.expect_counts(self.codes, self.weights, tables)
        if np.isneginf(logs).any():
            check_possible(logs, Inference(self.network(tables)), self.codes)
        likelihood = float(self.weights @ logs)
        return counts, likelihood + float(self.prior @ np.log(np.maximum(tables, SMALLEST))), likelihood

    def em(self, tolerance: float, iterations: int) -> Callable[[Float], tuple[Float, list[float], bool]]:
        """One climb by expectation and maximisation, which never goes down."""

        def climb(tables: Float) -> tuple[Float, list[float], bool]:
            path: list[float] = []
            for _ in range(iterations):
                counts, height, _ = self.expect(tables)
                path.append(height)
                if len(path) > 1:
                    gain = height - path[-2]
                    if gain < -1e-9 * max(1.0, abs(height)):
                        raise NetworkError(f"EM lost {-gain:.3g} of log-likelihood, which it cannot; report this")
                    if gain < tolerance * self.weights.sum():
                        return tables, path, True
                tables = self.tables(counts + self.prior)
            return tables, path, False

        return climb

    def gradient(self, tolerance: float, iterations: int) -> Callable[[Float], tuple[Float, list[float], bool]]:
        """One climb along the gradient of theta = softmax(eta) in every row: N + a - theta * (sum of N + a)."""
        from scipy.optimize import minimize

        def tables_of(eta: Float) -> Float:
            top = np.full(int(self.row[-1]) + 1, -np.inf)
            np.maximum.at(top, self.row, eta)
            return self.tables(np.exp(eta - top[self.row]))

        def climb(tables: Float) -> tuple[Float, list[float], bool]:
            path: list[float] = []
            scale = float(self.weights.sum())

            def height(eta: Float) -> tuple[float, Float]:
                theta = tables_of(eta)
                counts, found, _ = self.expect(theta)
                whole = counts + self.prior
                slope = whole - theta * np.bincount(self.row, whole)[self.row]
                path.append(found)
                return -found / scale, -slope / scale

            eta = np.log(np.maximum(tables, 1e-12))
            options: Any = {"maxiter": iterations, "ftol": tolerance * 1e-2, "gtol": tolerance, "maxcor": 20}
            found: Any = minimize(height, eta, jac=True, method="L-BFGS-B", options=options)
            return tables_of(found.x), path, bool(found.success)

        return climb

    def learn(self, method: str, restarts: int, rng: np.random.Generator, tolerance: float, iterations: int) -> Learned:
        """The best of several climbs: the first from the start, the others from chance where something is hidden."""
        climb = METHODS[method](self, tolerance, iterations)
        best: tuple[Float, list[float], bool] | None = None
        ends = []
        for attempt in range(restarts):
            found = climb(self._beginning(rng, attempt))
            ends.append(found[1][-1])
            if best is None or found[1][-1] > best[1][-1]:
                best = found
        assert best is not None
        tables, path, converged = best
        return Learned(self.network(tables), tuple(path), self.expect(tables)[2], converged, tuple(ends))

    def _beginning(self, rng: np.random.Generator, attempt: int) -> Float:
        """The start; uniform tables at hidden nodes by chance, or their states would stay alike for ever."""
        tables = self.inference.numbered.tables.copy()
        by_chance = self.tables(rng.exponential(size=len(tables)))
        begin = self.inference.numbered.begin
        for v, node in enumerate(self.start.nodes):
            touched = not {node, *self.start.graph.parents[node]}.isdisjoint(self.hidden)
            part = slice(begin[v], begin[v + 1])
            flat = tables[part].reshape(-1, self.start.sizes[node])
            if attempt or (touched and (flat == flat[0, 0]).all()):
                tables[part] = by_chance[part] if touched else 0.9 * tables[part] + 0.1 * by_chance[part]
        return np.where(tables > 0, tables, 0.0)


METHODS = {"em": Learning.em, "gradient": Learning.gradient}


def tables_from_counts(counts: Mapping[str, Float], smoothing: float | str, ess: float) -> dict[str, Float]:
    """Tables from the counts of every family: (count + pseudo-count) / sum over the states."""
    return {node: probabilities(n + pseudo_counts(n.shape, smoothing, ess)) for node, n in counts.items()}
