"""FamilyTrial: what was tried for one column; Inclusion: how probable it is that columns depend on the class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from bayeskit.arrays import Float
from bayeskit.densities.density import Density
from bayeskit.densities.likelihood import Family, describe_family
from bayeskit.errors import InputError
from bayeskit.structures.family_fit import Levels, Numbers
from bayeskit.structures.family_scores import ColumnLooScores

HALVINGS = 64  # of an interval of logits: to the last digit


class Tried(NamedTuple):
    """A candidate and its sums over rows, each without itself, in nats."""

    family: Family[Any]
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
    candidates: tuple[Family[Any], ...]
    loo_scores: ColumnLooScores | None = None  # what the core knows about it

    @cached_property
    def _tried(self) -> tuple[tuple[Tried, ...], tuple[tuple[Family[Any], str], ...]]:
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
        return tuple(some for _, some in tried), tuple(refused)

    @property
    def scores(self) -> tuple[Tried, ...]:
        return self._tried[0]

    @property
    def gain(self) -> float:
        """What a density for each class gains over one for all, in nats: of the candidate that won."""
        return self.scores[0].gain

    @property
    def refused(self) -> tuple[tuple[Family[Any], str], ...]:
        """Candidates that do not fit, and why."""
        return tuple((family, why or self.rows.refusal(family)) for family, why in self._tried[1])

    def check(self) -> FamilyTrial:
        """Itself, unless no candidate fits; what the core told may be enough to know."""
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
