"""Effects: what the values of a column say to a model, found by asking it with the column changed and without it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from bayeskit.arrays import Classifier, Float, Int, Label
from bayeskit.data.frame import convert_frame, kind_of
from bayeskit.estimators.any_wrapper import AnyWrapper
from bayeskit.estimators.auto import AutoBayes
from bayeskit.estimators.calibrated import Calibrated
from bayeskit.estimators.classifier import BayesClassifier
from bayeskit.numerics.special import LOG_2
from bayeskit.plots.nomogram import round_step
from bayeskit.reports.profile import Profile, Table

if TYPE_CHECKING:
    import pandas as pd

ROWS, PAIRED_ROWS = 20, 12  # with which a value is asked for
POINTS, LEVELS, BARS = 33, 12, 24  # of an axis, of levels, of a histogram
CELLS = 5  # values of each of two columns
HIDDEN = 5  # rows below which no bar is drawn, so that none stands for a single row


@dataclass(frozen=True)
class Effect:
    """What each value of a column says of each class, in bits, beside how many rows have it.

    The evidence of a value in a row is log-odds of the class with it, less log-odds with the column missing; of models
    that need every column or to which a missing value says something, less the mean over the values of the column, as
    often as rows have them. ``bits`` is the mean over rows; where a column does not depend on others all rows agree,
    else ``low`` and ``high`` say where eight of ten rows lie.
    """

    name: str
    values: tuple[Any, ...]  # (m)
    numeric: bool
    bits: Float  # (m, curves)
    low: Float
    high: Float
    share: Float  # of the rows: (bars,) of numbers, (m,) of levels; 0 where very few have it
    edges: Float  # (bars + 1,) of numbers
    others: int = 0  # levels that are not shown

    @property
    def varies(self) -> bool:
        """Whether other columns change what it says."""
        return bool((self.high - self.low).max(initial=0.0) > 0.02)

    @property
    def worth(self) -> float:
        """Mean over the rows of how far a value moves the odds, in bits."""
        if not self.numeric:
            return float((np.abs(self.bits).max(axis=1) * self.share).sum())
        middle = (self.edges[1:] + self.edges[:-1]) / 2
        x = np.asarray(self.values, dtype=np.float64)
        at = np.stack([np.interp(middle, x, curve) for curve in self.bits.T], axis=1)
        return float((np.abs(at).max(axis=1) * self.share).sum())


@dataclass(frozen=True)
class Pair:
    """What values of two columns say together beyond what each says, in bits; NaN where very few rows have both."""

    names: tuple[str, str]
    values: tuple[tuple[str, ...], tuple[str, ...]]
    bits: Float  # (a, b)
    size: float  # root of the mean over rows of their square


@dataclass(frozen=True)
class EffectProbe:
    """A model and rows of its table, of which columns can be changed."""

    model: Classifier
    table: Table
    curves: tuple[int, ...]  # classes by number: of two the one of interest

    @property
    def optional(self) -> bool:
        """Whether a missing value says nothing; members of a pool may take it for a level."""
        plain = self.plain
        plain = plain.estimator_ if isinstance(plain, Calibrated) else plain
        return isinstance(plain, BayesClassifier) and all(c.missing == "skip" for c in plain.model_.schema.columns)

    @property
    def plain(self) -> Any:
        """What gives the probabilities that decisions are taken by."""
        model: Any = self.model
        while isinstance(model, AnyWrapper):
            model = model.estimator_
        return model

    def scores(self, rows: Int, changed: Mapping[str, Sequence[Label]]) -> Float:
        """Log-odds in bits of some rows with some columns changed: (n, curves).

        Of two classes the one against the other, of more each against the mean of all logarithms; a probability of
        zero counts as that of half a row.
        """
        asked, model = change_rows(self.table, rows, changed), self.plain
        with np.errstate(divide="ignore"):
            own = isinstance(model, BayesClassifier | AutoBayes | Calibrated)
            logs = model.predict_log_proba(asked) if own else np.log(model.predict_proba(asked))
        least = -np.log(2.0 * len(self.table))  # what was never seen counts as half a row
        logs = np.where(np.isneginf(logs), least, logs) / LOG_2
        if logs.shape[1] == 2:
            k = self.curves[0]
            return np.asarray(logs[:, [k]] - logs[:, [1 - k]], dtype=np.float64)
        centred: Float = (logs - logs.mean(axis=1, keepdims=True))[:, list(self.curves)]
        return centred

    def evidence(self, rows: Int, names: Sequence[str], cells: Sequence[Sequence[Label]]) -> Float:
        """Of values of some columns, each in every row, less that of none where there is one: (rows, cells, curves)."""
        n, m = len(rows), len(cells)
        changed = {name: [cell[j] for cell in cells for _ in range(n)] for j, name in enumerate(names)}
        found = self.scores(np.tile(rows, m), changed).reshape(m, n, -1)
        if self.optional:
            found = found - self.scores(rows, {name: [None] * n for name in names})
        return np.moveaxis(found, 0, 1)

    def effect(self, profile: Profile) -> Effect | None:
        """Of one column; None where it has one value or none."""
        column = self.table.column(profile.name)
        values, edges = _axis(column) if profile.numeric else (_levels(column, LEVELS), np.empty(0))
        if len(values) < 2:
            return None
        each = self.evidence(self.table.pick_rows(ROWS), [profile.name], [(v,) for v in values])
        if not self.optional:
            where = _places(column, values, profile.numeric)
            often = np.bincount(where[where >= 0], minlength=len(values))
            each = each - np.average(each, axis=1, weights=often)[:, None]
        low, high = np.quantile(each, [0.1, 0.9], axis=0)
        share = _histogram(column, edges) if profile.numeric else _shares(column, values)
        others = 0 if profile.numeric else profile.distinct - len(values)
        return Effect(profile.name, tuple(values), profile.numeric, each.mean(axis=0), low, high, share, edges, others)

    def values(self, profile: Profile, most: int) -> Sequence[Label]:
        """Some values of a column to choose from: frequent levels, or numbers spread over the rows."""
        column = self.table.column(profile.name)
        return _middles(column, most) if profile.numeric else _levels(column, most)

    def pair(self, one: Profile, other: Profile) -> Pair | None:
        """Of two columns and the first curve."""
        columns = [self.table.column(p.name) for p in (one, other)]
        a, b = middles = [self.values(p, CELLS) for p in (one, other)]
        if len(a) < 2 or len(b) < 2:
            return None
        cells = [(u, v) for u in a for v in b]
        said = self.evidence(self.table.pick_rows(PAIRED_ROWS), (one.name, other.name), cells).mean(axis=0)[:, 0]
        codes = [_places(c, m, p.numeric) for c, m, p in zip(columns, middles, (one, other), strict=True)]
        known = (codes[0] >= 0) & (codes[1] >= 0)
        count = np.bincount(codes[0][known] * len(b) + codes[1][known], minlength=len(cells)).reshape(len(a), len(b))
        beyond = _beyond(said.reshape(len(a), len(b)), count.astype(np.float64))
        size = float(np.sqrt((beyond**2 * count).sum() / max(int(count.sum()), 1)))
        names = [tuple(value_text(v) for v in values) for values in (a, b)]
        return Pair((one.name, other.name), (names[0], names[1]), np.where(count >= HIDDEN, beyond, np.nan), size)


def _beyond(said: Float, count: Float) -> Float:
    """What is left of a table when the best sum of a term for each row and each column is taken off, by weight."""
    weight = np.sqrt(count + 1e-6).ravel()
    a, b = said.shape
    design = np.concatenate([np.repeat(np.eye(a), b, axis=0), np.tile(np.eye(b), (a, 1))], axis=1)
    fitted, *_ = np.linalg.lstsq(design * weight[:, None], said.ravel() * weight, rcond=None)
    left: Float = said - (design @ fitted).reshape(a, b)
    return left


def change_rows(table: Table, rows: Int, changed: Mapping[str, Sequence[Label]]) -> Any:
    """Some rows as a table of the kind they came in, with some columns changed; None is missing."""
    features = table.sample.features
    if isinstance(features, list | tuple) and not isinstance(features[0], Mapping):
        features = np.asarray(features)
    if isinstance(features, np.ndarray) and features.ndim == 2:
        plain = np.array(features[rows], dtype=features.dtype if features.dtype.kind == "O" else np.float64)
        for name, values in changed.items():
            filled = [np.nan if v is None and plain.dtype.kind == "f" else v for v in values]
            plain[:, table.names.index(name)] = filled
        return plain
    if kind_of(features) == "pandas":
        frame = features.iloc[rows].reset_index(drop=True)
        for name, values in changed.items():
            place = table.names.index(name)
            frame.isetitem(place, _series(values, features.iloc[:, place].dtype))
        return frame
    arrays = {name: table.column(name).take(pa.array(rows)) for name in table.names}
    arrays |= {name: _arrow(values, arrays[name].type) for name, values in changed.items()}
    return convert_frame(pa.table(arrays), kind_of(features))


def usual_values(table: Table) -> dict[str, Label]:
    """By column the middle number, or the commonest level; None where all is missing."""
    return {name: p.middle if p.numeric else p.common[0] if p.common else None for name, p in table.profiles.items()}


def _series(values: Sequence[Any], dtype: object) -> pd.Series:
    import pandas as pd  # the table is one of its frames

    if pd.api.types.is_bool_dtype(dtype):
        return pd.Series(list(values), dtype="object")
    if pd.api.types.is_numeric_dtype(dtype):
        return pd.Series([np.nan if v is None else float(v) for v in values], dtype="float64")
    return pd.Series(list(values), dtype=dtype)


def _arrow(values: Sequence[Label], kind: pa.DataType) -> pa.Array:
    numeric = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    if pa.types.is_dictionary(kind):
        return pa.array(values, kind.value_type).dictionary_encode()
    return pa.array(values, pa.float64() if numeric else kind)


# -- values of a column --------------------------------------------------------------------------


def _numbers(column: pa.ChunkedArray) -> Float:
    return np.asarray(column.cast(pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)


def _axis(column: pa.ChunkedArray) -> tuple[list[float], Float]:
    """Values along the middle 99 % of a number column, and edges of a histogram: round numbers."""
    x = _numbers(column)
    x = x[np.isfinite(x)]
    if not len(x):
        return [], np.empty(0)
    low, high = np.quantile(x, [0.005, 0.995]) if len(x) >= 200 else (x.min(), x.max())
    if not high > low:
        low, high = float(x.min()), float(x.max())
    if not 0 < high - low < np.inf:
        return [], np.empty(0)
    whole = bool((x == np.rint(x)).all())
    step = round_step((high - low) / BARS)
    step = max(1.0, step) if whole else step
    first, last = np.floor(low / step), np.ceil(high / step)
    if whole:
        low, high = np.ceil(low), np.floor(high)
        values = np.unique(np.rint(np.linspace(low, high, POINTS)))
        return values.tolist(), (np.arange(first, last + 2) - 0.5) * step
    return np.linspace(low, high, POINTS).tolist(), np.arange(first, last + 1) * step


def _histogram(column: pa.ChunkedArray, edges: Float) -> Float:
    x = _numbers(column)
    x = x[np.isfinite(x)]
    count = np.histogram(x, edges)[0]
    share: Float = np.where(count >= HIDDEN, count, 0) / max(len(x), 1)
    return share


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _levels(column: pa.ChunkedArray, most: int) -> list[Label]:
    """The most frequent levels of at least a few rows."""
    counted = _plain(column).drop_null().value_counts().to_pylist()
    counted.sort(key=lambda pair: -pair["counts"])
    return [pair["values"] for pair in counted[:most]]


def _shares(column: pa.ChunkedArray, levels: Sequence[Label]) -> Float:
    often = {pair["values"]: pair["counts"] for pair in _plain(column).value_counts().to_pylist()}
    return np.array([often[level] for level in levels], dtype=np.float64) / len(column)


def _middles(column: pa.ChunkedArray, parts: int) -> list[float]:
    """Of so many parts of the rows by a number, each one value, written with few digits."""
    x = _numbers(column)
    x = x[np.isfinite(x)]
    if not len(x):
        return []
    found = np.quantile(x, (np.arange(parts) + 0.5) / parts, method="nearest")
    return sorted({float(f"{v:.3g}") for v in found.tolist()})


def _places(column: pa.ChunkedArray, values: Sequence[Label], numeric: bool) -> Int:
    """The nearest of some numbers, or the place of a level, -1 for others: (n,)."""
    if numeric:
        x, marks = _numbers(column), np.asarray(values, dtype=np.float64)
        near = np.searchsorted((marks[1:] + marks[:-1]) / 2, x)
        return np.where(np.isfinite(x), near, -1).astype(np.int64)
    place = {level: i for i, level in enumerate(values)}
    return np.array([place.get(v, -1) for v in _plain(column).to_pylist()], dtype=np.int64)


def value_text(value: object) -> str:
    """A value of a column for people."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
