"""Choice: of several families, for each column the one that foretells its rows best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from bayeskit.arrays import Float
from bayeskit.data.block import Block, Columns
from bayeskit.data.schema import Column, Schema
from bayeskit.data.support import ANY
from bayeskit.errors import InputError
from bayeskit.likelihood import Context, Limit, LogDensity, shown
from bayeskit.statistics.bins import BinnedColumn, Bins
from bayeskit.structures.backoff import BackedOff, Pooled

TOLL = 1.0
CERTAIN = 0.05  # log-probability of a step above which a density is refused
WORST = -1e6  # what a row counts at least, so that one impossible row still lets candidates be compared


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

    def statistic(self, columns: Sequence[Column], n_groups: int) -> Bins:
        return Bins.empty([c.name for c in columns], n_groups)

    def fit(self, statistic: Bins, context: Context) -> ChoiceDensity:
        chosen = (
            Trial.of(name, statistic.column(j), self.candidates, context) for j, name in enumerate(statistic.columns)
        )
        return ChoiceDensity(tuple(chosen))


@dataclass(frozen=True)
class Trial:
    """What was tried for one column: scores in nats, and why others were not."""

    name: str
    density: LogDensity
    scores: tuple[tuple[Any, float, bool], ...]  # candidate, score and whether all classes share it; best first
    refused: tuple[tuple[Any, str], ...]

    @classmethod
    def of(cls, name: str, column: BinnedColumn, candidates: Sequence[Any], context: Context) -> Trial:
        rows = _rows(name, column)
        classes = len(context.weights)
        weights = column.weights.sum(axis=1)
        together = replace(rows, groups=np.zeros_like(rows.groups))
        tried, refused = [], []
        for order, family in enumerate(candidates):
            try:
                pooled = Pooled(_fitted(family, together, context.weights.sum(keepdims=True)), classes)
                by_class = BackedOff(_fitted(family, rows, context.weights), weights)
                both: tuple[LogDensity, ...] = (pooled, by_class)
                for rank, density in enumerate(both):
                    tried.append((_score(density, family, rows, column.step), rank, order, family, density))
            except InputError as error:
                refused.append((family, str(error)))
        if not tried:
            raise InputError(f"column {name!r} takes none of the families tried: {refused[0][1]}")
        toll = TOLL * np.log(max(float(weights.sum()), 1.0))
        tried.sort(key=lambda t: (-t[0] + toll * t[1], t[1], t[2]))
        scores = tuple((family, score, rank == 0) for score, rank, _, family, _ in tried)
        return cls(name, tried[0][4], scores, tuple(refused))

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


def _rows(name: str, column: BinnedColumn) -> Block:
    """The bins of a column as weighted rows: one for each class and cell."""
    group, cell = np.nonzero(column.weights)
    x = np.ascontiguousarray(column.centres[cell])
    schema = Schema((Column(name, "quantitative", "double", "its bins"),))
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
    zero_alone = (rows.numeric.column(0) == 0) & getattr(family, "mass_at_zero", False)
    masses = zero_alone | getattr(family, "support", ANY).whole
    total = terms + np.where(masses, 0.0, np.log(step) if step > 0 else 0.0)
    if total.max(initial=0.0) > CERTAIN:
        raise InputError("it is narrower than a recording step, which it would foretell with more than certainty")
    return float((rows.weights * np.maximum(total, WORST)).sum())
