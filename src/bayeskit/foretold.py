"""Foretold: how well families foretell the cells of columns, each without one row of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bayeskit import _core
from bayeskit.arrays import Float
from bayeskit.data.support import ANY
from bayeskit.statistics.bins import Bins

WORST = -1e6  # what a row counts at least, so that one impossible row still lets candidates be compared
MANY = 0.05  # of the rows: fewer zeros are no mass of their own


class Recipe(NamedTuple):
    """A family as the core knows it."""

    name: str
    smoothing: float = 0.0
    zeros: float = -1.0  # pseudo-rows of a point mass at zero beside it; below 0 there is none
    whole: bool = False  # whether it gives probabilities, not densities


@dataclass(frozen=True)
class Foretold:
    """Sums over rows of log p, and the largest, of each column under each family.

    A row is foretold by all others, with one density for all classes and with one for each class that is backed off to
    all: (n_c f_c + f) / (n_c + 1), f = sum over c of n_c f_c / n. Densities count per recording step.
    """

    scores: Float  # (d, families, 2, 2) for all classes and by class: sum, largest; NaN where the core does not tell
    refused: tuple[tuple[str, ...], ...]  # (d, families) why a column cannot be of a family, "" where it may

    @classmethod
    def of(cls, bins: Bins, families: Sequence[Any]) -> Foretold:
        recipes = [getattr(family, "recipe", None) for family in families]
        refused = tuple(_refusals(bins, j, families) for j in range(len(bins.columns)))
        asked = [[recipe is not None and not no for recipe, no in zip(recipes, line, strict=True)] for line in refused]
        found = _core.foretold_scores(
            [recipe or Recipe("") for recipe in recipes],
            bins.centres,
            bins.offset,
            bins.weights,
            bins.pooled,
            bins.steps,
            np.array(asked, dtype=bool).reshape(len(refused), len(recipes)),
            WORST,
        )
        return cls(found.reshape(*found.shape[:2], 2, 2), refused)


def _refusals(bins: Bins, j: int, families: Sequence[Any]) -> tuple[str, ...]:
    """Why a column cannot be of each family, as far as its values tell."""
    span = bins.span(j)
    values, name, found = bins.centres[span], bins.columns[j], {}
    for support in {getattr(family, "support", ANY) for family in families}:
        found[support] = support.first_outside(values)
    few = any(getattr(family, "atom", False) for family in families) and not _many_zeros(bins, span)

    def refusal(family: Any) -> str:
        support = getattr(family, "support", ANY)
        if getattr(family, "atom", False) and few:
            return f"column {name!r} has few zeros; {type(family).__name__} is for many"
        value = found[support]
        return "" if value is None else support.refusal(name, value, type(family).__name__)

    return tuple(map(refusal, families))


def _many_zeros(bins: Bins, span: slice) -> bool:
    """Whether zeros are so many that they are a thing of their own, and so are the others."""
    pooled, zero = bins.pooled[span], np.searchsorted(bins.edges[span], 0.0)
    zeros = pooled[zero : zero + 1][bins.edges[span][zero : zero + 1] == 0].sum() / max(pooled.sum(), 5e-324)
    return bool(MANY <= zeros <= 1 - MANY)
