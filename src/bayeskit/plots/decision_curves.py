"""Decision curves: what decisions for a class are worth, or cost, by where one would act."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bayeskit.arrays import Axes, Float, Json
from bayeskit.plots.style import FAINT, INK, PALETTE, Display, document, labels_of, tidy


@document
@dataclass(eq=False, repr=False)
class BenefitDisplay(Display):
    """Net benefit by the threshold one would act at, with 95 % intervals, beside acting on all rows and on none."""

    columns: dict[str, Float]  # threshold, net_benefit, low, high, treat_all and others: (m,) each
    label: Any

    size: ClassVar[tuple[float, float]] = (5.6, 3.8)

    def _columns(self) -> Json:
        return dict(self.columns)

    def _draw(self, ax: Axes) -> None:
        at, name = self.columns["threshold"], labels_of([self.label])[0]
        ax.fill_between(at, self.columns["low"], self.columns["high"], color=PALETTE[0], alpha=0.2, lw=0)
        ax.plot(at, self.columns["net_benefit"], color=PALETTE[0], lw=1.8, label="by the model, 95 % intervals")
        ax.plot(at, self.columns["treat_all"], color=INK, ls="--", lw=1, label="act on all rows")
        ax.axhline(0.0, color=FAINT, lw=1, label="act on none")
        top = float(np.nanmax(np.append(self.columns["high"], 1e-3)))
        ax.set_ylim(-0.3 * top, 1.05 * top)
        tidy(ax, f"net benefit of acting on P({name})", "threshold", "true positives a row")
        ax.legend(frameon=False, fontsize=9)


@document
@dataclass(eq=False, repr=False)
class CostCurveDisplay(Display):
    """Cost of decisions by how dear misses are, with 95 % intervals, beside the best threshold and no model."""

    columns: dict[str, Float]  # probability_cost, cost, low, high, least, trivial and others: (m,) each
    label: Any

    size: ClassVar[tuple[float, float]] = (5.6, 3.8)

    def _columns(self) -> Json:
        return dict(self.columns)

    def _draw(self, ax: Axes) -> None:
        at, name = self.columns["probability_cost"], labels_of([self.label])[0]
        ax.fill_between(at, self.columns["low"], self.columns["high"], color=PALETTE[0], alpha=0.2, lw=0)
        ax.plot(at, self.columns["cost"], color=PALETTE[0], lw=1.8, label="by the model, 95 % intervals")
        ax.plot(at, self.columns["least"], color=PALETTE[1], lw=1.2, label="best threshold, afterwards")
        ax.plot(at, self.columns["trivial"], color=INK, ls="--", lw=1, label="the same for every row")
        ax.set_xlim(0, 1)
        ax.set_ylim(0, None)
        tidy(ax, f"cost of deciding for {name}", "probability × cost of a miss, as a share", "cost, of the most")
        ax.legend(frameon=False, fontsize=9)
