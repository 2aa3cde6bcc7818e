"""Corrected: naive Bayes over levels and fine intervals, corrected by conditional likelihood."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np

from bayeskit.arrays import FRONT
from bayeskit.data.levels import Domain
from bayeskit.data.schema import KINDS, Column
from bayeskit.densities.likelihood import Context
from bayeskit.engines.workers import single_threaded_blas
from bayeskit.errors import InputError
from bayeskit.numerics.cut_points import CutPoints
from bayeskit.statistics.bins import Bins
from bayeskit.statistics.rows import Rows
from bayeskit.statistics.sliced import LEVELS, Sliced, Slices
from bayeskit.statistics.statistic import Statistic
from bayeskit.structures.correction import Correction, CorrectionSearch
from bayeskit.structures.discrete import MDLP, Discrete, RatioDensity
from bayeskit.structures.joined import class_evidence, evidence_strengths
from bayeskit.validation import integer

ROWS = 40_000  # different rows that a correction is fitted to; all are counted
FEWEST = 8  # intervals of a column of numbers, at least


@dataclass(frozen=True)
class Corrected(Discrete):
    """log P(c | x) = log P(c) + sum over columns of (weight_j log P(c | x_j)/P(c) + d_j(x_j)_c) + sum over pairs of
    d_ij(x_i, x_j)_c, + a constant.

    P(c | x_j) comes from counts, shrunk toward P(c) with the pseudo-rows that leave-one-out finds best. Weights and
    corrections d are fitted by penalised conditional likelihood: to evidence without each row's own mass, drawn toward
    no correction, neighbouring intervals of numbers toward each other. How strongly, and which pairs, is what predicts
    best the rows that inner folds hold out. Rows are read once for the cuts, once for the corrections, once to count.
    """

    bins: int = 64
    pairs: int = 40
    correction: Correction | None = field(default=None, repr=False, kw_only=True)  # once a pass has fitted it

    identifier: ClassVar[str] = "structure/corrected"
    kinds: ClassVar[tuple[str, ...]] = KINDS
    leave_one_out: ClassVar[bool] = False  # labels chose the corrections

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, value, least, largest in (("bins", self.bins, 2, 1024), ("pairs", self.pairs, 0, 1000)):
            if (found := integer(value)) is None or not least <= found <= largest:
                raise InputError(f"{name}={value!r}: give a whole number from {least:,} to {largest:,}")

    def first_stage(self) -> Self:
        return replace(super().first_stage(), correction=None)

    @property
    def choices(self) -> tuple[str, ...]:
        return super().choices if self.correction is None else (*super().choices, "the corrections of the columns")

    def tables(self, columns: Sequence[str]) -> Mapping[str, Sequence[tuple[str, ...]]]:
        return {LEVELS: [(name,) for name in columns]}

    def statistic(self, columns: Sequence[Column], n_groups: int) -> Statistic:
        if self.grid is not None and self.correction is None:
            return Rows.empty(columns, n_groups, ROWS)
        return super().statistic(columns, n_groups)

    def cut(self, bins: Bins) -> Self:
        if self.cuts == MDLP:
            return super().cut(bins)
        columns = [bins.column(j) for j in range(len(bins.columns))]
        made = []
        for column in columns:
            cells = int(np.clip(np.sqrt(float(column.pooled.sum())), FEWEST, max(self.bins, FEWEST)))
            cuts = CutPoints(column, held=True).heavy_apart(min(cells, self.bins))
            made.append((column.name, tuple(np.unique(cuts[~np.isnan(cuts)]).tolist())))
        return replace(self, grid=tuple(made))

    def next_stage(self, statistic: object, context: Context) -> Self | None:
        if isinstance(statistic, Bins):
            return self.cut(statistic)
        if not isinstance(statistic, Rows):
            return None
        slices = Slices.of(statistic.columns, dict(self.grid or ()))
        domain = _domain(context)
        with single_threaded_blas():  # its threads cost more than they save in vectors of this size
            return replace(self, correction=CorrectionSearch.of(statistic, slices, domain).found(domain, self.pairs))

    def fit(self, statistic: Sliced, context: Context) -> CorrectedDensity:
        names, domain = statistic.slices.columns, _domain(context)
        correction = self.correction or Correction((), ())
        sizes = statistic[LEVELS].sizes
        counts = list(statistic[LEVELS].counts(range(len(names))))
        strengths, _ = evidence_strengths(counts)
        main, place = correction.of_columns(domain, sizes), {name: j for j, name in enumerate(names)}
        tables = []
        for name, table, strength in zip(names, counts, strengths.tolist(), strict=True):
            weight, more = main.get(name, (1.0, 0.0))
            logs = weight * class_evidence(table, strength)
            logs[FRONT:] += more
            tables.append(logs)
        members: list[tuple[int, ...]] = [(j,) for j in range(len(names))]
        for (a, b), pair in correction.of_pairs(domain, sizes).items():
            first, second = sorted((place[a], place[b]))
            members.append((first, second))
            turned = pair if first == place[a] else pair.swapaxes(0, 1)
            tables.append(np.pad(turned, ((FRONT, 0), (FRONT, 0), (0, 0))))
        every = [*strengths.tolist(), *[np.inf] * (len(members) - len(names))]
        levels = [sizes[name] for name in names]
        return CorrectedDensity.of(statistic.slices, members, levels, tables, statistic.groups, every)


@dataclass(frozen=True)
class CorrectedDensity(RatioDensity):
    """Tables of columns and of pairs."""

    @property
    def additive(self) -> bool:  # type: ignore[override]
        return all(len(columns) == 1 for columns in self.members)


def _domain(context: Context) -> Domain:
    """What the codes mean: what is held of levels and classes outlives their codes."""
    if context.domain is None:
        raise InputError("corrections are held by class and level; fit them in a model, which knows these")
    return context.domain
