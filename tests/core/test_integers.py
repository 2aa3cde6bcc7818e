"""Integers as level codes; and which clones there are."""

from __future__ import annotations

import numpy as np
import pytest

from bayeskit import _core as core

from .memory import BEST, CLONES, columns, layouts


@pytest.mark.parametrize("d", [1, 3, 8, 20])
def test_integers(clone: str, d: int) -> None:
    rng = np.random.default_rng(14)
    n = 3001
    x = rng.integers(-5, 30, size=(n, d))
    x[0, 0], x[1, 0], x[2, 0] = -(2**63), 2**63 - 1, 0
    base = rng.integers(-6, 3, d)
    base[-1] = -(2**63) if d == 1 else 2**63 - 5
    widths = rng.integers(0, 40, d)
    start = np.concatenate([[0], np.cumsum(widths)])
    table = rng.integers(-2, 50, start[-1]).astype(np.int32)
    expected = np.full((d, n), -2, np.int32)
    for j in range(d):
        for i in range(n):
            k = int(x[i, j]) - int(base[j])
            if 0 <= k < widths[j]:
                expected[j, i] = table[start[j] + k]
    for y in layouts(x.view(float)).values():
        out = np.empty((d, n), np.int32)
        found = core.integer_codes(*columns(y), base, start, table, out)
        assert (out == expected).all()
        assert found == (expected == -2).sum()


@pytest.mark.parametrize("d", [1, 3, 8, 12, 20])
@pytest.mark.parametrize("unseen", ["no", "last", "first", "all"])
def test_integers_of_levels_that_count_up(clone: str, d: int, unseen: str) -> None:
    rng = np.random.default_rng(15)
    n, levels = 1003, np.full(d, 10)
    levels[{"no": slice(0), "last": slice(-1, None), "first": slice(1), "all": slice(None)}[unseen]] = 7
    base = rng.integers(-50, 50, d)
    x = rng.integers(0, 10, size=(n, d))
    start, table = np.concatenate([[0], np.cumsum(levels)]), np.concatenate([np.arange(m) for m in levels])
    expected = np.where(x < levels, x, -2).T
    for y in layouts((x + base).view(float)).values():
        out = np.empty((d, n), np.int32)
        found = core.integer_codes(*columns(y), base, start, table.astype(np.int32), out)
        assert (out == expected).all()
        assert found == (expected == -2).sum()


def test_clones_are_listed() -> None:
    assert "base" in CLONES
    assert BEST in CLONES
    with pytest.raises(ValueError, match="clone"):
        core.use_clone("sse9")
