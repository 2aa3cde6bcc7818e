"""Logistic lines and cells of log-odds: SciPy's roots, NumPy's formula, and the same bits from every clone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from bayeskit import _core
from bayeskit.evaluation.areas import FAR, INNER, NEAR, OUTER, SCALE, ScoreHistogram

from .memory import BEST, CLONES

MOST = 30.0


def by_all_clones(run: Callable[[], tuple[bytes, ...]]) -> None:
    found = set()
    for name in CLONES:
        _core.use_clone(name)
        found.add(run())
    _core.use_clone(BEST)
    assert len(found) == 1


@pytest.mark.parametrize("rows", [9, 64, 1003])
@pytest.mark.parametrize("sloped", [False, True])
def test_lines_maximise_the_likelihood(rows: int, sloped: bool) -> None:
    rng = np.random.default_rng(rows)
    x, w = rng.normal(0, 2, rows), rng.choice([0.0, 1.0, 2.5], rows)
    came = rng.random(rows) < expit(0.4 + 0.6 * x)
    x[:2] = 900, -900  # cut

    def derivative(a: float, b: float) -> np.ndarray:
        cut = np.clip(x, -MOST, MOST)
        off = w * (came - expit(a + b * cut))
        return np.array([off.sum(), off @ cut])

    a, b = _core.logistic_line(x, came, w, MOST, sloped)
    assert sloped or b == 1
    assert np.abs(derivative(a, b)[: 1 + sloped]).max() < 1e-9 * rows
    by_all_clones(
        lambda: (
            np.array(_core.logistic_line(x, came, w, MOST, sloped)).tobytes(),
            _core.logistic_influence(x, came, w, MOST, sloped, (a, b)).tobytes(),
        )
    )


def test_influence_is_what_a_row_changes() -> None:
    """To first order, of many rows: against fits without each of some rows, by SciPy."""
    rng = np.random.default_rng(3)
    x, w = rng.normal(0, 1.5, 400), rng.uniform(0.5, 2, 400)
    came = rng.random(400) < expit(0.2 + 0.8 * x)

    def slope(weight: np.ndarray) -> float:
        loss = lambda ab: weight @ (np.logaddexp(0, ab[0] + ab[1] * x) - came * (ab[0] + ab[1] * x))  # noqa: E731
        off = lambda ab: weight * (expit(ab[0] + ab[1] * x) - came)  # noqa: E731
        return float(minimize(loss, [0.0, 1.0], jac=lambda ab: [off(ab).sum(), off(ab) @ x], tol=1e-12).x[1])

    line = _core.logistic_line(x, came, w, MOST, True)
    change, whole = _core.logistic_influence(x, came, w, MOST, True, line), slope(w)
    assert line[1] == pytest.approx(whole, abs=1e-6)
    for row in range(0, 400, 57):
        less = w.copy()
        less[row] = 0
        assert whole - slope(less) == pytest.approx(change[row], abs=0.06 * np.abs(change).max())


@pytest.mark.parametrize("came", [[True] * 4, [False, False, True, True]])
def test_rows_that_know_no_slope_have_none(came: list[bool]) -> None:
    assert np.isnan(_core.logistic_line(np.arange(4.0), np.array(came), np.ones(4), MOST, True)).all()


def test_cells_of_log_odds_follow_their_formula() -> None:
    rng = np.random.default_rng(4)
    odds = rng.normal(size=(5000, 3)) * 10.0 ** rng.integers(-3, 6, (5000, 3))
    odds[:4] = [[0.0, -0.0, np.inf], [-np.inf, NEAR, -NEAR], [FAR, -FAR, 1e300], [1e-300, -1e-300, 2 * NEAR]]
    codes, best, group = rng.integers(0, 3, (3, 5000))
    size = np.abs(odds)
    with np.errstate(divide="ignore"):
        far = INNER + OUTER * np.log(np.maximum(size, NEAR) / NEAR) / np.log(FAR / NEAR)
    place = np.where(size <= NEAR, np.arcsinh(size) * SCALE[2], far)
    cell = np.minimum((np.copysign(np.minimum(place, 2048), odds) + 2048).astype(int), 4095)
    expected = np.zeros((3, 4, 2, 4096))
    for k in range(4):
        which = best if k == 3 else np.full(5000, k)
        np.add.at(expected, (group, k, (codes == which).astype(int), cell[np.arange(5000), which]), 1.0)

    def run() -> tuple[bytes, ...]:
        found = ScoreHistogram.empty(3, 3).add(codes, odds, best, np.ones(5000), group)
        assert np.array_equal(found.table, expected)
        return (found.table.tobytes(),)

    by_all_clones(run)
