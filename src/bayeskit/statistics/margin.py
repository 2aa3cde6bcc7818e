"""Margin: what a statistic says of each column by itself, all groups together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import singledispatch

import numpy as np

from bayeskit.arrays import Float, Int
from bayeskit.statistics.bins import Bins
from bayeskit.statistics.cuts import Cuts
from bayeskit.statistics.keyed import Keyed
from bayeskit.statistics.moments import Moments, View
from bayeskit.statistics.rows import Rows
from bayeskit.statistics.scatter import Scatter
from bayeskit.statistics.sliced import LEVELS, Sliced
from bayeskit.statistics.statistic import Product, Statistic
from bayeskit.statistics.tables import Tables
from bayeskit.statistics.totals import Totals


@dataclass(frozen=True)
class Cells:
    """Weights of right-closed cells of numbers, and where else they may be divided.

    ``grid`` is the width of the grid that the cells are of, 0 if each is one value; without it no other borders are
    known than the edges.
    """

    edges: Float  # (m,) right ones, ascending; the last may be infinite
    weights: Float  # (m,)
    grid: float | None = None

    def divisible(self, borders: Float) -> Float:
        """Those of some borders at which no cell is cut in two."""
        if self.grid == 0:
            return borders
        if self.grid is None:
            return borders[np.isin(borders, self.edges)]
        on_grid: Float = borders[np.ceil(borders / self.grid) * self.grid == borders]
        return on_grid

    def between(self, borders: Float) -> Float:
        """Weights of the cells between borders, right-closed, and beyond the last: (borders + 1,)."""
        place = np.searchsorted(borders, self.edges, side="left")
        return np.bincount(place, self.weights, minlength=len(borders) + 1).astype(np.float64)


@dataclass(frozen=True)
class Summed:
    """Weight, mean and deviation (ddof 0) of a view of a column's values."""

    view: View
    weight: float
    mean: float
    deviation: float


@dataclass(frozen=True)
class Margin:
    """What was counted of a column by itself; what was not is absent."""

    levels: Float | None = None  # (levels,) weights by code
    cells: Cells | None = None
    sums: tuple[Summed, ...] = ()  # by view
    rows: float | None = None  # weight of all rows that were looked at, if not all that were counted

    def __or__(self, other: Margin) -> Margin:
        return replace(
            self,
            levels=self.levels if other.levels is None else other.levels,
            cells=self.cells if other.cells is None else other.cells,
            sums=self.sums or other.sums,
            rows=self.rows if other.rows is None else other.rows,
        )


def margins(statistic: Statistic) -> dict[str, Margin]:
    """What a statistic says of each of its columns.

    >>> from bayeskit.statistics.exact import ExactSum
    >>> counted = Tables.empty([("town",)], 2).place(np.arange(2), 2, {"town": (np.empty(0, dtype=np.int64), 3)})
    >>> margins(counted)["town"].levels
    array([0., 0., 0.])
    """
    found: dict[str, Margin] = {}
    for name, margin in _margins(statistic):
        found[name] = found[name] | margin if name in found else margin
    return found


@singledispatch
def _margins(statistic: Statistic) -> Iterable[tuple[str, Margin]]:
    """Nothing, of a statistic that has no columns by themselves."""
    return ()


@_margins.register
def _(statistic: Product) -> Iterator[tuple[str, Margin]]:
    views = [part for part in statistic.parts.values() if isinstance(part, Moments)]
    if len(views) > 1:  # several functions of the same columns
        each = [dict(_margins(part)) for part in views]
        for name in each[0]:
            yield name, Margin(sums=tuple(s for known in each if name in known for s in known[name].sums))
    for part in statistic.parts.values():
        if len(views) < 2 or not isinstance(part, Moments):
            yield from _margins(part)


@_margins.register
def _(statistic: Moments) -> Iterator[tuple[str, Margin]]:
    whole = statistic.total()
    weight = whole.present.to_float()[0]
    mean, deviation, _ = whole.finish()
    for j, name in enumerate(statistic.columns):
        yield name, Margin(sums=(Summed(statistic.view, float(weight[j]), float(mean[0, j]), float(deviation[0, j])),))


@_margins.register
def _(statistic: Scatter) -> Iterable[tuple[str, Margin]]:
    return _margins(statistic.moments())


@_margins.register
def _(statistic: Keyed) -> Iterator[tuple[str, Margin]]:
    if statistic.patterns:
        yield from _margins(statistic.inner.moments(statistic.keys[:, 1:] >= 0))
        return
    (_, weights), *_rest = statistic.inner.column_weights()
    for j, (name, size) in enumerate(statistic.span.items(), 1):
        yield name, Margin(levels=_count(statistic.keys[:, j], weights.to_float(), size))


@_margins.register
def _(statistic: Tables) -> Iterator[tuple[str, Margin]]:
    for t, names in enumerate(statistic.tables):
        if len(names) == 1:
            yield names[0], Margin(levels=statistic.table(t).total().to_float()[0])


@_margins.register
def _(statistic: Sliced) -> Iterator[tuple[str, Margin]]:
    yield from _margins(statistic.missing)
    if LEVELS not in statistic.parts.parts:
        return
    for name, margin in _margins(statistic[LEVELS]):
        cuts = statistic.slices.cuts.get(name)
        if cuts is None or margin.levels is None:
            yield name, margin
        else:  # one more interval may be for missing values
            yield name, Margin(cells=Cells(np.array([*cuts, np.inf]), margin.levels[: len(cuts) + 1]))


@_margins.register
def _(statistic: Bins) -> Iterator[tuple[str, Margin]]:
    for j, name in enumerate(statistic.columns):
        column = statistic.column(j)
        grid = 0.0 if column.distinct else float(np.ldexp(1.0, min(column.exponent, 1023)))
        yield name, Margin(cells=Cells(column.edges, column.pooled, grid))


@_margins.register
def _(statistic: Cuts) -> Iterator[tuple[str, Margin]]:
    for j, name in enumerate(statistic.columns):
        weights = statistic.column(j).total().to_float()[0]
        yield name, Margin(cells=Cells(np.array([*statistic.cuts, np.inf]), weights))


@_margins.register
def _(statistic: Totals) -> Iterator[tuple[str, Margin]]:
    if not statistic.presence:  # a sum alone does not say how values spread
        return
    rows = float(statistic.weights.total().to_float()[0])
    there, missing = statistic.sums.pool().dense.to_float()[0], statistic.missing.total().to_float()[0]
    for j, name in enumerate(statistic.columns):
        without = rows - there[j] - (missing[j] if len(missing) else 0.0)
        yield name, Margin(cells=Cells(np.array([0.0, np.inf]), np.array([without, there[j]])))


@_margins.register
def _(statistic: Rows) -> Iterator[tuple[str, Margin]]:
    kept = statistic.rows
    weight = kept.weight.to_float()
    total = float(weight.sum()) if statistic.sampled else None
    for j, name in enumerate(statistic.schema.numeric):
        x = kept.numbers[:, j]
        there = ~np.isnan(x)
        edges, place = np.unique(x[there], return_inverse=True)
        cells = Cells(edges, _count(place, weight[there], len(edges)), 0.0)
        yield name, Margin(cells=cells, rows=total)
    for j, name in enumerate(statistic.schema.coded):
        codes = kept.codes[:, j].astype(np.int64)
        yield name, Margin(levels=_count(codes, weight, statistic.sizes[name]), rows=total)


def _count(codes: Int, weights: Float, size: int) -> Float:
    """Weight of each level; -1 is none."""
    there = codes >= 0
    return np.bincount(codes[there], weights[there], minlength=size).astype(np.float64)


def summarise(cells: Cells) -> Summed | None:
    """Mean and deviation of values at the middle of their cells; None where cells have no width that is known."""
    weight = float(cells.weights.sum())
    if cells.grid is None or not weight > 0:
        return None
    centres = cells.edges - cells.grid / 2
    mean = float(centres @ cells.weights / weight)
    return Summed(View(), weight, mean, float(np.sqrt((centres - mean) ** 2 @ cells.weights / weight)))
