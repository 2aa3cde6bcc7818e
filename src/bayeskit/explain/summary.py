"""Summary: what a model has learned, in a page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskit.model import Model

MOST = 12


@dataclass(frozen=True)
class Summary:
    """Classes with their priors, columns with their kinds, families and reasons, and what was left out."""

    classes: tuple[tuple[Any, float, float], ...]  # label, weight, prior
    columns: tuple[dict[str, Any], ...]
    constant: tuple[str, ...]  # columns that have one value only, which say nothing
    unlabelled: int
    rounded: int
    digest: str

    @classmethod
    def of(cls, model: Model) -> Summary:
        prior = np.exp(model.log_prior())
        tally = model.counted.tally
        return cls(
            tuple(zip(model.classes.tolist(), model.weights.tolist(), prior.tolist(), strict=True)),
            tuple(model.schema.rows()),
            model.constant,
            tally.unlabelled,
            tally.rounded,
            model.digest,
        )

    def __str__(self) -> str:
        lines = ["class  weight  prior"]
        for label, weight, prior in self.classes:
            lines.append(f"  {label!s}  {weight:g}  {prior:.4g}")
        lines.append("column  kind  family  (why)")
        for column in self.columns[:MOST]:
            note = "; constant: says nothing" if column["name"] in self.constant else ""
            lines.append(f"  {column['name']}  {column['kind']}  {column['family'] or '-'}  ({column['why']}{note})")
        if len(self.columns) > MOST:
            lines.append(f"  ... and {len(self.columns) - MOST} more columns")
        if self.unlabelled:
            lines.append(f"{self.unlabelled} rows without a label were skipped")
        if self.rounded:
            lines.append(f"{self.rounded} integers beyond 2**53 were rounded")
        return "\n".join(_aligned(lines))


def _aligned(lines: list[str]) -> list[str]:
    """Cells, separated by two blanks, under each other within each table."""
    tables: list[list[list[str]]] = []
    for line in lines:
        if not line.startswith("  "):
            tables.append([])
        tables[-1].append(line.strip().split("  "))
    out = []
    for table in tables:
        width = [max((len(row[j]) for row in table if len(row) > j), default=0) for j in range(max(map(len, table)))]
        out += ["  ".join(cell.ljust(w) for cell, w in zip(row, width, strict=False)).rstrip() for row in table]
    return out
