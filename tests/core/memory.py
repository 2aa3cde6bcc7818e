"""Clones of the core, matrices in every kind of memory, and the number that limbs stand for."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from bayeskit import _core as core

CLONES = core.clones()
BEST = core.clone()
NAN = math.nan
INF = math.inf


def columns(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """Address, stride and rows of a matrix of any layout."""
    n, d = x.shape
    address = np.array([x.ctypes.data + j * x.strides[1] for j in range(d)], np.uint64)
    return address, np.full(d, x.strides[0], np.int64), n


def value(limbs: np.ndarray, low: int) -> Fraction:
    """The exact number a cell of limbs stands for."""
    total = sum(int(v) << (32 * i) for i, v in enumerate(limbs))
    return Fraction(total) * Fraction(2) ** (32 * low)


def layouts(x: np.ndarray) -> dict[str, np.ndarray]:
    """The same matrix in every kind of memory."""
    n, d = x.shape
    wide = np.full((n * 2, d + 3), 7.5)
    wide[::2, 1 : d + 1] = x
    return {
        "C": np.ascontiguousarray(x),
        "F": np.asfortranarray(x),
        "sliced": wide[::2, 1 : d + 1],
        "reversed": np.ascontiguousarray(x[::-1])[::-1],
        "reversed columns": np.ascontiguousarray(x[:, ::-1])[:, ::-1],
    }
