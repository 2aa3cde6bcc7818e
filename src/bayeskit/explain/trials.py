"""Trials: the values of each column worth trying when a decision is to be turned, and a row asked with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from bayeskit.arrays import Array, Batch, Bool, Float, Int, Label, PriorLike, TableLike
from bayeskit.data.block import Block
from bayeskit.data.matrix import Matrix
from bayeskit.errors import InputError
from bayeskit.explain.marginal import Marginal, deviation, marginals
from bayeskit.explain.written import ends_at, list_numbers, shortest, telling_decimals
from bayeskit.model.model import Model
from bayeskit.statistics.leaves import Leaves
from bayeskit.statistics.ranges import decimals_of
from bayeskit.statistics.rows import Rows
from bayeskit.statistics.sliced import Sliced

TRIED = 96  # values along a continuous column
FEW = 12  # values of a column that is changed together with another
MOST = 1000  # values of a table
NEAR = 1e-3  # of an interval: how far from a cut a value may lie that is shorter to write
TAIL = 1e-6  # share of a column's values that are too unusual to be tried


@dataclass(frozen=True)
class Numbers:
    """Values of a number column."""

    values: Sequence[float]  # sorted
    spread: float
    middle: float
    dense: bool = False  # whether values between them may be tried too
    decimals: float = np.nan  # with which they are written, where that is known

    @classmethod
    def along(cls, alone: Marginal) -> Numbers:
        """The usual values of a column, as finely as its density bends; none beyond those seen."""
        values = np.asarray(alone.values, dtype=np.float64)
        pooled = alone.shares @ alone.prior
        middle = float(values @ pooled)
        spread = float(deviation(values - middle, pooled))
        inside, between = alone.as_recorded(TAIL)
        if between:  # between them it is looked closer where a decision turns
            inside = inside[np.unique(np.linspace(0, len(inside) - 1, TRIED).astype(np.int64))]
        return cls(inside.tolist(), spread, middle, between, alone.decimals)

    @classmethod
    def among(cls, known: Float) -> Numbers:
        """Values that were seen, at most a thousand of them."""
        values = np.unique(known)
        spaced = values[np.unique(np.linspace(0, len(values) - 1, MOST).astype(np.int64))]
        return cls(spaced.tolist(), float(known.std()), float(known.mean()))

    def whole(self) -> Numbers:
        """Of a column that can hold whole numbers only: all of them, if there are not too many."""
        every = list_numbers(self.values[0], self.values[-1], 0)
        found = np.unique(np.rint(self.values)) if every is None else every
        if not len(found):
            return self
        return replace(self, values=found.astype(np.int64).tolist(), dense=every is None, decimals=0.0)

    def closer(self, start: float, end: float, steps: int) -> list[float]:
        """Values from one to another as they are written, the first as it is."""
        along = np.linspace(start, end, steps)
        if np.isfinite(self.decimals):
            along[1:] = np.rint(along[1:] * 10.0**self.decimals) / 10.0**self.decimals
        kept: list[float] = along.tolist()
        return [start, *(int(v) for v in kept[1:])] if isinstance(self.values[0], int) else kept

    def shorter(self, keeps: float, turns: float) -> float:
        """Of a decision that turns between two values, about as near to the second, with as few decimals as do."""
        if np.isfinite(self.decimals):
            return turns
        limit = min(max(2 * turns - keeps, self.values[0]), self.values[-1])
        return shortest(turns, limit)

    def few(self, held: float | None) -> Sequence[float]:
        """Some of the values, all along the column."""
        places = np.unique(np.linspace(0, len(self.values) - 1, FEW).astype(np.int64))
        return [self.values[i] for i in places.tolist()]

    def away(self, held: float | None, value: float) -> float:
        """The distance of any value."""
        return 1.0 if held is None else abs(value - held) / max(self.spread, 1e-300)

    def nearest(self, there: Bool, held: float | None) -> int:
        """Which of some values is the nearest."""
        start = self.middle if held is None else held
        return int(np.argmin(np.where(there, np.abs(np.array(self.values) - start), np.inf)))

    def distance(self, held: float | None, place: int) -> float:
        return self.away(held, self.values[place])


@dataclass(frozen=True)
class Intervals:
    """A number column that is read as the interval it lies in: the nearest value of each, on either side of a cut."""

    cuts: Float  # (m,)
    seen: tuple[float, float]  # least and greatest value, NaN where they are not known
    decimals: float = np.nan  # with which they are written, where that is known
    integers: bool = False

    @cached_property
    def values(self) -> Sequence[float]:
        low, high = self.seen
        found = sorted({value for value in self._beside if not (value < low or value > high)})
        return [int(value) for value in found] if self.integers else found

    @property
    def _beside(self) -> Iterator[float]:
        """Two values for each cut, as they are written: the nearest that is not above it, and the nearest that is."""
        ends = [low if np.isfinite(low := self.seen[0]) else self.cuts[0], *self.cuts.tolist()]
        ends.append(high if np.isfinite(high := self.seen[1]) else self.cuts[-1])
        for before, cut, after in zip(ends, ends[1:], ends[2:], strict=False):
            above = float(np.nextafter(cut, np.inf))
            if np.isfinite(self.decimals):
                tens = 10.0**self.decimals
                yield ends_at(-np.inf, cut, int(self.decimals))[1] / tens
                yield ends_at(above, np.inf, int(self.decimals))[0] / tens
            else:
                yield shortest(cut, max(cut - (cut - before) * NEAR, before))
                yield shortest(above, max(cut + (after - cut) * NEAR, above))

    def whole(self) -> Intervals:
        """Of a column that can hold whole numbers only."""
        return replace(self, decimals=0.0, integers=True)

    def few(self, held: float | None) -> Sequence[float]:
        values = self.values if held is None else sorted(self.values, key=lambda value: abs(value - held))
        return values[:FEW]

    def away(self, held: float | None, value: float) -> float:
        return self.distance(held, self.values.index(value))

    def nearest(self, there: Bool, held: float | None) -> int:
        start = float(np.median(self.cuts)) if held is None else held
        return int(np.argmin(np.where(there, np.abs(np.array(self.values) - start), np.inf)))

    def distance(self, held: float | None, place: int) -> float:
        """How many cuts lie between."""
        if held is None:
            return 1.0
        cells = np.searchsorted(self.cuts, [held, self.values[place]])
        return float(abs(int(cells[1]) - int(cells[0])))


@dataclass(frozen=True)
class Levels:
    """Levels of a column; the likeliest is the nearest, unless they are in order."""

    values: Sequence[Any]
    usual: Float  # (m,) how usual each is
    ordered: bool

    def whole(self) -> Levels:
        return self

    def few(self, held: Label) -> Sequence[Label]:
        order = np.argsort([self.distance(held, i) if self._known(held) else -u for i, u in enumerate(self.usual)])
        return [self.values[i] for i in order[:FEW].tolist() if self.values[i] != held]

    def away(self, held: Label, value: object) -> float:
        return self.distance(held, self.values.index(value))

    def nearest(self, there: Bool, held: Label) -> int:
        steps = [self.distance(held, i) for i in range(len(self.values))] if self._known(held) else -self.usual
        return int(np.argmin(np.where(there, steps, np.inf)))

    def distance(self, held: Label, place: int) -> float:
        return float(abs(self.values.index(held) - place)) if self._known(held) else 1.0

    def _known(self, held: Label) -> bool:
        return self.ordered and held in self.values


@dataclass(frozen=True)
class Trials:
    """What to try in each column of a model, and the columns of numbers that offer nothing."""

    columns: dict[str, Numbers | Intervals | Levels]
    untried: tuple[str, ...]

    @classmethod
    def of(cls, model: Model, prior: PriorLike = None, among: Iterable[Block] | None = None) -> Trials:
        """Where a density has no axis, the cuts it was learned with, the rows it keeps, or those ``among`` which.

        No number beyond those seen is tried: those of the rows given or kept, else of all that were learned.
        """
        schema, alone = model.schema, marginals(model, prior=prior)
        blocks = _kept_blocks(model) if among is None else list(among)
        cuts = _cuts(model)
        found: dict[str, Numbers | Intervals | Levels] = {}
        untried = []
        for name in schema.names:
            column, constant = schema[name], name in model.constant
            known = numbers_of(blocks, name) if column.numeric else np.empty(0)
            if column.numeric and name in alone:
                found[name] = Numbers.along(alone[name].among(known))
            elif column.numeric and name in cuts:
                if cuts[name]:
                    seen = (float(known.min()), float(known.max())) if len(known) else model.counted.seen(name)
                    places = decimals_of(known) if len(known) else model.counted.decimals(name)
                    found[name] = Intervals(np.array(cuts[name]), seen, telling_decimals(places, *seen))
            elif column.numeric and not constant:
                if len(known):
                    found[name] = Numbers.among(known)
                else:
                    untried.append(name)
            elif column.coded and not column.numeric:
                found[name] = _levels(model, name, alone.get(name))
        return cls(found, tuple(untried))

    def without(self, hold: Sequence[str], names: Sequence[str]) -> Trials:
        """The same but for columns that are to stay as they are."""
        if strange := [name for name in hold if name not in names]:
            raise InputError(f"hold names {strange[0]!r}, which is no column ({', '.join(names[:12])})")
        free = {name: tried for name, tried in self.columns.items() if name not in hold}
        return Trials(free, tuple(name for name in self.untried if name not in hold))


def numbers_of(blocks: Sequence[Block], name: str) -> Float:
    """The values of a column that rows hold."""
    known: Float = np.concatenate([np.empty(0), *(np.asarray(b.numbers((name,))[0].column(0)) for b in blocks)])
    return known[~np.isnan(known)]


def _levels(model: Model, name: str, alone: Marginal | None) -> Levels:
    known = [value for value in model.counted.domain.levels[name].values if value is not None]
    share = {} if alone is None else dict(zip(alone.values, (alone.shares @ alone.prior).tolist(), strict=True))
    usual = np.array([share.get(value, 1.0 if alone is None else 0.0) for value in known])
    return Levels(known, usual, model.schema[name].kind == "ordinal")


def _cuts(model: Model) -> dict[str, tuple[float, ...]]:
    found: dict[str, tuple[float, ...]] = {}
    for part in model.features.parts.values():
        if isinstance(part, Sliced | Leaves):
            found |= part.cuts
    return found


def _kept_blocks(model: Model) -> list[Block]:
    parts = model.features.parts.values()
    return [part.block() for part in parts if isinstance(part, Rows)]


CELLS = 4_000_000  # of the tables that are asked at once


@dataclass(frozen=True)
class Change:
    """The values to be tried in one column; None is a missing one. ``also`` is tried together with them in another."""

    column: str
    values: Sequence[Any]
    also: tuple[str, Sequence[Any]] | None = None  # another column, and as many values

    @property
    def each(self) -> list[tuple[str, Sequence[Label]]]:
        """Every column that is changed, with its values."""
        return [(self.column, self.values), *([self.also] if self.also else [])]

    def piece(self, start: int, end: int) -> Change:
        """Some of the values."""
        also = None if self.also is None else (self.also[0], self.also[1][start:end])
        return Change(self.column, self.values[start:end], also)

    @staticmethod
    def value_at(batch: Batch, row: int, column: str) -> Any:
        """What a row of a batch holds in a column, None where it is missing."""
        if isinstance(batch, Matrix):
            value = batch.dense(np.array([batch.positions[column]]))[row, 0].item()
        else:
            value = batch.column(column)[row].as_py()
        return None if value != value else value

    @staticmethod
    def whole(batch: Batch, column: str) -> bool:
        """Whether a column can hold whole numbers only."""
        return bool(pa.types.is_integer(batch.schema.field(column).type))


def ask(
    batch: Batch, row: int, changes: Sequence[Change], ask: Callable[[TableLike], tuple[Int, Float]]
) -> list[tuple[Int, Float]]:
    """The answers to a row with each value of each change: for each change two arrays, one entry for each value."""
    width = len(batch.schema.names) if isinstance(batch, Matrix) else batch.num_columns
    pieces: list[list[tuple[Int, Float]]] = [[] for _ in changes]
    for chunk in _chunks(changes, max(1, CELLS // max(width, 1))):
        answers = ask(_table(batch, row, [change for _, change in chunk]))
        ends = np.cumsum([len(change.values) for _, change in chunk])[:-1]
        for (i, _), *parts in zip(chunk, *(np.split(answer, ends) for answer in answers), strict=True):
            pieces[i].append((parts[0], parts[1]))
    return [(np.concatenate([a for a, _ in each]), np.concatenate([b for _, b in each])) for each in pieces]


def _chunks(changes: Sequence[Change], most: int) -> Iterator[list[tuple[int, Change]]]:
    """Changes by number, as many together as there may be rows; one with too many values in pieces."""
    chunk: list[tuple[int, Change]] = []
    room = most
    for i, change in enumerate(changes):
        for start in range(0, len(change.values), most):
            piece = change.piece(start, start + most)
            if chunk and len(piece.values) > room:
                yield chunk
                chunk, room = [], most
            chunk.append((i, piece))
            room -= len(piece.values)
    if chunk:
        yield chunk


def _table(batch: Batch, row: int, changes: Sequence[Change]) -> Any:
    """The row once for each value of each change."""
    counts = [len(change.values) for change in changes]
    start = np.cumsum([0, *counts])
    if isinstance(batch, Matrix):
        x: Array = np.repeat(batch.slice(row, 1).dense().astype(np.float64), start[-1], axis=0)
        for change, first in zip(changes, start.tolist(), strict=False):
            for name, values in change.each:
                mine = [np.nan if v is None else v for v in values]
                x[first : first + len(mine), batch.positions[name]] = mine
        return x
    whole = pa.Table.from_batches([batch.slice(row, 1)]).take(np.zeros(start[-1], dtype=np.int64))
    columns: dict[str, list[Any]] = {}
    for change, first in zip(changes, start.tolist(), strict=False):
        for name, tried in change.each:
            if name not in columns:
                columns[name] = [Change.value_at(batch, row, name)] * int(start[-1])
            columns[name][first : first + len(tried)] = tried
    for name, values in columns.items():
        whole = whole.set_column(whole.column_names.index(name), name, pa.array(values))
    return whole
