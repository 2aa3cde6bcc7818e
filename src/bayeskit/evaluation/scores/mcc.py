"""MCC: Matthews' correlation of truth and prediction."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayeskit.arrays import Float
from bayeskit.evaluation.intervals import agreement, dirichlet_interval
from bayeskit.evaluation.score import TableScore
from bayeskit.numerics.rates import Interval

if TYPE_CHECKING:
    from bayeskit.evaluation.confusion import Confusion


class MCC(TableScore):
    """(n Σ n_cc - Σ t_c p_c) / √((n² - Σ t²)(n² - Σ p²)) of true t and predicted p; 0 where either is constant."""

    name = "mcc"
    title = "Matthews' correlation"
    meaning = "correlation of truth and prediction"
    larger_is_better = True
    limits = (-1.0, 1.0)

    def of_tables(self, tables: Float) -> Float:
        weight, true, done = tables.sum(axis=(-2, -1)), tables.sum(axis=-1), tables.sum(axis=-2)
        right, by_chance = agreement(tables) * weight, (true * done[..., : true.shape[-1]]).sum(axis=-1)
        sides = [np.sqrt(np.maximum(weight**2 - (side**2).sum(axis=-1), 0.0)) for side in (done, true)]
        below = sides[0] * sides[1]
        out: Float = np.divide(right - by_chance, below, out=np.where(weight > 0, 0.0, np.nan), where=below > 0)
        return out

    def of_table(self, table: Confusion) -> Interval:
        return dirichlet_interval(self.of_tables, table.value(self.name), table.effective)
