"""Recalibration: the line between the log-odds a model gives and those that came true, of each class."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from bayeskit import _core
from bayeskit.arrays import Bool, Float, Int
from bayeskit.evaluation.intervals import no_interval
from bayeskit.numerics.rates import LEVEL, Interval

MOST = float(np.log(1e15))  # log-odds beyond are cut, as probabilities are in log_loss


@dataclass(frozen=True)
class Line:
    """A coefficient of a logistic regression on one column."""

    value: float  # NaN where the rows know none
    influence: Callable[[], Float]  # change of the value if the row were left out: (n,)

    def with_sign(self, sign: float) -> Line:
        """The same coefficient, or its negative."""
        return Line(sign * self.value, lambda: sign * self.influence())

    def around(self, value: float, rows: float, design_effect: float) -> Interval:
        """Student's interval from the sandwich variance; ``rows`` is how many of equal weight would say as much."""
        if not rows > 2 or np.isnan(value) or np.isnan(self.value):
            return no_interval("too few rows")
        apart = self.influence()
        error = float(np.sqrt(design_effect * (apart @ apart)))
        half = float(stdtrit(rows - 2, (1 + LEVEL) / 2)) * error
        return Interval(value - half, value + half, "sandwich variance, t")


def slope(odds: Float, hit: Bool, weights: Float) -> Line:
    """b of log-odds that came true = a + b log-odds said, by maximum likelihood (Cox 1958; rms' val.prob): 1 is right.

    Below 1 the model is too sure, above 1 not sure enough; none where log-odds tell the rows apart without a mistake.

    >>> said = np.log(np.array([0.8, 0.2])).repeat(10) - np.log(np.array([0.2, 0.8])).repeat(10)
    >>> came = np.array([True] * 7 + [False] * 3 + [True] * 3 + [False] * 7)
    >>> round(slope(said, came, np.ones(20)).value, 4)  # log(7/3) / log(4)
    0.6112
    """
    return _line(odds, hit, weights, sloped=True)


def intercept(odds: Float, hit: Bool, weights: Float) -> Line:
    """a of log-odds that came true = a + log-odds said: 0 is right, above it the class comes more often than said.

    Calibration in the large (Steyerberg 2009), the slope held at 1.

    >>> round(intercept(np.zeros(4), np.array([True, True, True, False]), np.ones(4)).value, 4)  # log 3
    1.0986
    """
    return _line(odds, hit, weights, sloped=False)


def mean_line(lines: list[Line]) -> Line:
    """The mean over classes that have one."""
    known = [line for line in lines if not np.isnan(line.value)]
    if not known:
        return lines[0]
    mean = float(np.mean([line.value for line in known]))
    return Line(mean, lambda: np.mean([line.influence() for line in known], axis=0))


def class_lines(sloped: bool, codes: Int, odds: Float, weights: Float) -> list[Line]:
    """The slope, or the intercept, of each class against the rest, from the log-odds of each class: (n, K)."""
    fit = slope if sloped else intercept
    if odds.shape[1] == 2:  # the odds of one are those of the other turned over
        line = fit(odds[:, 1], codes == 1, weights)
        return [line.with_sign(1.0 if sloped else -1.0), line]
    return [fit(odds[:, k], codes == k, weights) for k in range(odds.shape[1])]


def _line(odds: Float, hit: Bool, weights: Float, sloped: bool) -> Line:
    given = (
        np.ascontiguousarray(odds),
        np.ascontiguousarray(hit),
        np.ascontiguousarray(weights, np.float64),
        MOST,
        sloped,
    )
    line = _core.logistic_line(*given)
    return Line(line[1 if sloped else 0], lambda: _core.logistic_influence(*given, line))
