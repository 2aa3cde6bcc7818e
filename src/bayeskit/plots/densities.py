"""DensityDisplay: one column by class, the fitted density over the histogram of the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa

from bayeskit.arrays import Array, Axes, Classifier, Float, Json, LabelsLike, TableLike
from bayeskit.data.frame import shorten
from bayeskit.data.schema import Schema
from bayeskit.errors import InputError
from bayeskit.plots.grid import column_of, names_of
from bayeskit.plots.style import LEGEND, Display, codes_of, colour, document, entry, labels_of, legend, line, tidy

HISTOGRAMS = 6  # classes up to which the data are drawn too
LEVELS = 15  # levels with a place on the axis


@runtime_checkable
class HasMarginal(Protocol):
    """A classifier with a density of each column."""

    @property
    def schema_(self) -> Schema:
        """Its columns."""

    def marginal(self, column: str) -> Any:
        """p(x | c) of one of them."""


@document
@dataclass(eq=False, repr=False)
class DensityDisplay(Display):
    """p(x | c) of a number column as curves, of a column with levels as bars."""

    name: str
    classes: list[Any]
    values: list[Any]  # (m)
    density: Float  # (m, K)
    numeric: bool
    continuous: bool
    usual: tuple[float, float] | None  # where nearly all numbers lie
    data: Array | None = None  # (n,)
    codes: Array | None = None  # (n,)

    @classmethod
    def of(cls, marginal: Any) -> DensityDisplay:
        """Of a column by itself, as ``model.marginal(column)`` gives it.

        Parameters
        ----------
        marginal : Marginal
            What ``model.marginal(column)`` gives.
        """
        usual = marginal.usual() if marginal.numeric else None
        order = np.argsort(marginal.values, kind="stable") if marginal.numeric else np.arange(len(marginal.values))
        values = [marginal.values[i] for i in order.tolist()]
        density = np.exp(marginal.log_density)[order]
        labels = list(np.asarray(marginal.classes).tolist())
        return cls(marginal.name, labels, values, density, marginal.numeric, marginal.continuous, usual)

    @classmethod
    def from_estimator(cls, estimator: Classifier, X: TableLike, y: LabelsLike, column: object) -> DensityDisplay:
        """Of a fitted bayeskit classifier, with the rows it is to be seen against.

        Parameters
        ----------
        column : str
            The column.
        """
        if not isinstance(estimator, HasMarginal):
            raise InputError(f"{type(estimator).__name__} has no densities by column; draw a bayeskit classifier")
        names = names_of(X)
        fitted = [c.name for c in estimator.schema_.columns]
        if column not in names and str(column) not in fitted:
            raise InputError(f"there is no column {column!r} (columns: {', '.join(fitted[:8])})")
        place = names.index(column) if column in names else fitted.index(str(column))
        made = cls.of(estimator.marginal(fitted[place]))
        made.codes = codes_of(y, made.classes)
        if made.numeric:
            made.data = column_of(X, names[place])
        else:
            table: Any = X
            cells = table.column(names[place]).to_pylist() if isinstance(X, pa.Table) else list(table[names[place]])
            made.data = np.array([None if v is None else str(v) for v in cells], dtype=object)
        return made

    def _columns(self) -> Json:
        shown = self.values if self.numeric else [None if v is None else str(v) for v in self.values]
        return {self.name: shown, **{str(c): self.density[:, k] for k, c in enumerate(self.classes)}}

    def _draw(self, ax: Axes) -> None:
        (self._curves if self.numeric else self._bars)(ax)
        legend(ax, self.classes)

    def _curves(self, ax: Axes) -> None:
        x = np.asarray(self.values, dtype=np.float64)
        low, high = self.usual or (float(x[0]), float(x[-1]))
        data = None if self.data is None else self.data[np.isfinite(self.data.astype(np.float64))].astype(np.float64)
        if data is not None and len(data):
            low, high = min(low, float(data.min())), max(high, float(data.max()))
        inside = (x >= low) & (x <= high)
        for k, label in enumerate(labels_of(self.classes)):
            mine = self._finite_values(k)
            if mine is not None and len(mine) and len(self.classes) <= HISTOGRAMS:
                bins = np.arange(low - 0.5, high + 1) if not self.continuous else np.linspace(low, high, 31)
                ax.hist(mine, bins=bins.tolist(), density=True, color=colour(k), alpha=0.25, zorder=1)
            style: Json = (
                {"ls": line(k), "lw": 1.8} if self.continuous else {"marker": "o", "ms": 4, "ls": ":", "lw": 0.8}
            )
            ax.plot(x[inside], self.density[inside, k], color=colour(k), label=entry(label), **style)
        if not self.continuous:
            locator: Any = ax.xaxis.get_major_locator()
            locator.set_params(integer=True)
        top = self.density[inside]
        finite = top[np.isfinite(top)]
        highest = max(float(finite.max(initial=0.0)), 1e-300)
        ax.set_ylim(0, min(max(1.08 * highest, ax.get_ylim()[1]), 2 * highest))  # a few bars may be cut, curves never
        tidy(ax, f"{self.name} by class", self.name, "density" if self.continuous else "probability")

    def _finite_values(self, k: int) -> Float | None:
        if self.data is None or self.codes is None:
            return None
        mine: Float = self.data[self.codes == k].astype(np.float64)
        return np.asarray(mine[np.isfinite(mine)])

    def _bars(self, ax: Axes) -> None:
        pooled = self.density.sum(axis=1)
        shown = np.sort(np.argsort(-pooled, kind="stable")[:LEVELS])
        width = 0.8 / len(self.classes)
        for k, label in enumerate(labels_of(self.classes)):
            x = np.arange(len(shown)) + (k - (len(self.classes) - 1) / 2) * width
            ax.bar(x, self.density[shown, k], width * 0.92, color=colour(k), alpha=0.85, label=entry(label))
            if self.data is not None and self.codes is not None:
                mine = self.data[self.codes == k]
                known = max(1, sum(v is not None for v in mine))
                seen = [np.sum(mine == str(self.values[i])) / known for i in shown.tolist()]
                ax.plot(x, seen, "_", color="black", ms=max(4.0, 60 * width), mew=1.4)
        ax.set_ylim(0, (1.0 + 0.09 * min(len(self.classes), LEGEND)) * ax.get_ylim()[1])  # room for the legend
        names = [shorten(self.values[i], 14) for i in shown.tolist()]
        crowded = sum(map(len, names)) > 60
        ax.set_xticks(np.arange(len(shown)), names, rotation=35 if crowded else 0, ha="right" if crowded else "center")
        more = len(self.values) - len(shown)
        rest = f", the {LEVELS} likeliest of {len(self.values)} levels" if more > 0 else ""
        tidy(
            ax,
            f"{self.name} by class{rest}",
            self.name,
            "probability (– in the data)" if self.data is not None else "probability",
        )
