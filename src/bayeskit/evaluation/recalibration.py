"""Recalibration: the line between the log-odds a model gives and those that came true, of each class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, stdtrit

from bayeskit.arrays import Bool, Float
from bayeskit.evaluation.intervals import no_interval
from bayeskit.numerics.rates import LEVEL, Interval

MOST = float(np.log(1e15))  # log-odds beyond are cut, as probabilities are in log_loss
STEPS = 100


@dataclass(frozen=True)
class Line:
    """Coefficients of a logistic regression on one column, with what each row adds to their error."""

    value: float  # NaN where the rows know none
    influence: Float  # (n,) change of the value if the row were left out

    def around(self, value: float, rows: float, design_effect: float) -> Interval:
        """Student's interval from the sandwich variance; ``rows`` is how many of equal weight would say as much."""
        if not rows > 2 or np.isnan(value) or np.isnan(self.value):
            return no_interval("too few rows")
        error = float(np.sqrt(design_effect * (self.influence @ self.influence)))
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
    x = np.clip(odds, -MOST, MOST)
    mine, rest = (x[side & (weights > 0)] for side in (hit, ~hit))
    if not len(mine) or not len(rest) or mine.min() >= rest.max() or rest.min() >= mine.max():
        return Line(float("nan"), np.zeros(len(x)))
    return _regress(np.stack([np.ones(len(x)), x], axis=1), np.zeros(len(x)), hit, weights)


def intercept(odds: Float, hit: Bool, weights: Float) -> Line:
    """a of log-odds that came true = a + log-odds said: 0 is right, above it the class comes more often than said.

    Calibration in the large (Steyerberg 2009), the slope held at 1.

    >>> round(intercept(np.zeros(4), np.array([True, True, True, False]), np.ones(4)).value, 4)  # log 3
    1.0986
    """
    x = np.clip(odds, -MOST, MOST)
    if not (weights @ hit > 0 and weights @ ~hit > 0):
        return Line(float("nan"), np.zeros(len(x)))
    return _regress(np.ones((len(x), 1)), x, hit, weights)


def mean_line(lines: list[Line]) -> Line:
    """The mean over classes that have one."""
    known = [line for line in lines if not np.isnan(line.value)]
    if not known:
        return lines[0]
    return Line(float(np.mean([line.value for line in known])), np.mean([line.influence for line in known], axis=0))


def _regress(design: Float, offset: Float, hit: Bool, weights: Float) -> Line:
    """The last coefficient, by Newton's steps, which are halved while the likelihood falls; (n, p) and (n,)."""
    truth, theta = hit.astype(np.float64), np.zeros(design.shape[1])

    def loss(theta: Float) -> float:
        z = design @ theta + offset
        return float(weights @ (np.logaddexp(0.0, z) - truth * z))

    now = loss(theta)
    for _ in range(STEPS):
        p = expit(design @ theta + offset)
        curvature = (design * (weights * p * (1 - p))[:, None]).T @ design
        step = np.linalg.lstsq(curvature, design.T @ (weights * (truth - p)), rcond=None)[0]
        size = 1.0
        while (then := loss(theta + size * step)) > now + 1e-12 * abs(now) and size > 1e-10:
            size /= 2
        theta, before, now = theta + size * step, now, then
        if np.abs(size * step).max() < 1e-12 or before - now == 0.0:
            break
    p = expit(design @ theta + offset)
    spread = weights * p * (1 - p)
    inverse = np.linalg.pinv((design * spread[:, None]).T @ design)
    leverage = np.einsum("ij,jk,ik->i", design, inverse, design) * spread
    change = (design * (weights * (truth - p) / np.maximum(1 - leverage, 1e-3))[:, None]) @ inverse
    return Line(float(theta[-1]), change[:, -1])
