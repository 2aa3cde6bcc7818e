"""Column counts: what a model knows of a column, and what new rows hold of it, counted in the same cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from bayeskit.arrays import Array, Batch, Float, Label
from bayeskit.data.block import Block
from bayeskit.data.levels import MISSING, Levels
from bayeskit.data.matrix import Matrix
from bayeskit.model.model import Model
from bayeskit.numerics.rates import effective
from bayeskit.statistics.margin import Cells, Margin, Summed, margins, summarise

GROUPS = 10  # cells that the values of a column of numbers are divided into
MANY = 200_000  # different levels never seen that are counted one by one


@dataclass(frozen=True)
class Spread:
    """Mean and deviation in deviations of the model from its mean; skewness and kurtosis where they are known."""

    rows: float  # effective number of the values
    mean: float
    deviation: float
    kurtosis: float = np.nan
    skewness: float = 0.0
    reach: float = np.nan  # the largest distance of a value from the mean


@dataclass(frozen=True)
class Counts:
    """One side of a comparison of a column: weights, in rows of equal weight."""

    rows: float
    there: float  # rows that hold a value
    levels: Float | None = None  # (levels,) by code of the model
    unseen: Mapping[Label, float] = field(default_factory=dict)  # levels that the model does not have
    cells: Float | None = None  # (borders + 1,)
    spreads: tuple[Spread, ...] = ()  # by view


@dataclass(frozen=True)
class Known:
    """What a model knows of a column, and how other rows are to be counted to be compared with it."""

    name: str
    kind: str
    levels: Levels | None  # of a category
    borders: Float | None  # between cells of numbers
    sums: tuple[Summed, ...]  # by view, of numbers
    counts: Counts

    @property
    def tested(self) -> bool:
        """Whether anything was counted by which values can be compared."""
        return self.levels is not None or self.borders is not None or bool(self.sums)


def known_columns(model: Model, share: float = 1.0, other: Mapping[str, Margin] | None = None) -> list[Known]:
    """All columns of a model; ``share`` is how many rows of equal weight a weight of 1 stands for.

    ``other`` are margins of a second model, whose cells no border may divide.
    """
    found = margins(model.features)
    total_weight = model.counted.weight
    return [
        _known_column(
            model, name, found.get(name, Margin()), total_weight, share, None if other is None else other.get(name)
        )
        for name in model.schema.names
    ]


def _known_column(
    model: Model, name: str, margin: Margin, total_weight: float, share: float, other: Margin | None
) -> Known:
    column = model.schema[name]
    rows = total_weight if margin.rows is None else margin.rows
    if not column.numeric:
        if margin.levels is None:
            return Known(name, column.kind, None, None, (), Counts(rows * share, np.nan))
        levels = model.counted.domain.levels[name]
        values = _without_missing(margin.levels, levels)
        counts = Counts(rows * share, float(values.sum()) * share, values * share)
        return Known(name, column.kind, levels, None, (), counts)
    sums, borders = margin.sums, None
    if margin.cells is not None:
        borders = _borders(margin.cells, None if other is None else other.cells)
        middle = summarise(margin.cells)
        sums = sums or (() if middle is None else (middle,))
    elif len(sums) == 1 and not sums[0].deviation > 0:  # a constant: whether others are below, equal or above
        borders = np.array([np.nextafter(sums[0].mean, -np.inf), sums[0].mean])
    counts = _side(margin, borders, sums, rows, share)
    far = tuple(replace(a, reach=_reach(model, name, s)) for a, s in zip(counts.spreads, sums, strict=True))
    return Known(name, column.kind, None, borders, sums, replace(counts, spreads=far))


def _reach(model: Model, name: str, s: Summed) -> float:
    """How far from its mean the values of a view lie at most, in deviations; NaN where that is not known."""
    ends = s.view.of(s.view.support.mask(np.array(model.counted.seen(name))))
    return float(np.abs((ends - s.mean) / s.deviation).max()) if s.deviation > 0 else np.nan


def _side(margin: Margin, borders: Float | None, sums: Sequence[Summed], rows: float, share: float) -> Counts:
    """What a model counted of a column of numbers; sums stand in units of those of the first model."""
    there = max((s.weight for s in margin.sums), default=np.nan)
    cells = None
    if margin.cells is not None:
        there = float(margin.cells.weights.sum())
        cells = None if borders is None else margin.cells.between(borders) * share
    elif borders is not None:
        at = np.array([s.mean for s in margin.sums[:1]])
        cells = np.bincount(np.searchsorted(borders, at), minlength=len(borders) + 1).astype(np.float64) * there * share
    own = margin.sums or (() if margin.cells is None else tuple(filter(None, (summarise(margin.cells),))))
    by_view = {s.view.function: s for s in own}
    spreads = tuple(
        Spread(mine.weight * share, (mine.mean - s.mean) / s.deviation, mine.deviation / s.deviation)
        if (mine := by_view.get(s.view.function)) is not None and s.deviation > 0
        else Spread(0.0, np.nan, np.nan)
        for s in sums
    )
    return Counts(rows * share, there * share, cells=cells, spreads=spreads)


def counts_of(model: Model, known: Sequence[Known], share: float = 1.0) -> dict[str, Counts]:
    """The same columns as another model counted them."""
    found, total_weight, out = margins(model.features), model.counted.weight, {}
    for one in known:
        if one.name not in model.schema or not one.tested:
            continue
        margin = found.get(one.name, Margin())
        rows = total_weight if margin.rows is None else margin.rows
        if one.levels is None and model.schema[one.name].numeric:
            out[one.name] = _side(margin, one.borders, one.sums, rows, share)
        elif one.levels is not None and margin.levels is not None and not model.schema[one.name].numeric:
            theirs = model.counted.domain.levels[one.name]
            weights = _without_missing(margin.levels, theirs) * share
            codes = theirs.codes_in(one.levels)
            levels = np.bincount(codes[codes >= 0], weights[codes >= 0], minlength=len(one.levels)).astype(np.float64)
            strange = {theirs.values[j]: float(weights[j]) for j in np.flatnonzero((codes < 0) & (weights > 0))}
            out[one.name] = Counts(rows * share, float(weights.sum()), levels, strange)
    return out


def _without_missing(weights: Float, levels: Levels) -> Float:
    """Weights of levels, where a missing value is no level."""
    return np.where([k == MISSING for k in levels.keys], 0.0, weights)


def _borders(cells: Cells, other: Cells | None) -> Float | None:
    """Borders that divide the weight about evenly and no cell; None if there are none.

    Values beyond all that were seen join the outermost cells: cells that are chosen to be empty would be filled by
    other rows more often than chance says.
    """
    edges, grid = cells.edges, cells.grid
    if not len(edges):
        return None
    able = edges if other is None else other.divisible(cells.divisible(np.union1d(edges, other.edges)))
    able = able[np.isfinite(able)]
    below = np.concatenate([[0.0], np.cumsum(cells.weights)])
    reached = below[np.searchsorted(edges, able, side="right")] / max(below[-1], 1e-300)
    goals = np.arange(1, GROUPS) / GROUPS
    inner = able[np.minimum(np.searchsorted(reached, goals), len(able) - 1)] if len(able) else able
    if len(edges) == 1 and grid == 0 and other is None:  # one value: whether others are below, equal or above
        inner = np.array([np.nextafter(edges[0], -np.inf), edges[0]])
    borders = np.unique(inner[inner < edges[-1]] if len(edges) > 1 else inner)
    return borders if len(borders) else None


@dataclass
class ColumnCounter:
    """New rows counted batch by batch in the cells of what a model knows."""

    known: Sequence[Known]
    weight: float = 0.0
    squares: float = 0.0
    there: Float = field(default_factory=lambda: np.zeros((0, 2)))  # (columns, 2): Σw and Σw² of the values
    levels: dict[str, Float] = field(default_factory=dict)
    unseen: dict[str, dict[Label, float]] = field(default_factory=dict)
    cells: dict[str, Float] = field(default_factory=dict)
    powers: dict[str, Float] = field(default_factory=dict)  # (views, 6): Σw², Σw z^0 to 4

    def __post_init__(self) -> None:
        self.there = np.zeros((len(self.known), 2))
        for one in self.known:
            if one.levels is not None:
                self.levels[one.name] = np.zeros(len(one.levels))
            if one.borders is not None:
                self.cells[one.name] = np.zeros(len(one.borders) + 1)
            if one.sums:
                self.powers[one.name] = np.zeros((len(one.sums), 6))

    def add(self, block: Block, batch: Batch, weights: Float | None) -> None:
        """Count a block more."""
        w = np.ones(block.rows) if weights is None else weights
        self.weight += float(w.sum())
        self.squares += float(w @ w)
        for j, one in enumerate(self.known):
            numeric = block.schema.numeric_index.get(one.name)
            if one.kind in ("quantitative", "count") and numeric is not None:
                x = np.asarray(block.numeric.column(numeric), dtype=np.float64)
                here = ~np.isnan(x)
                self._numbers(one, x, w)
            elif one.levels is not None:
                codes = block.codes[block.schema.coded_index[one.name]]
                missing_code = one.levels.index.get(MISSING, -1)
                here = (codes != -1) & (codes != missing_code)
                seen = here & (codes >= 0)
                self.levels[one.name] += np.bincount(codes[seen], w[seen], minlength=len(one.levels))
                if (codes == -2).any():
                    self._strange(one.name, batch, codes == -2, w)
            else:
                continue
            self.there[j] += float(w[here].sum()), float(w[here] @ w[here])

    def _numbers(self, one: Known, x: Float, w: Float) -> None:
        there = ~np.isnan(x)
        if one.borders is not None:
            place = np.searchsorted(one.borders, x[there], side="left")
            self.cells[one.name] += np.bincount(place, w[there], minlength=len(one.borders) + 1)
        for v, s in enumerate(one.sums):
            if s.deviation > 0:
                seen = s.view.of(s.view.support.mask(x))
                present = ~np.isnan(seen)
                z, mass = (seen[present] - s.mean) / s.deviation, w[present]
                self.powers[one.name][v] += [mass @ mass, *(float(mass @ z**power) for power in range(5))]

    def _strange(self, name: str, batch: Batch, which: Array, w: Float) -> None:
        """Levels that the model never saw, with their weights."""
        if isinstance(batch, Matrix):
            values = pa.array(batch.dense()[which, batch.positions[name]])
        else:
            values = batch.column(name).filter(pa.array(which))
        values = values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
        held = self.unseen.setdefault(name, {})
        for row in pa.table({"v": values, "w": w[which]}).group_by("v").aggregate([("w", "sum")]).to_pylist():
            label = row["v"] if row["v"] in held or len(held) < MANY else None
            held[label] = held.get(label, 0.0) + row["w_sum"]

    def counts(self) -> dict[str, Counts]:
        """What was counted, in rows of equal weight."""
        share = float(effective(self.weight, self.squares)) / self.weight if self.weight > 0 else 0.0
        out = {}
        for one, (weight, squares) in zip(self.known, self.there, strict=True):
            of = float(effective(weight, squares)) / weight if weight > 0 else 0.0
            levels, cells = self.levels.get(one.name), self.cells.get(one.name)
            out[one.name] = Counts(
                self.weight * share,
                weight * share,
                None if levels is None else levels * of,
                {label: mass * of for label, mass in self.unseen.get(one.name, {}).items()},
                None if cells is None else cells * of,
                tuple(_spread(p) for p in self.powers.get(one.name, ())),
            )
        return out


def _spread(powers: Float) -> Spread:
    """Mean, deviation, kurtosis and skewness from the sums of powers, about the model's mean."""
    squares, weight, *raw = powers.tolist()
    if not weight > 0:
        return Spread(0.0, np.nan, np.nan)
    mean, second, third, fourth = (power / weight for power in raw)
    variance = max(second - mean**2, 0.0)
    central = fourth - 4 * mean * third + 6 * mean**2 * second - 3 * mean**4
    kurtosis = central / variance**2 if variance > 0 else np.nan
    skewness = (third - 3 * mean * second + 2 * mean**3) / variance**1.5 if variance > 0 else 0.0
    return Spread(float(effective(weight, squares)), mean, float(np.sqrt(variance)), kurtosis, skewness)
