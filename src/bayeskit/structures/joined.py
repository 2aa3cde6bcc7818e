"""Joined: the information of small sets of columns, each taken as one, on the class; all together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import prod
from numbers import Integral
from typing import ClassVar, Self

import numpy as np

from bayeskit.arrays import FRONT, Float
from bayeskit.data.schema import KINDS
from bayeskit.densities.likelihood import Context
from bayeskit.errors import InputError
from bayeskit.numerics.cut_points import best_first
from bayeskit.statistics.bins import Bins
from bayeskit.statistics.sliced import Sliced
from bayeskit.statistics.tables import Tables
from bayeskit.structures.discrete import MDLP, Discrete, RatioDensity
from bayeskit.structures.shrinkage import OccupiedCells, strengths_of

WIDTH = 12  # columns that sets are made of
CELLS = 1 << 15  # of one set and all classes: a quarter of a megabyte
SURE = 0.5  # pseudo-rows of each class in its share

Set = tuple[str, ...]


@dataclass(frozen=True)
class Joined(Discrete):
    """log p(x | c) = sum over sets S of columns of log P(c | x_S)/P(c), divided by how many sets a column is in.

    Sets are every column alone, and of the sets of 2 to ``n`` columns the ``most`` that tell more of the class than any
    smaller set within them, by the score of rows that are each predicted by the others. They are made of the 12 columns
    that are most informative by themselves. P(c | x_S) shrinks toward P(c) with the pseudo-rows that leave-one-out
    finds best: a combination never seen says nothing. Without one of its values, a set is the smaller set of the
    others.

    The rows are read once for the cuts, once for the columns, once for all sets tried and once for those kept, which
    are then part of the model, as cuts are.
    """

    cuts: str = MDLP
    n: int = 3
    most: int = 100
    tried: tuple[Set, ...] | None = field(default=None, repr=False)  # those to choose from, once known
    sets: tuple[Set, ...] | None = field(default=None, repr=False)  # those kept, single columns first, once known

    identifier: ClassVar[str] = "structure/aje"
    kinds: ClassVar[tuple[str, ...]] = KINDS
    leave_one_out: ClassVar[bool] = False  # labels chose the sets

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, value, least, largest in (("n", self.n, 1, 4), ("sets", self.most, 0, 10_000)):
            if isinstance(value, bool) or not isinstance(value, Integral) or not least <= int(value) <= largest:
                raise InputError(f"{name}={value!r}: give a whole number from {least:,} to {largest:,}")

    def first_stage(self) -> Self:
        return replace(super().first_stage(), tried=None, sets=None)

    @property
    def choices(self) -> tuple[str, ...]:
        return super().choices if self.sets is None else (*super().choices, "the sets of columns")

    @property
    def factor_sets(self) -> Sequence[Set] | None:
        return self.sets

    def tables(self, columns: Sequence[str]) -> Mapping[str, Sequence[Set]]:
        joined = (self.tried or ()) if self.sets is None else [subset for subset in self.sets if len(subset) > 1]
        return {"levels": [(name,) for name in columns], "sets": joined}

    def next_stage(self, statistic: Bins | Sliced, context: Context) -> Self | None:
        if isinstance(statistic, Bins):
            return self.cut(statistic)
        if self.sets is not None:
            return None
        levels = statistic["levels"]
        alone = dict(zip(levels.tables, _gains(levels), strict=True))
        if self.tried is None:
            return replace(self, tried=self._able(alone, levels.sizes, statistic.groups))
        gain = alone | dict(zip(self.tried, _gains(statistic["sets"]), strict=True))
        more = {subset: gain[subset] - max(0.0, *(gain.get(s, 0.0) for s in _within(subset))) for subset in self.tried}
        return replace(self, tried=(), sets=(*alone, *_best(more, self.most)))

    def _able(self, alone: Mapping[Set, float], sizes: Mapping[str, int], classes: int) -> tuple[Set, ...]:
        """The sets of the most informative columns, but those of many cells."""
        several = [subset for subset in alone if sizes[subset[0]] > 1]
        best = set(_best({subset: alone[subset] for subset in several}, WIDTH))
        columns = [subset[0] for subset in several if subset in best]
        made = (subset for size in range(2, self.n + 1) for subset in combinations(columns, size))
        return tuple(subset for subset in made if classes * prod(sizes[name] for name in subset) <= CELLS)

    def fit(self, statistic: Sliced, context: Context) -> RatioDensity:
        names = statistic.slices.columns
        place = {name: j for j, name in enumerate(names)}
        kept = self.sets or ()
        counted: dict[Set, Float] = {}
        for tables in (statistic["levels"], statistic["sets"]):
            counted |= dict(zip(tables.tables, tables.counts(range(len(tables.tables))), strict=True))
        counts = [counted[subset] for subset in kept]
        strengths, _ = evidence_strengths(counts)
        logs = [class_evidence(table, strength) for table, strength in zip(counts, strengths.tolist(), strict=True)]
        places = [tuple(place[name] for name in subset) for subset in kept]
        sizes = [statistic["levels"].sizes[name] for name in names]
        density = RatioDensity.of(statistic.slices, places, sizes, logs, statistic.groups, strengths.tolist())
        several = [subset for subset in kept if any(statistic["levels"].sizes[name] > 1 for name in subset)]
        copies = sum(map(len, several)) / max(len({name for subset in several for name in subset}), 1)
        return replace(density, scale=1 / max(copies, 1.0))


def _best(gains: Mapping[Set, float], most: int) -> list[Set]:
    """The sets of most gain, the best first."""
    sets = list(gains)
    order = best_first(np.array(list(gains.values()), dtype=np.float64), [tuple(sorted(subset)) for subset in sets])
    return [sets[j] for j in order[:most]]


def _within(subset: Set) -> Sequence[Set]:
    """The sets of one column less."""
    return list(combinations(subset, len(subset) - 1))


def _gains(tables: Tables) -> list[float]:
    """Nats by which each set predicts the classes of the rows better than their shares do, each row by the others."""
    _, gains = evidence_strengths(list(tables.counts(range(len(tables.tables)))))
    found: list[float] = gains.tolist()
    return found


def evidence_strengths(counts: Sequence[Float]) -> tuple[Float, Float]:
    """From counts (K, ...): by how many pseudo-rows P(c | x_S) shrinks toward P(c), and what it gains over P(c):
    (sets,).
    """
    cells = OccupiedCells.of([table.reshape(1, len(table), -1).swapaxes(1, 2) for table in counts])
    shares = np.concatenate([np.empty(0), *(class_share(table) for table in counts)])[cells.margin]
    backoff = cells.best([(1.0, shares)], strengths_of(None, len(counts)))
    return backoff.strength, backoff.score - cells.score(shares[None])[0]


def class_share(counts: Float) -> Float:
    """P(c) among the rows of a table: (K,)."""
    of_class = counts.reshape(len(counts), -1).sum(axis=1)
    out: Float = (of_class + SURE) / (of_class.sum() + SURE * len(of_class))
    return out


def class_evidence(counts: Float, strength: float) -> Float:
    """log P(c | x_S)/P(c) with a place in front of each axis for missing values, summed out: (levels + 2 ..., K)."""
    share, whole = class_share(counts), counts
    for axis in range(1, counts.ndim):
        summed = whole.sum(axis=axis, keepdims=True)
        whole = np.concatenate([*[summed] * FRONT, whole], axis=axis)
    whole = np.moveaxis(whole, 0, -1)
    logs: Float = np.log((whole / share + strength) / (whole.sum(axis=-1, keepdims=True) + strength))
    logs[(slice(FRONT),) * (logs.ndim - 1)] = 0.0  # nothing is known, but for rounding
    logs[..., counts.reshape(len(counts), -1).sum(axis=1) == 0] = 0.0  # nothing is known of a class without rows
    if max(counts.shape[1:]) < 2:  # a constant column is not informative
        logs[:] = 0.0
    return logs
