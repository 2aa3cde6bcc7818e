"""Packed: many numbers as text that a page reads fast, each table once."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bayeskit.arrays import Float

LARGEST = 1e3  # magnitude up to which numbers are kept to a share of it
STEPS = 2**31 - 2  # of such a number on either side of zero
NEVER = -(2**31)  # stands for minus infinity


@dataclass(frozen=True)
class Store:
    """Tables that a page holds, by number; equal ones are held once."""

    tables: list[dict[str, Any]] = field(default_factory=list)
    _known: dict[tuple[Any, ...], int] = field(default_factory=dict, repr=False)

    def exact(self, numbers: Float) -> int:
        """Doubles as they are."""
        return self._add(np.ascontiguousarray(numbers, dtype="<f8"), numbers, 1.0)

    def close(self, numbers: Float) -> int:
        """Half as long: to 2^-32 of the largest magnitude, which for logarithms of probabilities is about 1e-8.

        >>> store = Store()
        >>> store.close(np.array([0.0, -1.0])), store.close(np.array([0.0, -1.0])), len(store.tables)
        (0, 0, 1)
        """
        finite = np.isfinite(numbers)
        most = float(np.abs(numbers[finite]).max(initial=0.0))
        if most > LARGEST:
            return self.exact(numbers)
        unit = (most or 1.0) / STEPS
        steps = np.full(np.shape(numbers), NEVER, dtype="<i4")
        steps[finite] = np.rint(numbers[finite] / unit)
        return self._add(steps, numbers, unit)

    @property
    def size(self) -> int:
        """Characters of all tables."""
        return sum(len(table["data"]) for table in self.tables)

    def _add(self, raw: Any, numbers: Float, unit: float) -> int:
        data = base64.b64encode(raw.tobytes()).decode("ascii")
        key = (raw.dtype.str, unit, data)
        if key not in self._known:
            self._known[key] = len(self.tables)
            self.tables.append({"bytes": raw.dtype.itemsize, "unit": unit, "data": data})
        return self._known[key]
