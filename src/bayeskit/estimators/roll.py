"""Roll: what became of the candidates of AutoBayes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayeskit.frame import aligned, html_table


@dataclass(frozen=True)
class Roll:
    """What became of each candidate: its log-loss on unseen rows, its weight, what the pool would lose without it."""

    lines: tuple[tuple[str, float, float, float, str], ...]  # name, log-loss, weight, gain, why not
    rows: int

    def __str__(self) -> str:
        return aligned(self._table(), left=1)

    def _repr_html_(self) -> str:
        return html_table(self._table(), 1, f"{len(self.lines)} candidates, judged on {self.rows} unseen rows")

    def _table(self) -> list[list[str]]:
        head = ["candidate", "log-loss", "weight", "adds", ""]
        body = [
            [name, *(f"{v:.4f}" if np.isfinite(v) else "" for v in (loss, weight, gain)), why]
            for name, loss, weight, gain, why in self.lines
        ]
        return [head, *body]
