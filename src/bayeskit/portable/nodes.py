"""Nodes: the operations that are more than a formula, each with what it needs to know.

``mixture``     log of a sum of equal normal kernels around centres, of one number; cubics where they are good enough.
``normal``      log of normal densities by class of the numbers that are there, perhaps about the means of the cells of
                some categories; cells a row may be in are summed, with what smoothing puts on those never seen.
``network``     log p(codes | c) of a product of tables, what is missing summed out.
``forest``      log P(c | codes) - log P(c), the mean over trees of the class shares in the leaves a row gets to.
``neighbours``  log K_c / n_c among learned rows: only pages have it, as it takes the rows along.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol, TypeAlias

import numpy as np

from bayeskit.arrays import FRONT, Bool, Code, Float, Int, Json
from bayeskit.deferred import deferred

solve_triangular = deferred("scipy.linalg", "solve_triangular")

NOTHING = 1e-12  # a share that is rounding


class TableStore(Protocol):
    """Where the tables of a program go, each known by its number from then on."""

    @property
    def curves(self) -> bool:
        """Whether kernels come with the cubics that the library itself computes with."""

    def table(self, numbers: Float) -> int:
        """Doubles as they are."""

    def logs(self, numbers: Float) -> int:
        """Logarithms, which may be rounded."""


@dataclass(frozen=True)
class Kernel:
    """The mixture of one class: centres, log weights relative to the heaviest, 1/h, and what is added."""

    centre: Float  # (m,)
    log_weight: Float  # (m,)
    precision: float
    constant: float
    stretches: tuple[tuple[float, float, Float], ...]  # low, high and cubics (cells, 4) between, NaN where none is good
    steps: float  # cells to a unit

    def log(self, y: Float) -> Float:
        """(n,)."""
        out = np.full(len(y), np.nan)
        for low, high, cubics in self.stretches:
            inside = np.flatnonzero((y > low) & (y < high))
            place = (y[inside] - low) * self.steps
            cell = place.astype(np.int64)
            a, t = cubics[cell], place - cell
            out[inside] = ((a[:, 3] * t + a[:, 2]) * t + a[:, 1]) * t + a[:, 0]
        for i in np.flatnonzero(np.isnan(out)):
            away = (y[i] - self.centre) * self.precision
            out[i] = np.logaddexp.reduce(self.log_weight - 0.5 * away * away)
        return out + self.constant


@dataclass(frozen=True)
class Mixture:
    """Of every class, of y = x scale - base."""

    kernels: tuple[Kernel, ...]

    @property
    def count(self) -> int:
        """How many numbers it holds."""
        return sum(2 * len(kernel.centre) for kernel in self.kernels)

    def log(self, args: Sequence[Float]) -> Float:
        (y,) = args
        return np.stack([np.where(np.isnan(y), 0.0, kernel.log(np.nan_to_num(y))) for kernel in self.kernels], axis=1)

    def json(self, store: TableStore) -> Json:
        return {
            "kernels": [
                {
                    "centre": store.table(k.centre),
                    "logWeight": store.table(k.log_weight),
                    "precision": k.precision,
                    "constant": k.constant,
                    "steps": k.steps,
                    "stretches": [[low, high, store.table(c)] for low, high, c in k.stretches] if store.curves else [],
                }
                for k in self.kernels
            ]
        }


@dataclass(frozen=True)
class Cells:
    """The cells of some categories by class, and what smoothing puts on those that are not there."""

    codes: tuple[Int, ...]  # by class (cells, columns)
    mass: tuple[Float, ...]  # by class (cells,) log of weight and smoothing
    spare: tuple[Float, ...]  # by class (cells,) log of the smoothing alone
    offset: tuple[Float, ...]  # by class (cells, d) from the mean of the class
    margins: tuple[Float, ...]  # by column (levels + 2, K) log of what the smoothing of a level counts
    base: Float  # (K,) log of the smoothing of a cell without its margins
    weight: Float  # (K,) log of the weight of all cells
    every: Float  # (K,) log of the smoothing of all cells
    more: tuple[Float, ...]  # by column (levels + 2, K): what a level never seen adds to that

    def json(self, store: TableStore) -> Json:
        each = {name: [store.table(np.asarray(part, dtype=np.float64)) for part in getattr(self, name)]
                for name in ("codes", "offset")}  # fmt: skip
        each |= {
            name: [store.logs(part) for part in getattr(self, name)] for name in ("mass", "spare", "margins", "more")
        }
        return {**each, **{name: to_list(getattr(self, name)) for name in ("base", "weight", "every")}}

    def log_mixture(self, c: int, codes: Int, away: Float, lower: Float, there: Int) -> float:
        """log of the sum over the cells a row may be in of their mass times the density about their mean."""
        at = [margin[code + FRONT, c] for margin, code in zip(self.margins, codes, strict=True)]
        together = self.base[c] + sum(at)
        may_be = ((self.codes[c] == codes) | (codes == -1)).all(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            left = 1 - float(np.exp(self.spare[c][may_be] - together).sum()) if np.isfinite(together) else 0.0
            logs = [together + np.log(left) - 0.5 * away @ away if left > NOTHING else -np.inf]
        if may_be.any():
            shift = solve_triangular(lower, self.offset[c][may_be][:, there].T, lower=True) if len(there) else None
            near = np.zeros(may_be.sum()) if shift is None else ((away[:, None] - shift) ** 2).sum(axis=0)
            logs += (self.mass[c][may_be] - 0.5 * near).tolist()
        more = sum(table[code + FRONT, c] for table, code in zip(self.more, codes, strict=True))
        return float(np.logaddexp.reduce(logs) - np.logaddexp(self.weight[c], self.every[c] + more))


@dataclass(frozen=True)
class Normal:
    """log N(z; mean, covariance) of the numbers z that are there."""

    mean: Float  # (K, d)
    covariance: Float  # (K, d, d), or (1, d, d) if all classes share one
    units: Float  # (d,) added for each number that is there
    cells: Cells | None = None

    def matrix(self, c: int) -> Float:
        out: Float = self.covariance[min(c, len(self.covariance) - 1)]
        return out

    @property
    def count(self) -> int:
        """How many numbers it holds."""
        return self.covariance.size + (0 if self.cells is None else sum(o.size + 2 * len(o) for o in self.cells.offset))

    def log(self, args: Sequence[Float]) -> Float:
        d = self.mean.shape[1]
        n, k = len(args[0]), len(self.mean)
        z, codes = (
            np.stack([*args[:d], np.zeros(n)], axis=1)[:, :d],
            np.array(args[d:]).reshape(-1, n).T.astype(np.int64),
        )
        out = np.empty((n, k))
        factor: dict[tuple[bytes, int], Float] = {}
        for i, row in enumerate(z):
            there = np.flatnonzero(~np.isnan(row))
            for c in range(k):
                if (which := (there.tobytes(), c)) not in factor:
                    factor[which] = np.linalg.cholesky(self.matrix(c)[np.ix_(there, there)]).astype(np.float64)
                lower = factor[which]
                away = solve_triangular(lower, row[there] - self.mean[c, there], lower=True) if len(there) else row[:0]
                size = float(self.units[there].sum() - np.log(np.diag(lower)).sum())
                rest = (
                    -0.5 * away @ away
                    if self.cells is None
                    else self.cells.log_mixture(c, codes[i], away, lower, there)
                )
                out[i, c] = size + rest
        return out

    def json(self, store: TableStore) -> Json:
        lower = np.tril_indices(self.mean.shape[1])
        return {
            "mean": store.table(self.mean),
            "covariance": store.table(self.covariance[:, lower[0], lower[1]]),
            "units": store.table(self.units),
            "shared": len(self.covariance) < len(self.mean),
            "cells": None if self.cells is None else self.cells.json(store),
        }


@dataclass(frozen=True)
class Network:
    """Tables over few columns each, all columns coded; the last is the class's own where it has parents."""

    size: tuple[int, ...]
    parents: tuple[tuple[int, ...], ...]
    order: tuple[int, ...]  # parents before their children
    rank: tuple[int, ...]
    limit: int  # cells of a product, classes included
    tables: tuple[Float, ...]  # (cells, K) logarithms, by levels + 2 of parents and column
    weights: tuple[float, ...] | None
    log_class: Float  # (K,)
    of_codes: Callable[[Code], Float]  # codes (columns, n) to (n, K), as the model itself has it

    @property
    def count(self) -> int:
        """How many numbers it holds."""
        return sum(table.size for table in self.tables)

    def log(self, args: Sequence[Float]) -> Float:
        return self.of_codes(np.array(args).astype(np.int32).reshape(len(args), -1))

    def json(self, store: TableStore) -> Json:
        return {
            "size": self.size, "parents": self.parents, "order": self.order, "rank": self.rank, "limit": self.limit,
            "tables": [store.logs(table) for table in self.tables], "weights": self.weights,
            "logClass": self.log_class.tolist(),
        }  # fmt: skip


@dataclass(frozen=True)
class Forest:
    """Trees by their nodes, and the weight of each class in each leaf, from which the shares of all nodes follow.

    A node that splits sends codes in its mask to ``child``, counted within the tree, and others to the node behind
    that; a code of -1 goes both ways, as the weight there does. p_node = (n_c + a p_parent) / (n + a), and the parent
    of a root has (n_c + 1/2) / (n + K/2). Boosted trees have leaves whose values are
    added up, less those without any value.
    """

    sizes: tuple[int, ...]  # nodes of each tree
    column: Code  # (nodes,) which code is asked for, -1 in leaves
    child: Code  # (nodes,)
    mask: Int  # (nodes, 2) 32 bits each
    counts: Float  # (leaves, K), in the order of the nodes
    strength: float  # a
    shares: Float  # (nodes, K) p_node
    first: Float  # (nodes,) share of the rows of a node that went to its child
    nothing: Float  # (K,) P(c), the answer without any value
    boosted: bool  # whether the shares of leaves are values to add up instead
    of_codes: Callable[[Code], Float]  # codes (columns, n) to (n, K), as the model itself has it

    @property
    def count(self) -> int:
        """How many numbers it holds."""
        return (1 + self.boosted) * self.counts.size + 4 * len(self.column)

    @property
    def roots(self) -> Int:
        """The first node of each tree, among all nodes: (trees,)."""
        out: Int = np.cumsum([0, *self.sizes[:-1]])
        return out

    @property
    def children(self) -> Int:
        """The child that codes in the mask go to, among all nodes: (nodes,)."""
        out: Int = np.repeat(self.roots, self.sizes) + self.child
        return out

    @property
    def before(self) -> Float:
        """What is taken off the logarithm of the mean over trees, or off the sum over boosted ones: (K,)."""
        return len(self.sizes) * self.nothing if self.boosted else np.log(self.nothing)

    def log(self, args: Sequence[Float]) -> Float:
        return self.of_codes(np.array(args).astype(np.int32))

    def json(self, store: TableStore) -> Json:
        low, high = self.mask.T
        tables = {"column": self.column, "child": self.child, "low": low, "high": high, "counts": self.counts}
        if self.boosted:
            tables["values"] = self.shares[self.column < 0]
        return {
            "sizes": self.sizes,
            "strength": self.strength,
            **{name: store.table(np.asarray(table, dtype=np.float64)) for name, table in tables.items()},
        }


@dataclass(frozen=True)
class Neighbours:
    """log K_c / n_c: of the rows within reach of the k-th nearest, those of the class."""

    scale: Float  # (d,) what numbers are multiplied with
    points: Float  # (N, d)
    levels: Int  # (N, c)
    mass: Float  # (N,) weight of each row
    group: Int  # (N,)
    weight: Float  # (d + c,) of each column
    classes: int
    k: float
    power: int
    mean: bool  # whether gaps are averaged instead of summed
    fading: bool  # whether nearer rows count more
    pseudo: float
    tie: float

    @property
    def count(self) -> int:
        """How many numbers it holds."""
        return self.points.size + self.levels.size

    def log(self, args: Sequence[Float]) -> Float:
        d = self.points.shape[1]
        numbers, codes = (
            np.stack(part, axis=1) if len(part) else np.empty((len(args[0]), 0)) for part in (args[:d], args[d:])
        )
        return np.array([self._one(x, c) for x, c in zip(numbers * self.scale, codes.astype(np.int64), strict=True)])

    def _one(self, numbers: Float, levels: Int) -> Float:
        distance, known = self._distances(numbers, levels)
        mass = np.where(known, self.mass, 0.0)
        order = np.argsort(distance, kind="stable")
        order = order[mass[order] > 0]
        if not len(order):
            return np.zeros(self.classes)
        reached = np.cumsum(mass[order]) >= self.k * (1 - 1e-12)
        edge = distance[order[int(np.argmax(reached)) if reached.any() else -1]]
        near = order[distance[order] <= edge * (1 + self.tie)]
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

    def _distances(self, numbers: Float, levels: Int) -> tuple[Float, Bool]:
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

    def json(self, store: TableStore) -> Json:
        tables = {name: store.table(np.asarray(getattr(self, name), dtype=np.float64))
                  for name in ("scale", "points", "levels", "mass", "group")}  # fmt: skip
        return {**tables, "weight": self.weight.tolist(), "k": self.k, "power": self.power, "mean": self.mean,
                "fading": self.fading, "pseudo": self.pseudo}  # fmt: skip


Node: TypeAlias = Kernel | Mixture | Normal | Network | Forest | Neighbours  # a kernel where mixtures are expanded


def to_list(numbers: Float) -> list[float | str]:
    """Numbers for JSON, which has no infinity."""
    return [to_json(b) for b in np.asarray(numbers).tolist()]


def to_json(number: float) -> float | str:
    """A number for JSON: "nan", "inf" and "-inf" are texts."""
    return number if np.isfinite(number) else str(number)


def split(offset: Int, table: Float) -> tuple[Float, ...]:
    """Tables that stand one after the other."""
    return tuple(table[a:b] for a, b in pairwise(offset.tolist()))
