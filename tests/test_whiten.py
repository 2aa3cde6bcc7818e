"""The distances of the core against NumPy: every clone, number of columns, layout and choice of rows."""

import numpy as np
import pytest

from bayeskit import _core


def columns(x):
    address = x.ctypes.data + x.strides[1] * np.arange(x.shape[1])
    return address.astype(np.uint64), np.full(x.shape[1], x.strides[0]), len(x)


@pytest.mark.parametrize("clone", _core.clones())
@pytest.mark.parametrize("d", [1, 3, 4, 9, 50])
def test_squares_are_those_of_a_matrix_product(clone, d):
    rng, chosen = np.random.default_rng(d), _core.clone()
    n, classes = 203, 3
    x = rng.normal(size=(n, d))
    units = np.array([np.full(d, 2.0), np.full(d, 0.25), rng.normal(size=d)])
    matrix, start = np.tril(rng.normal(size=(classes, d, d))), rng.normal(size=(classes, d))
    shifts = rng.normal(size=(5, d))
    place, rows = rng.integers(-1, 5, (n, classes)), rng.permutation(n)[:77]
    z = x / 2 - units[2]
    plain = np.einsum("kij,nj->nki", matrix, z) - start
    shifted = plain - np.where(place[..., None] >= 0, shifts[place], 0.0)
    for y in (x, np.asfortranarray(x)):
        try:
            _core.use_clone(clone)
            found = _core.mahalanobis(*columns(y), None, units, 1e140, matrix, start, shifts, None)
            moved = _core.mahalanobis(*columns(y), rows, units, 1e140, matrix, start, shifts, place[rows])
        finally:
            _core.use_clone(chosen)
        assert np.allclose(found, (plain**2).sum(axis=2), rtol=1e-13, atol=0)
        assert np.allclose(moved, (shifted[rows] ** 2).sum(axis=2), rtol=1e-13, atol=0)


def test_what_is_far_counts_as_far_and_no_farther():
    x = np.array([[1e308, 0.0], [-1e308, 0.0]])
    units, unit = np.array([[1e10, 1.0], [1.0, 1.0], [0.0, 0.0]]), np.eye(2)[None]
    found = _core.mahalanobis(*columns(x), None, units, 1e140, unit, np.zeros((1, 2)), np.zeros((0, 2)), None)
    assert found.tolist() == [[1e280], [1e280]]


@pytest.mark.parametrize("wrong", ["rows", "place", "matrix"])
def test_what_does_not_fit_is_refused(wrong):
    x = np.zeros((4, 2))
    units, matrix, start, shifts = np.ones((3, 2)), np.zeros((1, 2, 2)), np.zeros((1, 2)), np.zeros((3, 2))
    rows = np.array([4]) if wrong == "rows" else None
    place = np.full((4, 1), 3) if wrong == "place" else None
    matrix = np.zeros((1, 3, 3)) if wrong == "matrix" else matrix
    with pytest.raises(ValueError, match=r"no such|do not fit"):
        _core.mahalanobis(*columns(x), rows, units, 1e140, matrix, start, shifts, place)
