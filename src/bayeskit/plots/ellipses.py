"""Ellipses and circles: points equally far from a mean, or from a row asked about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from bayeskit.arrays import Array, ArrayLike, Axes, Classifier, Float, Int, Json, Label, LabelsLike, TableLike
from bayeskit.errors import InputError
from bayeskit.plots.grid import Grid
from bayeskit.plots.style import INK, Display, codes_of, colour, document, labels_of, legend, line, tidy


@runtime_checkable
class HasNeighbors(Protocol):
    """A classifier that knows which rows it asks."""

    classes_: Array
    n_features_in_: int

    def neighbors(self, X: TableLike) -> Any: ...


@document
@dataclass(eq=False, repr=False)
class EllipseDisplay(Display):
    """(x - m)' C^-1 (x - m) = d^2: the points at a Mahalanobis distance d from the mean of each class.

    >>> shown = EllipseDisplay.from_moments([[0.0, 0.0]], [[[4.0, 0.0], [0.0, 1.0]]], ["c"], distances=(1,))
    >>> shown.frame().to_pydict()["major"], shown.frame().to_pydict()["minor"]
    ([2.0], [1.0])
    """

    classes: list[Any]
    means: Float  # (K, 2)
    covariances: Float  # (K, 2, 2)
    distances: tuple[float, ...]
    names: tuple[str, str] = ("x", "y")
    grid: Grid | None = None
    codes: Int | None = None

    size = (5.6, 4.6)

    @classmethod
    def from_moments(
        cls, means: ArrayLike, covariances: ArrayLike, classes: Sequence[Label], distances: Sequence[float] = (1, 2, 3)
    ) -> EllipseDisplay:
        """From means (K, 2) and covariances (K, 2, 2).

        Parameters
        ----------
        means : array of shape (K, 2)
            Means of the classes.
        covariances : array of shape (K, 2, 2)
            Their covariances.
        classes : sequence
            The classes, in the order of the columns of ``proba`` or of the moments.
        """
        middle, matrix = np.asarray(means, dtype=np.float64), np.asarray(covariances, dtype=np.float64)
        if middle.shape != (len(classes), 2) or matrix.shape != (len(classes), 2, 2):
            raise InputError(f"{len(classes)} classes have means (K, 2) and covariances (K, 2, 2) to draw ellipses of")
        return cls(list(classes), middle, matrix, tuple(map(float, distances)))

    @classmethod
    def from_data(
        cls, X: TableLike, y: LabelsLike, columns: Sequence[Label] | None = None, distances: Sequence[float] = (1, 2, 3)
    ) -> EllipseDisplay:
        """From the rows of each class, covariances divided by n."""
        classes = np.unique(np.asarray(y)).tolist()
        grid, codes = Grid.of(X, columns, 2, 0.2), codes_of(y, classes)
        rows = [grid.points[(codes == k) & np.isfinite(grid.points).all(axis=1)] for k in range(len(classes))]
        means = np.array([r.mean(axis=0) if len(r) else [np.nan] * 2 for r in rows])
        matrices = np.array([np.cov(r.T, ddof=0) if len(r) else np.full((2, 2), np.nan) for r in rows])
        return cls(classes, means, matrices, tuple(map(float, distances)), grid.names, grid, codes)

    def _axes(self, k: int) -> tuple[Float, Float]:
        """Half axes at distance 1, the longer first, and the direction of that one: (2,) each."""
        values, vectors = np.linalg.eigh(self.covariances[k])
        return np.sqrt(np.maximum(values[::-1], 0.0)), vectors[:, 1]

    def _columns(self) -> Json:
        each = [(k, d, *self._axes(k)) for k in range(len(self.classes)) for d in self.distances]
        return {
            "class": [str(self.classes[k]) for k, *_ in each],
            "distance": [d for _, d, *_ in each],
            "x": [float(self.means[k, 0]) for k, *_ in each],
            "y": [float(self.means[k, 1]) for k, *_ in each],
            "major": [float(d * half[0]) for _, d, half, _ in each],
            "minor": [float(d * half[1]) for _, d, half, _ in each],
            "angle": [float(np.degrees(np.arctan2(to[1], to[0])) % 180) for *_, to in each],
        }

    def _draw(self, ax: Axes) -> None:
        from matplotlib.patches import Ellipse

        shown, labels = self._columns(), labels_of(self.classes)
        if self.grid is not None and self.codes is not None:
            self.grid.scatter(ax, self.codes, labels)
        rings = len(self.distances)
        for i in range(len(shown["class"])):
            k = i // rings
            if not np.isfinite(self.means[k]).all():
                continue
            size = {"width": 2 * shown["major"][i], "height": 2 * shown["minor"][i], "angle": shown["angle"][i]}
            ring = Ellipse(self.means[k], **size, fill=False, ec=colour(k), ls=line(k), lw=1.6)
            if self.grid is None and i % rings == 0:
                ring.set_label(labels[k])
            ax.add_patch(ring)
        ax.plot(*self.means.T, "+", color=INK, ms=10, mew=2, ls="none", zorder=5)
        ax.autoscale_view()
        ax.set_aspect("equal", adjustable="datalim")
        tidy(ax, f"Mahalanobis distance {', '.join(f'{d:g}' for d in self.distances)}", *self.names)
        legend(ax, self.classes)


@document
@dataclass(eq=False, repr=False)
class NeighbourDisplay(Display):
    """A row asked about, its neighbours, and the circle that just holds them."""

    grid: Grid
    classes: list[Any]
    codes: Int  # (n,)
    point: Float  # (2,)
    neighbours: Float  # (q, 2)
    labels: list[Any]  # (q)
    distances: Float  # (q,)
    weights: Float  # (q,) equal rows of a class are one neighbour
    radius: float

    size = (5.6, 4.6)

    @classmethod
    def from_estimator(
        cls, estimator: Classifier, X: TableLike, y: LabelsLike, point: Sequence[float]
    ) -> NeighbourDisplay:
        """Of a fitted ``KNNBayes`` of two number columns.

        Parameters
        ----------
        point : pair
            The row asked about.
        """
        if not isinstance(estimator, HasNeighbors):
            raise InputError(f"{type(estimator).__name__} has no neighbours to show; fit a KNNBayes")
        grid, classes = Grid.of(X, None, 2, 0.1), list(np.asarray(estimator.classes_).tolist())
        if estimator.n_features_in_ != 2:
            raise InputError(f"a circle of neighbours is drawn in two columns, not {estimator.n_features_in_}")
        asked = np.asarray(point, dtype=np.float64)
        row = (
            np.asarray([asked])
            if isinstance(grid.rows, np.ndarray)
            else dict(zip(grid.names, asked[:, None], strict=True))
        )
        found = estimator.neighbors(row)
        near = np.column_stack([found.rows.column(j).to_numpy(zero_copy_only=False) for j in range(2)])
        labels = np.asarray(found.labels).tolist()
        around = found.distances, found.weights, float(found.radius[0])
        return cls(grid, classes, codes_of(y, classes), asked, near, labels, *around)

    def _columns(self) -> Json:
        x, y = self.neighbours.T
        return {
            self.grid.names[0]: x,
            self.grid.names[1]: y,
            "class": list(map(str, self.labels)),
            "distance": self.distances,
            "weight": self.weights,
        }

    def _draw(self, ax: Axes) -> None:
        from matplotlib.patches import Circle

        self.grid.scatter(ax, self.codes, labels_of(self.classes))
        ax.add_patch(Circle(tuple(self.point), self.radius, fill=False, ec=INK, lw=1.4))
        ax.scatter(
            self.neighbours[:, 0], self.neighbours[:, 1], s=90, fc="none", ec=INK, lw=1.2, zorder=4, label="neighbours"
        )
        ax.plot(*self.point, "*", color=INK, ms=14, mec="white", zorder=6, ls="none", label="asked about")
        ax.autoscale_view()
        ax.set_aspect("equal", adjustable="datalim")
        tidy(ax, f"{self.weights.sum():.12g} rows within {self.radius:.4g}", *self.grid.names)
        legend(ax, self.classes)
