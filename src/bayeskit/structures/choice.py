"""Choice: of several families, for each column the one that foretells its rows best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log
from typing import Any, ClassVar

import numpy as np

from bayeskit.arrays import Float
from bayeskit.data.block import Block
from bayeskit.data.schema import Column
from bayeskit.foretold import Foretold
from bayeskit.likelihood import Axis, Context, Limit
from bayeskit.statistics.bins import Bins
from bayeskit.statistics.tables import Tables
from bayeskit.structures.trial import Levels, Numbers, Trial

TOLL = 1.0  # times log n: what a density for each class must gain over one for all, being so many more numbers


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

    identifier: ClassVar[str] = "structure/choice"
    kinds: ClassVar[tuple[str, ...]] = ("quantitative", "count")
    leave_one_out: ClassVar[bool] = False  # labels choose

    def statistic(self, columns: Sequence[Column], n_groups: int) -> Bins:
        return Bins.empty([c.name for c in columns], n_groups)

    def fit(self, statistic: Bins, context: Context) -> ChoiceDensity:
        told = Foretold.of(statistic, self.candidates)
        weights = np.diff(np.concatenate([[0.0], np.cumsum(statistic.pooled)])[statistic.offset]).tolist()
        trials = []
        for j, (weight, known) in enumerate(zip(weights, told.told(statistic.steps), strict=True)):
            rows, toll = Numbers(statistic, j, context.weights), TOLL * log(max(weight, 1.0))
            trials.append(Trial(statistic.columns[j], rows, self.candidates, known, toll).checked())
        return ChoiceDensity(tuple(trials))


@dataclass(frozen=True)
class LevelChoice:
    """The same for categories: how strongly the levels of a class lean on those of all classes."""

    candidates: tuple[Any, ...]

    identifier: ClassVar[str] = "structure/level_choice"
    kinds: ClassVar[tuple[str, ...]] = ("binary", "nominal")
    leave_one_out: ClassVar[bool] = False  # labels choose

    def statistic(self, columns: Sequence[Column], n_groups: int) -> Tables:
        return Tables.empty([(c.name,) for c in columns], n_groups)

    def fit(self, statistic: Tables, context: Context) -> ChoiceDensity:
        return ChoiceDensity(tuple(self._trial(column, context) for column in statistic.apart()))

    def _trial(self, column: Tables, context: Context) -> Trial:
        return Trial(column.tables[0][0], Levels(column, context), self.candidates).checked()


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
