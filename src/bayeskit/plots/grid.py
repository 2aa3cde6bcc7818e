"""Grid: two columns of a table covered by points, the others held still."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from bayeskit.arrays import Array, Axes, Float, HasColumns, Int, Label, TableLike
from bayeskit.data.frame import convert_frame, kind_of
from bayeskit.errors import InputError
from bayeskit.plots.style import colour, entry, marker


@dataclass(frozen=True)
class Grid:
    """Points (x_i, y_j) of two number columns, x running fastest.

    >>> grid = Grid.of([[0.0, 1.0], [2.0, 5.0]], resolution=3, margin=0.0)
    >>> grid.x.tolist(), grid.rows.shape
    ([0.0, 1.0, 2.0], (9, 2))
    """

    names: tuple[str, str]
    x: Float  # (m,)
    y: Float  # (m,)
    rows: Any  # (m * m) as the table was
    points: Float  # (n, 2) the rows of the table itself

    @classmethod
    def of(
        cls,
        X: TableLike,
        columns: Sequence[Label] | None = None,
        resolution: int = 160,
        margin: float = 0.12,
        at: Mapping[Label, object] | None = None,
    ) -> Grid:
        """Over the range of two columns (the first two unless named) and a ``margin`` of it on every side.

        The other columns have the values of ``at``, and are missing where it says nothing.
        """
        names = names_of(X)
        wanted = list(columns) if columns is not None else names[:2]
        if len(wanted) != 2:
            raise InputError(f"a picture of a plane has two columns, not {len(wanted)}; give columns=(a, b)")
        points = np.column_stack([column_of(X, name) for name in wanted])
        x, y = (_along(points[:, j], wanted[j], resolution, margin) for j in (0, 1))
        wide, high = np.meshgrid(x, y)
        rows = _rows(X, names, {wanted[0]: wide.ravel(), wanted[1]: high.ravel()}, dict(at or {}))
        shown = [f"x{name}" if isinstance(rows, np.ndarray) else str(name) for name in wanted]
        return cls((shown[0], shown[1]), x, y, rows, points)

    @property
    def flat(self) -> tuple[Float, Float]:
        """The coordinates of every point: (m * m,) each."""
        wide, high = np.meshgrid(self.x, self.y)
        return wide.ravel(), high.ravel()

    def square(self, values: Array) -> Array:
        """Values at the points as a picture: (m, m)."""
        return values.reshape(len(self.y), len(self.x))

    def scatter(self, ax: Axes, codes: Int, labels: Sequence[str]) -> None:
        """The rows of the table, by class."""
        for k, label in enumerate(labels):
            mine = codes == k
            ax.scatter(
                self.points[mine, 0],
                self.points[mine, 1],
                s=22,
                c=colour(k),
                marker=marker(k),
                label=entry(label),
                ec="white",
                lw=0.4,
                zorder=3,
            )

    def frame_axes(self, ax: Axes) -> None:
        ax.set_xlim(self.x[0], self.x[-1])
        ax.set_ylim(self.y[0], self.y[-1])


def names_of(X: TableLike) -> list[Label]:
    """The columns of a table; the places of a matrix."""
    if isinstance(X, pa.Table):
        return list(X.column_names)
    if isinstance(X, Mapping | HasColumns):
        return list(X if isinstance(X, Mapping) else X.columns)
    matrix = np.asarray(X)
    if matrix.ndim != 2:
        raise InputError("give a table with named columns, or a matrix")
    return list(range(matrix.shape[1]))


def column_of(X: TableLike, name: Label) -> Float:
    """One number column of a table."""
    if name not in names_of(X):
        raise InputError(f"there is no column {name!r} (columns: {', '.join(map(str, names_of(X)[:8]))})")
    if isinstance(name, int | np.integer) and not isinstance(X, Mapping | HasColumns):
        cells = np.asarray(X)[:, name]
    else:
        table: Any = X
        cells = np.asarray(
            table.column(name).to_numpy(zero_copy_only=False) if isinstance(X, pa.Table) else table[name]
        )
    try:
        return cells.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"column {name!r} holds no numbers; choose number columns for this picture") from error


def _along(values: Float, name: Label, resolution: int, margin: float) -> Float:
    known = values[np.isfinite(values)]
    if not len(known):
        raise InputError(f"column {name!r} has no value at all; choose another for this picture")
    wide = float(np.ptp(known)) or max(abs(float(known[0])), 1.0)
    return np.linspace(float(known.min()) - margin * wide, float(known.max()) + margin * wide, resolution)


def _rows(X: TableLike, names: list[Label], given: dict[Label, Float], at: dict[Any, Any]) -> Any:
    """Rows of the kind the table is, with two columns given."""
    count = len(next(iter(given.values())))
    if not isinstance(X, Mapping | HasColumns):
        matrix = np.full((count, len(names)), np.nan)
        for name, value in {**at, **given}.items():
            matrix[:, name] = value
        return matrix
    columns = [given[n] if n in given else [at[n]] * count if n in at else pa.nulls(count) for n in names]
    table = pa.table([pa.array(c) for c in columns], names=[str(n) for n in names])
    frame = convert_frame(table, kind_of(X))
    if kind_of(X) == "pandas" and isinstance(X, HasColumns):
        frame.columns = X.columns
    return frame
