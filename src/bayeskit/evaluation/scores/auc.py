"""AUC: the area under the ROC curve of each class against the rest."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from bayeskit.arrays import Float
from bayeskit.evaluation.intervals import known_mean, no_interval
from bayeskit.evaluation.score import Score, unless_grouped
from bayeskit.numerics.rates import Interval

if TYPE_CHECKING:
    from bayeskit.evaluation.measures import Measures


class AUC(Score):
    """The chance that a row of a class has higher log-odds of it than another row, averaged over the classes.

    It compares rows of different folds, which met different models: that makes it smaller than the area of any one of
    them, the more so the fewer rows there are. ``auc_by_fold`` compares rows of one fold only.
    """

    name = "auc"
    title = "AUC"
    meaning = "chance that a row of a class is ranked above another"
    topic = "ranking"
    larger_is_better = True
    headline = True

    def value(self, found: Measures) -> float:
        return known_mean(found.areas)

    def by_fold(self, found: Measures) -> Float:
        return np.array([known_mean(areas) for areas in found.fold_areas])

    def interval(self, found: Measures) -> Interval:
        interval = self._exact(found)
        if found.ranks is None:
            return interval
        return replace(interval, how=f"{interval.how}; from bins, off by {found.area_bound:.1g} at most")

    @unless_grouped
    def _exact(self, found: Measures) -> Interval:
        """Of the mean area of the models of the folds; within folds, so that pooling does not move it."""
        areas = found.whole_areas
        if areas is None:
            return no_interval("no rows")
        if not found.divided or not len(found.fold_areas):
            return areas.interval()
        interval = areas.interval(found.mean_fold_areas, len(found.fold_areas) // found.repeats)
        value = self.value(found)
        return replace(interval, low=min(interval.low, value), high=max(interval.high, value))
