"""FromRows: a likelihood that chooses what to count, derived as a whole from the rows it has learned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from bayeskit.arrays import Float
from bayeskit.data.block import Block
from bayeskit.data.schema import KINDS, Column
from bayeskit.densities.density import Density
from bayeskit.densities.likelihood import Context, Likelihood, Staged
from bayeskit.errors import InputError
from bayeskit.portable.program import Inputs, Term
from bayeskit.statistics.rows import CAP, Distinct, Rows

NONE = np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class SilentDensity(Density):
    """That of rows which are only kept: it says nothing of any class."""

    columns: tuple[str, ...]
    normalised: ClassVar[bool] = False

    def add(self, block: Block, out: Float) -> None:
        """Nothing is added."""

    def terms(self, block: Block) -> Float:
        return np.zeros((block.rows, len(self.columns), 1))

    def portable(self, inputs: Inputs) -> list[Term]:
        return []


@dataclass(frozen=True)
class FromRows(Likelihood[Distinct]):
    """The rows are kept, equal ones once with their weight; cuts, arcs, sets and tables are found in them anew.

    So what was learned in batches, merged, or learned beside rows since forgotten is, bit for bit, the model of one
    fit. A model of more than 200,000 different rows is refused, and its file holds the rows.
    """

    likelihood: Staged[Any] | None = None  # one that chooses what to count, before it has; None only keeps the rows

    identifier: ClassVar[str] = "structure/kept"  # in files
    kinds: ClassVar[tuple[str, ...]] = KINDS
    leave_one_out: ClassVar[bool] = False  # labels choose cuts and arcs

    def __post_init__(self) -> None:
        if self.likelihood is None:
            return
        if not isinstance(self.likelihood, Staged) or self.likelihood != self.likelihood.first_stage():
            raise InputError(
                f"Kept({self.likelihood!r}): give a likelihood that chooses what to count, before it chose"
            )

    def statistic(self, columns: Sequence[Column], n_groups: int) -> Distinct:
        return Distinct.empty(columns, n_groups)

    def fit(self, statistic: Distinct, context: Context) -> Density:
        if self.likelihood is None:
            return SilentDensity(tuple(c.name for c in statistic.columns))
        likelihood, counted = self.chosen(statistic, context)
        return likelihood.fit(counted, context)

    def chosen(self, rows: Distinct, context: Context) -> tuple[Staged[Any], Any]:
        """The likelihood with all that it chooses, and what it counts then."""
        assert self.likelihood is not None  # what only keeps rows is not asked
        likelihood = self.likelihood.first_stage()
        while True:
            counted = self._count(likelihood, rows, context)
            later = likelihood.next_stage(counted, context)
            if later is None:
                return likelihood, counted
            likelihood = later

    @staticmethod
    def _count(likelihood: Staged[Any], rows: Distinct, context: Context) -> Any:
        empty = likelihood.statistic(rows.columns, rows.groups)
        if isinstance(empty, Rows):
            return rows.sample(empty.most or CAP)
        levels = {name: (NONE, size) for name, size in rows.sizes.items()}
        return empty.place(np.arange(rows.groups), rows.groups, levels).update(
            replace(rows.block(), levels={} if context.domain is None else context.domain.levels)
        )
