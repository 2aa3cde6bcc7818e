"""Roll: what became of the candidates of AutoBayes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayeskit.frame import aligned


@dataclass(frozen=True)
class Roll:
    """What became of each candidate: its log-loss on unseen rows, its weight, what the pool would lose without it."""

    lines: tuple[tuple[str, float, float, float, str], ...]  # name, log-loss, weight, gain, why not
    rows: int

    def __str__(self) -> str:
        head = ["candidate", "log-loss", "weight", "adds", ""]
        body = [
            [name, *(f"{v:.4f}" if np.isfinite(v) else "" for v in (loss, weight, gain)), why]
            for name, loss, weight, gain, why in self.lines
        ]
        return aligned([head, *body], left=1)
