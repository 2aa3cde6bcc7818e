"""Choice: of several families, for each column the one that foretells its rows best."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isnan, log
from typing import Any, ClassVar

import numpy as np

from bayeskit.arrays import Float
from bayeskit.data.block import Block, Columns
from bayeskit.data.schema import Column, Schema
from bayeskit.data.support import ANY
from bayeskit.errors import InputError
from bayeskit.foretold import WORST, Foretold, refusal
from bayeskit.likelihood import Axis, Context, Limit, LogDensity, shown
from bayeskit.statistics.bins import BinnedColumn, Bins
from bayeskit.statistics.tables import Tables
from bayeskit.structures.backoff import BackedOff, Pooled

TOLL = 1.0  # times log n: what a density for each class must gain over one for all, being so many more numbers
CERTAIN = 0.05  # log-probability of a step above which a density is refused


@dataclass(frozen=True)
class Choice:
    """The candidate with the largest sum of log p_-i(x_i | c_i), each row foretold by the others.

    Each candidate is tried with a density per class, backed off to the pooled one, and with one density for all
    classes, which wins where the classes do not differ enough to pay for it. All is read from the bins of a column,
    so it is chosen anew after learning, forgetting and merging. While the distinct values fit the bins this is
    exact; beyond, values count as the centres of their bins. Densities are compared per recording step, the smallest
    gap between values. Ties go to one density for all, then to the candidate named first.
    """

    candidates: tuple[Any, ...]

    kinds: ClassVar[tuple[str, ...]] = ("quantitative", "count")
    leave_one_out: ClassVar[bool] = False  # labels choose

    def statistic(self, columns: Sequence[Column], n_groups: int) -> Bins:
        return Bins.empty([c.name for c in columns], n_groups)

    def fit(self, statistic: Bins, context: Context) -> ChoiceDensity:
        told = Foretold.of(statistic, self.candidates)
        weights = np.concatenate([[0.0], np.cumsum(statistic.pooled)])[statistic.offset]
        lines = zip(*(a.tolist() for a in (np.diff(weights), statistic.steps, told.scores, told.allowed)), strict=True)
        columns = (Numbers(statistic.column(j), context.weights) for j in range(len(statistic.columns)))
        return ChoiceDensity(tuple(self._trial(rows, *line) for rows, line in zip(columns, lines, strict=True)))

    def _trial(self, rows: Numbers, weight: float, step: float, told: Sequence[Any], allowed: Sequence[bool]) -> Trial:
        """Of one column, from what the core told about it."""

        def scores(order: int, family: Any) -> Iterator[float]:
            if not allowed[order]:
                raise InputError
            if isnan(told[order][0][0]):
                yield from rows.scores(family)
            else:
                for score, largest in told[order]:
                    _certain(largest, step)
                    yield score

        return Trial.of(rows.column.name, self.candidates, rows, scores, TOLL * log(max(weight, 1.0)))


@dataclass(frozen=True)
class Numbers:
    """A column of numbers to which families are fitted: the centres of its bins stand for its rows."""

    column: BinnedColumn
    weights: Float  # (K,) of all rows of each class

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
        return BackedOff(_fitted(family, self.rows, self.weights), self.column.weights.sum(axis=1))

    def refusal(self, family: Any) -> str:
        """Why a family cannot have such values."""
        return refusal(family, self.column)

    def scores(self, family: Any) -> Iterator[float]:
        by_class = self.fitted(family, False)
        for density in (self.fitted(family, True), by_class):
            yield _score(density, family, self.rows, self.column.step)


@dataclass(frozen=True)
class LevelChoice:
    """The same for categories: how strongly the levels of a class lean on those of all classes."""

    candidates: tuple[Any, ...]

    kinds: ClassVar[tuple[str, ...]] = ("binary", "nominal")
    leave_one_out: ClassVar[bool] = False  # labels choose

    def statistic(self, columns: Sequence[Column], n_groups: int) -> Tables:
        return Tables.empty([(c.name,) for c in columns], n_groups)

    def fit(self, statistic: Tables, context: Context) -> ChoiceDensity:
        return ChoiceDensity(tuple(self._trial(column, context) for column in statistic.apart()))

    def _trial(self, column: Tables, context: Context) -> Trial:
        levels = Levels(column, context)
        return Trial.of(column.tables[0][0], self.candidates, levels, lambda _, family: levels.scores(family), 0.0)


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

    @cached_property
    def rows(self) -> Block:
        return _levels(self.column)

    def refusal(self, family: Any) -> str:
        return f"column {self.column.tables[0][0]!r} cannot take {shown(family)}"

    def scores(self, family: Any) -> Iterator[float]:
        for shared in (True, False):
            yield _score(self.fitted(family, shared), family, self.rows, 0.0)


@dataclass(frozen=True)
class Trial:
    """What was tried for one column: scores in nats, and why others were not."""

    name: str
    rows: Numbers | Levels
    scores: tuple[tuple[Any, float, bool], ...]  # candidate, score and whether all classes share it; best first
    failed: tuple[tuple[Any, str], ...]  # candidates that do not fit, and why unless their support says it

    @classmethod
    def of(
        cls,
        name: str,
        candidates: Sequence[Any],
        rows: Numbers | Levels,
        scores: Callable[[int, Any], Iterable[float]],
        toll: float,
    ) -> Trial:
        """Every candidate on the rows of a column, with one density for all classes and with one for each."""
        tried, refused = [], []
        for order, family in enumerate(candidates):
            try:
                for rank, score in enumerate(scores(order, family)):
                    tried.append((score - toll * rank, rank, order, family))
            except InputError as error:
                refused.append((family, str(error)))
        if not tried:
            why = refused[0][1] or rows.refusal(refused[0][0])
            raise InputError(f"column {name!r} takes none of the families tried: {why}")
        tried.sort(key=lambda t: (-t[0], t[1], t[2]))
        return cls(name, rows, tuple((family, score, rank == 0) for score, rank, _, family in tried), tuple(refused))

    @property
    def refused(self) -> tuple[tuple[Any, str], ...]:
        """Candidates that do not fit, and why."""
        return tuple((family, why or self.rows.refusal(family)) for family, why in self.failed)

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
        best = self.scores[0][1]
        beaten = [f"{_named(*other)} by {best - other[1]:.1f}" for other in self.scores[1:]]
        return f"chosen by leave-one-out, in nats before {', '.join(beaten)}" if beaten else "the only one that fits"


def _named(family: Any, score: float, shared: bool) -> str:
    return shown(family) + (" for all classes" if shared else "")


@dataclass(frozen=True)
class ChoiceDensity:
    """Columns with the density that won for each."""

    trials: tuple[Trial, ...]

    @cached_property
    def parts(self) -> tuple[str, ...]:
        return tuple(trial.name for trial in self.trials)

    @property
    def normalised(self) -> bool:
        return all(trial.density.normalised for trial in self.trials)

    @property
    def constant(self) -> tuple[str, ...]:
        return tuple(name for trial in self.trials for name in getattr(trial.density, "constant", ()))

    @property
    def axes(self) -> dict[str, Axis]:
        found: dict[str, Axis] = {}
        for trial in self.trials:
            found |= getattr(trial.density, "axes", {})
        return found

    def add(self, block: Block, out: Float, own: bool = False) -> None:
        for trial in self.trials:
            trial.density.add(block, out, own)

    def terms(self, block: Block, own: bool = False) -> Float:
        return np.concatenate([trial.density.terms(block, own) for trial in self.trials], axis=1)

    def reach(self, block: Block, own: bool = False) -> Float:
        farthest: Float = np.max([trial.density.reach(block, own) for trial in self.trials], axis=0)
        return farthest

    def limit(self, block: Block, unit: Float, own: bool = False) -> Limit:
        first, *others = (trial.density.limit(block, unit, own) for trial in self.trials)
        return sum(others, first)

    def outside(self, block: Block) -> dict[str, int]:
        return {name: count for trial in self.trials for name, count in trial.density.outside(block).items()}


def _rows(column: BinnedColumn) -> Block:
    """The bins of a column as weighted rows: one for each class and cell."""
    group, cell = np.nonzero(column.weights)
    x = np.ascontiguousarray(column.centres[cell])
    schema = Schema((Column(column.name, "quantitative", "double", "its bins"),))
    codes = np.empty((0, len(x)), dtype=np.int32)
    weights = np.ascontiguousarray(column.weights[group, cell])
    return Block(schema, Columns((x,), len(x)), codes, group.astype(np.int32), weights)


def _levels(column: Tables) -> Block:
    """The levels of a column as weighted rows: one for each class and level."""
    counts = column.table(0).rounded()
    group, level = np.nonzero(counts)
    schema = Schema((Column(column.tables[0][0], "nominal", "", "its levels"),))
    codes = np.ascontiguousarray(level[None].astype(np.int32))
    weights = np.ascontiguousarray(counts[group, level])
    return Block(schema, Columns((), len(group)), codes, group.astype(np.int32), weights)


def _fitted(family: Any, rows: Block, weights: Float) -> LogDensity:
    counted = family.statistic(rows.schema.columns, len(weights)).update(rows)
    density: LogDensity = family.fit(counted, Context(weights))
    return density


def _certain(largest: float, step: float) -> None:
    """Refuse a density that gives a recording step more than the probability there is."""
    if step > 0 and largest > CERTAIN:
        raise InputError("it is narrower than a recording step, which it would foretell with more than certainty")


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
    _certain(terms.max(initial=0.0), step)
    return float((rows.weights * np.maximum(terms, WORST)).sum())
