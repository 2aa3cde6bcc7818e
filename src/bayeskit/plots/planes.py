"""Densities of a column by class; over two columns decision regions, the posterior of a class, density contours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa

from bayeskit.arrays import Array, ArrayLike, Axes, Classifier, Float, Int, Json, Label, LabelsLike, TableLike
from bayeskit.data.frame import shorten
from bayeskit.data.schema import Schema
from bayeskit.errors import InputError
from bayeskit.plots.grid import Grid, column_of, names_of
from bayeskit.plots.style import INK, LEGEND, Display, codes_of, colour, document, entry, labels_of, legend, line, tidy

ROOMY = 0.06  # share of the picture between the rings from which all have room for a label
RINGS = (0.1, 0.3, 0.5, 0.7, 0.9)
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


@runtime_checkable
class HasJoint(Protocol):
    """A classifier with densities."""

    def predict_joint_log_proba(self, X: TableLike) -> Float:
        """log P(class, row), (n, K)."""


@document
@dataclass(eq=False, repr=False)
class RegionDisplay(Display):
    """Which class a classifier decides on at each point of a plane."""

    grid: Grid
    classes: list[Any]
    decision: Int  # (m * m,) places among the classes
    codes: Int | None = None  # (n,) of the rows, if their labels are known

    size = (5.6, 4.4)

    @classmethod
    def from_estimator(
        cls,
        estimator: Classifier,
        X: TableLike,
        y: LabelsLike | None = None,
        columns: Sequence[Label] | None = None,
        resolution: int = 240,
        margin: float = 0.12,
        at: Mapping[Label, object] | None = None,
    ) -> RegionDisplay:
        """Of any fitted classifier; columns that are not drawn have the values of ``at``, else are missing."""
        grid, classes = Grid.of(X, columns, resolution, margin, at), list(np.asarray(estimator.classes_).tolist())
        decision = codes_of(estimator.predict(grid.rows), classes)
        return cls(grid, classes, decision, None if y is None else codes_of(y, classes))

    def _columns(self) -> Json:
        x, y = self.grid.flat
        return {self.grid.names[0]: x, self.grid.names[1]: y, "class": [str(self.classes[k]) for k in self.decision]}

    def _draw(self, ax: Axes) -> None:
        from matplotlib.colors import ListedColormap

        shades = ListedColormap([colour(k) for k in range(len(self.classes))])
        picture = self.grid.square(self.decision)
        ax.pcolormesh(
            self.grid.x,
            self.grid.y,
            picture,
            cmap=shades,
            vmin=-0.5,
            vmax=len(self.classes) - 0.5,
            alpha=0.28,
            shading="nearest",
            rasterized=True,
        )
        for k in np.unique(self.decision).tolist():
            ax.contour(self.grid.x, self.grid.y, picture == k, levels=[0.5], colors=INK, linewidths=0.9)
        if self.codes is not None:
            self.grid.scatter(ax, self.codes, labels_of(self.classes))
        tidy(ax, "decision regions", *self.grid.names)
        legend(ax, self.classes, loc="upper right")
        self.grid.frame_axes(ax)


@document
@dataclass(eq=False, repr=False)
class SurfaceDisplay(Display):
    """P(class | x, y) over a plane."""

    grid: Grid
    classes: list[Any]
    label: Any
    probability: Float  # (m * m,)
    codes: Int | None = None

    size = (5.8, 4.4)

    @classmethod
    def from_estimator(
        cls,
        estimator: Classifier,
        X: TableLike,
        y: LabelsLike | None = None,
        label: Label | None = None,
        columns: Sequence[Label] | None = None,
        resolution: int = 240,
        margin: float = 0.12,
        at: Mapping[Label, object] | None = None,
    ) -> SurfaceDisplay:
        """Of one class of any classifier with probabilities; the first class unless named."""
        grid, classes = Grid.of(X, columns, resolution, margin, at), list(np.asarray(estimator.classes_).tolist())
        label = classes[0] if label is None else label
        k = int(codes_of([label], classes)[0])
        proba = np.asarray(estimator.predict_proba(grid.rows))[:, k]
        return cls(grid, classes, label, proba, None if y is None else codes_of(y, classes))

    def _columns(self) -> Json:
        x, y = self.grid.flat
        return {self.grid.names[0]: x, self.grid.names[1]: y, "probability": self.probability}

    def _draw(self, ax: Axes) -> None:
        picture = self.grid.square(self.probability)
        drawn = ax.contourf(self.grid.x, self.grid.y, picture, levels=np.linspace(0, 1, 11), cmap="Greys", alpha=0.6)
        rings = ax.contour(self.grid.x, self.grid.y, picture, levels=RINGS, colors=INK, linewidths=0.7)
        between = float(np.mean((picture > RINGS[0]) & (picture < RINGS[-1])))
        ax.clabel(rings, RINGS if between > ROOMY else [0.5], fmt="%.1f", fontsize=7)
        if self.codes is not None:
            self.grid.scatter(ax, self.codes, labels_of(self.classes))
        bar = ax.figure.colorbar(drawn, ax=ax, ticks=[0, 0.5, 1], shrink=0.8)
        bar.outline.set_visible(False)
        tidy(ax, f"P({labels_of([self.label])[0]} | x)", *self.grid.names)
        legend(ax, self.classes, loc="upper right")
        self.grid.frame_axes(ax)


@document
@dataclass(eq=False, repr=False)
class ContourDisplay(Display):
    """Where the density of each class falls to a share of its peak, with the means of the classes."""

    grid: Grid
    classes: list[Any]
    log_density: Float  # (m * m, K) up to a constant of the class
    share: float
    means: Float  # (K, 2)
    codes: Int | None = None
    points: Float | None = None  # (q, 2) rows asked about

    size = (5.8, 4.6)

    @classmethod
    def from_estimator(
        cls,
        estimator: Classifier,
        X: TableLike,
        y: LabelsLike,
        columns: Sequence[Label] | None = None,
        share: float = 0.01,
        points: ArrayLike | None = None,
        resolution: int = 160,
        margin: float = 0.35,
        at: Mapping[Label, object] | None = None,
    ) -> ContourDisplay:
        """Of a bayeskit classifier, whose classes have densities; ``points`` are rows (x, y) to mark.

        Parameters
        ----------
        share : float, default 0.01
            The share of the peak at which the contour lies.
        points : sequence of pairs, optional
            Rows (x, y) to mark.
        """
        if not isinstance(estimator, HasJoint):
            raise InputError(
                f"{type(estimator).__name__} has no class densities; draw a bayeskit model, or its decision regions"
            )
        grid, classes = Grid.of(X, columns, resolution, margin, at), list(np.asarray(estimator.classes_).tolist())
        joint: Array = estimator.predict_joint_log_proba(grid.rows)
        codes = codes_of(y, classes)
        means = np.array([_mean(grid.points[codes == k]) for k in range(len(classes))])
        marked = None if points is None else np.asarray(points, dtype=np.float64).reshape(-1, 2)
        return cls(grid, classes, joint, share, means, codes, marked)

    def _columns(self) -> Json:
        x, y = self.grid.flat
        peak = self.log_density.max(axis=0)
        of_peak = np.exp(self.log_density - np.where(np.isfinite(peak), peak, 0.0))
        shares = {str(label): of_peak[:, k] for k, label in enumerate(self.classes)}
        return {self.grid.names[0]: x, self.grid.names[1]: y, **shares}

    def _draw(self, ax: Axes) -> None:
        if self.codes is not None:
            self.grid.scatter(ax, self.codes, labels_of(self.classes))
        for k in range(len(self.classes)):
            log = self.grid.square(self.log_density[:, k])
            peak = float(log.max())
            if np.isfinite(peak):
                level = [peak + np.log(self.share)]
                finite = np.where(np.isfinite(log), log, peak - 1e4)
                ax.contour(
                    self.grid.x, self.grid.y, finite, levels=level, colors=colour(k), linestyles=line(k), linewidths=1.6
                )
            ax.plot(*self.means[k], "+", color=INK, ms=11, mew=2, zorder=5)
        if self.points is not None:
            ax.plot(*self.points.T, "*", color=INK, mec="white", ms=14, zorder=6, label="asked about", ls="none")
        tidy(ax, f"class densities at {self.share:.0%} of their peak, means (+)", *self.grid.names)
        legend(ax, self.classes, loc="upper right")
        self.grid.frame_axes(ax)


def _mean(points: Float) -> Float:
    known: Float = np.array([c[np.isfinite(c)].mean() if np.isfinite(c).any() else np.nan for c in points.T])
    return known
