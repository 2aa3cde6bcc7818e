"""Near: a member of the learned rows around a row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskit.arrays import Float, Int, Json
from bayeskit.numerics.neighbor_search import TIE
from bayeskit.reports.factors import Coding
from bayeskit.reports.inputs import InputMap
from bayeskit.reports.packed import Store
from bayeskit.structures.neighbours import NeighbourDensity


@dataclass(frozen=True)
class NeighborTerms:
    """log K_c / n_c: of the rows within reach of the k-th nearest, those of the class."""

    input_map: InputMap  # the numbers compared
    scale: Float  # (d,) what they are multiplied with
    of: tuple[int, ...]  # questions of the levels compared
    codings: tuple[Coding, ...]
    points: Float  # (N, d)
    levels: Int  # (N, c)
    heavy: Float  # (N,) weight of each row
    group: Int  # (N,)
    weight: Float  # (d + c,) of each column
    classes: int
    k: float
    power: int
    mean: bool  # whether gaps are averaged instead of summed
    fading: bool  # whether nearer rows count more
    pseudo: float
    note: str = ""

    @classmethod
    def of_density(
        cls, density: NeighbourDensity, input_map: InputMap, of: Sequence[int], codings: Sequence[Coding]
    ) -> NeighborTerms:
        """With inputs and questions for all columns of the density, those that do not count included."""
        rows, metric, likelihood = density.statistic.rows, density.metric, density.likelihood
        points = metric.read(rows.numbers, rows.codes)
        d = len(metric.scale)
        some, others = np.flatnonzero(metric.used[:d]), np.flatnonzero(metric.used[d:])
        ranks = np.append(np.ones(d - np.count_nonzero(metric.ordinal)), metric.ordinal[metric.ordinal > 0])
        return cls(
            InputMap(tuple(input_map.inputs[j] for j in some.tolist())),
            (np.ldexp(metric.scale, -metric.exponent) / ranks)[some],
            tuple(of[j] for j in others.tolist()),
            tuple(codings[j] for j in others.tolist()),
            points.numbers[:, some],
            points.codes[:, others].astype(np.int64),
            rows.weight.rounded(),
            rows.group,
            np.append(metric.weight[some], metric.level_weight[others]),
            density.statistic.groups,
            likelihood.k,
            1 if metric.name in ("manhattan", "gower") else 2,
            metric.name == "gower",
            likelihood.weights == "epanechnikov",
            likelihood.pseudo,
        )

    def log(self, read: Sequence[Float]) -> Float:
        """(n, K), up to the volume that all classes share."""
        n = len(read[0])
        numbers = self.input_map.matrix(read) * self.scale if self.input_map.inputs else np.empty((n, 0))
        codes = [c.of(read[q]) for q, c in zip(self.of, self.codings, strict=True)]
        levels = np.stack(codes, axis=1) if codes else np.empty((n, 0), dtype=np.int64)
        return np.array([self._one(x, c) for x, c in zip(numbers, levels, strict=True)])

    def _one(self, numbers: Float, levels: Int) -> Float:
        distance, known = self._distances(numbers, levels)
        mass = np.where(known, self.heavy, 0.0)
        order = np.argsort(distance, kind="stable")
        order = order[mass[order] > 0]
        if not len(order):
            return np.zeros(self.classes)
        reached = np.cumsum(mass[order]) >= self.k * (1 - 1e-12)
        edge = distance[order[int(np.argmax(reached)) if reached.any() else -1]]
        near = order[distance[order] <= edge * (1 + TIE)]
        counted = mass[near]
        if self.fading:
            beyond = distance[order[len(near)]] if len(near) < len(order) else 2 * edge
            less = counted * (1 - (distance[near] / beyond) ** 2) if beyond > 0 else counted
            counted = less * (counted.sum() / (less.sum() or 1.0))
        counts, totals = (
            np.bincount(self.group[i], m, minlength=self.classes) for i, m in ((near, counted), (order, mass[order]))
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            share = counts / totals + self.pseudo / totals.sum()
            pooled = (counts.sum() + self.pseudo) / totals.sum()
            logs: Float = np.log(np.where(totals > 0, share, pooled))
        return logs

    def _distances(self, numbers: Float, levels: Int) -> tuple[Float, Any]:
        d = len(numbers)
        gaps = np.abs(self.points - numbers) ** self.power * self.weight[:d]
        both = ~np.isnan(gaps)
        shared = both @ self.weight[:d]
        total = np.where(both, gaps, 0.0).sum(axis=1)
        there = (self.levels >= 0) & (levels != -1)
        total += ((self.levels != levels) & there) @ self.weight[d:]
        shared = shared + there @ self.weight[d:]
        whole = self.weight[:d][~np.isnan(numbers)].sum()
        with np.errstate(divide="ignore", invalid="ignore"):
            far = total / (shared if self.mean else shared / whole)
        known = shared > 0
        far = np.where(known, np.sqrt(far) if self.power == 2 else far, np.inf)
        return far, known

    def json(self, store: Store) -> Json:
        return {
            "kind": "near",
            "lens": self.input_map.json(store),
            "scale": store.exact(self.scale),
            "of": self.of,
            "codings": [c.json() for c in self.codings],
            "points": store.exact(self.points),
            "levels": store.exact(self.levels.astype(np.float64)),
            "heavy": store.exact(self.heavy),
            "group": store.exact(self.group.astype(np.float64)),
            "importance": self.weight.tolist(),
            "k": self.k,
            "power": self.power,
            "mean": self.mean,
            "fading": self.fading,
            "pseudo": self.pseudo,
        }
