"""Neighbours: a density from the rows around a point."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from bayeskit.arrays import Bool, Float, Int
from bayeskit.data.block import Block
from bayeskit.data.schema import KINDS, Column
from bayeskit.data.written import Ratio, decimal, plain
from bayeskit.densities.density import Density, SupportsLeftOut, TailLogDensity, WorkedFactor
from bayeskit.densities.likelihood import Context, Likelihood
from bayeskit.errors import InputError
from bayeskit.numerics.distances import METRICS, SCALES, Metric
from bayeskit.numerics.neighbor_search import TIE as DISTANCE_TIE
from bayeskit.numerics.neighbor_search import Measured, NearestPoints, PointWeights, Queries, Search, blocks, near
from bayeskit.portable.nodes import Neighbours as NeighbourNode
from bayeskit.portable.program import Inputs, Term, Unportable
from bayeskit.portable.symbol import Symbol, where
from bayeskit.statistics.exact import ExactSum
from bayeskit.statistics.keyed import distinct
from bayeskit.statistics.rows import Rows
from bayeskit.validation import integer, keep, number

WEIGHTINGS = ("uniform", "epanechnikov")
PART = "neighbours"
TIE = 1e-12  # nats between classes that are equally probable but for rounding


@dataclass(frozen=True)
class Neighbours(Likelihood[Rows]):
    """p(x | c) = K_c / (n_c V): of the K rows in the ball of volume V around x that holds the k nearest, those of c.

    All rows at the distance of the k-th count, so K may be more than k; a row of weight w counts as w rows.
    """

    k: int = 5
    metric: str = "euclidean"
    scale: str | None = None
    weights: str = "uniform"
    pseudo: float = 0.0
    most: int | None = None
    seed: int = 0

    identifier: ClassVar[str] = "structure/neighbors"
    kinds: ClassVar[tuple[str, ...]] = KINDS

    def __post_init__(self) -> None:
        for what, value, known in (
            ("metric", self.metric, METRICS),
            ("scale", self.scale, SCALES),
            ("weights", self.weights, WEIGHTINGS),
        ):
            if value not in known:
                raise InputError(f"{what}={value!r}: choose one of {', '.join(map(repr, known))}")
        k, most, pseudo = integer(self.k), integer(self.most), number(self.pseudo)
        for what, size, given in (("k", k, self.k), ("max_rows", 1 if self.most is None else most, self.most)):
            if size is None or size < 1:
                raise InputError(f"{what}={given!r}: give a number of rows of at least 1")
        if pseudo is None or pseudo < 0:
            raise InputError(f"pseudo={self.pseudo!r}: give a number of pseudo-rows of at least 0")
        keep(self, k=k, most=most, pseudo=pseudo)

    @property
    def leave_one_out(self) -> bool:
        """Whether a row can be left out without a refit; not where labels made the distance."""
        return self.scale != "mutual_information" and self.metric != "mahalanobis"

    def statistic(self, columns: Sequence[Column], n_groups: int) -> Rows:
        return Rows.empty(columns, n_groups, self.most, self.seed)

    def fit(self, statistic: Rows, context: Context) -> NeighbourDensity:
        return NeighbourDensity(self, statistic, Metric.of(statistic, self.metric, self.scale), context.unseen)


@dataclass(frozen=True)
class Space:
    """The rows that can be compared over some columns, and their search."""

    search: Search
    root: Float | None  # what numbers are multiplied with first
    numeric: Bool  # (d,) the number columns compared
    rows: Int  # which of all rows
    totals: ExactSum  # (K,) weight of their classes


@dataclass(frozen=True)
class NeighbourDensity(SupportsLeftOut):
    """Densities around rows, by class."""

    likelihood: Neighbours
    statistic: Rows
    metric: Metric
    unseen: str
    _spaces: dict[bytes, Space] = field(default_factory=dict, compare=False, repr=False)

    columns: ClassVar[tuple[str, ...]] = (PART,)
    additive: ClassVar[bool] = False

    @property
    def normalised(self) -> bool:
        """Whether a ball has a volume."""
        return self.metric.has_volume

    @property
    def held(self) -> tuple[str, ...]:
        """What leave-one-out has of all rows; none of it saw a label."""
        if self.likelihood.metric == "gower":
            return ("ranges of the columns",)
        return ("deviations of the columns",) if self.likelihood.scale is not None else ()

    @property
    def constant(self) -> tuple[str, ...]:
        """Number columns with a single value, which say nothing."""
        return tuple(n for n, s in zip(self.statistic.schema.numeric, self.metric.scale, strict=False) if not s)

    @cached_property
    def _points(self) -> Queries:
        return self.metric.read(self.statistic.rows.numbers, self.statistic.rows.codes)

    @cached_property
    def _weights(self) -> Float:
        return self.statistic.rows.weight.to_float()

    def _space(self, pattern: Bool) -> Space:
        """The search over the columns that a row has: (d + c,)."""
        if pattern.tobytes() in self._spaces:
            return self._spaces[pattern.tobytes()]
        points, d = self._points, len(self.metric.scale)
        there = np.hstack([~np.isnan(points.numbers), points.codes >= 0])[:, pattern]
        alike = there.all if self.metric.covariance is not None else there.any
        usable: Bool = np.asarray(alike(axis=1))
        rows = np.flatnonzero(usable)
        often = bool(pattern[self.metric.used].all())
        search, root = self.metric.search(points.at(rows), pattern[:d], often)
        space = Space(search, root, pattern[:d], rows, self.statistic.weights(usable))
        if often:
            self._spaces[pattern.tobytes()] = space
        return space

    @property
    def _names(self) -> list[str]:
        """The columns as the metric has them: numbers, levels that have an order, other levels."""
        schema = self.statistic.schema
        ranks = dict(zip(schema.coded, self.metric.ordinal.tolist(), strict=True))
        return [*schema.numeric, *sorted(schema.coded, key=lambda name: not ranks[name])]

    def _read(self, block: Block) -> Queries:
        numbers, codes = self.statistic.read(block)
        return self.metric.read(numbers, codes if self.unseen == "smooth" else np.maximum(codes, -1))

    def _groups(self, block: Block) -> Iterator[tuple[Int, Queries, Space]]:
        """Rows that have the same columns, as the search wants them; without those that have none."""
        asked, d = self._read(block), len(self.metric.scale)
        patterns = np.hstack([~np.isnan(asked.numbers), asked.codes != -1]) & self.metric.used
        different, member = distinct(patterns)
        for g, pattern in enumerate(different.astype(bool)):
            rows = np.flatnonzero(member == g)
            if not pattern.any():
                continue
            space, mine = self._space(pattern), asked.at(rows)
            numbers = mine.numbers[:, pattern[:d]]
            yield rows, Queries(numbers if space.root is None else numbers @ space.root, mine.codes), space

    @cached_property
    def left_out(self) -> Density:
        if not self.likelihood.leave_one_out:
            raise InputError(
                'metric="mahalanobis" and scale="mutual_information" come from the labels of all rows, so leaving '
                "one out is a refit; use k-fold cross-validation, or another metric"
            )
        return LeftOutNeighbours(self.likelihood, self.statistic, self.metric, self.unseen, self._spaces)

    def portable(self, inputs: Inputs) -> list[Term]:
        metric, rows, schema = self.metric, self.statistic.rows, self.statistic.schema
        if metric.covariance is not None:
            raise Unportable("its distances depend on which columns are known, which no table holds")
        ranked = [n for n, most in zip(schema.coded, metric.ordinal, strict=True) if most > 0]
        codes = {
            n: inputs.code(n) if self.unseen == "smooth" else np.maximum(inputs.code(n), -1.0) for n in schema.coded
        }
        numbers = [inputs.number(n) for n in schema.numeric] + [where(codes[n] < 0, np.nan, codes[n]) for n in ranked]
        plain = [codes[n] for n in schema.coded if n not in ranked]
        d = len(metric.scale)
        measured, others = np.flatnonzero(metric.used[:d]), np.flatnonzero(metric.used[d:])
        ranks = np.append(np.ones(d - np.count_nonzero(metric.ordinal)), metric.ordinal[metric.ordinal > 0])
        points = self._points
        node = NeighbourNode(
            (np.ldexp(metric.scale, -metric.exponent) / ranks)[measured],
            points.numbers[:, measured],
            points.codes[:, others].astype(np.int64),
            self._weights,
            rows.group,
            np.append(metric.weight[measured], metric.level_weight[others]),
            self.statistic.groups,
            self.likelihood.k,
            1 if metric.name in ("manhattan", "gower") else 2,
            metric.name == "gower",
            self.likelihood.weights == "epanechnikov",
            self.likelihood.pseudo,
            DISTANCE_TIE,
        )
        asked = [numbers[j] for j in measured.tolist()] + [plain[j] for j in others.tolist()]
        names = self._names
        chain = [names[j] for j in measured.tolist()] + [names[d + j] for j in others.tolist()]
        return [Term((), Symbol("neighbours", node, *asked), chain=tuple(chain))]

    def _itself(self, block: Block) -> Int:
        """The place of each row among those learned, to leave it out; -1 for none: (n,)."""
        return np.full(block.rows, -1, dtype=np.int64)

    def _near(self, block: Block) -> Iterator[tuple[Int, Space, NearestPoints, Float]]:
        """Rows, their space, their neighbours, and the weight of each class without the row itself: (n, K)."""
        itself = self._itself(block)
        for rows, asked, space in self._groups(block):
            place = np.full(len(self._weights) + 1, -1, dtype=np.int64)
            place[space.rows] = np.arange(len(space.rows))
            mine, left = place[itself[rows]], np.zeros(len(rows))
            totals = np.tile(space.totals.to_float(), (len(rows), 1))
            known = np.flatnonzero(mine >= 0)
            if len(known):
                row, group, mass = block.rows_with_weight()
                at = np.full(block.rows, -1, dtype=np.int64)
                at[row] = np.arange(len(row))
                which = at[rows[known]]
                left[known] = self.statistic.rows.weight.without(itself[rows[known]], mass[which])
                totals[known, group[which]] = space.totals.without(group[which], mass[which])
            masses = PointWeights(self._weights[space.rows], mine, left)
            around = near(space.search, asked, self.likelihood.k, masses)
            yield rows, space, around, totals

    def _counts(self, points: Int, around: NearestPoints) -> Float:
        """Weight of each class around each row, (n, K), of these rows as points."""
        mass = around.weight
        if self.likelihood.weights == "epanechnikov":
            reach = np.where(np.isfinite(around.beyond), around.beyond, 2 * around.radius)[around.row]
            share = np.divide(around.distance, reach, out=np.zeros_like(mass), where=reach > 0)
            nearer = mass * (1 - share**2)
            whole, less = (np.bincount(around.row, m, minlength=around.rows) for m in (mass, nearer))
            mass = nearer * (whole / np.where(less > 0, less, 1.0))[around.row]  # K rows are still K rows
        classes = self.statistic.groups
        cell = around.row * classes + self.statistic.rows.group[points[around.index]]
        counts = np.bincount(cell, mass, minlength=around.rows * classes).astype(np.float64, copy=False)
        return counts.reshape(around.rows, classes)

    def _shares(self, block: Block) -> Iterator[tuple[Int, Float, Float, Float]]:
        """Rows with K_c / n_c, n_c (n, K), and log V (n, 1); rows without a neighbour left out."""
        for rows, space, around, totals in self._near(block):
            share, found = self._share(space.rows, around, totals)
            volume = self._log_volume(space, around)[:, None]
            yield rows[found], share[found], totals[found], volume[found]

    def _share(self, points: Int, around: NearestPoints, totals: Float) -> tuple[Float, Bool]:
        """K_c / n_c, (n, K), and which rows have a neighbour, (n,)."""
        counts = self._counts(points, around)
        whole = totals.sum(axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = counts / totals + self.likelihood.pseudo / whole
            pooled = (counts.sum(axis=1, keepdims=True) + self.likelihood.pseudo) / whole
        # a class without rows is taken to be like the others
        return np.where(totals > 0, share, pooled), counts.sum(axis=1) > 0

    def several(self, block: Block, sizes: Sequence[int]) -> Float:
        """log K_c / n_c for several k up to its own, after one search: (n, sizes, K)."""
        out = np.zeros((block.rows, len(sizes), self.statistic.groups))
        for rows, space, around, totals in self._near(block):
            for i, k in enumerate(sizes):
                share, found = self._share(space.rows, around.within(k), totals)
                with np.errstate(divide="ignore"):
                    out[rows[found], i] = np.log(share[found])
        return out

    def stages(self, block: Block, owner: Mapping[str, int]) -> Float:
        """log K_c / n_c once the columns of owners 0, 1, ... are known, one after the other: (n, owners + 1, K).

        Gaps add up over columns, so that a stage compares rows over the columns of one owner more. Rows are new ones.
        """
        if self.metric.covariance is not None:
            raise InputError('metric="mahalanobis" has no distances column by column; choose another')
        asked, points, d = self._read(block), self._points, len(self.metric.scale)
        mine = np.array([owner[name] for name in self._names], dtype=np.int64)
        every, weights = np.arange(len(points)), self._weights
        of_class = np.equal.outer(self.statistic.rows.group, np.arange(self.statistic.groups)) * weights[:, None]
        out = np.zeros((block.rows, max(owner.values(), default=-1) + 2, self.statistic.groups))
        for rows in blocks(block.rows, len(points)):
            queries, gaps = asked.at(rows), None
            place = Queries(np.arange(len(queries), dtype=np.float64)[:, None], queries.codes[:, :0])
            masses = PointWeights(weights, np.full(len(queries), -1), np.zeros(len(queries)))
            for stage in range(1, out.shape[1]):
                columns = (mine == stage - 1) & self.metric.used
                out[rows, stage] = out[rows, stage - 1]
                if not columns.any():
                    continue
                sheet = self.metric.comparing(points, columns)
                more = sheet.gaps(Queries(queries.numbers[:, columns[:d]], queries.codes[:, columns[d:]]))
                gaps = more if gaps is None else gaps.with_more(more)
                distance = sheet.lengths(gaps)
                around = near(Measured(distance), place, self.likelihood.k, masses)
                compared = np.isfinite(distance)
                whole = np.tile(of_class.sum(axis=0), (len(queries), 1)) if compared.all() else compared @ of_class
                share, there = self._share(every, around, whole)
                with np.errstate(divide="ignore"):
                    out[rows, stage][there] = np.log(share[there])
        return out

    def _log_volume(self, space: Space, around: NearestPoints) -> Float:
        """Of the balls; one of no radius takes the next distance, so that it has a volume: (n,)."""
        if not self.normalised:
            return np.zeros(around.rows)
        radius = np.where(around.radius > 0, around.radius, around.beyond)
        known = np.isfinite(radius) & (radius > 0)
        size = self.metric.log_volume(np.where(known, radius, 1.0), space.numeric, space.root)
        return np.where(known, size, 0.0)

    def add(self, block: Block, out: Float) -> None:
        for rows, share, _, volume in self._shares(block):
            with np.errstate(divide="ignore"):
                score = out[rows] + np.log(share)
            best = score.max(axis=1, keepdims=True)
            # the prior is a logarithm by now, so that classes with as many rows around may differ in the last digits
            out[rows] = np.where(score >= best - TIE, best, score) - volume

    def work_out(self, row: Block) -> list[WorkedFactor]:
        """K_c / (n_c V): V is the same in all classes, so that it does not matter which it is."""
        found = []
        for rows, share, totals, _ in self._shares(row):
            ratios: tuple[Ratio, ...] = ()
            if len(rows) and self.likelihood.weights == "uniform" and not self.likelihood.pseudo and totals.all():
                each = [(float(k), float(n)) for k, n in zip(np.round(share[0] * totals[0], 9), totals[0], strict=True)]
                ratios = tuple(Ratio(plain(k), f"{plain(n)}·V", decimal(k) / decimal(n)) for k, n in each)
            if len(rows):
                found.append(WorkedFactor((PART,), self.terms(row)[0, 0], ratios=ratios))
        return found

    def terms(self, block: Block) -> Float:
        out = np.zeros((block.rows, self.statistic.groups))
        self.add(block, out)
        return out[:, None, :]

    def tail(self, block: Block, unit: Float) -> TailLogDensity:
        zeros, rest = np.zeros((2, block.rows, self.statistic.groups))
        for rows, share, totals, volume in self._shares(block):
            zeros[rows] = share == 0
            rest[rows] = np.log(np.where(share > 0, share, 1 / np.maximum(totals, 1e-300))) - volume
        return TailLogDensity(zeros, np.zeros_like(zeros), rest)

    def neighbours(self, block: Block) -> NearestPoints:
        """The rows around each row, by their place among all rows; distances in units of the table."""
        unit = self.metric.unit
        found, radius, beyond = [], np.full(block.rows, np.nan), np.full(block.rows, np.inf)
        for rows, space, around, _ in self._near(block):
            found.append((rows[around.row], space.rows[around.index], around.distance * unit, around.weight))
            radius[rows], beyond[rows] = around.radius * unit, around.beyond * unit
        none = (np.empty(0, dtype=np.int64),) * 2 + (np.empty(0),) * 2
        row, index, distance, weight = (np.concatenate(parts) for parts in zip(none, *found, strict=True))
        order = np.lexsort((index, distance, row))
        return NearestPoints(block.rows, row[order], index[order], distance[order], weight[order], radius, beyond)


@dataclass(frozen=True)
class LeftOutNeighbours(NeighbourDensity):
    """Without each row itself."""

    def _itself(self, block: Block) -> Int:
        itself = self.statistic.find(block)
        if self.likelihood.most is None and (itself[block.rows_with_weight()[0]] < 0).any():
            raise InputError("leave-one-out asks for rows that were learned; one of these was not")
        return itself
