"""OutOfFold: the predicted rows themselves, for measures that need all of them at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bayeskit.arrays import Bool, Float, Int
from bayeskit.evaluation.areas import Areas, log_odds
from bayeskit.evaluation.gaps import Gaps
from bayeskit.evaluation.recalibration import Line, class_lines
from bayeskit.model.labelled_table import Rows
from bayeskit.numerics.rates import BINS, best_class, mass_bins, sum_cells


@dataclass(frozen=True)
class Repeat:
    """One division of the rows, with each tested row predicted by a model that never saw it."""

    proba: Float  # (n, K), NaN where a row was not tested
    fold: Int  # (n,) -1 where a row was not tested
    action: Int | None = None  # (n,) what the model did: a class, or from K on another action; None: the most probable
    logs: Float | None = None  # (n, K) log-probabilities, which do not round to 0 and 1; None: those of ``proba``

    @property
    def log_proba(self) -> Float:
        """log P(class | row), NaN where a row was not tested: (n, K)."""
        with np.errstate(divide="ignore"):
            return np.log(self.proba) if self.logs is None else self.logs

    @cached_property
    def best(self) -> Int:
        """The most probable class: (n,)."""
        return best_class(self.proba)

    @cached_property
    def odds(self) -> Float:
        """Log-odds of each class, NaN where a row was not tested: (n, K)."""
        return log_odds(self.log_proba)

    @property
    def done(self) -> Int:
        """What the model did with each row, -1 where it was not tested: (n,)."""
        done = self.best if self.action is None else self.action
        return np.where(self.fold >= 0, done, -1)

    def folds(self) -> Iterator[Bool]:
        """The rows of each tested fold."""
        return (self.fold == f for f in np.unique(self.fold).tolist() if f >= 0)


def repeat_lines(sloped: bool, rows: Rows, repeat: Repeat, mask: Bool) -> list[Line]:
    """The slope or intercept of each class against the rest, by some rows of a division, (n,)."""
    taken = slice(None) if mask.all() else mask
    return class_lines(sloped, rows.codes[taken], repeat.odds[taken], rows.weights[taken])


@dataclass(frozen=True)
class OutOfFold:
    """All rows with what was predicted of them, once for each time they were divided."""

    rows: Rows
    repeats: tuple[Repeat, ...]

    @cached_property
    def proba(self) -> Float:
        """The mean over the repeats in which a row was tested, NaN where it never was: (n, K)."""
        if len(self.repeats) == 1:
            return self.repeats[0].proba
        tested = np.sum([trial.fold >= 0 for trial in self.repeats], axis=0)[:, None]
        summed = np.sum([np.where(trial.fold[:, None] >= 0, trial.proba, 0.0) for trial in self.repeats], axis=0)
        mean: Float = np.divide(summed, tested, out=np.full(summed.shape, np.nan), where=tested > 0)
        return mean

    @cached_property
    def action(self) -> Int:
        """What was done most often over the repeats, the first action in a tie; -1 for rows never tested: (n,)."""
        if len(self.repeats) == 1:
            return self.repeats[0].done
        each = np.stack([trial.done for trial in self.repeats])
        votes = np.stack([(each == a).sum(axis=0) for a in range(int(each.max(initial=0)) + 1)])
        return np.where(votes.any(axis=0), np.argmax(votes, axis=0), -1)

    @cached_property
    def odds(self) -> Float:
        """Log-odds of each class by the mean probabilities over repeats, NaN where a row was never tested: (n, K)."""
        if len(self.repeats) == 1:
            return self.repeats[0].odds
        each = [np.where(trial.fold[:, None] >= 0, trial.log_proba, -np.inf) for trial in self.repeats]
        return log_odds(np.logaddexp.reduce(each, axis=0))  # how many repeats is the same for all classes of a row

    @cached_property
    def slopes(self) -> list[Line]:
        """Of recalibration, of each class by the first division: more repeats bring no more rows."""
        return self._lines(True)

    @cached_property
    def intercepts(self) -> list[Line]:
        """Likewise, of recalibration in the large."""
        return self._lines(False)

    def _lines(self, sloped: bool) -> list[Line]:
        first = self.repeats[0]
        return repeat_lines(sloped, self.rows, first, (first.fold >= 0) & self.rows.counted)

    @cached_property
    def gaps(self) -> Gaps:
        """Of the probability of each class to what came true, by the first division."""
        proba, came, weights = self._judged
        return Gaps.of(proba, proba, came, weights)

    @cached_property
    def apart(self) -> Gaps:
        """Of the share of each class to what came true in the same cells: resolution is what these are squared."""
        proba, came, weights = self._judged
        share = np.broadcast_to(weights @ came / weights.sum(), proba.shape)
        return Gaps.of(proba, share, came, weights)

    @cached_property
    def top_gaps(self) -> Gaps:
        """Of the top probability to whether that class came true."""
        top, came, weights = self.judged_top()
        return Gaps.of(top[:, None], top[:, None], came[:, None], weights)

    def judged_top(self) -> tuple[Float, Bool, Float]:
        """The top probability of the rows of the first division, whether that class came true, and weights: (n,)."""
        proba, came, weights = self._judged
        row, best = np.arange(len(proba)), best_class(proba)
        return proba[row, best], came[row, best], weights

    @property
    def _judged(self) -> tuple[Float, Bool, Float]:
        """Probabilities of the rows of the first division, whether they came true, (n, K) both, and weights: (n,)."""
        first = self.repeats[0]
        mask = (first.fold >= 0) & self.rows.counted
        taken = slice(None) if mask.all() else mask
        proba = first.proba[taken]
        return proba, self.rows.codes[taken][:, None] == np.arange(proba.shape[1]), self.rows.weights[taken]

    def areas(self) -> Float:
        """Exact areas under the curves of each class against the rest, the mean over repeats: (K,)."""
        others = [self._areas(trial, trial.fold >= 0) for trial in self.repeats[1:]]
        found: Float = np.mean([areas.area for areas in (self.first_areas, *others)], axis=0)
        return found

    @cached_property
    def first_areas(self) -> Areas:
        """Those of the first division, for an interval: more repeats bring no more rows."""
        return self._areas(self.repeats[0], self.repeats[0].fold >= 0)

    @cached_property
    def fold_areas(self) -> Float:
        """Areas of each class in every tested fold, NaN without rows on both sides: (folds, K)."""
        if len(self.repeats) == 1 and self.repeats[0].fold.max(initial=-1) <= 0:  # one fold has all there is
            return self.first_areas.area[None]
        return np.array([self._areas(trial, mask).area for trial in self.repeats for mask in trial.folds()])

    @cached_property
    def mass_tables(self) -> Float:
        """Reliability over cells of equal mass, of each repeat: (repeats, FIELDS, BINS)."""
        return np.array([self._mass_table(trial, trial.fold >= 0) for trial in self.repeats])

    @cached_property
    def fold_mass_tables(self) -> Float:
        """The same of every tested fold: (folds, FIELDS, BINS)."""
        return np.array([self._mass_table(trial, mask) for trial in self.repeats for mask in trial.folds()])

    def _mass_table(self, trial: Repeat, mask: Bool) -> Float:
        mask = mask & self.rows.counted
        p, codes, weights, best = trial.proba[mask], self.rows.codes[mask], self.rows.weights[mask], trial.best[mask]
        top = p[np.arange(len(p)), best]
        return sum_cells(top, best == codes, weights, mass_bins(top, weights), BINS)

    def _areas(self, trial: Repeat, mask: Bool) -> Areas:
        mask = mask & self.rows.counted
        return Areas.of(self.rows.codes[mask], trial.odds[mask], self.rows.weights[mask])
