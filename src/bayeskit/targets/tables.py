"""Tables: the numbers of a program, each table once, as plain JSON."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from bayeskit.arrays import Float, Json
from bayeskit.portable.nodes import to_list
from bayeskit.portable.program import Program


@dataclass(frozen=True)
class Tables:
    """Tables by number; equal ones are held once."""

    curves: ClassVar[bool] = True  # kernels come with the cubics that the library itself computes with

    _tables: dict[tuple[bytes, int], int] = field(default_factory=dict, repr=False)

    def table(self, numbers: Float) -> int:
        """Doubles as they are."""
        raw = np.ascontiguousarray(numbers, dtype="<f8")
        return self._tables.setdefault((raw.tobytes(), raw.shape[1] if raw.ndim > 1 else 1), len(self._tables))

    logs = table

    def whole(self, program: Program) -> Json:
        """A program with its tables."""
        described = program.json(self)
        tables = [{"data": to_list(np.frombuffer(raw, "<f8")), "width": width} for raw, width in self._tables]
        return {**described, "tables": tables}
