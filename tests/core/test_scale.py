"""Numbers on a scale through knots: numpy.interp, bit by bit."""

import numpy as np
import pytest

from bayeskit import _core

KNOTS = {
    "many": np.sort(np.random.default_rng(0).normal(size=300)),
    "equal": np.array([-1.0, 0.0, 0.0, 0.0, 2.0]),
    "one": np.array([0.5]),
    "far": np.array([-1e308, 0.0, 1e308]),
}


@pytest.mark.parametrize("name", KNOTS)
@pytest.mark.parametrize("stride", [1, 3])
def test_it_is_numpy_interp_in_whole_grains(name, stride):
    rng, knots = np.random.default_rng(1), KNOTS[name]
    scores = rng.normal(size=len(knots))
    x = np.concatenate([rng.normal(size=400), knots, [np.nan, np.inf, -np.inf, -0.0, 1e308]])
    wide = np.full((len(x), stride), 7.0)
    wide[:, 0] = x
    out = np.empty(len(x))
    _core.scale_numbers(wide[:, 0], knots, scores, 0.25, 1024.0, out)
    expected = np.interp(x, knots, scores)
    np.testing.assert_array_equal(
        out, np.floor(np.where(np.isnan(x) | np.isnan(expected), 0.25, expected) * 1024 + 0.5) / 1024
    )


def test_knots_that_fall_are_refused():
    with pytest.raises(ValueError, match="ascend"):
        _core.scale_numbers(np.zeros(1), np.array([1.0, 0.0]), np.zeros(2), 0.0, 1.0, np.empty(1))
