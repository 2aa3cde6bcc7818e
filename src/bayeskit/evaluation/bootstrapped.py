"""Bootstrapped: the .632 and .632+ estimates of Efron and Tibshirani, with the delta method after the bootstrap.

Improvements on cross-validation: the .632+ bootstrap method, JASA 92, 1997.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtri

from bayeskit.arrays import Float
from bayeskit.evaluation.decisions import DecisionCosts
from bayeskit.evaluation.intervals import no_interval
from bayeskit.evaluation.measures import Measures
from bayeskit.evaluation.out_of_fold import OutOfFold
from bayeskit.evaluation.score import SumScore
from bayeskit.evaluation.score_sums import ScoreSums
from bayeskit.evaluation.scores import BY_ROW, SCORES
from bayeskit.numerics.rates import LEVEL, Interval

FEWEST = 50  # repeats for a standard error


@dataclass(frozen=True)
class Influence:
    """What each row moves the mean loss of rows by models that have not drawn them: the delta method's derivatives.

    D_i = w_i n/W (E_i - E) + n e_n cov(N_i, q), e_n = (1 - 1/n)^-n: E_i is the mean loss of row i over the repeats that
    have not drawn it, N_i how often it was drawn, q = Σ_k w_k/W [N_k = 0] (loss - E_k) of a repeat. Taking E_k off
    leaves the same derivative with far less chance in it; the rest of the chance, n² e_n² var(N_i q)/B, is taken off
    the variance Σ D_i² / n².
    """

    error: Float  # (BY_ROW,) standard error of the mean loss of rows not drawn

    @classmethod
    def of(cls, loss: Float, repeats: Float, weights: Float, draws: Iterable[Float]) -> Influence:
        """From the mean loss of each row, (n, BY_ROW), NaN for rows always drawn.

        ``repeats`` are the sums of weighted loss over the rows each repeat has not drawn, (B, BY_ROW), and ``draws``
        how often each row was drawn: B of (n,).
        """
        known = (weights > 0) & np.isfinite(loss).all(axis=1)
        n, share = int(known.sum()), weights[known] / weights[known].sum()
        mine = loss[known]
        first = np.zeros_like(mine)
        second, middle = np.zeros_like(mine), np.zeros(mine.shape[1])
        often = np.zeros(n)
        for drawn, said in zip(draws, repeats, strict=True):
            times = drawn[known]
            q = said / weights[known].sum() - (share * (times == 0)) @ mine
            first += (times - 1)[:, None] * q
            second += ((times - 1)[:, None] * q) ** 2
            middle += q
            often += times - 1
        b = len(repeats)
        covariance = first / b - np.outer(often / b, middle / b)
        size = n * (1 - 1 / n) ** -n
        direct = n * share[:, None] * (mine - share @ mine)
        squares = ((direct + size * covariance) ** 2).sum(axis=0)
        chance = size**2 * (second / b - (first / b) ** 2).sum(axis=0) / b
        return cls(np.sqrt(np.maximum(squares - chance, (direct**2).sum(axis=0))) / n)


@dataclass(frozen=True)
class Bootstrapped:
    """Measures of a bootstrap: of models on the rows they did not draw, and of the model of all rows on its own rows.

    A score is 0.368 apparent + 0.632 new, or with ``plus`` more of the new, the more the model overfits.
    """

    new: ScoreSums  # one group: every row by the models that have not drawn it, counted once in all
    each: ScoreSums  # a group for each repeat: the rows it has not drawn
    apparent: ScoreSums  # one group: the model of all rows on these rows
    chance: ScoreSums  # one group: its answers for every row against every row's class
    kept: OutOfFold  # mean probabilities of rows not drawn
    influence: Influence | None = None  # None where rows come in groups
    decision_costs: DecisionCosts | None = None
    plus: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name in self.out.names if not SCORES[name].needs_folds)

    @property
    def areas(self) -> Float:
        return self.out.areas

    @property
    def total(self) -> ScoreSums:
        return self.new

    @cached_property
    def out(self) -> Measures:
        """Of the mean probabilities of rows not drawn, for what needs all rows at once."""
        return Measures(self.new, 1, 0.0, self.kept, decision_costs=self.decision_costs)

    @property
    def confusion(self) -> Float:
        """Blended as the accuracy is, which it therefore has: (K, actions)."""
        new, apparent = (sums.confusion[0] for sums in self.new.align(self.apparent))
        weight = self._weight("accuracy", self.plus)
        blend: Float = weight * new + (1 - weight) * apparent * (new.sum() / apparent.sum())
        return blend

    @property
    def squared(self) -> Float:
        """Squared weights of the rows, by what was done by models that have not drawn them: (K, actions)."""
        table: Float = self.new.align(self.apparent)[0].squared[0]
        return table

    def value(self, name: str) -> float:
        """0.368 apparent + 0.632 new; areas and equal-mass calibration of rows not drawn."""
        return self._blend(name, self.plus) if isinstance(SCORES[name], SumScore) else self.out.value(name)

    def by_fold(self, name: str) -> Float:
        """In every repeat: (repeats,)."""
        score = SCORES[name]
        if not isinstance(score, SumScore):
            return np.array([self.value(name)])
        weight = self._weight(name, self.plus)
        blend: Float = weight * score.of_sums(self.each) + (1 - weight) * float(score.of_sums(self.apparent)[0])
        return blend

    def other(self, name: str) -> float:
        """The .632+ estimate beside .632, or the other way round."""
        return self._blend(name, not self.plus)

    def _blend(self, name: str, plus: bool) -> float:
        weight, (new, apparent, chance) = self._weight(name, plus), self._three(name)
        better, worse = (max, min) if SCORES[name].larger_is_better else (min, max)
        capped = better(new, worse(apparent, chance))
        return weight * (capped if plus else new) + (1 - weight) * apparent

    def _weight(self, name: str, plus: bool) -> float:
        """0.632 / (1 - 0.368 R), where R is how far from apparent to chance the new score lies, from 0 to 1."""
        if not plus:
            return 0.632
        sign = -1.0 if SCORES[name].larger_is_better else 1.0
        new, apparent, chance = (sign * score for score in self._three(name))
        rate = min((new - apparent) / (chance - apparent), 1.0) if new > apparent and chance > apparent else 0.0
        return 0.632 / (1 - 0.368 * rate)

    def _three(self, name: str) -> tuple[float, float, float]:
        score = SCORES[name]
        assert isinstance(score, SumScore)
        new, apparent, chance = (float(score.of_sums(sums)[0]) for sums in (self.new, self.apparent, self.chance))
        return new, apparent, chance

    def interval(self, name: str) -> Interval:
        """± z standard errors of the new score, by the delta method; none where overfitting is more than one of them.

        Then the blend is off by an unknown part of 0.368 (new - apparent), which no standard error shows.
        """
        place = [score.name for score in BY_ROW]
        if name not in place:
            return no_interval("none for a bootstrap; cross-validate")
        if self.influence is None:
            return no_interval("rows come in groups")
        if len(self.each.confusion) < FEWEST:
            return no_interval(f"fewer than {FEWEST} repeats")
        error, (new, apparent, _) = float(self.influence.error[place.index(name)]), self._three(name)
        if not 0.368 * abs(new - apparent) <= error:
            return no_interval("the model overfits; cross-validate")
        value, half = self.value(name), float(ndtri((1 + LEVEL) / 2)) * error
        how = f".632{'+' if self.plus else ''}, delta method; .632{'' if self.plus else '+'} is {self.other(name):.4f}"
        return SCORES[name].within(Interval(value - half, value + half, how))
