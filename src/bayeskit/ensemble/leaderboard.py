"""Leaderboard: what became of the candidates of AutoBayes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from bayeskit.data.frame import align, html_table

FAILED = "failed"


class LeaderboardEntry(NamedTuple):
    """One candidate."""

    name: str
    loss: float  # on unseen rows; NaN where it was not evaluated, as the next two
    weight: float
    gain: float
    why: str  # it has no weight; or how many rows it took, if not all

    @classmethod
    def of_skipped(cls, name: str, why: str) -> LeaderboardEntry:
        """Of a candidate that was not evaluated."""
        return cls(name, np.nan, np.nan, np.nan, why)

    @classmethod
    def of_failure(cls, name: str, error: Exception) -> LeaderboardEntry:
        """Of one that raised an error."""
        return cls.of_skipped(name, f"{FAILED}: {error}")


@dataclass(frozen=True)
class Leaderboard:
    """What became of each candidate: its log-loss on unseen rows, its weight, what the pool would lose without it."""

    lines: tuple[LeaderboardEntry, ...]
    rows: int
    note: str = ""  # on rows that were drawn

    @classmethod
    def of(cls, lines: Iterable[LeaderboardEntry], rows: int, note: str = "") -> Leaderboard:
        """The heaviest first, those that were not evaluated last."""
        order = sorted(lines, key=lambda line: (-line.weight if np.isfinite(line.weight) else 1.0, line.name))
        return cls(tuple(order), rows, note)

    def without_values(self) -> Leaderboard:
        """Without messages of errors, which may name values of rows."""
        lines = (line._replace(why=FAILED) if line.why.startswith(FAILED) else line for line in self.lines)
        return replace(self, lines=tuple(lines))

    def __str__(self) -> str:
        return "\n".join([align(self._table(), left=1), *([self.note] if self.note else [])])

    def _repr_html_(self) -> str:
        note = f"; {self.note}" if self.note else ""
        return html_table(self._table(), 1, f"{len(self.lines)} candidates, judged on {self.rows} unseen rows{note}")

    def _table(self) -> list[list[str]]:
        head = ["candidate", "log-loss", "weight", "adds", ""]
        body = [
            [name, *(f"{v:.4f}" if np.isfinite(v) else "" for v in (loss, weight, gain)), why]
            for name, loss, weight, gain, why in self.lines
        ]
        return [head, *body]
