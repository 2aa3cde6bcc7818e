"""Trial: what was tried for one column, and the rows it was tried on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import log
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp

from bayeskit import _core
from bayeskit.arrays import Float, Int
from bayeskit.data.block import Block, Columns
from bayeskit.data.schema import Column, Schema
from bayeskit.data.support import ANY
from bayeskit.errors import InputError
from bayeskit.families.histogram import Histogram
from bayeskit.families.kernel import Kernel
from bayeskit.foretold import WORST, Told, check_step, refusal
from bayeskit.likelihood import Context, LogDensity, shown
from bayeskit.smoothing import Cells, beside
from bayeskit.statistics.bins import BinnedColumn, Bins
from bayeskit.statistics.exact import ExactSum
from bayeskit.statistics.tables import Tables
from bayeskit.structures.backoff import BackedOff, Wrapped

FLEXIBLE = Histogram, Kernel  # families with as many parameters as the data ask for


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

    def fitted(self, family: Any, inclusion: float) -> LogDensity:
        """A density for each class, backed off by one row, of a column that may depend on the class."""
        density = _fitted(family, self.rows, self.weights)
        return BackedOff(density, self._present, inclusion=inclusion)

    def refusal(self, family: Any) -> str:
        """Why a family cannot have such values."""
        return refusal(family, self.column)

    def scores(self, family: Any) -> tuple[float, float]:
        together = replace(self.rows, groups=np.zeros_like(self.rows.groups))
        pooled = self._on_steps(family, _fitted(family, together, self.weights.sum(keepdims=True)))
        by_class = self._on_steps(family, _fitted(family, self.rows, self.weights))
        backed = BackedOff(by_class, self._present)
        step = self.column.step
        return (
            _score(pooled, family, together, step, pooled.excess),
            _score(backed, family, self.rows, step, by_class.excess),
        )

    def margin(self, family: Any) -> float:
        """What a family must be better by: log n nats if it has no fixed number of parameters."""
        return self._log_weight if isinstance(family, FLEXIBLE) else 0.0

    @cached_property
    def _log_weight(self) -> float:
        begin, end = self.bins.offset[self.place : self.place + 2].tolist()
        return log(max(float(self.bins.pooled[begin:end].sum()), 1.0))

    @property
    def _present(self) -> Float:
        """Weight of its values in each class: (1, K)."""
        return self.column.weights.sum(axis=1)[None]

    def _on_steps(self, family: Any, density: LogDensity) -> OnSteps:
        """As probabilities of recording steps, where these are few and the family does not give such by itself."""
        column, support = self.column, getattr(family, "support", ANY)
        points = _core.lattice(column.centres, column.step)
        points = points[support.inside(points)]
        if support.whole or not len(points):
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

    def fitted(self, family: Any, inclusion: float) -> LogDensity:
        """A table for each class, of a column that may depend on the class."""
        density = family.fit(self.column, self.context)
        weights = self.column.table(0).across.rounded()
        return BackedOff(density, weights[None], 0.0, inclusion)

    def refusal(self, family: Any) -> str:
        return f"column {self.column.tables[0][0]!r} cannot take {shown(family)}"

    def margin(self, family: Any) -> float:
        return 0.0

    def scores(self, family: Any) -> tuple[float, float]:
        rule = family.fit(self.column, self.context).rule
        with np.errstate(divide="ignore"):
            pooled, by_class = (np.maximum(np.log(rule.at(left)[0]), WORST) for left in self._left)
        weight = self._rows[2]
        return float((weight * pooled).sum()), float((weight * by_class).sum())

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
class OnSteps(Wrapped):
    """The density of one column divided by its sum over all recording steps, where that is more than one."""

    log_sum: Float  # (K,) or (1,)

    def terms(self, block: Block, own: bool = False) -> Float:
        return self.density.terms(block, own) - self.log_sum

    @property
    def excess(self) -> float:
        return float(self.log_sum.max())


class Tried(NamedTuple):
    """A candidate and its sums over rows, each without itself, in nats."""

    family: Any
    score: float  # of log p(x | c), less what a family without a fixed number of parameters must be better by
    gain: float  # over that of log p(x), the same family for all classes together


@dataclass(frozen=True)
class Trial:
    """What was tried for one column: every candidate, with a density for each class and with one for all."""

    name: str
    rows: Numbers | Levels
    candidates: tuple[Any, ...]
    told: Told | None = None  # what the core knows about it

    @cached_property
    def _tried(self) -> tuple[tuple[Tried, ...], tuple[tuple[Any, str], ...]]:
        """Candidates that fit, best first, and those that do not, with the reason if it is not their support."""
        tried, refused = [], []
        for order, family in enumerate(self.candidates):
            try:
                found = None if self.told is None else self.told.of(order)
                pooled, by_class = self.rows.scores(family) if found is None else found
                tried.append((order, Tried(family, by_class - self.rows.margin(family), by_class - pooled)))
            except InputError as error:
                refused.append((family, str(error)))
        if not tried:
            why = refused[0][1] or self.rows.refusal(refused[0][0])
            raise InputError(f"column {self.name!r} takes none of the families tried: {why}")
        tried.sort(key=lambda t: (-t[1].score, t[0]))
        return tuple(some for _, some in tried), tuple(refused)

    @property
    def scores(self) -> tuple[Tried, ...]:
        return self._tried[0]

    @property
    def gain(self) -> float:
        """What a density for each class gains over one for all, in nats: of the candidate that won."""
        return self.scores[0].gain

    @property
    def refused(self) -> tuple[tuple[Any, str], ...]:
        """Candidates that do not fit, and why."""
        return tuple((family, why or self.rows.refusal(family)) for family, why in self._tried[1])

    def checked(self) -> Trial:
        """Itself, unless no candidate fits; what the core told may be enough to know."""
        if self.told is None or not self.told.enough:
            self._tried  # noqa: B018 -- an error is raised here
        return self

    def density(self, inclusion: float) -> LogDensity:
        """The winner, fitted; ``inclusion`` is how probable it is that the column depends on the class."""
        return self.rows.fitted(self.scores[0].family, inclusion)

    @property
    def family(self) -> str:
        """The winner."""
        return shown(self.scores[0].family)

    def why(self, inclusion: float) -> str:
        """Which won, by how much, over what, and how much it counts."""
        if self.told is not None and self.told.values < 2:
            return "the first that fits: the column has one value" if self.told.values else "the column has no value"
        best = self.scores[0].score
        beaten = [f"{shown(other.family)} by {best - other.score:.1f}" for other in self.scores[1:]]
        chosen = f"chosen by leave-one-out, in nats before {', '.join(beaten)}" if beaten else "the only one tried"
        return f"{chosen}; weight {inclusion:.2g}, as one for each class gains {self.gain:.1f} over one for all"


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


def _more(family: Any, x: Float, step: float) -> Float:
    """What makes logarithms of probabilities of a step of log densities; a point mass at zero is one as it is: (n,)."""
    if step <= 0 or getattr(family, "support", ANY).whole:
        return np.zeros(len(x))
    return np.where(getattr(family, "atom", False) & (x == 0), 0.0, np.log(step))


def _score(density: LogDensity, family: Any, rows: Block, step: float, excess: float) -> float:
    """Sum of log p of each row without itself, as probabilities of a recording step."""
    if rows.groups is None or rows.weights is None:
        raise ValueError("bins come with classes and weights")
    alone = np.minimum(rows.weights, 1.0)
    block = Block(rows.schema, rows.numeric, rows.codes, rows.groups, alone)
    terms = density.terms(block, own=True)[np.arange(rows.rows), 0, rows.groups]
    terms = terms + _more(family, rows.numeric.column(0), step)
    check_step(terms.max(initial=0.0) + excess, step)
    return float((rows.weights * np.maximum(terms, WORST)).sum())
