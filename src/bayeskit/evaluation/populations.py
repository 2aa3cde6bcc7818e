"""Populations: a model trained on each of several populations and tested on each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskit.arrays import Axes, Frame
from bayeskit.data.frame import TableRepr, frame
from bayeskit.evaluation.evaluation import Evaluation
from bayeskit.evaluation.intervals import known_mean
from bayeskit.numerics.rates import Interval
from bayeskit.plots.style import Display

RATES = ("sensitivity", "specificity")


@dataclass(frozen=True, eq=False, repr=False)
class Populations(TableRepr):
    """Evaluations by the names of training and test population; the diagonal is cross-validated.

    Rates are those of the ``positive`` class, or means over classes where none is named.
    """

    names: tuple[str, ...]
    evaluations: Mapping[tuple[str, str], Evaluation]
    positive: Any = None
    kind: str = "pyarrow"

    def __getitem__(self, pair: tuple[str, str]) -> Evaluation:
        """The evaluation of (training population, test population)."""
        return self.evaluations[pair]

    def rate(self, rate: str, pair: tuple[str, str]) -> float:
        """Sensitivity or specificity of a model trained on one population, tested on another."""
        found = getattr(self.evaluations[pair].confusion, rate)
        return known_mean(np.array(list(found.values()))) if self.positive is None else float(found[self.positive])

    def interval(self, rate: str, pair: tuple[str, str]) -> Interval:
        """Wilson's interval of a rate of the positive class."""
        if self.positive is None:
            return Interval(np.nan, np.nan, "a mean over classes has none")
        return self.evaluations[pair].confusion.interval(rate, self.positive)

    def frame(self, kind: str | None = None) -> Frame:
        """A line for each pair of populations."""
        pairs = list(self.evaluations)
        columns: dict[str, Any] = {"train": [a for a, _ in pairs], "test": [b for _, b in pairs]}
        for rate in RATES:
            ends = [self.interval(rate, pair) for pair in pairs]
            columns[rate] = [self.rate(rate, pair) for pair in pairs]
            columns[f"{rate}_low"], columns[f"{rate}_high"] = [e.low for e in ends], [e.high for e in ends]
        columns["accuracy"] = [self.evaluations[pair].accuracy for pair in pairs]
        columns["weight"] = [self.evaluations[pair].confusion.weight for pair in pairs]
        return frame(columns, kind or self.kind)

    def plot(self, ax: Axes | None = None) -> Display:
        """The table as a heat map."""
        from bayeskit.plots.heat import PopulationDisplay

        rates = {r: np.array([[self.rate(r, (a, b)) for b in self.names] for a in self.names]) for r in RATES}
        return PopulationDisplay(list(self.names), rates, self._title().split(";")[0].replace(" in %", "")).plot(ax)

    def _title(self) -> str:
        of = "mean over classes" if self.positive is None else f"of {self.positive}"
        return f"sensitivity / specificity in %, {of}; the diagonal is cross-validated"

    def _lines(self) -> list[list[str]]:
        def cell(pair: tuple[str, str]) -> str:
            return " / ".join(f"{self.rate(rate, pair):.1%}".rstrip("%") for rate in RATES)

        head = ["trained on \\ tested on", *self.names]
        return [head, *([train, *(cell((train, test)) for test in self.names)] for train in self.names)]
