"""Search: the nearest of many points, by a tree, by matrix products, or by comparing with all of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from bayeskit import _core
from bayeskit.arrays import Bool, Code, Float, Int
from bayeskit.engines.workers import single_threaded_blas

TIE = 1e-10  # distances that agree to ten digits are ties
SPARE = 3  # points looked at beyond those wanted, so that most ties show at once
CELLS = 1 << 21  # distances in memory at a time
ALSO = 8  # points kept beyond those wanted while distances are single precision


@dataclass(frozen=True)
class Queries:
    """Rows whose neighbours are wanted."""

    numbers: Float  # (n, d) NaN where missing
    codes: Code  # (n, c) -1 where missing, -2 a level no point has

    def __len__(self) -> int:
        return len(self.numbers)

    def at(self, rows: Any) -> Queries:
        return Queries(self.numbers[rows], self.codes[rows])


class Search(Protocol):
    """Points and a distance."""

    @property
    def points(self) -> int:
        """How many there are."""

    def nearest(self, asked: Queries, most: int) -> tuple[Int, Float]:
        """The numbers of the nearest points and their distances, ascending, infinite where none is left: (n, most)."""

    def distances(self, asked: Queries) -> Float:
        """To all points, infinite where nothing can be compared: (n, points)."""


@dataclass(frozen=True)
class BruteForce:
    """Compares with every point, over the columns that both have.

    The sum of gaps |x - y|^power is scaled up to all columns the asked row has, as if the others were like them; for
    "gower" it is their mean, with 1 for a level that differs.
    """

    numbers: Float  # (d, points) contiguous by column
    codes: Code  # (c, points)
    weight: Float  # (d,)
    code_weight: Float  # (c,)
    power: int
    mean: bool = False  # whether gaps are averaged instead of summed

    @property
    def points(self) -> int:
        return int(self.numbers.shape[1])

    def gaps(self, asked: Queries) -> Gaps:
        """Their sum, the weight of the columns that row and point have, (n, points), and of the row's, (n, 1)."""
        total, shared = np.empty((2, len(asked), self.points))
        numbers, codes = np.ascontiguousarray(asked.numbers), np.ascontiguousarray(asked.codes)
        weights = self.weight, self.power == 2
        _core.partial_distances(numbers, self.numbers, *weights, codes, self.codes, self.code_weight, total, shared)
        return Gaps(total, shared, np.where(np.isnan(numbers), 0.0, self.weight).sum(axis=1, keepdims=True))

    def lengths(self, gaps: Gaps) -> Float:
        """The distances that gaps make, infinite where nothing can be compared: (n, points)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            out: Float = gaps.total / (gaps.shared if self.mean else gaps.shared / gaps.whole)
        out[gaps.shared == 0] = np.inf
        return np.sqrt(out) if self.power == 2 else out

    def distances(self, asked: Queries) -> Float:
        return self.lengths(self.gaps(asked))

    def nearest(self, asked: Queries, most: int) -> tuple[Int, Float]:
        return _nearest(self, asked, most)


class Gaps(NamedTuple):
    """Sums over columns, which add up."""

    total: Float  # (n, points)
    shared: Float  # (n, points)
    whole: Float  # (n, 1)

    def with_more(self, other: Gaps) -> Gaps:
        """Over the columns of both."""
        return Gaps(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))


@dataclass(frozen=True)
class Measured:
    """Distances of some rows to all points, measured before; a row is asked for by its place, its only number."""

    known: Float  # (n, points)

    @property
    def points(self) -> int:
        return int(self.known.shape[1])

    def distances(self, asked: Queries) -> Float:
        return self.known[asked.numbers[:, 0].astype(np.int64)]

    def nearest(self, asked: Queries, most: int) -> tuple[Int, Float]:
        return _nearest(self, asked, most)


def _nearest(search: Search, asked: Queries, most: int) -> tuple[Int, Float]:
    """From the distances to all points."""
    index = np.full((len(asked), most), -1, dtype=np.int64)
    best = np.full((len(asked), most), np.inf)
    for rows in blocks(len(asked), search.points):
        _core.merge_smallest(search.distances(asked.at(rows)), 0, best[rows], index[rows])
    return index, best


@dataclass(frozen=True)
class Tree:
    """A k-d tree: for few columns without missing values."""

    brute_force: BruteForce

    @property
    def points(self) -> int:
        return self.brute_force.points

    @cached_property
    def _tree(self) -> tuple[Float, Int, Float]:
        return _core.build_tree(self.brute_force.numbers)

    def nearest(self, asked: Queries, most: int) -> tuple[Int, Float]:
        distance, index = np.empty((len(asked), most)), np.empty((len(asked), most), dtype=np.int64)
        square = self.brute_force.power == 2
        _core.nearest_in_tree(np.ascontiguousarray(asked.numbers), *self._tree, square, distance, index)
        return index, np.sqrt(distance, out=distance) if square else distance

    def distances(self, asked: Queries) -> Float:
        return self.brute_force.distances(asked)


@dataclass(frozen=True)
class BlasBruteForce:
    """Euclidean distances by matrix products: for many columns without missing values.

    |x - y|^2 - |x|^2 = |y|^2 - 2 x.y in single precision picks more points than wanted; these are compared in double
    precision. Where single precision cannot vouch that none was missed, all points are.
    """

    brute_force: BruteForce
    rows: int = 128  # so many by so many products stay in a cache
    columns: int = 512

    @property
    def points(self) -> int:
        return self.brute_force.points

    @cached_property
    def _table(self) -> tuple[Float, Float, float, Any]:
        """Points (points, d), their centre, the largest distance from it, and (d + 1, points) to multiply with."""
        points = np.ascontiguousarray(self.brute_force.numbers.T)
        centre = points.mean(axis=0)
        near = points - centre
        square = np.einsum("ij,ij->i", near, near)
        size = float(np.sqrt(square.max(initial=0.0))) or 1.0
        both = np.column_stack([-2 * near / size, square / size**2]).astype(np.float32)
        return points, centre, size, np.ascontiguousarray(both.T)

    def nearest(self, asked: Queries, most: int) -> tuple[Int, Float]:
        keep = most + ALSO
        if keep >= self.points:
            return self.brute_force.nearest(asked, most)
        index, distance = np.empty((len(asked), most), dtype=np.int64), np.empty((len(asked), most))
        doubt = [np.empty(0, dtype=np.int64)]
        with single_threaded_blas():
            for start in range(0, len(asked), self.rows):
                rows = slice(start, start + self.rows)
                index[rows], distance[rows], sure = self._few(asked.numbers[rows], most, keep)
                doubt.append(start + np.flatnonzero(~sure))
        left = np.concatenate(doubt)
        if len(left):
            index[left], distance[left] = self.brute_force.nearest(asked.at(left), most)
        return index, distance

    def _few(self, x: Float, most: int, keep: int) -> tuple[Int, Float, Any]:
        points, centre, size, table = self._table
        near = (x - centre) / size
        square = np.einsum("ij,ij->i", near, near)
        lines = np.column_stack([near, np.ones(len(x))]).astype(np.float32)
        best = np.full((len(x), keep), np.inf, dtype=np.float32)
        chosen = np.zeros((len(x), keep), dtype=np.int64)
        for start in range(0, self.points, self.columns):
            values = lines @ table[:, start : start + self.columns]
            _core.merge_smallest(values, start, best, chosen)
        gaps = points[chosen] - x[:, None, :]
        exact = np.einsum("ijk,ijk->ij", gaps, gaps)
        order = np.argsort(exact, axis=1, kind="stable")[:, :most]
        exact = np.take_along_axis(exact, order, axis=1)
        error = (points.shape[1] + 8) * 2.0**-23 * (2 * np.sqrt(square) + 1)
        sure = best[:, -1] - error > exact[:, -1] / size**2 - square
        return np.take_along_axis(chosen, order, axis=1), np.sqrt(exact), sure

    def distances(self, asked: Queries) -> Float:
        return self.brute_force.distances(asked)


def blocks(rows: int, points: int) -> list[slice]:
    """Rows in stretches whose distances to all points fit in memory."""
    step = max(1, CELLS // max(points, 1))
    return [slice(start, min(start + step, rows)) for start in range(0, rows, step)]


@dataclass(frozen=True)
class NearestPoints:
    """The points around each asked row, nearest first, one row after the other."""

    rows: int
    row: Int = field(default_factory=lambda: np.empty(0, dtype=np.int64))  # (m,) whose neighbour it is
    index: Int = field(default_factory=lambda: np.empty(0, dtype=np.int64))  # (m,) which point
    distance: Float = field(default_factory=lambda: np.empty(0))  # (m,)
    weight: Float = field(default_factory=lambda: np.empty(0))  # (m,)
    radius: Float = field(default_factory=lambda: np.empty(0))  # (rows,) distance of the k-th, NaN without any
    beyond: Float = field(default_factory=lambda: np.empty(0))  # (rows,) the next distance after it, infinite if none

    def within(self, k: float) -> NearestPoints:
        """The same for a smaller k."""
        first = np.searchsorted(self.row, np.arange(self.rows + 1))
        so_far = np.concatenate([[0.0], np.cumsum(self.weight)])
        before = so_far[:-1] - so_far[first[:-1]][self.row]  # of those nearer
        inner = before < k * (1 - 1e-12)
        radius, beyond = np.full(self.rows, np.nan), self.beyond.copy()
        np.fmax.at(radius, self.row[inner], self.distance[inner])
        kept = self.distance <= (radius * (1 + TIE))[self.row]
        np.minimum.at(beyond, self.row[~kept], self.distance[~kept])
        numbers = self.distance[kept], self.weight[kept]
        return NearestPoints(self.rows, self.row[kept], self.index[kept], *numbers, radius, beyond)


class PointWeights(NamedTuple):
    """How much points weigh; each asked row may be one of them: point ``own`` (-1: none) then weighs ``left``."""

    weights: Float  # (points,)
    own: Int  # (n,)
    left: Float  # (n,)


def near(search: Search, asked: Queries, k: float, masses: PointWeights) -> NearestPoints:
    """All points no farther than the k-th, where a point of weight w counts as w of them."""
    weights, own, left = masses
    n, most = len(asked), int(min(k + SPARE, search.points))
    found: list[tuple[Int, Int, Float, Float]] = []
    radius, beyond = np.full(n, np.nan), np.full(n, np.inf)
    todo = np.arange(n if search.points else 0)
    while len(todo):
        index, distance = search.nearest(asked.at(todo), most)
        mass = np.where(np.isfinite(distance), weights[index], 0.0)
        mass = np.where(index == own[todo][:, None], left[todo][:, None], mass)
        reached = np.cumsum(mass, axis=1) >= k * (1 - 1e-12)
        there, whole = reached.any(axis=1), most == search.points
        last = np.where(mass > 0, distance, -np.inf).max(axis=1)
        edge = np.where(there, distance[np.arange(len(todo)), reached.argmax(axis=1)], last)
        edge = np.where(there | whole, edge, np.nan)
        radius[todo] = np.where(np.isneginf(edge), np.nan, edge)
        after = (distance > (edge * (1 + TIE))[:, None]) & (mass > 0)
        done: Bool = np.logical_or(whole, there & after.any(axis=1))
        taken = (mass > 0) & (distance <= (edge * (1 + TIE))[:, None]) & done[:, None]
        row, place = np.nonzero(taken)
        found.append((todo[row], index[row, place], distance[row, place], mass[row, place]))
        beyond[todo] = np.where(after, distance, np.inf).min(axis=1)
        tied = todo[there & ~done]  # more at this distance than were looked at
        for rows in blocks(len(tied), search.points):
            found.append(_find_ties(search, asked, masses, tied[rows], radius, beyond))
        todo = todo[~there & ~done]
        most = min(4 * most, search.points)
    if not found:
        return NearestPoints(n, radius=radius, beyond=beyond)
    row, index, distance, mass = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.lexsort((index, distance, row)) if len(found) > 1 else np.arange(len(row))
    return NearestPoints(n, row[order], index[order], distance[order], mass[order], radius, beyond)


def _find_ties(
    search: Search, asked: Queries, masses: PointWeights, rows: Int, radius: Float, beyond: Float
) -> tuple[Int, Int, Float, Float]:
    """All points no farther than a radius already known; ``beyond`` is written."""
    weights, own, left = masses
    distance = search.distances(asked.at(rows))
    mass = np.tile(weights, (len(rows), 1))
    mine = np.flatnonzero(own[rows] >= 0)
    mass[mine, own[rows[mine]]] = left[rows[mine]]
    edge = (radius[rows] * (1 + TIE))[:, None]
    beyond[rows] = np.where((distance > edge) & (mass > 0), distance, np.inf).min(axis=1)
    row, place = np.nonzero((distance <= edge) & (mass > 0))
    return rows[row], place, distance[row, place], mass[row, place]
