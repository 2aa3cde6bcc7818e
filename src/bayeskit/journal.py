"""Journal: what was done to a model file after it was fitted; beside the model, no part of its identity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any

from bayeskit.errors import ModelFileError

OPERATIONS = ("update", "forget", "merge")


@dataclass(frozen=True)
class Entry:
    """One line: the operation, the weight of its rows (their number, unless they had weights), and when."""

    operation: str
    rows: float
    time: str  # ISO 8601, UTC

    @classmethod
    def now(cls, operation: str, rows: float) -> Entry:
        return cls(operation, float(rows), datetime.now(UTC).isoformat(timespec="seconds"))

    def __str__(self) -> str:
        return f"{self.time}  {self.operation}  {self.rows:g} rows"


def entries(saved: Any) -> tuple[Entry, ...]:
    """The journal of a file, if it is one."""
    kinds = {f.name: float if f.name == "rows" else str for f in fields(Entry)}
    for line in saved if isinstance(saved, list) else [None]:
        if not isinstance(line, Mapping) or {n: type(v) for n, v in line.items()} != kinds:
            raise ModelFileError("its journal is not as it should be")
        if line["operation"] not in OPERATIONS or not line["rows"] >= 0:
            raise ModelFileError(f"its journal has the unknown line {dict(line)}")
    return tuple(Entry(**line) for line in saved)
