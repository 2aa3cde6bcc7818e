"""Trial: what was tried for one column, and the rows it was tried on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from bayeskit.arrays import Float, Int
from bayeskit.data.block import Block, Columns
from bayeskit.data.schema import Column, Schema
from bayeskit.data.support import ANY
from bayeskit.errors import InputError
from bayeskit.foretold import WORST, Told, check_step, refusal
from bayeskit.likelihood import Context, LogDensity, shown
from bayeskit.smoothing import Cells, beside, smoothing
from bayeskit.statistics.bins import BinnedColumn, Bins
from bayeskit.statistics.exact import ExactSum
from bayeskit.statistics.tables import Tables
from bayeskit.structures.backoff import BackedOff, Pooled


@dataclass(frozen=True)
class Numbers:
    """A column of numbers to which families are fitted: the centres of its bins stand for its rows."""

    bins: Bins
    place: int  # of the column among those of the bins
    weights: Float  # (K,) of all rows of each class

    @cached_property
    def column(self) -> BinnedColumn:
        return self.bins.column(self.place)

    @property
    def classes(self) -> int:
        return len(self.weights)

    @cached_property
    def rows(self) -> Block:
        return _rows(self.column)

    def fitted(self, family: Any, shared: bool) -> LogDensity:
        """With one density for all classes, or one for each, backed off."""
        if shared:
            together = replace(self.rows, groups=np.zeros_like(self.rows.groups))
            return Pooled(_fitted(family, together, self.weights.sum(keepdims=True)), self.classes)
        return BackedOff(_fitted(family, self.rows, self.weights), self.column.weights.sum(axis=1)[None])

    def refusal(self, family: Any) -> str:
        """Why a family cannot have such values."""
        return refusal(family, self.column)

    def scores(self, family: Any) -> Iterator[float]:
        by_class = self.fitted(family, False)
        for density in (self.fitted(family, True), by_class):
            yield _score(density, family, self.rows, self.column.step)


@dataclass(frozen=True)
class Levels:
    """A column of categories to which families are fitted."""

    column: Tables
    context: Context

    def fitted(self, family: Any, shared: bool) -> LogDensity:
        """With one table for all classes, or one for each."""
        density: LogDensity
        if not shared:
            density = family.fit(self.column, self.context)
            return density
        together = self.column.place(np.zeros(self.column.groups, dtype=np.int64), 1, {})
        everyone = replace(self.context, weights=self.context.weights.sum(keepdims=True), exact=None)
        density = family.fit(together, everyone)
        return Pooled(density, self.column.groups)

    def refusal(self, family: Any) -> str:
        return f"column {self.column.tables[0][0]!r} cannot take {shown(family)}"

    def scores(self, family: Any) -> Iterator[float]:
        rule = smoothing(family.smoothing)
        for left in self._left:
            with np.errstate(divide="ignore"):
                logs = np.log(rule.at(left)[0])
            yield float((self._rows[2] * np.maximum(logs, WORST)).sum())

    @cached_property
    def _rows(self) -> tuple[Int, Int, Float]:
        """Class, level and weight of the cells that have any: (n,) each."""
        counts = self.column.table(0).rounded()
        group, level = np.nonzero(counts)
        return group, level, counts[group, level]

    @cached_property
    def _left(self) -> tuple[Cells, Cells]:
        """What decides the probability of each row without itself: all classes as one, and in its class; (1, n)."""
        group, level, weight = self._rows
        by_class, gone = self.column.table(0), np.minimum(weight, 1.0)
        together = by_class.total()
        pooled, everything = together.rounded()[0, level] - gone, together.across.rounded() - gone
        every, levels = self.context.weights, by_class.shape[1]

        def cells(table: ExactSum, of: Int, rows: Float) -> Cells:
            counts = table.rounded()
            count = counts[of, level] - gone
            below, above = (np.where(to[level] == level, count, counts[of, to[level]]) for to in beside(levels))
            total, members = table.across.rounded()[of] - gone, rows[of] - gone
            mine, beside_ = (count[None], total[None]), (below[None], above[None])
            return Cells(*mine, pooled, everything, members[None], *beside_, level, levels)

        return cells(together, np.zeros_like(group), every.sum(keepdims=True)), cells(by_class, group, every)


@dataclass(frozen=True)
class Trial:
    """What was tried for one column: every candidate, with one density for all classes and with one for each."""

    name: str
    rows: Numbers | Levels
    candidates: tuple[Any, ...]
    told: Told | None = None  # what the core knows about it
    toll: float = 0.0  # what a density for each class must gain over one for all

    @cached_property
    def _tried(self) -> tuple[tuple[tuple[Any, float, bool], ...], tuple[tuple[Any, str], ...]]:
        """Candidate, score in nats and whether all classes share it, best first; those that do not fit, and why,
        if not their support."""
        tried, refused = [], []
        for order, family in enumerate(self.candidates):
            try:
                found = None if self.told is None else self.told.of(order)
                for rank, score in enumerate(self.rows.scores(family) if found is None else found):
                    tried.append((score - self.toll * rank, rank, order, family))
            except InputError as error:
                refused.append((family, str(error)))
        if not tried:
            why = refused[0][1] or self.rows.refusal(refused[0][0])
            raise InputError(f"column {self.name!r} takes none of the families tried: {why}")
        tried.sort(key=lambda t: (-t[0], t[1], t[2]))
        return tuple((family, score, rank == 0) for score, rank, _, family in tried), tuple(refused)

    @property
    def scores(self) -> tuple[tuple[Any, float, bool], ...]:
        return self._tried[0]

    @property
    def refused(self) -> tuple[tuple[Any, str], ...]:
        """Candidates that do not fit, and why."""
        return tuple((family, why or self.rows.refusal(family)) for family, why in self._tried[1])

    def checked(self) -> Trial:
        """Itself, unless no candidate fits; what the core told may be enough to know."""
        if self.told is None or not self.told.enough:
            self._tried  # noqa: B018 -- an error is raised here
        return self

    @cached_property
    def density(self) -> LogDensity:
        """The winner fitted, when first asked for: most columns are chosen without fitting a family."""
        best, _, shared = self.scores[0]
        return self.rows.fitted(best, shared)

    @property
    def family(self) -> str:
        """The winner."""
        return _named(*self.scores[0])

    @property
    def why(self) -> str:
        """Which won, by how much, over what."""
        if self.told is not None and self.told.values < 2:
            return "the first that fits: the column has one value" if self.told.values else "the column has no value"
        best = self.scores[0][1]
        beaten = [f"{_named(*other)} by {best - other[1]:.1f}" for other in self.scores[1:]]
        return f"chosen by leave-one-out, in nats before {', '.join(beaten)}" if beaten else "the only one that fits"


def _named(family: Any, score: float, shared: bool) -> str:
    return shown(family) + (" for all classes" if shared else "")


def _rows(column: BinnedColumn) -> Block:
    """The bins of a column as weighted rows: one for each class and cell."""
    group, cell = np.nonzero(column.weights)
    x = np.ascontiguousarray(column.centres[cell])
    schema = Schema((Column(column.name, "quantitative", "double", "its bins"),))
    codes = np.empty((0, len(x)), dtype=np.int32)
    weights = np.ascontiguousarray(column.weights[group, cell])
    return Block(schema, Columns((x,), len(x)), codes, group.astype(np.int32), weights)


def _fitted(family: Any, rows: Block, weights: Float) -> LogDensity:
    counted = family.statistic(rows.schema.columns, len(weights)).update(rows)
    density: LogDensity = family.fit(counted, Context(weights))
    return density


def _score(density: LogDensity, family: Any, rows: Block, step: float) -> float:
    """Sum of log p of each row without itself, as probabilities of a recording step."""
    if rows.groups is None or rows.weights is None:
        raise ValueError("bins come with classes and weights")
    alone = np.minimum(rows.weights, 1.0)
    block = Block(rows.schema, rows.numeric, rows.codes, rows.groups, alone)
    terms = density.terms(block, own=True)[np.arange(rows.rows), 0, rows.groups]
    if step > 0 and not getattr(family, "support", ANY).whole:
        certain = getattr(family, "atom", False) & (rows.numeric.column(0) == 0)  # a probability as it is
        terms = terms + np.where(certain, 0.0, np.log(step))
    check_step(terms.max(initial=0.0), step)
    return float((rows.weights * np.maximum(terms, WORST)).sum())
