"""Kappa: Cohen's, agreement beyond what chance would give."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayeskit.arrays import Float
from bayeskit.evaluation.intervals import agreement, dirichlet_interval
from bayeskit.evaluation.score import TableScore
from bayeskit.numerics.rates import Interval, ratio

if TYPE_CHECKING:
    from bayeskit.evaluation.confusion import Confusion


class Kappa(TableScore):
    """1 - observed / expected disagreement; NaN where none is expected."""

    name = "kappa"
    title = "Cohen's kappa"
    meaning = "agreement beyond what chance would give"
    larger_is_better = True
    limits = (-1.0, 1.0)

    def of_tables(self, tables: Float) -> Float:
        weight, true, done = tables.sum(axis=(-2, -1)), tables.sum(axis=-1), tables.sum(axis=-2)
        by_chance = weight**2 - (true * done[..., : true.shape[-1]]).sum(axis=-1)
        return 1 - ratio((weight - agreement(tables)) * weight, by_chance)

    def of_table(self, table: Confusion) -> Interval:
        return dirichlet_interval(self.of_tables, table.value(self.name), table.effective)
