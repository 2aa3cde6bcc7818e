"""Choice: of several families, for each column the one that predicts its rows best."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from bayeskit.arrays import Float
from bayeskit.data.block import Block
from bayeskit.data.schema import Column
from bayeskit.densities.density import Axis, Density, TailLogDensity
from bayeskit.densities.likelihood import Context, Family, Likelihood
from bayeskit.portable.program import Inputs, Term
from bayeskit.statistics.bins import Bins
from bayeskit.statistics.tables import Tables
from bayeskit.structures.family_fit import Levels, Numbers
from bayeskit.structures.family_scores import LooFamilyScores
from bayeskit.structures.family_trial import Chosen, FamilyTrial, Inclusion


@dataclass(frozen=True)
class Choice(Likelihood[Bins]):
    """The candidate with the largest sum of log p_-i(x_i | c_i), each row predicted by the others.

    p(x | c) is backed off to all classes together by one row. What that sum gains over the sum of log p_-i(x_i), one
    density of the same family for all classes, decides how probable it is that the column depends on the class: the
    weight w in w p(x | c) + (1 - w) p(x) (``family_trial``). All is read from the bins of a column, so it is
    chosen anew after learning, forgetting and merging. While the distinct values fit the bins this is exact; beyond,
    values count as the centres of their bins.

    Densities are compared as probabilities of a recording step, the smallest gap between values; where the values lie
    on at most 256 steps, a density that gives all steps together more than one is divided by that. Histogram and
    Kernel must be better by log n nats, and so must densities where the values are counts; ties go to the candidate
    named first.
    """

    candidates: tuple[Family[Any], ...]

    identifier: ClassVar[str] = "structure/choice"
    kinds: ClassVar[tuple[str, ...]] = ("quantitative", "count")
    leave_one_out: ClassVar[bool] = False  # labels choose

    def statistic(self, columns: Sequence[Column], n_groups: int) -> Bins:
        return Bins.empty([c.name for c in columns], n_groups)

    def fit(self, statistic: Bins, context: Context) -> ChoiceDensity:
        told = LooFamilyScores.of(statistic, self.candidates).by_column(statistic.steps)
        return ChoiceDensity.of(
            FamilyTrial(name, Numbers(statistic, j, context.weights), self.candidates, known).check()
            for j, (name, known) in enumerate(zip(statistic.columns, told, strict=True))
        )


@dataclass(frozen=True)
class LevelChoice(Likelihood[Tables]):
    """The same for categories: how strongly the levels of a class shrink toward those of all classes."""

    candidates: tuple[Family[Any], ...]

    identifier: ClassVar[str] = "structure/level_choice"
    kinds: ClassVar[tuple[str, ...]] = ("binary", "nominal", "ordinal")
    leave_one_out: ClassVar[bool] = False  # labels choose

    def statistic(self, columns: Sequence[Column], n_groups: int) -> Tables:
        return Tables.empty([(c.name,) for c in columns], n_groups)

    def fit(self, statistic: Tables, context: Context) -> ChoiceDensity:
        return ChoiceDensity.of(self._trial(column, context) for column in statistic.apart())

    def _trial(self, column: Tables, context: Context) -> FamilyTrial:
        return FamilyTrial(column.tables[0][0], Levels(column, context), self.candidates).check()


class Sum(Density):
    """A sum of other densities."""

    if TYPE_CHECKING:  # as in Density

        @property
        @abstractmethod
        def densities(self) -> tuple[Density, ...]: ...

    @property
    def normalised(self) -> bool:
        return all(density.normalised for density in self.densities)

    @cached_property
    def constant(self) -> tuple[str, ...]:
        return tuple(name for density in self.densities for name in density.constant)

    @cached_property
    def axes(self) -> dict[str, Axis]:
        return {name: axis for density in self.densities for name, axis in density.axes.items()}

    def verify(self) -> None:
        for density in self.densities:
            density.verify()

    def add(self, block: Block, out: Float) -> None:
        for density in self.densities:
            density.add(block, out)

    def portable(self, inputs: Inputs) -> list[Term]:
        return [term for density in self.densities for term in density.portable(inputs)]

    def log2_magnitude(self, block: Block) -> Float:
        each = (density.log2_magnitude(block) for density in self.densities)
        farthest: Float = np.max([np.zeros(block.rows), *each], axis=0)
        return farthest

    def tail(self, block: Block, unit: Float) -> TailLogDensity:
        nothing = np.zeros((block.rows, 1))
        each = (density.tail(block, unit) for density in self.densities)
        return sum(each, TailLogDensity(nothing, nothing, nothing))

    def out_of_support(self, block: Block) -> dict[str, int]:
        return {name: count for density in self.densities for name, count in density.out_of_support(block).items()}


@dataclass(frozen=True)
class ChoiceDensity(Sum):
    """Columns with the density that won for each, as far as each depends on the class."""

    trials: tuple[FamilyTrial, ...]
    inclusion: Inclusion  # of these columns and of all others whose family the data choose

    @classmethod
    def of(cls, trials: Iterable[FamilyTrial]) -> ChoiceDensity:
        every = tuple(trials)
        return cls(every, Inclusion(every))

    @cached_property
    def densities(self) -> tuple[Density, ...]:
        """Fitted when first asked for: families are chosen without it."""
        weights = self.inclusion.weights
        return tuple(trial.density(weights[trial.name]) for trial in self.trials)

    @property
    def chosen(self) -> dict[str, Chosen]:
        """By column."""
        weights = self.inclusion.weights
        return {trial.name: trial.chosen(weights[trial.name]) for trial in self.trials}

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return tuple(trial.name for trial in self.trials)

    def terms(self, block: Block) -> Float:
        return np.concatenate([density.terms(block) for density in self.densities], axis=1)


def weigh_together(densities: Sequence[Density]) -> tuple[Density, ...]:
    """The same, with the weights of all columns whose family the data choose worked out together."""
    chosen = [density for density in densities if isinstance(density, ChoiceDensity)]
    every = Inclusion(tuple(trial for density in chosen for trial in density.trials))
    return tuple(replace(d, inclusion=every) if isinstance(d, ChoiceDensity) else d for d in densities)
