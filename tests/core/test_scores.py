"""Sums of scores: what NumPy's bincount gives, bit for bit, with and without weights and groups."""

from __future__ import annotations

import numpy as np
import pytest

from bayeskit import _core
from bayeskit.numerics.rates import sum_cells, width_bins


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("groups", [None, 4])
def test_sums_are_those_of_bincount(weighted: bool, groups: int | None) -> None:
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.full(3, 0.3), 500)
    p[:6] = [[0, 0, 1], [1, 0, 0], [1 / 15, 2 / 15, 0.8], [0.5, 0.5, 0], [1e-300, 1 - 1e-16, 0], [0, 1, 0]]
    codes, weights = rng.integers(0, 3, 500), rng.uniform(0, 2, 500) if weighted else None
    group = None if groups is None else rng.integers(0, groups, 500)
    w, g, n = np.ones(500) if weights is None else weights, np.zeros(500, int) if group is None else group, groups or 1
    best = np.argmax(p, axis=1)
    found = _core.reliability_sums(p, best, codes, weights, group, n, 15)
    powers = _core.power_sums(p[:, 0].copy(), weights, group, n)
    for at in range(n):
        here = g == at
        for c in range(3):
            expected = sum_cells(p[here, c], codes[here] == c, w[here], width_bins(p[here, c]), 15)
            np.testing.assert_array_equal(found[at, c], expected)
        top = p[here, best[here]]
        expected = sum_cells(top, best[here] == codes[here], w[here], width_bins(top), 15)
        np.testing.assert_array_equal(found[at, 3], expected)
        x = p[here, 0]
        expected = [np.bincount(np.zeros(len(x), int), w[here] * v)[0] for v in (x, x * x, x * x * x)]
        np.testing.assert_array_equal(powers[at], expected)


def test_groups_that_are_not_there_are_refused() -> None:
    one = np.ones(2)
    with pytest.raises(ValueError, match="no such group"):
        _core.power_sums(one, None, np.array([0, 3]), 3)
    with pytest.raises(ValueError, match="one weight per row"):
        _core.power_sums(one, np.ones(3), None, 1)
    with pytest.raises(ValueError, match="one class, and one found, per row"):
        _core.reliability_sums(np.ones((2, 1)), np.zeros(2, int), np.zeros(3, int), None, None, 1, 15)
    with pytest.raises(ValueError, match="no such class"):
        _core.reliability_sums(np.ones((2, 1)), np.array([0, 1]), np.zeros(2, int), None, None, 1, 15)
