"""Special functions in forms that keep their digits where the textbook forms cancel."""

from __future__ import annotations

import numpy as np

from bayeskit import _core
from bayeskit.arrays import Float, Int
from bayeskit.deferred import deferred
from bayeskit.portable.symbol import primitive

digamma = deferred("scipy.special", "digamma")
gammaln = deferred("scipy.special", "gammaln")

LOG_2 = float(np.log(2))
LOG_2PI = float(np.log(2 * np.pi))


@primitive("log")
def log(x: Float) -> Float:
    """The natural logarithm, with the same bits on every machine."""
    out: Float = _core.log(np.ascontiguousarray(x))
    return out


@primitive("deviance")
def deviance(x: Float, mean: Float) -> Float:
    """x log(x / mean) + mean - x for x >= 0 and mean > 0; 0 exactly where they are equal (Loader 2000).

    >>> print(f"{deviance(np.array(1e15), np.array(1e15 + 1)):.3g}")
    5e-16
    """
    x, mean = np.broadcast_arrays(np.asarray(x, dtype=np.float64), mean)
    with np.errstate(all="ignore"):
        v = (x / 2 - mean / 2) / (x / 2 + mean / 2)  # the sum may overflow
        square = v * v
        tail = np.zeros_like(v)
        for k in range(10, 0, -1):
            tail = (tail + 1 / (2 * k + 1)) * square
        near = (x - mean) * v + x * (2 * v * tail)
        ratio = x / mean
        logs = np.where((ratio > 1e-300) & (ratio < 1e300), np.log(ratio), np.log(x) - np.log(mean))
        far = np.where(x > 0, x * logs, 0.0) + (mean - x)
    return np.where(np.abs(v) < 0.1, near, far)


def log2_distance(x: Float, shift: Int, centre: Float | float = 0.0) -> Float:
    """log2 |x 2^shift - centre| for any doubles, NaN where x is: the distance itself may overflow."""
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        half = np.abs(np.ldexp(x, shift - 1) - np.asarray(centre) / 2)
        return np.where(np.isinf(half), np.log2(np.abs(x)) + shift, np.log2(half) + 1)


def log2_deviance(*pairs: tuple[Float, Float]) -> Float:
    """log2 of the sum of the deviances of pairs (x, mean), whatever doubles reach: D(a x, a m) = a D(x, m).

    >>> float(log2_deviance((np.array(1e308), np.array(1.0))).round(3))
    1032.622
    """
    with np.errstate(all="ignore"):
        parts = [deviance(np.ldexp(x, -64), np.ldexp(mean, -64)) for x, mean in pairs]
        out: Float = np.log2(sum(parts[1:], parts[0])) + 64
    return out


@primitive("stirling")
def stirling(x: Float) -> Float:
    """log Gamma(x + 1) - (x + 1/2) log x + x - log(2 pi)/2, the error of Stirling's formula, for x > 0.

    >>> float(stirling(np.array(100.0)).round(10))
    0.0008333306
    """
    x = np.asarray(x, dtype=np.float64)
    with np.errstate(all="ignore"):
        z = np.maximum(x, 15.0)
        i = 1 / (z * z)
        series = (1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - (1 / 1188 - 691 / 360360 * i) * i) * i) * i) * i) / z
        direct = gammaln(x + 1) - (x + 0.5) * np.log(x) + x - LOG_2PI / 2
    return np.where(x >= 15, series, direct)


def log_minus_digamma(k: Float) -> Float:
    """log k - digamma(k), which is about 1/(2k)."""
    z = np.maximum(k, 30.0)
    i = 1 / (z * z)
    series = 0.5 / z + (1 / 12 - (1 / 120 - (1 / 252 - (1 / 240 - 1 / 132 * i) * i) * i) * i) * i
    out: Float = np.where(k >= 30, series, np.log(k) - digamma(k))
    return out


def trigamma(k: Float) -> Float:
    """The derivative of digamma, for k > 0: a series in 1/k from k = 10 on, and ten terms 1/k^2 before it below.

    >>> abs(float(trigamma(np.array(1.0))) - np.pi**2 / 6) < 1e-15
    True
    """
    k = np.asarray(k, dtype=np.float64)
    low = k < 10
    with np.errstate(all="ignore"):  # beyond 1e154 a square is, and its inverse is not needed
        before = k + np.arange(10.0).reshape(-1, *(1 for _ in k.shape))
        z = np.where(low, k + 10, k)
        i = 1 / (z * z)
        tail = 1 / 6 - (1 / 30 - (1 / 42 - (1 / 30 - (5 / 66 - (691 / 2730 - 7 / 6 * i) * i) * i) * i) * i) * i
        out: Float = np.where(low, (1 / (before * before)).sum(axis=0), 0.0) + (1 + (0.5 + tail / z) / z) / z
    return out


def gamma_shape(gap: Float) -> Float:
    """k with log k - digamma(k) = gap > 0: the shape of a gamma density with that log mean minus mean log.

    >>> float(gamma_shape(np.array(np.euler_gamma)).round(12))
    1.0
    """
    every = np.asarray(gap, dtype=np.float64)
    gap, back = np.unique(every, return_inverse=True)  # without a row, the other classes are as they were
    k: Float = (3 - gap + np.sqrt((gap - 3) ** 2 + 24 * gap)) / (12 * gap)
    for _ in range(8):  # Newton in 1/k, where the equation is nearly straight (Minka 2002)
        slope = np.where(k > 1e4, -0.5 - 1 / (6 * np.maximum(k, 1.0)), k * k * (1 / k - trigamma(np.minimum(k, 1e4))))
        step = k * ((log_minus_digamma(k) - gap) / slope)
        k = k / (1 + step)
        if not np.any(np.abs(step) > 1e-9):  # the next step would be its square
            break
    out: Float = k[back].reshape(every.shape)
    return out
