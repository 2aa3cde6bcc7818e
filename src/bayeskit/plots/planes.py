"""Pictures over two columns: decision regions, the posterior of a class, density contours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from bayeskit.arrays import Array, ArrayLike, Axes, Classifier, Float, Int, Json, Label, LabelsLike, TableLike
from bayeskit.errors import InputError
from bayeskit.plots.grid import Grid
from bayeskit.plots.style import INK, Display, codes_of, colour, document, labels_of, legend, line, tidy

ROOMY = 0.06  # share of the picture between the rings from which all have room for a label
RINGS = (0.1, 0.3, 0.5, 0.7, 0.9)


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
