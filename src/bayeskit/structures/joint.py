"""Joint: the probability of a cell of several categorical columns together, by the cells that occur."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from bayeskit.arrays import Bool, Float, Int
from bayeskit.data.written import Ratio
from bayeskit.portable.nodes import Cells as PortableCells
from bayeskit.statistics.exact import ExactSum
from bayeskit.statistics.keyed import Keyed, distinct
from bayeskit.structures.numbers import Points, without_row

PULL = 5.0  # rows of the class that the mean of a cell is drawn toward


@dataclass(frozen=True)
class Cells:
    """The cells of one class: their places among all cells, weights and means from that of the class."""

    cell: Int  # (C,)
    weight: Float  # (C, d)
    away: Float  # (C, d)

    @property
    def offset(self) -> Float:
        """From the mean of the class to (n x_cell + 5 x_class) / (n + 5): (C, d)."""
        return self.weight / (self.weight + PULL) * self.away

    def around(self, covariance: Float, weight: Float | float) -> Float:
        """A covariance about the class mean, (d, d) or variances (d,), as one about the means of the cells.

        It has sum of n (1 - (5/(n+5))^2) d d' too much, divided by the weight of the class.
        """
        if not len(self.cell) or not np.any(weight > 0):
            return covariance
        part = np.sqrt(self.weight * (1 - (PULL / (self.weight + PULL)) ** 2)) * self.away
        if covariance.ndim == 1:
            left: Float = np.maximum(covariance - (part * part).sum(axis=0) / np.maximum(weight, 1e-300), 0.0)
            return left
        rest: Float = covariance - part.T @ part / weight
        values, vectors = np.linalg.eigh(rest)
        if values.min(initial=0.0) >= 0:
            return rest
        fixed: Float = (vectors * np.maximum(values, 0.0)) @ vectors.T  # missing values, or rounding
        return fixed

    def without(self, cell: int, z: Float, mass: float, before: Float, after: Float) -> Cells:
        """The same once a row has left its cell (-1: none), and the class mean has moved."""
        weight, mean = self.weight.copy(), self.away + before
        for c in np.flatnonzero(self.cell == cell).tolist():
            x, taken = np.where(np.isnan(z), mean[c], z), np.where(np.isnan(z), 0.0, mass)
            weight[c], mean[c], _ = without_row(weight[c], mean[c], np.zeros_like(mean[c]), x, taken)
        return Cells(self.cell, weight, np.where(weight > 0, mean - after, 0.0))


def places(known: Int, wanted: Int) -> Int:
    """Where each wanted number stands among known ones in order, -1 where it does not."""
    if not len(known):
        return np.full(len(wanted), -1, dtype=np.int64)
    at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    return np.where(known[at] == wanted, at, -1)


MANY = 10_000  # cells above which, also with more rows than that, a pseudo-count for each would drown the data


@dataclass(frozen=True)
class LeftOutRows:
    """The rows that were learned, to be taken out again: positions, classes, weights and what they held."""

    row: Int  # (r,)
    group: Int  # (r,)
    mass: Float  # (r,)
    codes: Int  # (n, q)
    points: Points  # (n, d)

    @property
    def z(self) -> Float:
        """The numbers: (n, d)."""
        return self.points.z


@dataclass(frozen=True)
class Joint:
    """p(cell | c) = (n_c(cell) + a) / (n_c + a m), m the product of the numbers of levels, n_c the complete rows.

    With a=None one pseudo-row more than the class has complete rows is spread over all cells by the product q of the
    smoothed margins: p = (n_c(cell) + (1 + n_c) q) / (1 + 2 n_c), half of it what the columns say one by one. A weight
    that did not grow with the class would make cells never seen forget the prior.
    """

    columns: tuple[str, ...]  # with a level at least
    sizes: Int  # (q,)
    alpha: float | None
    smooth_unseen: bool
    cells: Int  # (M, q) that occur in some class, in order
    counts: ExactSum  # (M, K)
    margins: tuple[ExactSum, ...]  # (q)(m_j, K)

    @classmethod
    def of(cls, statistic: Keyed, smoothing: float | str, unseen: str) -> Joint:
        names = [name for name, size in statistic.sizes.items() if size]
        place = [1 + statistic.columns.index(name) for name in names]
        sizes = np.array([statistic.sizes[name] for name in names], dtype=np.int64)
        groups, codes = statistic.keys[:, 0], statistic.keys[:, place]
        weight: ExactSum = statistic.inner["rows"].table(0)
        n = statistic.groups
        margins = tuple(_table(weight, codes[:, j], groups, size, n) for j, size in enumerate(sizes.tolist()))
        whole = (codes >= 0).all(axis=1)
        cells, each = distinct(codes[whole])
        place_of = np.full(len(codes), -1, dtype=np.int64)
        place_of[whole] = each
        counts = _table(weight, place_of, groups, len(cells), n)
        many = float(np.log(sizes).sum()) > np.log(min(MANY, max(counts.to_float().sum(), 1.0)))
        auto = smoothing == "auto" or (many and smoothing == 1.0)
        alpha = None if auto else float(smoothing)
        return cls(tuple(names), sizes, alpha, unseen == "smooth" and alpha != 0, cells, counts, margins)

    @cached_property
    def weight(self) -> ExactSum:
        """Of the complete rows: (K,)."""
        whole = self.counts.total()
        return ExactSum(whole.limbs[0], whole.low)

    @cached_property
    def rounded(self) -> Float:
        """Weights of the cells: (M, K)."""
        return self.counts.to_float()

    @cached_property
    def _beginnings(self) -> list[Int]:
        """For each column, in order, the beginnings of cells up to it: beginning before * levels + level."""
        found, place = [], np.zeros(len(self.cells), dtype=np.int64)
        for j, size in enumerate(self.sizes.tolist()):
            known, place = np.unique(place * size + self.cells[:, j], return_inverse=True)
            found.append(known)
        return found

    def find(self, codes: Int) -> Int:
        """Which cell each row is in, -1 where none: (n,)."""
        place = np.zeros(len(codes), dtype=np.int64)
        good = (codes >= 0).all(axis=1)
        for j, (known, size) in enumerate(zip(self._beginnings, self.sizes.tolist(), strict=True)):
            wanted = np.maximum(place, 0) * size + codes[:, j]
            place = np.minimum(np.searchsorted(known, wanted), max(len(known) - 1, 0))
            good &= known[place] == wanted if len(known) else False
        return np.where(good, place, -1)

    def hidden(self, codes: Int) -> Bool:
        """Which values say nothing: (n, q)."""
        return codes == -1 if self.smooth_unseen else codes < 0

    def partial(self, codes: Int) -> Iterator[tuple[Int, Bool]]:
        """The rows of each different partly known cell, and which cells it may be: (n',), (M,)."""
        hidden = self.hidden(codes)
        rows = np.flatnonzero(hidden.any(axis=1))
        if not len(rows):
            return
        patterns, each = distinct(np.where(hidden, -1, codes)[rows])
        order = np.argsort(each, kind="stable")
        for one, mine in zip(patterns, np.split(order, np.cumsum(np.bincount(each))[:-1]), strict=True):
            yield rows[mine], ((self.cells == one) | (one == -1)).all(axis=1)

    def log(self, codes: Int, own: LeftOutRows | None = None) -> Float:
        """log p of what is known of each row's cell, in every class: (n, K)."""
        cell, counts = self.find(codes), self.rounded
        mass = (
            np.where((cell >= 0)[:, None], counts[cell], 0.0)
            if len(counts)
            else np.zeros((len(codes), counts.shape[1]))
        )
        for rows, may_be in self.partial(codes):
            mass[rows] = counts[may_be].sum(axis=0)
        whole = np.broadcast_to(self.weight.to_float(), mass.shape)
        if own is not None and len(own.row):
            mass, whole = self._without(mass, whole.copy(), cell, own)
        return self.probability(mass, whole, self.spare(codes, whole, own), codes)

    def _without(self, mass: Float, whole: Float, cell: Int, own: LeftOutRows) -> tuple[Float, Float]:
        """Masses and weights without each row's own, where it was complete."""
        theirs = self.find(own.codes)[own.row]
        kept = theirs >= 0
        row, group, weight, theirs = own.row[kept], own.group[kept], own.mass[kept], theirs[kept]
        whole[row, group] = self.weight.without(group, weight)
        here = cell[row] == theirs
        flat = self.counts.flat()
        mass[row[here], group[here]] = flat.without((theirs * self.counts.shape[1] + group)[here], weight[here])
        mass[row[~here], group[~here]] -= weight[~here]  # one of several cells: never the last of them
        return np.maximum(mass, 0.0), whole

    def written(self, codes: Int) -> tuple[Ratio, ...]:
        """p of a complete cell as fractions, by class: (K); none where margins are drawn on, or something is hidden."""
        if self.alpha is None or self.hidden(codes).any() or (codes < 0).any():
            return ()
        cell, spread = int(self.find(codes)[0]), self.alpha * float(np.prod(self.sizes))
        counts = self.rounded[cell] if cell >= 0 else np.zeros(self.counts.shape[1])
        pseudo = ([self.alpha], [spread]) if self.alpha else ([], [])
        each = zip(counts, self.weight.to_float(), strict=True)
        return tuple(Ratio.of([n, *pseudo[0]], [of, *pseudo[1]]) for n, of in each)

    def spare(self, codes: Int, whole: Float, own: LeftOutRows | None = None) -> Float:
        """log of the mass that smoothing puts on what is known of each row's cell: (n, K), -inf for none.

        ``whole`` is the weight of the complete rows: (n, K), or (K,).
        """
        hidden = self.hidden(codes)
        if self.alpha is not None:
            with np.errstate(divide="ignore"):
                one = np.log(self.alpha) + (np.log(self.sizes) * hidden).sum(axis=1)
            return np.repeat(one[:, None], self.counts.shape[1], axis=1)
        out = np.zeros((len(codes), self.counts.shape[1])) + np.log1p(whole)
        for j, (table, size) in enumerate(zip(self.margins, self.sizes.tolist(), strict=True)):
            level, seen = codes[:, j], codes[:, j] >= 0
            known = table.to_float()
            count = np.where(seen[:, None], known[np.maximum(level, 0)], 0.0)
            every = np.broadcast_to(known.sum(axis=0), count.shape)
            if own is not None:
                mine = own.codes[own.row, j] >= 0
                row, group, mass = own.row[mine], own.group[mine], own.mass[mine]
                every = every.copy()
                every[row, group] = np.maximum(every[row, group] - mass, 0.0)
                same = seen[row]
                row, group, mass = row[same], group[same], mass[same]
                count[row, group] = table.flat().without(level[row].astype(np.int64) * known.shape[1] + group, mass)
            out += np.where(hidden[:, j, None], 0.0, np.log((count + 1) / (every + size + (level < 0)[:, None])))
        return out

    def probability(self, mass: Float, whole: Float, spare: Float, codes: Int) -> Float:
        """log of (mass + spare) / (whole + all spare); uniform in a class without rows if smoothing has no mass."""
        with np.errstate(divide="ignore", invalid="ignore"):
            below = np.logaddexp(np.log(whole), self.all_spare(codes, whole))
            known = np.logaddexp(np.log(mass), spare) - below
        uniform = np.where(self.hidden(codes), 0.0, -np.log(self.sizes)).sum(axis=1, keepdims=True)
        return np.where(np.isneginf(below), uniform, known)

    def all_spare(self, codes: Int, whole: Float) -> Float:
        """log of the mass that smoothing puts on all cells, those of new levels included: (n, 1) or like ``whole``."""
        if self.alpha is None:
            return np.log1p(whole)
        levels = self.sizes + (codes == -2) * self.smooth_unseen
        with np.errstate(divide="ignore"):
            out: Float = np.log(self.alpha) + np.log(levels).sum(axis=1, keepdims=True)
        return out

    def portable(self, cells: Sequence[Cells], numbers: int) -> PortableCells:
        """The cells of each class for a portable program, with the offsets of as many numbers."""
        weight, known, spare = self.weight.to_float(), self.rounded, self.spare(self.cells, self.weight.to_float())
        classes = range(known.shape[1])
        held = [c.cell if numbers else np.flatnonzero(known[:, k] > 0) for k, c in zip(classes, cells, strict=True)]
        offset = [c.offset if numbers else np.zeros((len(h), 0)) for c, h in zip(cells, held, strict=True)]
        nothing = np.full((1, len(self.columns)), -1, dtype=np.int64)
        with np.errstate(divide="ignore"):
            logs: Float = np.log(weight)
            mass = [np.logaddexp(np.log(known[h, k]), spare[h, k]) for k, h in zip(classes, held, strict=True)]
        base, every = self.spare(nothing, weight)[0], self.all_spare(nothing, weight[None])[0] + np.zeros_like(weight)
        empty = np.isneginf(np.logaddexp(logs, every))  # a class without rows and smoothing: all cells alike
        margins, more = [], []
        for j, size in enumerate(self.sizes.tolist()):
            codes = np.repeat(nothing, size + 2, axis=0)
            codes[:, j] = [-2 if self.smooth_unseen else -1, -1, *range(size)]
            with np.errstate(invalid="ignore"):
                margins.append(np.nan_to_num(self.spare(codes, weight) - base, nan=0.0))
                whole = self.all_spare(codes, np.repeat(weight[None], len(codes), axis=0))
                more.append(np.nan_to_num(whole + np.zeros_like(margins[-1]) - every, nan=0.0))
            margins[-1][:, empty] = np.where(codes[:, j] < 0, 0.0, -np.log(size))[:, None]
            more[-1][:, empty] = 0.0
        return PortableCells(
            tuple(self.cells[h] for h in held),
            tuple(mass),
            tuple(spare[h, k] for k, h in zip(classes, held, strict=True)),
            tuple(offset),
            tuple(margins),
            np.where(empty, 0.0, base),
            logs,
            np.where(empty, 0.0, every),
            tuple(more),
        )

    def without(self, codes: Int, k: int, mass: float) -> Joint:
        """The table once one row, of class k, has left."""
        cell, classes = int(self.find(codes[None])[0]), self.counts.shape[1]
        gone = ExactSum.of(np.array([mass]))

        def less(table: ExactSum, row: int) -> ExactSum:
            if row < 0:
                return table
            size = table.shape[0] * classes
            left = table.flat() - gone.place(np.array([row * classes + k]), size)
            return ExactSum(left.limbs.reshape(*table.shape, left.limbs.shape[-1]), left.low)

        margins = tuple(less(table, code) for table, code in zip(self.margins, codes.tolist(), strict=True))
        return replace(self, counts=less(self.counts, cell), margins=margins)


def _table(weight: ExactSum, code: Int, groups: Int, size: int, n: int) -> ExactSum:
    """Weights of keys gathered by code and group: (size, n); -1 drops."""
    sums = weight.place(np.where(code < 0, -1, code * n + groups), size * n)
    return ExactSum(sums.limbs.reshape(size, n, sums.limbs.shape[-1]), sums.low)
