"""log, log(1 - x), sine and cosine of the core: the nearest double, by mpmath."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from bayeskit import _core

RNG = np.random.default_rng(11)
N = 4000
QUARTERS = np.arange(-4, 5) * np.pi / 2
ANGLES = np.concatenate(
    [
        RNG.uniform(-2 * np.pi, 2 * np.pi, N),
        10.0 ** -RNG.uniform(0, 20, 500),
        *(np.nextafter(QUARTERS, to) for to in (-9, 9)),
        QUARTERS,
        [5e-324, 2.0**-27, -(2.0**-27), 0.0],
    ]
)
# log(1 - x) within a thousandth of an ulp of halfway between two doubles, where 1 - x is not a double
HARD = [
    float.fromhex(f"0x1.{x}") for x in ("06a73233c8b5ep-8", "59347dca5c443p-9", "cd0cfac592c86p-9", "bbb7ac1feb699p-9")
]
CASES = {
    "log": (
        mpmath.log,
        [
            RNG.integers(1, 0x7FF0000000000000, N, dtype=np.uint64).view(np.float64),
            1 + RNG.normal(0, 1e-3, N),
            1 + np.arange(-500, 500) * 2.0**-53,
            [5e-324, 2.0**-1022, 1.7976931348623157e308, 0.5, 2.0],
        ],
    ),
    "log1m": (
        lambda x: mpmath.log1p(-x),
        [
            HARD,
            RNG.uniform(0, 0.01, N),
            RNG.random(N),
            10.0 ** -RNG.uniform(0, 20, N),
            1 - 10.0 ** -RNG.uniform(0, 15, 500),
            [5e-324, 1 - 2.0**-53],
        ],
    ),
    "sin": (mpmath.sin, [ANGLES]),
    "cos": (mpmath.cos, [ANGLES]),
}


@pytest.mark.parametrize("name", CASES)
def test_every_answer_is_the_nearest_double(name):
    function, parts = CASES[name]
    x = np.concatenate([np.asarray(part, dtype=np.float64) for part in parts])
    with mpmath.workprec(300):
        wanted = [float(function(mpmath.mpf(v))) for v in x.tolist()]
    found = getattr(_core, name)(x)
    assert found.tolist() == wanted


def test_what_has_no_answer():
    assert np.isnan(_core.log(np.array([np.nan, -1.0]))).all()
    assert _core.log(np.array([0.0, 1.0])).tolist() == [-np.inf, 0.0]
    assert np.isnan(_core.sin(np.array([np.nan, 9.0]))).all()


@pytest.mark.parametrize("edges", [0, 1, 5, 24, 25, 60])
@pytest.mark.parametrize("rows", [0, 1, 511, 513, 2000])
def test_places_among_edges_are_those_of_searchsorted(rows, edges):
    rng = np.random.default_rng(rows + edges)
    edge, x = np.sort(rng.normal(size=edges)), rng.normal(size=rows)
    x[::7], x[1::11], x[2::13], x[3::17] = np.nan, np.inf, -np.inf, edge[0] if edges else 0.0
    expected = np.where(np.isnan(x), edges, np.searchsorted(edge, x, side="left"))
    assert _core.digitize(x, edge).tolist() == expected.tolist()
    assert _core.digitize(np.column_stack([x, x])[:, 1], edge).tolist() == expected.tolist()
