"""Summary: what a model has learned, in a page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskit.frame import aligned, html_table
from bayeskit.model import Model

MOST = 12


@dataclass(frozen=True)
class Summary:
    """Classes with their priors, columns with their kinds, families and reasons, and what was left out."""

    classes: tuple[tuple[Any, float, float], ...]  # label, weight, prior
    columns: tuple[dict[str, Any], ...]
    constant: tuple[str, ...]  # columns that have one value only, which say nothing
    regularised: tuple[tuple[Any, tuple[str, ...]], ...]  # label, columns its own covariance does not tell apart
    unlabelled: int
    rounded: int
    digest: str

    @classmethod
    def of(cls, model: Model) -> Summary:
        prior = np.exp(model.log_prior())
        tally = model.counted.tally
        return cls(
            tuple(zip(model.classes.tolist(), model.weights.tolist(), prior.tolist(), strict=True)),
            tuple(model.described.rows()),
            model.constant,
            tuple((c, n) for c, n in zip(model.classes.tolist(), model.density.regularised, strict=False) if n),
            tally.unlabelled,
            tally.rounded,
            model.digest,
        )

    def __str__(self) -> str:
        text = [aligned(self._class_lines(), left=1), aligned(self._column_lines(), left=4)]
        if len(self.columns) > MOST:
            text.append(f"... and {len(self.columns) - MOST} more columns")
        for label, names in self.regularised:
            shown = ", ".join(names[:MOST]) + (", ..." if len(names) > MOST else "")
            text.append(f"regularised in class {label}: {shown}")
        if self.unlabelled:
            text.append(f"{self.unlabelled} rows without a label were skipped")
        if self.rounded:
            text.append(f"{self.rounded} integers beyond 2**53 were rounded")
        return "\n\n".join(text)

    def _repr_html_(self) -> str:
        more = f", the first {MOST} shown" if len(self.columns) > MOST else ""
        classes = html_table(self._class_lines(), left=1, caption=f"{len(self.classes)} classes")
        columns = html_table(self._column_lines(), left=4, caption=f"{len(self.columns)} columns{more}")
        return f"<div>{classes}{columns}</div>"

    def _class_lines(self) -> list[list[str]]:
        return [["class", "weight", "prior"], *([str(c), f"{w:g}", f"{p:.4g}"] for c, w, p in self.classes)]

    def _column_lines(self) -> list[list[str]]:
        shown = self.columns[:MOST]
        return [
            ["column", "kind", "family", "why"],
            *([c["name"], c["kind"], c["family"] or "-", self._why(c)] for c in shown),
        ]

    def _why(self, column: dict[str, Any]) -> str:
        return str(column["why"]) + ("; constant: says nothing" if column["name"] in self.constant else "")
