"""Covered accuracy: the accuracy of the rows that were given a class."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayeskit.arrays import Float
from bayeskit.evaluation.score import unless_grouped
from bayeskit.evaluation.scores.coverage import Coverage
from bayeskit.numerics.rates import Interval, ratio, wilson

if TYPE_CHECKING:
    from bayeskit.evaluation.measures import Measures
    from bayeskit.evaluation.score_sums import ScoreSums


class CoveredAccuracy(Coverage):
    """Accuracy among the rows that were decided by naming a class."""

    name = "covered_accuracy"
    title = "Accuracy if decided"
    meaning = "of the rows that were given a class"

    def of_sums(self, sums: ScoreSums) -> Float:
        return ratio(sums.decided[:, 2], sums.decided[:, 1])

    @unless_grouped
    def interval(self, found: Measures) -> Interval:
        named = float(found.total.decided[0, 1] / found.total.weight[0])
        return wilson(self.value(found), found.rows * named)
