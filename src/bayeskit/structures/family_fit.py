"""Family fit: how well families predict the rows of a column, every row by the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isnan, log

import numpy as np

from bayeskit import _core
from bayeskit.arrays import Bool, Float, Int
from bayeskit.data.block import Block, Columns
from bayeskit.data.schema import Column, Schema
from bayeskit.data.support import COUNTS
from bayeskit.deferred import deferred
from bayeskit.densities.density import Density, left_out
from bayeskit.densities.likelihood import AnyFamily, Context, Recipe, describe_family
from bayeskit.densities.tabular import TabularDensity
from bayeskit.errors import InputError
from bayeskit.families.histogram import Histogram
from bayeskit.families.kernel import Kernel, KernelDensity
from bayeskit.portable.program import Inputs, Term
from bayeskit.smoothing import Cells, beside
from bayeskit.statistics.bins import BinnedColumn, Bins
from bayeskit.statistics.exact import ExactSum
from bayeskit.statistics.tables import Tables
from bayeskit.structures.wrapped import BackedOff, Wrapped

logsumexp = deferred("scipy.special", "logsumexp")

WORST = -1e6  # what a row counts at least, so that one impossible row still lets candidates be compared
MANY = 0.05  # of the rows: fewer zeros are no mass of their own
CERTAIN = 0.05  # log-probability of a step above which a density is refused


@dataclass(frozen=True)
class LooFamilyScores:
    """Sums over rows of log p, and the largest, of each column under each family.

    A row is predicted by all others, with one density for all classes and with one for each class that is backed off to
    all: (n_c f_c + f) / (n_c + 1), f = sum over c of n_c f_c / n. Densities count per recording step.
    """

    scores: Float  # (d, families, 2, 2) for all classes and by class: sum, largest; NaN where the core does not tell
    allowed: Bool  # (d, families) whether the values may be of a family, as far as its support shows
    values: Int  # (d,) how many there are, up to the budget of the bins

    @classmethod
    def of(cls, bins: Bins, families: Sequence[AnyFamily]) -> LooFamilyScores:
        recipes = [family.recipe for family in families]
        allowed = _mark_allowed(bins, families)
        found = _core.loo_family_scores(
            [recipe or Recipe("") for recipe in recipes],
            bins.centres,
            bins.offset,
            bins.weights,
            bins.pooled,
            bins.steps,
            allowed & [recipe is not None for recipe in recipes],
            WORST,
        )
        scores, values = found.reshape(*found.shape[:2], 2, 2), np.diff(bins.offset)
        scores[values < 2] = 0.0  # one value says nothing, whatever the family
        return cls(scores, allowed, values)

    def by_column(self, steps: Float) -> Iterator[ColumnLooScores]:
        """Column by column."""
        sums, largest = self.scores[..., 0], self.scores[..., 1]
        narrow = (steps > 0)[:, None] & (largest > CERTAIN).any(axis=2)
        fits: Bool = self.allowed & np.isfinite(sums).all(axis=2) & ~narrow
        enough = np.logical_or.reduce(fits, axis=1)
        lines = zip(self.scores, self.allowed, self.values.tolist(), steps.tolist(), enough.tolist(), strict=True)
        for line in lines:
            yield ColumnLooScores(*line)


@dataclass(frozen=True)
class ColumnLooScores:
    """What the core knows about one column."""

    scores: Float  # (families, 2, 2) as above
    allowed: Bool  # (families,)
    values: int
    step: float
    enough: bool  # whether some family is known to fit

    def of(self, family: int) -> tuple[float, float] | None:
        """Scores of a family with one density for all classes and with one for each; None where it does not know."""
        if not self.allowed[family]:
            raise InputError
        (pooled, most), (by_class, largest) = self.scores[family].tolist()
        if isnan(pooled) or isnan(by_class):
            return None
        check_step(max(most, largest), self.step)
        return pooled, by_class


def check_step(largest: float, step: float) -> None:
    """Refuse a density that gives a recording step more than the probability there is."""
    if step > 0 and largest > CERTAIN:
        raise InputError("it is narrower than a recording step, which it would predict with more than certainty")


def _mark_allowed(bins: Bins, families: Sequence[AnyFamily]) -> Bool:
    """Which families the values of each column may be of; without values there are no zeros either: (d, families)."""
    filled = np.flatnonzero(np.diff(bins.offset))
    out: Bool = np.tile([not family.point_mass for family in families], (len(bins.columns), 1))
    if not len(filled):
        return out
    begin = bins.offset[filled]
    outermost = bins.centres[np.stack([begin, bins.offset[filled + 1] - 1])]
    whole = np.logical_and.reduceat(bins.centres == np.floor(bins.centres), begin)
    zero = np.add.reduceat(np.where(bins.edges == 0, bins.pooled, 0.0), begin) / np.add.reduceat(bins.pooled, begin)
    for place, family in enumerate(families):
        support = family.support
        ends = support.inside(outermost).all(axis=0)
        fits = ends & whole if support.integer else ends
        out[filled, place] = fits & (zero >= MANY) & (zero <= 1 - MANY) if family.point_mass else fits
    return out


def refusal(family: AnyFamily, column: BinnedColumn) -> str:
    """Why a column cannot be of a family that its values do not allow."""
    support, name = family.support, type(family).__name__
    outside = column.centres[~support.inside(column.centres)]
    if len(outside):
        return support.refusal(column.name, float(outside[0]), name)
    return f"column {column.name!r} has few zeros; {name} is for many"


@dataclass(frozen=True)
class Numbers:
    """A column of numbers to which families are fitted: the centres of its bins stand for its rows."""

    bins: Bins
    place: int  # of the column among those of the bins
    weights: Float  # (K,) of all rows of each class

    @cached_property
    def column(self) -> BinnedColumn:
        return self.bins.column(self.place)

    @cached_property
    def rows(self) -> Block:
        return _rows(self.column)

    def fit(self, family: AnyFamily, inclusion: float) -> Density:
        """A density for each class, backed off by one row, of a column that may depend on the class."""
        density = _fit(family, self.rows, self.weights)
        return BackedOff(density, self._present, inclusion=inclusion)

    def refusal(self, family: AnyFamily) -> str:
        """Why a family cannot have such values."""
        return refusal(family, self.column)

    def scores(self, family: AnyFamily) -> tuple[float, float]:
        together = replace(self.rows, groups=np.zeros_like(self.rows.groups))
        pooled = self._on_steps(family, _holding(_fit(family, together, self.weights.sum(keepdims=True))))
        by_class = self._on_steps(family, _holding(_fit(family, self.rows, self.weights)))
        backed = BackedOff(by_class, self._present)
        step = self.column.step
        return (
            _score(pooled, family, together, step, pooled.excess),
            _score(backed, family, self.rows, step, by_class.excess),
        )

    def margin(self, family: AnyFamily) -> float:
        """What a family must be better by, in nats: log n where it has as many parameters as the data ask for, and as
        much where it is a density and the values are counts, which have families of their own."""
        flexible = isinstance(family, Histogram | Kernel)
        return self._log_weight * (flexible + (self._counts and not family.support.integer))

    @cached_property
    def _cells(self) -> slice:
        return slice(*self.bins.offset[self.place : self.place + 2].tolist())

    @cached_property
    def _log_weight(self) -> float:
        return log(max(float(self.bins.pooled[self._cells].sum()), 1.0))

    @cached_property
    def _counts(self) -> bool:
        """Whether all values are whole numbers of at least 0."""
        return bool(COUNTS.inside(self.bins.centres[self._cells]).all())

    @property
    def _present(self) -> Float:
        """Weight of its values in each class: (1, K)."""
        out: Float = self.column.weights.sum(axis=1)[None]
        return out

    def _on_steps(self, family: AnyFamily, density: Density) -> OnSteps:
        """As probabilities of recording steps, where these are few and the family does not give such by itself."""
        column, support = self.column, family.support
        points = _core.lattice_points(column.centres, column.step)
        points = points[support.inside(points)]
        if support.integer or not len(points):
            return OnSteps(density, np.zeros(1))
        schema, codes = self.rows.schema, np.empty((0, len(points)), dtype=np.int32)
        terms = density.terms(Block(schema, Columns((points,), len(points)), codes))[:, 0]
        sums = logsumexp(terms + _more(family, points, column.step)[:, None], axis=0)
        return OnSteps(density, np.maximum(sums, 0.0))


@dataclass(frozen=True)
class Levels:
    """A column of categories to which families are fitted."""

    column: Tables
    context: Context

    def fit(self, family: AnyFamily, inclusion: float) -> Density:
        """A table for each class, of a column that may depend on the class."""
        density = family.fit(self.column, self.context)
        weights = self.column.table(0).across.to_float()
        return BackedOff(density, weights[None], 0.0, inclusion)

    def refusal(self, family: AnyFamily) -> str:
        return f"column {self.column.tables[0][0]!r} cannot take {describe_family(family)}"

    def margin(self, family: AnyFamily) -> float:
        return 0.0

    def scores(self, family: AnyFamily) -> tuple[float, float]:
        density = family.fit(self.column, self.context)
        if not isinstance(density, TabularDensity):
            raise InputError(self.refusal(family))
        rule = density.rule
        with np.errstate(divide="ignore"):
            pooled, by_class = (np.maximum(np.log(rule.at(left)[0]), WORST) for left in self._left)
        weight = self._rows[2]
        return float((weight * pooled).sum()), float((weight * by_class).sum())

    @cached_property
    def _rows(self) -> tuple[Int, Int, Float]:
        """Class, level and weight of the cells that have any: (n,) each."""
        counts = self.column.table(0).to_float()
        group, level = np.nonzero(counts)
        return group, level, counts[group, level]

    @cached_property
    def _left(self) -> tuple[Cells, Cells]:
        """What decides the probability of each row without itself: all classes as one, and in its class; (1, n)."""
        group, level, weight = self._rows
        by_class, gone = self.column.table(0), np.minimum(weight, 1.0)
        together = by_class.total()
        pooled, everything = together.to_float()[0, level] - gone, together.across.to_float() - gone
        every, levels = self.context.weights, by_class.shape[1]

        def cells(table: ExactSum, of: Int, rows: Float) -> Cells:
            counts = table.to_float()
            count = counts[of, level] - gone
            below, above = (np.where(to[level] == level, count, counts[of, to[level]]) for to in beside(levels))
            total, members = table.across.to_float()[of] - gone, rows[of] - gone
            mine, beside_ = (count[None], total[None]), (below[None], above[None])
            return Cells(*mine, pooled, everything, members[None], *beside_, level, levels)

        return cells(together, np.zeros_like(group), every.sum(keepdims=True)), cells(by_class, group, every)


@dataclass(frozen=True)
class OnSteps(Wrapped):
    """The density of one column divided by its sum over all recording steps, where that is more than one."""

    log_sum: Float  # (K,) or (1,)

    def terms(self, block: Block) -> Float:
        return self.density.terms(block) - self.log_sum

    def portable(self, inputs: Inputs) -> list[Term]:
        return [replace(term, value=term.value - self.log_sum) for term in self._terms(inputs)]

    @property
    def excess(self) -> float:
        return float(self.log_sum.max())


def _rows(column: BinnedColumn) -> Block:
    """The bins of a column as weighted rows: one for each class and cell."""
    group, cell = np.nonzero(column.weights)
    x = np.ascontiguousarray(column.centres[cell])
    schema = Schema((Column(column.name, "quantitative", "double", "its bins"),))
    codes = np.empty((0, len(x)), dtype=np.int32)
    weights = np.ascontiguousarray(column.weights[group, cell])
    return Block(schema, Columns((x,), len(x)), codes, group.astype(np.int32), weights)


def _fit(family: AnyFamily, rows: Block, weights: Float) -> Density:
    counted = family.statistic(rows.schema.columns, len(weights)).update(rows)
    return family.fit(counted, Context(weights))


def _holding(density: Density) -> Density:
    """With the bandwidths of all rows in leave-one-out, as the core scores families."""
    return replace(density, hold=True) if isinstance(density, KernelDensity) else density


def _more(family: AnyFamily, x: Float, step: float) -> Float:
    """What makes logarithms of probabilities of a step of log densities; a point mass at zero is one as it is: (n,)."""
    if step <= 0 or family.support.integer:
        return np.zeros(len(x))
    return np.where(family.point_mass & (x == 0), 0.0, np.log(step))


def _score(density: Density, family: AnyFamily, rows: Block, step: float, excess: float) -> float:
    """Sum of log p of each row without itself, as probabilities of a recording step."""
    if rows.groups is None or rows.weights is None:
        raise ValueError("bins come with classes and weights")
    alone = np.minimum(rows.weights, 1.0)
    block = Block(rows.schema, rows.numeric, rows.codes, rows.groups, alone)
    terms = left_out(density).terms(block)[np.arange(rows.rows), 0, rows.groups]
    terms = terms + _more(family, rows.numeric.column(0), step)
    check_step(terms.max(initial=0.0) + excess, step)
    return float((rows.weights * np.maximum(terms, WORST)).sum())
