"""Rows drawn from the class densities of a model, weighted so that what they average is unbiased."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from bayeskit.arrays import Array, Float, Int
from bayeskit.densities.density import Axis
from bayeskit.errors import InputError
from bayeskit.model.model import Model
from bayeskit.structures.full import FullDensity

BATCH = 1 << 15
PANELS = 2048  # pieces of a continuous column between which a density is taken as flat when drawing
WHOLE = 20_000  # whole numbers that are listed


@dataclass(frozen=True)
class Column:
    """A column that distinguishes the classes: the values it can have, or where they lie."""

    name: str
    values: Sequence[Any]  # empty if continuous
    points: Float  # (m,) of a continuous one
    point_mass: bool = False

    @property
    def continuous(self) -> bool:
        return len(self.points) > 0


def column_of(model: Model, name: str) -> Column | None:
    """A column as it can be listed or integrated; None if it says nothing."""
    column = model.schema[name]
    if name in model.constant or not column.kind:
        return None
    if name in model.counted.domain.levels and column.kind in ("binary", "nominal", "ordinal"):
        values = [v for v in model.counted.domain.levels[name].values if v is not None]
        return Column(name, values, np.empty(0)) if len(values) else None
    axis: Axis | None = model.density.axes.get(name)
    if axis is None:
        raise InputError(
            f"the density of column {name!r} ({column.family}) cannot be integrated; choose another family"
        )
    if axis.integer:
        low, high = axis.points
        if high - low > WHOLE:
            raise InputError(f"column {name!r} reaches up to {high:g}: too many whole numbers to sum over")
        return Column(name, np.arange(low, high + 1).tolist(), np.empty(0))
    return Column(name, (), axis.points, axis.point_mass)


def sample_error(
    model: Model, log_prior: Float, columns: Sequence[Column], samples: int, rng: np.random.Generator
) -> tuple[Float, Float, float, str]:
    """Mass decided right and mass in all by class, with the standard error of the share decided wrong.

    Each class is drawn as often as its prior says. Columns independent given the class are drawn one by one from a
    piecewise flat copy of their density; what the copy distorts, the weight p/q of the row takes back. A density of all
    columns together draws whole rows itself.
    """
    densities, together = model.density.densities, not model.density.additive
    whole = densities[0] if len(densities) == 1 and isinstance(densities[0], FullDensity) else None
    if together and whole is None:
        name = type(densities[0]).__name__
        raise InputError(
            f"the Bayes error of {name} in more than two numeric columns is not available; "
            f"leave columns out, or take the cross-validated error instead"
        )
    if samples < 1000:
        raise InputError(f"samples={samples}: give 1000 or more")
    prior = np.exp(log_prior)
    count = np.maximum(np.round(prior * samples).astype(int), np.where(prior > 0, 100, 0))
    tables = [] if together else [_table(model, column) for column in columns]
    right, mass, variance = np.zeros((3, len(prior)))
    for c in np.flatnonzero(count):
        hit, weight = [], []
        for begin in range(0, count[c], BATCH):
            rows = min(BATCH, count[c] - begin)
            if whole is not None:
                values, proposal = whole.draw(int(c), rows, rng), None
            else:
                drawn = {
                    column.name: table.draw(int(c), rows, rng) for column, table in zip(columns, tables, strict=True)
                }
                values = {name: x for name, (x, _) in drawn.items()}
                proposal = sum((log_q for _, log_q in drawn.values()), np.zeros(rows))
            joint = model.joint(model.counted.block(rows_of(model, values, rows)), log_prior)
            weight.append(np.ones(rows) if proposal is None else np.exp(joint[:, c] - log_prior[c] - proposal))
            hit.append(np.argmax(joint, axis=1) == c)
        w, h = np.concatenate(weight), np.concatenate(hit)
        right[c], mass[c] = prior[c] * (w * h).mean(), prior[c] * w.mean()
        variance[c] = prior[c] ** 2 * np.var(w * h / w.mean()) / count[c]
    return right, mass, float(np.sqrt(variance.sum())), "sampling"


def draw_rows(model: Model, rows: int, rng: np.random.Generator) -> list[Array]:
    """Rows as the model itself would have them, column by column: (rows,) each, None where a column says nothing.

    Columns independent given the class are drawn one by one from a piecewise flat copy of their density; a density of
    all numbers together draws whole rows.
    """
    density, prior = model.density, np.exp(model.log_prior())
    whole = density.densities[0] if len(density.densities) == 1 else None
    if not density.additive and not isinstance(whole, FullDensity):
        raise InputError(f"rows of {type(density.densities[0]).__name__} cannot be drawn")
    drawn: dict[str, Array] = {name: np.full(rows, None, dtype=object) for name in model.schema.names}
    columns = [c for name in model.schema.names if density.additive and (c := column_of(model, name)) is not None]
    tables = {column.name: _table(model, column) for column in columns}
    classes = rng.choice(len(prior), rows, p=prior / prior.sum())
    for c in np.unique(classes).tolist():
        which = np.flatnonzero(classes == c)
        if isinstance(whole, FullDensity) and not density.additive:
            values: Mapping[str, Array] = whole.draw(c, len(which), rng)
        else:
            values = {name: table.draw(c, len(which), rng)[0] for name, table in tables.items()}
        for name, x in values.items():
            drawn[name][which] = x.tolist()
    return list(drawn.values())


@dataclass(frozen=True)
class _Table:
    """How to draw a column: pieces with their probability by class."""

    values: Array | None  # (m,) listed values, or None
    low: Float  # (m,) ends of the pieces
    high: Float  # (m,)
    shares: Float  # (K, m)

    def draw(self, c: int, rows: int, rng: np.random.Generator) -> tuple[Array, Float]:
        """Values and the logarithm of their density under the copy."""
        piece: Int = np.searchsorted(np.cumsum(self.shares[c])[:-1], rng.random(rows), side="right")
        log_q = np.log(self.shares[c][piece])
        if self.values is not None:
            return self.values[piece], log_q
        width = self.high[piece] - self.low[piece]
        point = width == 0  # a point mass
        return self.low[piece] + width * rng.random(rows), log_q - np.where(
            point, 0.0, np.log(np.where(point, 1, width))
        )


def _table(model: Model, column: Column) -> _Table:
    j = list(model.schema.names).index(column.name)

    def log_p(x: Any) -> Float:
        return model.terms(model.counted.block(rows_of(model, {column.name: x}, len(x))))[:, j]

    if not column.continuous:
        values = np.array(column.values, dtype=None if isinstance(column.values[0], float | str | bool) else object)
        return _Table(values, np.empty(0), np.empty(0), _shares(np.exp(log_p(values)).T))
    gaps = np.diff(column.points)
    parts = max(1, PANELS // len(gaps))
    edges = np.concatenate(
        [column.points[:-1, None] + gaps[:, None] * np.arange(parts) / parts, [[column.points[-1]] * parts]]
    )
    edges = np.unique(edges)
    low, high = edges[:-1], edges[1:]
    # the mean of five points of a piece, so that no piece with mass is left out
    inside = low[:, None] + (high - low)[:, None] * np.array([0.02, 0.25, 0.5, 0.75, 0.98])
    mass = np.exp(log_p(inside.ravel())).reshape(*inside.shape, -1).mean(axis=1) * (high - low)[:, None]
    if column.point_mass:
        low, high, mass = np.append(low, 0.0), np.append(high, 0.0), np.vstack([mass, np.exp(log_p(np.zeros(1)))])
    return _Table(None, low, high, _shares(mass.T))


def _shares(mass: Float) -> Float:
    total: Float = mass / mass.sum(axis=1, keepdims=True)
    return total


def rows_of(model: Model, given: Mapping[str, object], rows: int) -> pa.RecordBatch:
    """Rows with these columns known and nothing else."""
    arrays = [pa.array(given[name]) if name in given else pa.nulls(rows) for name in model.schema.names]
    return pa.RecordBatch.from_arrays(arrays, names=list(model.schema.names))
