"""Gaussian densities of rows, by every clone."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bayeskit import _core as core

from .memory import INF, NAN, columns, layouts


def gaussian_reference(
    x: np.ndarray, scale: np.ndarray, mean: np.ndarray, precision: np.ndarray, constant: np.ndarray, out: np.ndarray
) -> None:
    """The formula by NumPy, column by column: every operation rounds the same way."""
    constants, squares = np.full_like(out, -0.0), np.zeros_like(out)
    with np.errstate(all="ignore"):
        for j in range(x.shape[1]):
            root = np.minimum(precision[j], np.finfo(float).max) * math.sqrt(0.5)
            square = (((x[:, j] * scale[j])[:, None] - mean[j]) * root) ** 2
            missing = np.isnan(x[:, j])[:, None]
            constants += np.where(missing, -0.0, constant[j])
            squares += np.where(missing, 0.0, np.where(np.isnan(square), INF, square))
    out += constants
    out -= squares


@pytest.mark.parametrize("classes", [1, 2, 5, 8, 33, 70])
@pytest.mark.parametrize("d", [1, 3, 8, 20])
def test_gaussian(clone: str, classes: int, d: int) -> None:
    rng = np.random.default_rng(7)
    x = rng.normal(size=(777, d))
    x[rng.random(x.shape) < 0.05] = NAN
    scale = 2.0 ** rng.integers(-2, 3, d)
    mean, precision, constant = rng.normal(size=(3, d, classes)) * 2
    start = rng.normal(size=(777, classes))
    expected = start.copy()
    gaussian_reference(x, scale, mean, precision, constant, expected)
    for y in layouts(x).values():
        out = start.copy()
        assert not core.gaussian_log_density(*columns(y), scale, mean, precision, constant, out)
        assert out.tobytes() == expected.tobytes()
        by_class = np.array(start, order="F")
        core.gaussian_log_density(*columns(y), scale, mean, precision, constant, by_class)
        assert by_class.tobytes() == expected.tobytes()
    for i in (0, 5, 776):
        out = start[i : i + 1].copy()
        core.gaussian_log_density(*columns(x[i : i + 1]), scale, mean, precision, constant, out)
        assert out.tobytes() == expected[i : i + 1].tobytes()


@pytest.mark.parametrize(("n", "d"), [(1, 1), (64, 20), (777, 40)])
def test_gaussian_sees_infinity(clone: str, n: int, d: int) -> None:
    rng = np.random.default_rng(8)
    parameters = [np.ones(d), *rng.normal(size=(3, d, 2))]
    for i, j in [(0, 0), (n - 1, d - 1), (n // 2, d // 2)]:
        for bad in (INF, -INF):
            x = rng.normal(size=(n, d))
            x[rng.random(x.shape) < 0.1] = NAN
            assert not core.gaussian_log_density(*columns(x), *parameters, np.zeros((n, 2)))
            x[i, j] = bad
            for y in layouts(x).values():
                assert core.gaussian_log_density(*columns(y), *parameters, np.zeros((n, 2)))


def test_gaussian_never_makes_nan(clone: str) -> None:
    x = np.array([0, 1, -1, 1e300, -1.7e308, 5e-324, NAN, 2.5]).reshape(-1, 1)
    hard = np.array([0.0, 1.0, 1e300, 1.7e308, 5e-324])
    for scale in [1.0, 1e-300, 1e300, 2.0**1023]:
        for mean in [*hard, -1e308]:
            for precision in [*hard, INF]:
                args = [np.array([scale]), *(np.array([[v]]) for v in (mean, precision, -3.0))]
                out, expected = np.zeros((len(x), 1)), np.zeros((len(x), 1))
                core.gaussian_log_density(*columns(x), *args, out)
                gaussian_reference(x, *args, expected)
                assert not np.isnan(out).any()
                assert out.tobytes() == expected.tobytes()
    out = np.full((len(x), 1), -0.0)
    core.gaussian_log_density(*columns(np.full((len(x), 1), NAN)), np.ones(1), *(np.ones((1, 1)),) * 3, out)
    assert out.tobytes() == np.full((len(x), 1), -0.0).tobytes()
    assert x[7, 0] == 2.5
