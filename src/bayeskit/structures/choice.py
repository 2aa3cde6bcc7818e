"""Choice: of several families, for each column the one that predicts its rows best, and what was tried."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from bayeskit.arrays import Float
from bayeskit.data.block import Block
from bayeskit.data.schema import Column
from bayeskit.deferred import deferred
from bayeskit.densities.density import Axis, Density, TailLogDensity
from bayeskit.densities.likelihood import AnyFamily, Context, Likelihood, describe_family
from bayeskit.errors import InputError
from bayeskit.portable.program import Inputs, Term
from bayeskit.statistics.bins import Bins
from bayeskit.statistics.tables import Tables
from bayeskit.structures.backed_off_sum import BackedOffSum
from bayeskit.structures.family_fit import ColumnLooScores, Levels, LooFamilyScores, Numbers

expit = deferred("scipy.special", "expit")

HALVINGS = 64  # of an interval of logits: to the last digit


class Tried(NamedTuple):
    """A candidate and its sums over rows, each without itself, in nats."""

    family: AnyFamily
    score: float  # of log p(x | c), less what the family must be better by (``Numbers.margin``)
    gain: float  # over that of log p(x), the same family for all classes together


class Chosen(NamedTuple):
    """What became of a column."""

    family: str
    why: str
    weight: float  # how probable it is that the column depends on the class
    gain: float  # nats, of a density for each class over one for all


@dataclass(frozen=True)
class FamilyTrial:
    """What was tried for one column: every candidate, with a density for each class and with one for all."""

    name: str
    rows: Numbers | Levels
    candidates: tuple[AnyFamily, ...]
    loo_scores: ColumnLooScores | None = None  # what the core knows about it

    @cached_property
    def _tried(self) -> tuple[tuple[Tried, ...], tuple[tuple[AnyFamily, str], ...]]:
        """Candidates that fit, best first, and those that do not, with the reason if it is not their support."""
        tried, refused = [], []
        for order, family in enumerate(self.candidates):
            try:
                found = None if self.loo_scores is None else self.loo_scores.of(order)
                pooled, by_class = self.rows.scores(family) if found is None else found
                tried.append((order, Tried(family, by_class - self.rows.margin(family), by_class - pooled)))
            except InputError as error:
                refused.append((family, str(error)))
        if not tried:
            why = refused[0][1] or self.rows.refusal(refused[0][0])
            raise InputError(f"column {self.name!r} takes none of the families tried: {why}")
        tried.sort(key=lambda t: (-t[1].score, t[0]))
        return tuple(trial for _, trial in tried), tuple(refused)

    @property
    def scores(self) -> tuple[Tried, ...]:
        return self._tried[0]

    @property
    def gain(self) -> float:
        """What a density for each class gains over one for all, in nats: of the candidate that won."""
        return self.scores[0].gain

    @property
    def refused(self) -> tuple[tuple[AnyFamily, str], ...]:
        """Candidates that do not fit, and why."""
        return tuple((family, why or self.rows.refusal(family)) for family, why in self._tried[1])

    def check(self) -> FamilyTrial:
        """Itself, unless no candidate fits; what the core scored may be enough to know."""
        if self.loo_scores is None or not self.loo_scores.enough:
            self._tried  # noqa: B018 -- an error is raised here
        return self

    def density(self, inclusion: float) -> Density:
        """The winner, fitted; ``inclusion`` is how probable it is that the column depends on the class."""
        return self.rows.fit(self.scores[0].family, inclusion)

    def chosen(self, inclusion: float) -> Chosen:
        """Which won, by how much, over what, and how much it counts."""
        return Chosen(describe_family(self.scores[0].family), self._why(inclusion), inclusion, self.gain)

    def _why(self, inclusion: float) -> str:
        if self.loo_scores is not None and self.loo_scores.values < 2:
            return (
                "the first that fits: the column has one value" if self.loo_scores.values else "the column has no value"
            )
        best = self.scores[0].score
        beaten = [f"{describe_family(other.family)} by {best - other.score:.1f}" for other in self.scores[1:]]
        chosen = f"chosen by leave-one-out, in nats before {', '.join(beaten)}" if beaten else "the only one tried"
        return (
            f"weight {inclusion:.2g}, as a density for each class gains {self.gain:.1f} nats over one for all; {chosen}"
        )


def inclusion(gain: Float) -> tuple[Float, float]:
    """w_j = pi e^(g_j) / (pi e^(g_j) + 1 - pi) of gains (d,) in nats, and pi = (sum of w + 1/2) / (d + 1).

    pi maximises prod_j (pi e^(g_j) + 1 - pi) sqrt(pi (1 - pi)), whose logarithm is concave: there is one such pi.

    >>> weight, prior = inclusion(np.array([5.0, 5.0, -1.0, -1.0]))
    >>> weight.round(3).tolist(), round(prior, 3)
    ([0.997, 0.997, 0.427, 0.427], 0.669)
    """
    low, high = -np.log(2 * len(gain) + 1), np.log(2 * len(gain) + 1)  # of 1/2 and of d + 1/2 in d + 1
    for _ in range(HALVINGS):
        logit = (low + high) / 2
        if expit(gain + logit).sum() + 0.5 > (len(gain) + 1) * expit(logit):
            low = logit
        else:
            high = logit
    return expit(gain + high), float(expit(high))


@dataclass(frozen=True, eq=False)
class Inclusion:
    """The weights of all columns whose family the data choose; what they share is the prior pi."""

    trials: tuple[FamilyTrial, ...]

    @cached_property
    def weights(self) -> Mapping[str, float]:
        """By column, worked out when first asked for."""
        gain = np.array([trial.gain for trial in self.trials])
        return dict(zip((trial.name for trial in self.trials), inclusion(gain)[0].tolist(), strict=True))


@dataclass(frozen=True)
class Choice(Likelihood[Bins]):
    """The candidate with the largest sum of log p_-i(x_i | c_i), each row predicted by the others.

    p(x | c) is backed off to all classes together by one row. What that sum gains over the sum of log p_-i(x_i), one
    density of the same family for all classes, decides how probable it is that the column depends on the class: the
    weight w in w p(x | c) + (1 - w) p(x) (``FamilyTrial``). All is read from the bins of a column, so it is
    chosen anew after learning, forgetting and merging. While the distinct values fit the bins this is exact; beyond,
    values count as the centres of their bins.

    Densities are compared as probabilities of a recording step, the smallest gap between values; where the values lie
    on at most 256 steps, a density that gives all steps together more than one is divided by that. Histogram and
    Kernel must be better by log n nats, and so must densities where the values are counts; ties go to the candidate
    named first.
    """

    candidates: tuple[AnyFamily, ...]

    identifier: ClassVar[str] = "structure/choice"
    kinds: ClassVar[tuple[str, ...]] = ("quantitative", "count")
    leave_one_out: ClassVar[bool] = False  # labels choose

    def statistic(self, columns: Sequence[Column], n_groups: int) -> Bins:
        return Bins.empty([c.name for c in columns], n_groups)

    def fit(self, statistic: Bins, context: Context) -> ChoiceDensity:
        scores = LooFamilyScores.of(statistic, self.candidates).by_column(statistic.steps)
        return ChoiceDensity.of(
            FamilyTrial(name, Numbers(statistic, j, context.weights), self.candidates, known).check()
            for j, (name, known) in enumerate(zip(statistic.columns, scores, strict=True))
        )


@dataclass(frozen=True)
class LevelChoice(Likelihood[Tables]):
    """The same for categories: how strongly the levels of a class shrink toward those of all classes."""

    candidates: tuple[AnyFamily, ...]

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

    @cached_property
    def intervals(self) -> dict[str, Float]:
        return {name: values for density in self.densities for name, values in density.intervals.items()}

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

    @cached_property
    def _sum(self) -> BackedOffSum:
        return BackedOffSum(self.densities)

    def add(self, block: Block, out: Float) -> None:
        self._sum.add(block, out)

    def terms(self, block: Block) -> Float:
        return np.concatenate([density.terms(block) for density in self.densities], axis=1)


def weigh_together(densities: Sequence[Density]) -> tuple[Density, ...]:
    """The same, with the weights of all columns whose family the data choose worked out together."""
    chosen = [density for density in densities if isinstance(density, ChoiceDensity)]
    every = Inclusion(tuple(trial for density in chosen for trial in density.trials))
    return tuple(replace(d, inclusion=every) if isinstance(d, ChoiceDensity) else d for d in densities)
