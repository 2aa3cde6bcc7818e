"""Calibration slope: whether log-odds are as far apart as they should be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayeskit.arrays import Bool
from bayeskit.evaluation.intervals import no_interval
from bayeskit.evaluation.out_of_fold import repeat_lines
from bayeskit.evaluation.recalibration import mean_line
from bayeskit.evaluation.score import KeptScore, unless_grouped
from bayeskit.numerics.rates import Interval

if TYPE_CHECKING:
    from bayeskit.evaluation.measures import Measures
    from bayeskit.evaluation.out_of_fold import OutOfFold, Repeat
    from bayeskit.model.labelled_table import Rows


class CalibrationSlope(KeptScore):
    """b of log-odds that came true = a + b log-odds said (Cox 1958), the mean over classes against the rest.

    Below 1 the model is too sure. With two classes it is that of rms' val.prob. Known where rows are kept.
    """

    name = "calibration_slope"
    title = "Calibration slope"
    meaning = "1 is right; below it the model is too sure, above not sure enough"
    topic = "calibration"
    larger_is_better = False
    ideal = 1.0
    limits = (-np.inf, np.inf)

    def of_repeat(self, rows: Rows, repeat: Repeat, mask: Bool) -> float:
        return mean_line(repeat_lines(True, rows, repeat, mask)).value

    def of_first(self, kept: OutOfFold) -> float:
        return mean_line(kept.slopes).value

    @unless_grouped
    def interval(self, found: Measures) -> Interval:
        kept = found.kept
        if kept is None:
            return no_interval("rows are not kept")
        line = mean_line(kept.slopes)
        return line.around(self.value(found), found.rows, found.design_effect)
