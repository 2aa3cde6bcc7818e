"""Kept: the foretold rows themselves, for measures that need all of them at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bayeskit.arrays import Bool, Float, Int
from bayeskit.curve import curve
from bayeskit.evaluation.intervals import by_values, known_mean, normal
from bayeskit.evaluation.methods import Rows
from bayeskit.evaluation.ranking import influence
from bayeskit.evaluation.scores import Scores, Stakes
from bayeskit.proportion import Interval
from bayeskit.reliability import BINS, FIELDS, gap, mass_bins, tallied

PARTS, RESAMPLES = 200, 200


@dataclass(frozen=True)
class Trial:
    """One division of the rows, with each tested row foretold by a model that never saw it."""

    proba: Float  # (n, K), NaN where a row was not tested
    fold: Int  # (n,) -1 where a row was not tested
    action: Int | None = None  # (n,) what the model did: a class, or from K on another action; None: the most probable

    @property
    def done(self) -> Int:
        """What the model did with each row, -1 where it was not tested: (n,)."""
        done: Int = np.argmax(self.proba, axis=1) if self.action is None else self.action
        return np.where(self.fold >= 0, done, -1)

    def folds(self) -> Iterator[Bool]:
        """The rows of each tested fold."""
        return (self.fold == f for f in np.unique(self.fold).tolist() if f >= 0)


@dataclass(frozen=True)
class Kept:
    """All rows with what was foretold of them, once for each time they were divided."""

    rows: Rows
    trials: tuple[Trial, ...]

    @cached_property
    def proba(self) -> Float:
        """The mean over the repeats in which a row was tested, NaN where it never was: (n, K)."""
        if len(self.trials) == 1:
            return self.trials[0].proba
        tested = np.sum([trial.fold >= 0 for trial in self.trials], axis=0)[:, None]
        summed = np.sum([np.where(trial.fold[:, None] >= 0, trial.proba, 0.0) for trial in self.trials], axis=0)
        mean: Float = np.divide(summed, tested, out=np.full(summed.shape, np.nan), where=tested > 0)
        return mean

    @cached_property
    def action(self) -> Int:
        """What was done most often over the repeats, the first action in a tie; -1 for rows never tested: (n,)."""
        if len(self.trials) == 1:
            return self.trials[0].done
        each = np.stack([trial.done for trial in self.trials])
        votes = np.stack([(each == a).sum(axis=0) for a in range(int(each.max(initial=0)) + 1)])
        return np.where(votes.any(axis=0), np.argmax(votes, axis=0), -1)

    def areas(self) -> Float:
        """Exact areas under the curves of each class against the rest, the mean over repeats: (K,)."""
        found: Float = np.mean([self._areas(trial, trial.fold >= 0) for trial in self.trials], axis=0)
        return found

    def value(self, name: str) -> float:
        """ "auc" or "ece_mass" over all rows, the mean over repeats."""
        return float(np.mean([self._value(name, trial, trial.fold >= 0) for trial in self.trials]))

    def by_fold(self, name: str) -> Float:
        """The same in every tested fold."""
        return np.array([self._value(name, trial, some) for trial in self.trials for some in trial.folds()])

    def interval(self, name: str, value: float, stakes: Stakes | None) -> Interval:
        """Of a measure without folds to compare, from the rows of the first trial."""
        if name == "auc":
            return normal(value, self._area_error(), "DeLong")
        part, times = self._parts
        trial = self.trials[0]
        group = np.where((trial.fold >= 0) & self.rows.counted, part, -1)
        if name == "ece_mass":
            table = self._mass_table(trial, group >= 0, group)
            values = np.array([gap(np.tensordot(drawn, table, 1)) for drawn in times])
        else:
            pieces = Scores.of(self.rows.codes, trial.proba, self.rows.weights, group, PARTS, stakes, trial.action)
            values = np.array([getattr(pieces.total(drawn), name)[0] for drawn in times])
        return by_values(values, f"bootstrap of rows, {RESAMPLES} times")

    def _value(self, name: str, trial: Trial, some: Bool) -> float:
        if name == "auc":
            return known_mean(self._areas(trial, some))
        some = some & self.rows.counted
        return gap(self._mass_table(trial, some, np.zeros(len(some), dtype=np.int64)).sum(axis=0))

    def _areas(self, trial: Trial, some: Bool) -> Float:
        some = some & self.rows.counted
        codes, weights, p = self.rows.codes[some], self.rows.weights[some], trial.proba[some]
        return np.array([curve(p[:, k], codes == k, weights).area for k in range(p.shape[1])])

    def _mass_table(self, trial: Trial, some: Bool, part: Int) -> Float:
        """Reliability of the top probability over cells of equal mass, by part: (PARTS, FIELDS, BINS)."""
        p, codes, weights = trial.proba[some], self.rows.codes[some], self.rows.weights[some]
        best = np.argmax(p, axis=1)
        top = p[np.arange(len(p)), best]
        place = part[some] * BINS + mass_bins(top, weights)
        table = tallied(top, best == codes, weights, place, PARTS * BINS)
        return table.reshape(FIELDS, PARTS, BINS).swapaxes(0, 1)

    def _area_error(self) -> float:
        """Standard error of the mean area of the classes that have one."""
        trial = self.trials[0]
        some = (trial.fold >= 0) & self.rows.counted
        codes, w, p = self.rows.codes[some], self.rows.weights[some], trial.proba[some]
        sides = [codes == k for k in range(p.shape[1])]
        known = [k for k, mine in enumerate(sides) if mine.any() and not mine.all()]
        shares = sum((influence(p[:, k], sides[k], w) for k in known), np.zeros(len(codes)))
        return float(np.sqrt(w @ shares**2)) / max(len(known), 1)

    @cached_property
    def _parts(self) -> tuple[Int, Float]:
        """The part of each row, (n,), and how often each part is drawn, (RESAMPLES, PARTS).

        Sums over random parts are resampled instead of rows, at the same cost for any number of rows; while the rows
        are few, a part is a row.
        """
        rng = np.random.default_rng(0)
        n = len(self.rows)
        part: Int = rng.permutation(np.arange(n) % PARTS) if n > PARTS else np.arange(n)
        drawn = rng.multinomial(min(n, PARTS), np.full(min(n, PARTS), 1 / min(n, PARTS)), RESAMPLES)
        return part, np.pad(drawn, ((0, 0), (0, PARTS - drawn.shape[1]))).astype(np.float64)
