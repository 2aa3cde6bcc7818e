"""Densities backed off to their mean over classes, and what is counted in sparse rows: by every clone."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

from bayeskit import _core as core

WEIGHTS = {
    "plain": [3.0, 5.0, 90.0],
    "one empty": [0.0, 2.0, 7.0],
    "one": [4.0, 0.0, 0.0],
    "far apart": [1e-9, 1.0, 1e12],
}


def backed(terms: list[float], weights: list[float], rows: float) -> list[float]:
    """log((n_c f_c + r f) / (n_c + r)), f = sum n_c f_c / n, in 60 digits."""
    with mp.workdps(60):
        f = [mp.exp(mp.mpf(t)) for t in terms]
        pooled = sum(mp.mpf(w) * p for w, p in zip(weights, f, strict=True)) / sum(map(mp.mpf, weights))
        return [float(mp.log((w * p + rows * pooled) / (w + mp.mpf(rows)))) for w, p in zip(weights, f, strict=True)]


FORMULAS = {  # log densities of numbers a, b, c in 60 digits, and values they take
    core.FormulaKind.NORMAL: (lambda x, a, b, c: c - ((x - a) * b) ** 2 / 2, (-7.0, 0.0, 0.3, 40.0)),
    core.FormulaKind.LOG_NORMAL: (lambda x, a, b, c: c - ((mp.log(x) - a) * b) ** 2 / 2 - mp.log(x), (1e-9, 0.7, 3e5)),
    core.FormulaKind.EXPONENTIAL: (lambda x, a, b, c: c + a * x, (0.0, 0.5, 300.0)),
    core.FormulaKind.GAMMA: (lambda x, a, b, c: c + a * x + b * mp.log(x), (1e-5, 1.0, 77.0)),
    core.FormulaKind.BETA: (lambda x, a, b, c: c + a * mp.log(x) + b * mp.log(1 - x), (1e-9, 0.25, 0.75)),
}
OUTSIDE = {core.FormulaKind.NORMAL: np.nan, core.FormulaKind.EXPONENTIAL: -1.0, core.FormulaKind.BETA: 1.0}


@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=list(WEIGHTS))
def test_sums_of_columns_backed_off(clone: str, weights: list[float]) -> None:
    """Every formula, a table of counts and what is known beforehand, beside 60 digits."""
    rng = np.random.default_rng(4)
    rows, kinds = 19, [*FORMULAS, core.FormulaKind.COUNTS]
    x = np.empty((rows, len(kinds)))
    for j, kind in enumerate(FORMULAS):
        x[:, j] = rng.choice(FORMULAS[kind][1], rows)
    x[:, -1] = rng.integers(0, 4, rows)
    number = rng.normal(size=(len(kinds), 3, 3))
    table, known = rng.normal(size=(4, 3)), 10 * rng.normal(size=(1, rows, 3))
    x[3], known[0, 3] = [OUTSIDE.get(kind, 0.0) for kind in FORMULAS] + [1.5], 0.0  # nothing that says anything
    w = np.array(weights)
    counting = np.array([w / w.sum(), w / (w + 1), 1 / (w + 1)])
    weight = np.repeat(counting[None], len(kinds) + 1, axis=0)
    offset = np.array([0] * len(kinds) + [4], dtype=np.int64)
    address = x.ctypes.data + 8 * np.arange(len(kinds), dtype=np.uint64)
    stride = np.full(len(kinds), x.strides[0], dtype=np.int64)
    out = np.full((rows, 3), 9.0)
    given = address, stride, rows, np.array(kinds, dtype=np.int32), number, weight, table, offset, known
    assert not core.backed_off_sums(*given, out)
    assert (out[3] == 0).all()
    for i in set(range(rows)) - {3}:
        terms = [
            [FORMULAS[kind][0](mp.mpf(float(x[i, j])), *map(mp.mpf, number[j, :, k].tolist())) for k in range(3)]
            for j, kind in enumerate(FORMULAS)
        ] + [known[0, i].tolist()]
        each = np.array([backed(some, weights, 1.0) for some in terms])
        truth = each.sum(axis=0) + table[int(x[i, -1])]
        np.testing.assert_allclose(out[i], truth, rtol=1e-13, atol=1e-12)
    x[2, 0], x[4, -1] = 1e200, 4.0  # beyond doubles, and beyond the table
    assert core.backed_off_sums(*given, out)
    assert np.isnan(out).all(axis=1).tolist() == [i in (2, 4) for i in range(rows)]


@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=list(WEIGHTS))
@pytest.mark.parametrize("rows", [1.0, 0.01])
def test_back_off(clone: str, weights: list[float], rows: float) -> None:
    rng = np.random.default_rng(3)
    terms = rng.normal(size=(37, 2, 3)) * rng.choice([1.0, 30.0, 1e3, 1e5], (37, 2, 1))
    terms[5], terms[7, 1] = 0.0, 700.0
    w = np.array([weights, weights[::-1]])
    share, mine, rest = w / w.sum(axis=1, keepdims=True), w / (w + rows), rows / (w + rows)
    out = np.full_like(terms, 9.0)
    assert not core.back_off(terms, share, mine, rest, out)
    assert (out[5] == 0).all(), "what is missing says nothing"
    for i in set(range(37)) - {5}:
        for j in range(2):
            np.testing.assert_allclose(
                out[i, j], backed(terms[i, j].tolist(), w[j].tolist(), rows), rtol=1e-14, atol=1e-14
            )


def test_back_off_tells_where_doubles_do_not_do(clone: str) -> None:
    terms = np.zeros((9, 1, 2))
    terms[3] = -np.inf, -np.inf
    terms[6] = -np.inf, 1.0
    half = np.full((1, 2), 0.5)
    out = np.empty_like(terms)
    assert core.back_off(terms, half, half, half, out)
    assert np.isnan(out[3]).all()
    np.testing.assert_allclose(out[6, 0], [1 + np.log(0.25), 1 + np.log(0.75)], rtol=1e-15)
    assert (np.delete(out, [3, 6], axis=0) == 0).all()


@pytest.mark.parametrize("n", [0, 1, 7, 8, 33, 70])
def test_what_stored_values_are_like(clone: str, n: int) -> None:
    rng = np.random.default_rng(n)
    whole = rng.integers(0, 5, n).astype(float)
    above = whole[whole > 0]
    expected = (above.min(initial=np.inf), above.max(initial=0.0), True, 0, 0)
    assert core.sparse_value_range(whole) == expected
    if n > 1:
        whole[0], whole[-1] = np.nan, -2.0
        assert core.sparse_value_range(whole)[3:] == (1, 1)
        whole[-1] = 2.5
        assert core.sparse_value_range(whole)[1:3] == (max(2.5, whole[1:].max()), False)


@pytest.mark.parametrize("bad", [-1, 4, 2**31 - 1])
def test_columns_outside_the_table_are_refused(clone: str, bad: int) -> None:
    indices = np.arange(40, dtype=np.int32) % 4
    indices[17] = bad
    start, ones, groups = np.array([0, 40]), np.ones(40), np.zeros(1, dtype=np.int32)
    with pytest.raises(ValueError, match="outside the columns"):
        core.sparse_sums(start, indices, ones, groups, None, 1, 4, False, True, 0, 1, 1.0, 1.0)
