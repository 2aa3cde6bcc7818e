"""CostCurve: what decisions for a class cost, for every balance of the two mistakes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskit.arrays import Bool, Float, Frame, Label
from bayeskit.data.frame import TableRepr, frame
from bayeskit.docstrings import document_frame_like_x
from bayeskit.errors import InputError
from bayeskit.numerics.rates import curve, effective, wilson

POINTS = np.arange(1, 100) / 100


@dataclass(frozen=True, eq=False, repr=False)
class CostCurve(TableRepr):
    """Cost of deciding for a class by its probability, as a share of the most it can be, by how dear misses are.

    PC = π m / (π m + (1 - π) f), π the share of the class, m and f what a miss and a false alarm cost; the cost of a
    threshold is FNR PC + FPR (1 - PC), a line (Drummond and Holte, Machine Learning 65, 2006). ``cost`` is that of the
    threshold f / (f + m), which right probabilities make the best; ``least`` that of the best threshold for these very
    rows, known afterwards only; always saying the class, or never, costs min(PC, 1 - PC). Intervals are Wilson's of
    both rates, combined (MOVER).

    >>> proba, ill = np.array([0.9, 0.6, 0.4, 0.1]), np.array([True, False, True, False])
    >>> found = CostCurve.of("ill", proba, ill, np.ones(4), np.array([0.5]))
    >>> found.cost.tolist(), found.least.tolist(), found.trivial.tolist()
    ([0.5], [0.25], [0.5])
    """

    label: Label
    weighed: Float  # (m,) PC
    threshold: Float  # (m,) of the probability, at which costs alone would decide
    cost: Float  # (m,)
    low: Float  # (m,) with 95 % confidence
    high: Float
    least: Float  # (m,)
    kind: str = "pyarrow"

    @classmethod
    def of(cls, label: Label, proba: Float, positive: Bool, weights: Float, weighed: Float | None = None) -> CostCurve:
        """From the probability of a class in each row, and whether the row is of it: (n,) each."""
        pc = POINTS if weighed is None else np.asarray(weighed, dtype=np.float64)
        if pc.ndim != 1 or not len(pc) or not ((pc > 0) & (pc < 1)).all():
            raise InputError("balances are shares of the cost that misses have: give some between 0 and 1")
        mine, rest = float(weights @ positive), float(weights @ ~positive)
        if not (mine > 0 and rest > 0):
            raise InputError(f"a cost curve needs rows of class {label!r} and rows of others")
        share = mine / (mine + rest)
        threshold = share * (1 - pc) / (share * (1 - pc) + (1 - share) * pc)
        missed = np.array([weights @ (positive & (proba < t)) for t in threshold]) / mine
        alarmed = np.array([weights @ (~positive & (proba >= t)) for t in threshold]) / rest
        cost = missed * pc + alarmed * (1 - pc)
        rows = [float(effective(weights[side].sum(), weights[side] @ weights[side])) for side in (positive, ~positive)]
        below, above = np.zeros(len(pc)), np.zeros(len(pc))
        for rates, n, part in ((missed, rows[0], pc), (alarmed, rows[1], 1 - pc)):
            ends = [wilson(rate, n) for rate in rates.tolist()]
            below += (part * (rates - [e.low for e in ends])) ** 2
            above += (part * ([e.high for e in ends] - rates)) ** 2
        found = curve(proba, positive, weights)
        lines = (1 - found.true_positive) * pc[:, None] + found.false_positive * (1 - pc)[:, None]
        return cls(label, pc, threshold, cost, cost - np.sqrt(below), cost + np.sqrt(above), lines.min(axis=1))

    @property
    def trivial(self) -> Float:
        """Of saying the same of every row: (m,)."""
        return np.minimum(self.weighed, 1 - self.weighed)

    @property
    def useful(self) -> Bool:
        """Where decisions cost less than saying the same of every row: (m,)."""
        useful: Bool = self.cost < self.trivial - 1e-12
        return useful

    @document_frame_like_x
    def frame(self, kind: str | None = None) -> Frame:
        """A line for each balance."""
        columns: dict[str, Any] = {
            "probability_cost": self.weighed,
            "threshold": self.threshold,
            "cost": self.cost,
            "low": self.low,
            "high": self.high,
            "least": self.least,
            "trivial": self.trivial,
        }
        return frame(columns, kind or self.kind)

    def _title(self) -> str:
        return f"cost of deciding for {self.label}, as a share of the most it can be"

    def _lines(self) -> list[list[str]]:
        chosen = np.unique(np.linspace(0, len(self.weighed) - 1, min(9, len(self.weighed))).astype(int)).tolist()
        lines = [["misses' share", "threshold", "cost", "95 % from", "to", "least", "trivial"]]
        each = (self.threshold, self.cost, self.low, self.high, self.least, self.trivial)
        for i in chosen:
            lines.append([f"{self.weighed[i]:g}", *(f"{column[i]:.4f}" for column in each)])
        return lines
