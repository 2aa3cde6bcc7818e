"""Coverage: the share of rows that were decided."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayeskit.arrays import Float
from bayeskit.evaluation.score import SumScore, unless_grouped
from bayeskit.numerics.rates import Interval, ratio, wilson

if TYPE_CHECKING:
    from bayeskit.evaluation.measures import Measures
    from bayeskit.evaluation.score_sums import ScoreSums


class Coverage(SumScore):
    """Share of rows that were decided, not left undecided."""

    name = "coverage"
    title = "Coverage"
    meaning = "share of rows that were decided"
    topic = "costs"
    larger_is_better = True
    percent = True
    headline = True
    needs = "reject"

    def of_sums(self, sums: ScoreSums) -> Float:
        return ratio(sums.decided[:, 0], sums.weight)

    @unless_grouped
    def interval(self, found: Measures) -> Interval:
        return wilson(self.value(found), found.rows)
