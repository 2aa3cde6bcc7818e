"""HybridLearning: a network of levels and numbers from rows with missing values, by EM."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from bayeskit.arrays import Code, Float, Int
from bayeskit.networks.hybrid import Evidence, HybridInference
from bayeskit.networks.learning import Learned, probabilities, pseudo_counts
from bayeskit.networks.linear import Cells, Linear, NumberNode
from bayeskit.networks.network import Network
from bayeskit.networks.table import Table

Sums = tuple[Float, Float, Float]  # weight (C,), sums (C, d) and sums of products (C, d, d) by cell


@dataclass(frozen=True)
class HybridLearning:
    """E: the expected counts of level families, and expected products of number families by cell, given each row.
    M: tables and regressions from them. Without smoothing the likelihood never falls."""

    start: Network
    codes: Code  # (levels, rows)
    numbers: Float  # (numbers, rows)
    weights: Float  # (rows,)
    smoothing: float | str = 1.0
    ess: float = 1.0

    @cached_property
    def units(self) -> dict[str, tuple[float, int]]:
        """Origin and power of two by which each number is measured: its mean and deviation where it is observed."""
        found = {}
        for name, x in zip(self.start.numbers, self.numbers, strict=True):
            there = ~np.isnan(x)
            values, share = x[there], self.weights[there] / max(float(self.weights[there].sum()), 5e-324)
            mean = float(values @ share) if there.any() else 0.0
            deviation = float(np.sqrt(((values - mean) ** 2) @ share)) if there.any() else 0.0
            found[name] = mean, -int(np.frexp(deviation)[1]) if deviation > 0 else 0
        return found

    def _measured(self, name: str, x: Float) -> Float:
        origin, shift = self.units[name]
        out: Float = np.ldexp(x - origin, shift)
        return out

    def expect(self, network: Network) -> tuple[dict[str, Float], dict[str, Sums], float]:
        """Expected counts of the levels, sums of the numbers, and the log-likelihood of the rows."""
        counts = {n: np.zeros(t.probabilities.shape) for n, t in network.tables.items()}
        sums = {}
        for name, one in network.normals.items():
            d, cells = len(one.numbers) + 1, one.mean.size
            sums[name] = np.zeros(cells), np.zeros((cells, d)), np.zeros((cells, d, d))
        likelihood = 0.0
        for places, evidence in HybridInference(network).evidence(self.codes, self.numbers, network.numbers):
            weights = self.weights[places]
            likelihood += float(weights @ evidence.joint(())[1])
            for name in network.coded:
                family = network.graph.family(name)
                counts[name] += np.tensordot(weights, evidence.joint(family)[0], axes=1)
            self._add_numbers(network, evidence, places, weights, sums)
        return counts, sums, likelihood

    def _add_numbers(
        self, network: Network, evidence: Evidence, places: Int, weights: Float, sums: Mapping[str, Sums]
    ) -> None:
        row = {name: x[places] for name, x in zip(network.numbers, self.numbers, strict=True)}
        for component, cells in zip(evidence.components, evidence.cells, strict=True):
            scope = evidence.open_scope(component)
            posterior = evidence.joint(scope)[0].reshape(len(places), -1)
            hidden = {name: j for j, name in enumerate(component.hidden)}
            for cell in cells:
                share = posterior[cell.rows, evidence.position(component, cell)] * weights[cell.rows]
                if not (mass := float(share.sum())) > 0:
                    continue
                codes = dict(zip(component.scope, cell.codes, strict=True))
                for name in component.nodes:
                    one = network.normals[name]
                    family = (*one.numbers, name)
                    where = tuple(codes[n] for n in one.levels)
                    at = int(np.ravel_multi_index(where, one.mean.shape)) if where else 0
                    z = np.column_stack(
                        [
                            self._measured(n, cell.mean[:, hidden[n]] if n in hidden else row[n][cell.rows])
                            for n in family
                        ]
                    )
                    weight, first, second = sums[name]
                    weight[at] += mass
                    first[at] += share @ z
                    second[at] += (z * share[:, None]).T @ z
                    pairs = [(i, hidden[n]) for i, n in enumerate(family) if n in hidden]
                    if pairs:
                        i, j = [a for a, _ in pairs], [b for _, b in pairs]
                        power = np.array([self.units[family[a]][1] for a in i])
                        block = np.ldexp(cell.covariance[np.ix_(j, j)], power[:, None] + power[None, :])
                        second[at][np.ix_(i, i)] += mass * block

    def maximise(self, counts: Mapping[str, Float], sums: Mapping[str, Sums]) -> Network:
        """The network that these expectations make most likely."""
        start = self.start
        tables = {
            n: Table(n, start.graph.parents[n], probabilities(c + pseudo_counts(c.shape, self.smoothing, self.ess)))
            for n, c in counts.items()
        }
        normals = {}
        for name, (weight, first, second) in sums.items():
            one = start.normals[name]
            safe = np.where(weight > 0, weight, 1.0)
            mean = first / safe[:, None]
            covariance = second / safe[:, None, None] - np.einsum("ci,cj->cij", mean, mean)
            units = [self.units[n] for n in (*one.numbers, name)]
            origin, shift = np.array([o for o, _ in units]), np.array([s for _, s in units], dtype=np.int64)
            pseudo = pseudo_counts(one.mean.shape, self.smoothing, self.ess)
            cells = Cells(np.arange(len(weight)), weight, mean, covariance)
            normals[name] = cells.fit(NumberNode(name, one.levels, one.numbers, start.levels), (origin, shift), pseudo)
        return replace(start, tables=tables, normals=normals)

    def learn(self, restarts: int, rng: np.random.Generator, tolerance: float, iterations: int) -> Learned:
        """The best of several climbs; the first from the start, the others by chance where a level is hidden."""
        best: Learned | None = None
        ends = []
        for attempt in range(restarts):
            found = self._climb(self._beginning(rng, attempt), tolerance, iterations)
            ends.append(found.log_likelihood)
            if best is None or found.log_likelihood > best.log_likelihood:
                best = found
        assert best is not None
        return replace(best, climbs=tuple(ends))

    def _climb(self, network: Network, tolerance: float, iterations: int) -> Learned:
        path: list[float] = []
        for _ in range(iterations):
            counts, sums, likelihood = self.expect(network)
            path.append(likelihood)
            if len(path) > 1 and abs(likelihood - path[-2]) < tolerance * float(self.weights.sum()):
                return Learned(network, tuple(path), likelihood, True)
            network = self.maximise(counts, sums)
        return Learned(network, tuple(path), self.expect(network)[2], False)

    def _beginning(self, rng: np.random.Generator, attempt: int) -> Network:
        """The start; what hangs on a level that no row has is moved by chance, or its states would stay alike."""
        start = self.start
        seen = dict(zip(start.coded, np.asarray((self.codes >= 0).any(axis=1)).tolist(), strict=True))
        tables, normals = dict(start.tables), dict(start.normals)
        for name, table in start.tables.items():
            touched = not all(seen[n] for n in start.graph.family(name))
            if touched and (attempt or np.ptp(table.probabilities) == 0):
                drawn = probabilities(rng.exponential(size=table.probabilities.shape))
                tables[name] = Table(name, table.parents, drawn)
        for name, one in start.normals.items():
            if not all(seen[n] for n in one.levels) and (attempt or np.ptp(one.mean) == 0):
                moved = one.mean + one.deviation * rng.standard_normal(one.mean.shape)
                normals[name] = replace(one, mean=moved)
        return replace(start, tables=tables, normals=normals)


def independent_normal(
    name: str, levels: tuple[str, ...], numbers: tuple[str, ...], shape: tuple[int, ...], values: Float, weights: Float
) -> Linear:
    """A number as it is by itself, whatever stands above it: where EM begins."""
    there = ~np.isnan(values)
    mean, deviation = 0.0, 1.0
    if there.any():
        share = weights[there] / weights[there].sum()
        mean = float(values[there] @ share)
        deviation = float(np.sqrt(((values[there] - mean) ** 2) @ share)) or 1.0
    full = np.full(shape, mean)
    slopes = np.zeros((*shape, len(numbers)))
    return Linear(name, levels, numbers, np.zeros(len(numbers)), full, slopes, np.full(shape, deviation))
