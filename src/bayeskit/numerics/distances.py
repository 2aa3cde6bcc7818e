"""Metric: how far apart two rows are, learned from rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bayeskit.arrays import Bool, Code, Float, Int
from bayeskit.deferred import deferred
from bayeskit.memory import check_memory
from bayeskit.numerics.cut_points import of_levels, of_numbers
from bayeskit.numerics.neighbor_search import BlasBruteForce, BruteForce, Queries, Search, Tree
from bayeskit.numerics.special import LOG_2
from bayeskit.statistics.bins import Bins
from bayeskit.statistics.rows import Rows
from bayeskit.statistics.tables import Tables

gammaln = deferred("scipy.special", "gammaln")

UNSCALED = ("euclidean", "manhattan")  # their distances have the units of the table
METRICS = ("euclidean", "manhattan", "mahalanobis", "gower")
SCALES = (None, "deviation", "mutual_information")
FLAT = 1e-9  # of the largest: the smallest share of variance that a direction is taken to have
TREE = 12  # columns up to which a tree may be quickest
MANY = 30, 2.2  # points times this per column from which it is quicker than matrix products
STEEP = 1000  # exponents up to which multiplying by the power of two is the same, and quicker
FAR = 2.0**400  # in units of the largest value learned: farther is as far


@dataclass(frozen=True)
class Metric:
    """A distance over number columns, each multiplied by its scale, and over levels.

    A column that is constant, or without a value, has scale 0 and says nothing.
    """

    name: str
    exponent: Int  # (d,) numbers are read in units of 2^exponent
    scale: Float  # (d,) what numbers are multiplied by, ordinal levels as numbers after the others
    weight: Float  # (d,) of each of them
    level_weight: Float  # (c,) of the other levels
    ordinal: Float  # (coded,) the largest code of an ordinal column, 0 of another
    covariance: Float | None = None  # (d, d) pooled within classes, of the scaled numbers

    @classmethod
    def of(cls, rows: Rows, name: str, scale: str | None) -> Metric:
        kept, schema = rows.rows, rows.schema
        ordinal = np.array([max(rows.sizes[c.name] - 1, 0) * (c.kind == "ordinal") for c in schema.coded_columns])
        bare = name in UNSCALED and scale is None
        ranks = np.count_nonzero(ordinal)
        largest = np.fmax.reduce(np.abs(kept.numbers), axis=0, initial=0.0)
        largest = np.full_like(largest, largest.max(initial=0.0)) if bare else largest
        exponent = np.append(np.frexp(largest)[1], np.zeros(ranks)).astype(np.int64)
        plain = np.ones(len(exponent))
        levels = np.array([used.sum() > 1 for used in rows.occupancy()[1].values()], dtype=np.float64)
        made = cls(name, exponent, plain, plain, levels[ordinal == 0], ordinal.astype(np.float64))
        numbers = made.read(kept.numbers, kept.codes).numbers
        with np.errstate(invalid="ignore", divide="ignore"):
            span = np.fmax.reduce(numbers, axis=0, initial=-np.inf) - np.fmin.reduce(numbers, axis=0, initial=np.inf)
            varied = span > 0
            unit = 1 / span if name == "gower" else plain if bare else 1 / _deviation(rows, numbers)
        weight = plain
        if scale == "mutual_information":
            strength = np.sqrt(_information(rows))
            mine = np.append(strength[: len(schema.numeric)], strength[len(schema.numeric) :][ordinal > 0])
            informative = (mine[varied] > 0).any() or (levels * strength[len(schema.numeric) :] > 0).any()
            if name == "gower" and informative:
                weight, levels = mine, levels * strength[len(schema.numeric) :]
            elif name != "gower" and informative:
                unit = unit * mine
        scales = np.where(varied, unit, 0.0)
        scaled = cls(name, exponent, scales, weight, levels[ordinal == 0], made.ordinal)
        if name != "mahalanobis":
            return scaled
        learned = scaled.read(kept.numbers, kept.codes).numbers
        return cls(name, exponent, scales, weight, scaled.level_weight, made.ordinal, _pool_covariance(rows, learned))

    @property
    def has_volume(self) -> bool:
        """Whether all its columns are numbers, so that a ball has one."""
        return not len(self.ordinal)

    @property
    def unit(self) -> float:
        """Of its distances; 1 where they are relative to ranges or deviations."""
        bare = self.name in UNSCALED and (np.diff(self.exponent) == 0).all() and set(self.scale.tolist()) <= {0.0, 1.0}
        return float(np.ldexp(1.0, int(self.exponent[0]))) if bare and len(self.exponent) else 1.0

    @cached_property
    def used(self) -> Bool:
        """Which of its columns count: (d + c,)."""
        out: Bool = np.append(self.scale * self.weight > 0, self.level_weight > 0)
        return out

    def read(self, numbers: Float, codes: Code) -> Queries:
        """Rows in its units."""
        ranked = self.ordinal > 0
        ranks = np.where(codes[:, ranked] < 0, np.nan, codes[:, ranked] / np.maximum(self.ordinal[ranked], 1.0))
        power, steep = -self.exponent[: numbers.shape[1]], np.abs(self.exponent) > STEEP
        with np.errstate(over="ignore"):
            wide = np.ldexp(numbers, power) if steep.any() else numbers * np.ldexp(1.0, power)
        np.clip(wide, -FAR, FAR, out=wide)
        whole = np.column_stack([wide, ranks]) if ranks.size else wide
        whole *= self.scale
        return Queries(whole, np.ascontiguousarray(codes[:, ~ranked]))

    def search(self, points: Queries, columns: Bool, often: bool) -> tuple[Search, Float | None]:
        """A search over some number columns (levels stay), and what rows are to be multiplied with before."""
        root = None
        numbers = points.numbers[:, columns]
        if self.covariance is not None:
            root = _whitening(self.covariance[np.ix_(columns, columns)])
            numbers = numbers @ root
        brute_force = self._brute_force(numbers, points.codes, self.weight[columns], self.level_weight)
        d, power = len(brute_force.weight), brute_force.power
        if self.name == "gower" or np.isnan(numbers).any() or not d:
            return brute_force, root
        tree = often and d <= TREE and (power == 1 or len(numbers) > MANY[0] * MANY[1] ** d)
        return Tree(brute_force) if tree else BlasBruteForce(brute_force) if power == 2 else brute_force, root

    def comparing(self, points: Queries, columns: Bool) -> BruteForce:
        """With every point, over some columns of both kinds, (d + c,); distances that are whitened have none."""
        numbers, levels = np.split(np.flatnonzero(columns), [np.count_nonzero(columns[: len(self.scale)])])
        levels = levels - len(self.scale)
        weights = self.weight[numbers], self.level_weight[levels]
        return self._brute_force(points.numbers[:, numbers], points.codes[:, levels], *weights)

    def _brute_force(self, numbers: Float, codes: Code, weight: Float, level_weight: Float) -> BruteForce:
        power = 1 if self.name in ("manhattan", "gower") else 2
        both = np.ascontiguousarray(numbers.T), np.ascontiguousarray(codes.T)
        return BruteForce(*both, weight, level_weight, power, self.name == "gower")

    def log_volume(self, radius: Float, columns: Bool, root: Float | None) -> Float:
        """log of the volume of balls over some columns, in units of the table."""
        d = int(np.count_nonzero(columns))
        scale = self.scale[columns] * self.weight[columns]
        radius = radius * self.weight[columns].sum() if self.name == "gower" else radius  # a mean of gaps
        size = d * np.log(radius) + self.exponent[columns].sum() * LOG_2 - np.log(scale).sum()
        if root is not None:
            size = size - np.linalg.slogdet(root)[1]
        if self.name in ("manhattan", "gower"):
            return np.asarray(size + d * LOG_2 - gammaln(d + 1.0))
        return np.asarray(size + d / 2 * np.log(np.pi) - gammaln(d / 2 + 1))


def _deviation(rows: Rows, numbers: Float) -> Float:
    """Of each column over all rows: (d,); one after the other, as all at once would not fit the caches."""
    weight, out = rows.rows.weight.to_float(), np.empty(numbers.shape[1])
    for j in range(len(out)):
        x = numbers[:, j]
        there = ~np.isnan(x)
        values, mass = (np.ascontiguousarray(x), weight) if there.all() else (x[there], weight[there])
        total = max(float(mass.sum()), 5e-324)
        out[j] = np.sqrt((mass * (values - (mass * values).sum() / total) ** 2).sum() / total)
    return out


def _pool_covariance(rows: Rows, numbers: Float) -> Float:
    """Covariance within classes over the rows that have both columns, with variances of at least a share of all."""
    kept, weight = rows.rows, rows.rows.weight.to_float()
    there = ~np.isnan(numbers)
    apart = np.where(there, numbers, 0.0)
    for c in range(rows.groups):
        mine = kept.group == c
        mass = weight[mine, None] * there[mine]
        apart[mine] -= (mass * apart[mine]).sum(axis=0) / np.maximum(mass.sum(axis=0), 5e-324)
    apart[~there] = 0.0
    heavy = weight[:, None] * there
    d = numbers.shape[1]
    check_memory(6 * 8 * d * d, f"covariances of every two of {d:,} columns", 'choose columns, or metric="euclidean"')
    both = np.maximum((heavy.T @ there).astype(np.float64), 5e-324)
    scatter = (apart * weight[:, None]).T @ apart / both
    floor = FLAT * _deviation(rows, numbers) ** 2
    np.fill_diagonal(scatter, np.maximum(np.diag(scatter), floor))
    return scatter


def _whitening(covariance: Float) -> Float:
    """A matrix W with |x W| the Mahalanobis length; directions without variance get a small one."""
    deviation = np.sqrt(np.diag(covariance))
    value, vector = np.linalg.eigh(covariance / np.outer(deviation, deviation))
    value = np.maximum(value, FLAT * value.max(initial=1.0))
    out: Float = (vector / deviation[:, None]) / np.sqrt(value)
    return out


def _information(rows: Rows) -> Float:
    """Information of each number column, then of each coded one, on the class, in nats: (d + coded,)."""
    block, schema = rows.block(), rows.schema
    numbers = of_numbers(Bins.empty(schema.numeric, rows.groups).update(block))
    nothing = np.full(0, -1, dtype=np.int64)
    sized = {name: (nothing, size) for name, size in rows.sizes.items()}
    tables = Tables.empty([(name,) for name in schema.coded], rows.groups)
    levels = of_levels(tables.place(np.arange(rows.groups), rows.groups, sized).update(block))
    return np.array([*numbers.values(), *(levels[name] for name in schema.coded)])
