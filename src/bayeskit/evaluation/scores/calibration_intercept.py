"""Calibration intercept: whether classes come as often as they are said to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayeskit.arrays import Bool
from bayeskit.evaluation.intervals import no_interval
from bayeskit.evaluation.out_of_fold import repeat_lines
from bayeskit.evaluation.recalibration import Line
from bayeskit.evaluation.score import KeptScore, unless_grouped
from bayeskit.numerics.rates import Interval

if TYPE_CHECKING:
    from bayeskit.evaluation.measures import Measures
    from bayeskit.evaluation.out_of_fold import OutOfFold, Repeat
    from bayeskit.model.labelled_table import Rows


class CalibrationIntercept(KeptScore):
    """a of log-odds that came true = a + log-odds said, of the second of two classes; of more, the largest |a|.

    Calibration in the large (Steyerberg 2009): above 0 the class comes more often than said. With two classes, a of the
    first is -a. ``frame(of="classes")`` has that of every class. Known where rows are kept.
    """

    name = "calibration_intercept"
    title = "Calibration intercept"
    meaning = "0 is right; how far the log-odds of the second class, or of the worst of more, are off on the whole"
    topic = "calibration"
    larger_is_better = False
    ideal = 0.0
    limits = (-np.inf, np.inf)
    no_interval = "the largest of several; frame(of='classes') has one for each class"

    def of_repeat(self, rows: Rows, repeat: Repeat, mask: Bool) -> float:
        return _worst(repeat_lines(False, rows, repeat, mask))

    def of_first(self, kept: OutOfFold) -> float:
        return _worst(kept.intercepts)

    @unless_grouped
    def interval(self, found: Measures) -> Interval:
        kept = found.kept
        if kept is None:
            return no_interval("rows are not kept")
        lines = kept.intercepts
        if len(lines) != 2:
            return no_interval(self.no_interval)
        return lines[1].around(self.value(found), found.rows, found.design_effect)


def _worst(lines: list[Line]) -> float:
    """Of the second of two classes; of more the largest."""
    each = [line.value for line in lines]
    known = np.abs([a for a in each if a == a])
    return each[1] if len(each) == 2 else float(known.max()) if len(known) else float("nan")
