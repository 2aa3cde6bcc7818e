"""Marginal: one column by itself, whatever the others hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from bayeskit.arrays import Array, Axes, Float, Frame, Label, PriorLike
from bayeskit.data.frame import TableRepr, frame
from bayeskit.data.schema import CODED
from bayeskit.decision.sampling import WHOLE, Column, column_of
from bayeskit.docstrings import document_frame
from bayeskit.errors import InputError
from bayeskit.explain.words import word_probability
from bayeskit.explain.written import list_numbers, round_within, telling_decimals, usual_decimals
from bayeskit.model.model import Model
from bayeskit.plots.style import Display
from bayeskit.statistics.leaves import Leaves
from bayeskit.statistics.ranges import decimals_of
from bayeskit.statistics.rows import Distinct
from bayeskit.statistics.sliced import Sliced

CELLS = 4_000_000  # of the tables that are asked at once
POINTS = 600  # of an axis that panels are laid between
RULES = {8: np.polynomial.legendre.leggauss(8), 3: np.polynomial.legendre.leggauss(3)}
FINE = 160  # points up to which the finer rule is taken
LINES = 12


@dataclass(frozen=True, eq=False, repr=False)
class Marginal(TableRepr):
    """log p(x_j | c) at the levels or whole numbers of a column, or at the nodes of a quadrature over its axis.

    >>> import bayeskit as bk
    >>> model = bk.NaiveBayes().fit([[0.0], [2.0], [3.0], [5.0]], ["a", "a", "b", "b"])
    >>> found = model.marginal("x0")
    >>> found.mean.round(6).tolist(), found.deviation.round(6).tolist()
    ([1.0, 4.0], [1.0, 1.0])
    """

    name: str
    classes: Array  # (K,)
    prior: Float  # (K,) P(c)
    values: Sequence[Any]  # (m)
    weights: Float  # (m,) how wide a piece of the axis a value stands for; 1 for a level
    log_density: Float  # (m, K)
    numeric: bool
    weight: float = 1.0  # how often the column counts in the posterior, where weights were fitted
    seen: tuple[float, float] = (np.nan, np.nan)  # least and greatest value of a number column, where they are known
    decimals: float = (
        np.nan
    )  # with which the values of a number column are written, 0 if all are whole; inf without end

    @property
    def continuous(self) -> bool:
        return bool((self.weights != 1.0).any())

    @cached_property
    def shares(self) -> Float:
        """P(value | c), the pieces of an axis included: (m, K)."""
        mass = np.exp(self.log_density) * self.weights[:, None]
        total = mass.sum(axis=0)
        share: Float = np.divide(mass, total, out=np.zeros_like(mass), where=total > 0)
        return share

    @property
    def mean(self) -> Float:
        """Of a number column in each class: (K,)."""
        average: Float = self._numbers @ self.shares
        return average

    @property
    def deviation(self) -> Float:
        """Of a number column in each class: (K,)."""
        return deviation(self._numbers[:, None] - self.mean, self.shares)

    @cached_property
    def information(self) -> float:
        """I(class; column) = sum over c and x of P(c) p(x | c) log2 p(x | c) / p(x), in bits, under the model."""
        pooled = self.shares @ self.prior
        seen = (self.shares > 0) & (pooled[:, None] > 0)  # a share near the least double vanishes in the pool
        ratio = np.divide(self.shares, pooled[:, None], out=np.ones_like(self.shares), where=seen)
        return max(0.0, float(((self.shares * np.log2(ratio)) @ self.prior).sum()))

    @property
    def _numbers(self) -> Float:
        if not self.numeric:
            raise InputError(f"column {self.name!r} has levels, which have no mean")
        return np.asarray(self.values, dtype=np.float64)

    def usual(self, tail: float = 1e-3) -> tuple[float, float]:
        """Between which values nearly all of a number column lies, whatever the class; none beyond those seen."""
        pooled = np.cumsum(self.shares @ self.prior)
        ends = np.searchsorted(pooled, [tail, (1 - tail) * pooled[-1]])
        low, high = np.fmin(np.fmax(self._numbers[np.minimum(ends, len(pooled) - 1)], self.seen[0]), self.seen[1])
        return float(low), float(high)

    def typical(self, most: int = 16) -> Sequence[Any]:
        """The likeliest levels; of numbers quantiles, in steps of 1/most, with the decimals of the column."""
        share = self.shares @ self.prior
        if not self.numeric:
            return [self.values[i] for i in np.sort(np.argsort(-share, kind="stable")[:most]).tolist()]
        below = np.cumsum(share)
        place = np.searchsorted(below, (np.arange(most) + 0.5) / most * below[-1])
        found = self._numbers[np.minimum(place, len(below) - 1)]
        low, high = self.seen if np.isfinite(self.seen).all() else (found[0], found[-1])
        decimals = int(self.decimals) if np.isfinite(self.decimals) else usual_decimals(low, high)
        rounded: Sequence[Any] = np.unique(round_within(np.array([low, *found, high]), decimals)[1:-1]).tolist()
        return rounded

    def among(self, known: Float) -> Marginal:
        """The same with the range and the decimals of these values as those seen, if there are any."""
        if not len(known):
            return self
        ends = float(known.min()), float(known.max())
        return replace(self, seen=ends, decimals=telling_decimals(decimals_of(known), *ends))

    def as_recorded(self, tail: float = 1e-3) -> tuple[Float, bool]:
        """The usual values as rows hold them, with the decimals of the column, and whether there are others between.

        Of a continuous column all values that could be written down, if they are not too many.
        """
        low, high = self.usual(tail)
        inside = self._numbers[(self._numbers >= low) & (self._numbers <= high)]
        if not self.continuous:
            return inside, False
        if np.isfinite(self.decimals):
            every = list_numbers(low, high, int(self.decimals))
            if every is not None and len(every):
                return every, False
        inside = np.unique([low, *inside.tolist(), high])
        return round_within(
            inside, int(self.decimals) if np.isfinite(self.decimals) else usual_decimals(low, high)
        ), True

    @document_frame
    def frame(self, kind: str = "pyarrow") -> Frame:
        """A line for each value: p(value | c) of every class, a density for a continuous column."""
        texts = self.values if self.numeric else [None if v is None else str(v) for v in self.values]
        named = {f"p(x | {label})": np.exp(self.log_density[:, k]) for k, label in enumerate(self.classes.tolist())}
        return frame({self.name: texts, **named}, kind)

    def plot(self, ax: Axes | None = None) -> Display:
        """The density or the probabilities by class."""
        from bayeskit.plots.planes import DensityDisplay

        return DensityDisplay.of(self).plot(ax)

    def describe(self, k: int, most: int = 3) -> str:
        """Class k in a few words: mean and deviation, or its likeliest levels."""
        if self.numeric:
            return f"{self.mean[k]:.4g} ± {self.deviation[k]:.3g}"
        best = np.argsort(-self.shares[:, k], kind="stable")[:most]
        shown = ", ".join(f"{self.values[i]} {self.shares[i, k]:.2f}" for i in best.tolist())
        return shown + (", ..." if len(self.values) > most else "")

    def _title(self) -> str:
        counts = "" if self.weight == 1.0 else f"; counts {self.weight:.3g} times"
        return f"column {self.name}: {self.information:.3g} bits of information on the class{counts}"

    def _lines(self) -> list[list[str]]:
        return [["class", ""], *([str(c), self.describe(k, LINES)] for k, c in enumerate(self.classes.tolist()))]


def deviation(away: Float, shares: Float) -> Float:
    """sqrt(sum of share * away²) over axis 0, whose squares may be no doubles."""
    unit = float(np.abs(away).max(initial=0.0)) or 1.0
    spread: Float = np.sqrt(((away / unit) ** 2 * shares).sum(axis=0)) * unit
    return spread


def marginals(model: Model, names: Sequence[str] | None = None, prior: PriorLike = None) -> dict[str, Marginal]:
    """Those of all columns, or of some, that say something and whose density can be followed."""
    wanted = model.schema.names if names is None else names
    columns = [asked for name in wanted if (asked := _queries(model, name)) is not None]
    prior_of = np.exp(model.log_prior(prior))
    found: dict[str, Marginal] = {}
    width = len(model.weights) if model.class_density.additive else len(model.schema.names)
    counts = model.factor_weights
    ratios = model.class_density.class_ratios
    for batch in _batches(columns, width):
        logs = _log_densities(model, [(column.name, values) for column, values, _ in batch])
        for (column, values, weights), log in zip(batch, logs, strict=True):
            numeric = model.schema[column.name].kind not in CODED
            if ratios:
                log = log + np.log(_shares(model, column.name, values))[:, None]
            weight = counts.get(column.name, 1.0)
            seen = model.counted.seen(column.name) if numeric else (np.nan, np.nan)
            places = telling_decimals(model.counted.decimals(column.name), *seen) if numeric else np.nan
            found[column.name] = Marginal(
                column.name, model.classes, prior_of, values, weights, log, numeric, weight, seen, places
            )
    return found


def log_densities(model: Model, values: Mapping[str, Float]) -> dict[str, Float]:
    """log p(x_j | c) at some values of number columns of a naive model: (m, K) of each."""
    each = [(name, asked.tolist()) for name, asked in values.items()]
    rows = max((len(asked) for _, asked in each), default=1)
    step = max(1, CELLS // (rows * len(model.weights)))
    found = (log for start in range(0, len(each), step) for log in _log_densities(model, each[start : start + step]))
    return dict(zip(values, found, strict=True))


def _shares(model: Model, name: str, values: Sequence[Label]) -> Float:
    """P(value) among all rows, of the levels of a column: (m,)."""
    ((family, whole),) = model.features.parts.items()
    counted = family.chosen(whole, model.context)[1] if isinstance(whole, Distinct) else whole
    assert isinstance(counted, Sliced | Leaves)
    levels = counted.levels
    (counts,) = levels.counts([levels.tables.index((name,))])
    mass = counts.sum(axis=0)
    place = model.counted.domain.levels[name].values
    found = np.array([mass[place.index(value)] for value in values])
    share: Float = found / found.sum()
    return share


def marginal(model: Model, name: str, prior: PriorLike = None) -> Marginal:
    """That of one column; an error says why there is none."""
    if name not in model.schema:
        raise InputError(f"there is no column {name!r} (columns: {', '.join(model.schema.names[:8])}, ...)")
    if found := marginals(model, [name], prior):
        return found[name]
    if (share := word_probability(model, name)) is not None:
        logs, prior_of = np.log([1 - share, share]), np.exp(model.log_prior(prior))
        weight = model.factor_weights.get(name, 1.0)
        return Marginal(name, model.classes, prior_of, [0, 1], np.ones(2), logs, False, weight)
    if column_of(model, name) is None:
        raise InputError(f"column {name!r} has one value or none, and says nothing")
    raise InputError(f"column {name!r} has no density of its own in this model; ask predict_proba along it instead")


Queries = tuple[Column, Sequence[Any], Float]


def _queries(model: Model, name: str) -> Queries | None:
    """A column, the values to ask for and what each stands for; None where there is nothing to follow."""
    listed = model.schema[name].kind in CODED
    axis = None if listed else model.class_density.axes.get(name)
    if not listed and (axis is None or (axis.integer and np.ptp(axis.points) > WHOLE)):
        return None
    column = column_of(model, name)
    if column is None:
        return None
    if not column.continuous:
        return column, column.values, np.ones(len(column.values))
    points = column.points[:: -(-len(column.points) // POINTS)]
    nodes, weights = RULES[8 if len(points) <= FINE else 3]
    half, middle = np.diff(points)[:, None] / 2, (points[1:] + points[:-1])[:, None] / 2
    values, widths = (middle + half * nodes).ravel(), (half * weights).ravel()
    if column.point_mass:
        values, widths = np.append(0.0, values), np.append(1.0, widths)
    ends = [end for end in model.counted.seen(name) if np.isfinite(end) and end not in values]
    order = np.argsort(values := np.append(values, ends), kind="stable")
    return column, values[order].tolist(), np.append(widths, np.zeros(len(ends)))[order]


def _batches(columns: Sequence[Queries], width: int) -> Iterator[list[Queries]]:
    """Columns together as far as one table of the model's width can hold the rows they ask for."""
    batch: list[Queries] = []
    for asked in columns:
        if batch and (sum(len(v) for _, v, _ in batch) + len(asked[1])) * width > CELLS:
            yield batch
            batch = []
        batch.append(asked)
    if batch:
        yield batch


def _log_densities(model: Model, asked: Sequence[tuple[str, Sequence[Label]]]) -> list[Float]:
    """log p(x_j | c) of values of columns, all in one table: (m, K) of each.

    Where columns do not depend on each other a row may know all of them, else each row knows one.
    """
    counts = [len(values) for _, values in asked]
    density = model.class_density
    apart = not density.additive
    start = np.cumsum([0, *counts[:-1]]) * apart
    rows = sum(counts) if apart else max(counts)
    arrays, mine = {}, {}
    for (name, values), first in zip(asked, start.tolist(), strict=True):
        there = pa.array(values)
        before, after = (pa.nulls(n, there.type) for n in (first, rows - first - len(there)))
        arrays[name], mine[name] = pa.concat_arrays([before, there, after]), slice(first, first + len(there))
    given = [arrays.get(name, pa.nulls(rows)) for name in model.schema.names]
    block = model.counted.block(pa.RecordBatch.from_arrays(given, names=list(model.schema.names)))
    codes = np.full_like(
        block.codes, -1
    )  # what a row does not know says nothing, even where a missing value is a level
    for j, name in enumerate(model.schema.coded):
        known = mine.get(name, slice(0))
        codes[j, known] = block.codes[j, known]
    block = replace(block, codes=codes)
    if apart:
        out = np.zeros((rows, len(model.weights)))
        density.add(block, out)
        return [out[known] for known in mine.values()]
    place = {name: j for j, name in enumerate(density.columns)}
    terms = density.terms_of(block, np.array([place[name] for name in mine]))
    whole = np.broadcast_to(terms, (*terms.shape[:2], len(model.weights)))
    return [whole[known, j] for j, known in enumerate(mine.values())]
