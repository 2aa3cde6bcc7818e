"""Journal: what was done to a model file after it was fitted; beside the model, no part of its identity."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from bayeskit.errors import ModelFileError

OPERATIONS = ("update", "forget", "merge")


@dataclass(frozen=True)
class Entry:
    """One line: the operation, the weight of its rows (their number, unless they had weights), and when."""

    operation: str
    rows: float
    time: str  # ISO 8601, UTC

    def __post_init__(self) -> None:
        if self.operation not in OPERATIONS or not self.rows >= 0:
            raise ModelFileError(f"the journal has the unknown line {self}")

    @classmethod
    def now(cls, operation: str, rows: float) -> Entry:
        return cls(operation, float(rows), datetime.now(UTC).isoformat(timespec="seconds"))

    def __str__(self) -> str:
        return f"{self.time}  {self.operation}  {self.rows:g} rows"
