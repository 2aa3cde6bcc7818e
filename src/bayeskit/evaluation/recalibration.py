"""Recalibration: the line between log-odds given and those that came true, and calibration errors without chance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import chndtr, ndtr, stdtrit

from bayeskit import _core
from bayeskit.arrays import Bool, Float, Int
from bayeskit.evaluation.intervals import no_interval
from bayeskit.numerics.rates import BINS, LEVEL, Interval, effective

LARGEST = 2.0  # sum over classes of a share of rows times a gap, or its square
MOST = float(np.log(1e15))  # log-odds beyond are cut, as probabilities are in log_loss


def debiased_gap(table: Float) -> float:
    """The mean of |share that came true - mean probability| over cells, less what chance adds to it; at least 0.

    A cell's gap g with variance v = ȳ(1 - ȳ)/n is larger than its true size by E|N(g, v)| - |g| on average (Kumar,
    Liang and Ma, NeurIPS 2019). ``table`` is as ``tallied`` makes it, (FIELDS, cells).

    >>> round(debiased_gap(np.array([[100.0], [70.0], [72.0], [100.0]])), 5)
    0.00068
    """
    weight, gap, came, rows = _cells(table)
    if not len(weight):
        return float("nan")
    folded = folded_mean(gap, np.sqrt(came * (1 - came) / rows))
    return max(0.0, float(weight @ (2 * gap - folded)) / float(weight.sum()))


def folded_mean(mean: Float, deviation: Float) -> Float:
    """E|x| of normal x.

    >>> folded_mean(np.array([0.0, 3.0]), np.array([1.0, 0.0])).round(4).tolist()
    [0.7979, 3.0]
    """
    ratio = np.divide(np.abs(mean), deviation, out=np.full(len(mean), np.inf), where=deviation > 0)
    out: Float = deviation * np.sqrt(2 / np.pi) * np.exp(-(ratio**2) / 2) + np.abs(mean) * (1 - 2 * ndtr(-ratio))
    return out


def debiased_square(table: Float) -> float:
    """The mean of the squared gap over cells, less what chance adds: Σ n/N (g² - ȳ(1 - ȳ)/(n - 1)).

    It may be negative; its root, 0 then, is the calibration error. Cells of one row say nothing of chance and are left
    out.

    >>> round(debiased_square(np.array([[100.0], [70.0], [80.0], [100.0]])), 6)
    0.008384
    """
    share, gap, variance = _shares_and_gaps(table)
    return float(share @ (gap**2 - variance)) if len(share) else float("nan")


def square_interval(table: Float) -> Interval:
    """Of the root of the mean squared gap θ: T = Σ s g² of shares s is about c χ²_ν(θ/c), with cν = A = Σ s v.

    T has the variance 2 Σ (sv)² + 4rθ, where r is the mean of sv over cells by s (g² + v): gaps lie where a model is
    too sure, chance elsewhere. There is none where many rows have one probability below 1: shares are by chance.
    """
    share, gap, variance = _shares_and_gaps(table)
    if not len(share) or not (variance > 0).any():
        return no_interval("too few rows")
    unsure = table[0, table[1] < (1 - 1e-6) * table[0]]
    if unsure.max(initial=0.0) > 2 / BINS * table[0].sum():
        return no_interval("many rows have the same probability")
    part, seen = share * variance, float(share @ gap**2)
    chance, square = float(part.sum()), float(part @ part)
    low, high = np.sqrt(square_ends(seen, chance, square, float((part * share) @ gap**2))).tolist()
    return Interval(low, high, "noncentral chi-squared")


def square_ends(seen: float, chance: float, among: float, noise: float) -> tuple[float, float]:
    """The θ for which T = ``seen`` is the 97.5 % and 2.5 % point, where T is about c χ²_ν(θ/c) and cν = ``chance``.

    c gives T the variance 2 ``among`` + 4rθ, where r = (``noise`` + among) / (seen + chance).
    """
    own = (noise + among) / (seen + chance)

    def below(root: float) -> float:
        """P(T < seen) where θ is the square of ``root``."""
        c = (among + 2 * own * root**2) / (chance + 2 * root**2)
        return float(chndtr(seen / c, chance / c, root**2 / c))

    low, high = crossings(below, LARGEST**0.5)
    return low**2, high**2


def crossings(falling: Callable[[float], float], high: float) -> tuple[float, float]:
    """Where a function that falls from 1 to 0 at ``high`` is 97.5 % and 2.5 %; 0 where it is less from the start."""
    return _crossing(falling, (1 + LEVEL) / 2, high), _crossing(falling, (1 - LEVEL) / 2, high)


def _crossing(falling: Callable[[float], float], point: float, high: float) -> float:
    low = 0.0
    if falling(low) <= point:
        return low
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (middle, high) if falling(middle) > point else (low, middle)
    return (low + high) / 2


def _shares_and_gaps(table: Float) -> tuple[Float, Float, Float]:
    """Share of the weight, gap and variance by chance of the cells that have more than one row: (cells,) each."""
    weight, gap, came, rows = (field[_cells(table)[-1] > 1] for field in _cells(table))
    return weight / weight.sum() if len(weight) else weight, gap, came * (1 - came) / (rows - 1)


def _cells(table: Float) -> tuple[Float, Float, Float, Float]:
    """Weight, |gap|, share that came true and effective rows of the cells with rows: (cells,) each."""
    weight, said, came, squared = table[:, table[0] > 0]
    return weight, np.abs(came - said) / weight, np.clip(came / weight, 0.0, 1.0), effective(weight, squared)


@dataclass(frozen=True)
class Line:
    """A coefficient of a logistic regression on one column."""

    value: float  # NaN where the rows know none
    influence: Callable[[], Float]  # change of the value if the row were left out: (n,)

    def with_sign(self, sign: float) -> Line:
        """The same coefficient, or its negative."""
        return self if sign == 1 else Line(sign * self.value, lambda: sign * self.influence())

    def around(self, value: float, rows: float, design_effect: float) -> Interval:
        """Student's interval from the sandwich variance; ``rows`` is how many of equal weight would say as much."""
        if not rows > 2 or np.isnan(value) or np.isnan(self.value):
            return no_interval("too few rows")
        apart = self.influence()
        square = float(np.einsum("i,i->", apart, apart))  # BLAS would wake threads, on which its bits depend
        error = float(np.sqrt(design_effect * square))
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
    if not known or all(line is known[0] for line in known):
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
