"""Packed: many numbers as a text that a page reads fast, each table once."""

from __future__ import annotations

import base64
import zlib
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from bayeskit.arrays import Array, Float, Json

LARGEST = 1e3  # magnitude up to which numbers are kept to a share of it
STEPS = 2**31 - 2  # of such a number on either side of zero
NEVER = -(2**31)  # stands for minus infinity


@dataclass(frozen=True)
class Store:
    """Tables that a page holds, by number; equal ones are held once.

    >>> store = Store()
    >>> store.logs(np.array([0.0, -1.0])), store.logs(np.array([0.0, -1.0])), store.table(np.array([2.5]))
    (0, 0, 1)
    """

    curves: ClassVar[bool] = False  # a page sums kernels, which takes less room than their curves

    _tables: dict[tuple[bytes, int, float, int], int] = field(default_factory=dict, repr=False)  # as ``json`` tells

    def table(self, numbers: Float) -> int:
        """Doubles as they are."""
        return self._add(np.ascontiguousarray(numbers, dtype="<f8"), 1.0)

    def logs(self, numbers: Float) -> int:
        """To 2^-32 of the largest magnitude, which for logarithms of probabilities is about 1e-8."""
        finite = np.isfinite(numbers)
        most = float(np.abs(numbers[finite]).max(initial=0.0))
        if most > LARGEST or np.isnan(numbers).any():
            return self.table(numbers)
        unit = (most or 1.0) / STEPS
        steps = np.full(np.shape(numbers), NEVER, dtype="<i4")
        steps[finite] = np.rint(numbers[finite] / unit)
        return self._add(steps, unit)

    def _add(self, raw: Array, unit: float) -> int:
        width = raw.shape[1] if raw.ndim > 1 else 1
        return self._tables.setdefault((raw.tobytes(), raw.dtype.itemsize, unit, width), len(self._tables))

    def json(self) -> Json:
        """All tables one after the other, and how to read each: bytes of a number, its unit, how many, how wide."""
        whole = zlib.compress(b"".join(raw for raw, *_ in self._tables), 9)
        parts = [[size, unit, len(raw) // size, width] for raw, size, unit, width in self._tables]
        return {"parts": parts, "data": base64.b64encode(whole).decode("ascii")}
