"""AUC by fold: the mean over folds of their areas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayeskit.evaluation.intervals import known_mean, no_interval
from bayeskit.evaluation.scores.auc import AUC
from bayeskit.numerics.rates import Interval

if TYPE_CHECKING:
    from bayeskit.evaluation.measures import Measures


class FoldAUC(AUC):
    """The area among rows of one fold, which met the same model; NaN for leave-one-out, where no two did."""

    name = "auc_by_fold"
    title = "AUC by fold"
    meaning = "AUC among rows that met the same model"
    headline = False
    needs_folds = True

    def value(self, found: Measures) -> float:
        if found.left_out:
            return float("nan")
        return known_mean(found.mean_fold_areas) if found.divided else known_mean(found.areas)

    def interval(self, found: Measures) -> Interval:
        return no_interval("no two rows met the same model") if found.left_out else self._exact(found)
