"""Decision curve: what acting on a predicted probability is worth, by the threshold one would act at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskit.arrays import ArrayLike, Bool, Float, Frame, Label
from bayeskit.data.frame import TableRepr, frame
from bayeskit.errors import InputError
from bayeskit.evaluation.intervals import by_rows
from bayeskit.numerics.rates import effective, ratio

THRESHOLDS = np.arange(1, 100) / 100


@dataclass(frozen=True, eq=False, repr=False)
class DecisionCurve(TableRepr):
    """Net benefit of treating the rows whose probability of a class is at least t, for each threshold t.

    benefit(t) = (true positives - false positives * t / (1 - t)) / n, in true positives a row (Vickers and Elkin,
    Medical Decision Making 26, 2006). t / (1 - t) is what a false alarm costs by what a find is worth. Treating none
    has benefit 0, treating all π - (1 - π) t / (1 - t), π the share of the class. Intervals are of the mean over rows.

    >>> proba, ill = np.array([0.9, 0.6, 0.4, 0.1]), np.array([True, False, True, False])
    >>> found = DecisionCurve.of("ill", proba, ill, thresholds=[0.5])
    >>> found.benefit.tolist(), found.treat_all.tolist()
    ([0.0], [0.0])
    """

    label: Label
    share: float  # of the class
    threshold: Float  # (m,)
    found: Float  # (m,) share of all rows that is of the class and treated
    false: Float  # (m,) share of all rows that is of another class and treated
    low: Float  # (m,) of the benefit, with 95 % confidence
    high: Float
    kind: str = "pyarrow"

    @classmethod
    def of(
        cls,
        label: Label,
        proba: Float,
        positive: Bool,
        weights: Float | None = None,
        thresholds: ArrayLike = THRESHOLDS,
    ) -> DecisionCurve:
        """From the probability of a class in each row, and whether the row is of it: (n,) each."""
        t = np.asarray(thresholds, dtype=np.float64)
        if t.ndim != 1 or not len(t) or not ((t > 0) & (t < 1)).all():
            raise InputError("thresholds are probabilities to act at: give some between 0 and 1")
        if not len(proba):
            raise InputError("a decision curve needs rows")
        w = np.ones(len(proba)) if weights is None else weights
        order = np.argsort(proba, kind="stable")
        first = np.searchsorted(proba[order], t, side="left")  # rows from there on are treated
        total, rows = float(w.sum()), float(effective(w.sum(), w @ w))
        above = [np.append(np.cumsum((w * side)[order][::-1])[::-1], 0.0)[first] for side in (positive, ~positive)]
        found, false = (np.asarray(ratio(part, total)) for part in above)
        odds = t / (1 - t)
        mean = found - false * odds
        second = found + false * odds**2 - mean**2
        third = found - false * odds**3 - 3 * mean * (found + false * odds**2) + 2 * mean**3
        every = zip(mean.tolist(), second.tolist(), third.tolist(), strict=True)
        ends = [by_rows(m, max(v, 0.0), s, rows) for m, v, s in every]
        low, high = np.array([e.low for e in ends]), np.array([e.high for e in ends])
        return cls(label, float(ratio((w * positive).sum(), total)), t, found, false, low, high)

    @property
    def benefit(self) -> Float:
        """By the model: (m,)."""
        return self.found - self.false * self._odds

    @property
    def treat_all(self) -> Float:
        """Of treating every row: (m,)."""
        return self.share - (1 - self.share) * self._odds

    @property
    def useful(self) -> Bool:
        """Where the model is worth more than treating all and than treating none: (m,)."""
        useful: Bool = self.benefit > np.maximum(self.treat_all, 0.0) + 1e-12
        return useful

    @property
    def sensitivity(self) -> Float:
        """Share of the class that is treated: (m,)."""
        return ratio(self.found, np.full(len(self.found), self.share))

    @property
    def precision(self) -> Float:
        """Share of those treated that is of the class, NaN where none is: (m,)."""
        return ratio(self.found, self.found + self.false)

    @property
    def _odds(self) -> Float:
        odds: Float = self.threshold / (1 - self.threshold)
        return odds

    def frame(self, kind: str | None = None) -> Frame:
        """A line for each threshold.

        Parameters
        ----------
        kind : {"pandas", "polars", "pyarrow"}, optional
            The kind of frame; that of X, or Arrow, unless asked.
        """
        columns: dict[str, Any] = {
            "threshold": self.threshold,
            "net_benefit": self.benefit,
            "low": self.low,
            "high": self.high,
            "treat_all": self.treat_all,
            "treat_none": np.zeros(len(self.threshold)),
            "true_positives": self.found,
            "false_positives": self.false,
        }
        return frame(columns, kind or self.kind)

    def _title(self) -> str:
        return f"net benefit of acting on P({self.label}), in true positives a row"

    def _lines(self) -> list[list[str]]:
        chosen = np.unique(np.linspace(0, len(self.threshold) - 1, min(9, len(self.threshold))).astype(int)).tolist()
        lines = [["threshold", "net benefit", "95 % from", "to", "treat all", "treat none"]]
        for i in chosen:
            values = (self.benefit[i], self.low[i], self.high[i], self.treat_all[i], 0.0)
            lines.append([f"{self.threshold[i]:g}", *(f"{x:.4f}" for x in values)])
        return lines
