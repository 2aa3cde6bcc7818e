"""LooFamilyScores: how well families predict the cells of columns, each without one row of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

import numpy as np

from bayeskit import _core
from bayeskit.arrays import Bool, Float, Int
from bayeskit.densities.likelihood import Family, Recipe
from bayeskit.errors import InputError
from bayeskit.statistics.bins import BinnedColumn, Bins

WORST = -1e6  # what a row counts at least, so that one impossible row still lets candidates be compared
MANY = 0.05  # of the rows: fewer zeros are no mass of their own
CERTAIN = 0.05  # log-probability of a step above which a density is refused


@dataclass(frozen=True)
class LooFamilyScores:
    """Sums over rows of log p, and the largest, of each column under each family.

    A row is predicted by all others, with one density for all classes and with one for each class that is backed off to
    all: (n_c f_c + f) / (n_c + 1), f = sum over c of n_c f_c / n. Densities count per recording step.
    """

    scores: Float  # (d, families, 2, 2) for all classes and by class: sum, largest; NaN where the core does not tell
    allowed: Bool  # (d, families) whether the values may be of a family, as far as its support tells
    values: Int  # (d,) how many there are, up to the budget of the bins

    @classmethod
    def of(cls, bins: Bins, families: Sequence[Family[Any]]) -> LooFamilyScores:
        recipes = [family.recipe for family in families]
        allowed = _mark_allowed(bins, families)
        found = _core.loo_family_scores(
            [recipe or Recipe("") for recipe in recipes],
            bins.centres,
            bins.offset,
            bins.weights,
            bins.pooled,
            bins.steps,
            allowed & [recipe is not None for recipe in recipes],
            WORST,
        )
        scores, values = found.reshape(*found.shape[:2], 2, 2), np.diff(bins.offset)
        scores[values < 2] = 0.0  # one value says nothing, whatever the family
        return cls(scores, allowed, values)

    def by_column(self, steps: Float) -> Iterator[ColumnLooScores]:
        """Column by column."""
        sums, largest = self.scores[..., 0], self.scores[..., 1]
        narrow = (steps > 0)[:, None] & (largest > CERTAIN).any(axis=2)
        fits: Bool = self.allowed & np.isfinite(sums).all(axis=2) & ~narrow
        enough = np.logical_or.reduce(fits, axis=1)
        lines = zip(self.scores, self.allowed, self.values.tolist(), steps.tolist(), enough.tolist(), strict=True)
        for line in lines:
            yield ColumnLooScores(*line)


@dataclass(frozen=True)
class ColumnLooScores:
    """What the core knows about one column."""

    scores: Float  # (families, 2, 2) as above
    allowed: Bool  # (families,)
    values: int
    step: float
    enough: bool  # whether some family is known to fit

    def of(self, family: int) -> tuple[float, float] | None:
        """Scores of a family with one density for all classes and with one for each; None where it does not know."""
        if not self.allowed[family]:
            raise InputError
        (pooled, most), (by_class, largest) = self.scores[family].tolist()
        if isnan(pooled) or isnan(by_class):
            return None
        check_step(max(most, largest), self.step)
        return pooled, by_class


def check_step(largest: float, step: float) -> None:
    """Refuse a density that gives a recording step more than the probability there is."""
    if step > 0 and largest > CERTAIN:
        raise InputError("it is narrower than a recording step, which it would predict with more than certainty")


def _mark_allowed(bins: Bins, families: Sequence[Family[Any]]) -> Bool:
    """Which families the values of each column may be of; without values there are no zeros either: (d, families)."""
    some = np.flatnonzero(np.diff(bins.offset))
    out: Bool = np.tile([not family.point_mass for family in families], (len(bins.columns), 1))
    if not len(some):
        return out
    begin = bins.offset[some]
    outermost = bins.centres[np.stack([begin, bins.offset[some + 1] - 1])]
    whole = np.logical_and.reduceat(bins.centres == np.floor(bins.centres), begin)
    zero = np.add.reduceat(np.where(bins.edges == 0, bins.pooled, 0.0), begin) / np.add.reduceat(bins.pooled, begin)
    for place, family in enumerate(families):
        support = family.support
        ends = support.inside(outermost).all(axis=0)
        fits = ends & whole if support.integer else ends
        out[some, place] = fits & (zero >= MANY) & (zero <= 1 - MANY) if family.point_mass else fits
    return out


def refusal(family: Family[Any], column: BinnedColumn) -> str:
    """Why a column cannot be of a family that its values do not allow."""
    support, name = family.support, type(family).__name__
    outside = column.centres[~support.inside(column.centres)]
    if len(outside):
        return support.refusal(column.name, float(outside[0]), name)
    return f"column {column.name!r} has few zeros; {name} is for many"
