"""Views: a table as plain numbers, made without looking at labels, for models that know numbers only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from bayeskit import _core
from bayeskit.arrays import Float, TableLike
from bayeskit.data.block import Block, Columns
from bayeskit.data.frame import column_names, kind_of
from bayeskit.data.kinds import infer
from bayeskit.data.levels import FORGOTTEN, Levels
from bayeskit.data.matrix import Fields, positional
from bayeskit.data.schema import Schema
from bayeskit.errors import ModelFileError
from bayeskit.model.batch_predictor import BatchPredictor
from bayeskit.model.codec import keys_of
from bayeskit.model.labelled_table import drop_columns
from bayeskit.model.model import Model
from bayeskit.model.open_table import OpenTable
from bayeskit.model.program import TableInputs
from bayeskit.numerics.cut_points import short
from bayeskit.numerics.scale import Scale
from bayeskit.portable.symbol import where
from bayeskit.storage.container import key_of

READER = "AutoBayes"  # who reads a table for the members
KNOTS = 256  # values whose normal scores the map goes through; it has a knot on each side of them
PORTION = 1 << 15  # rows of a view that are made at a time
GRAINS = 1 << 16  # of a deviation: numbers are rounded to such steps
NOWHERE = -9  # the code of no level
COMMON = 0.01  # share of missing values from which they have an indicator
LEVELS = 64  # levels of a column that get a number each; the rarer ones share none


@dataclass(frozen=True)
class ScaledColumn:
    """A numeric column on a scale, without missing values, in whole grains: products of few digits are cheap to add
    exactly.
    """

    name: str
    scale: Scale
    missing: float  # where missing values are put
    flagged: bool  # whether they are common enough for an indicator

    def write(self, x: Float, out: Float) -> None:
        """Where ``x`` is, (n,), into ``out``."""
        _core.scale_numbers(x, self.scale.values, self.scale.scores, self.missing, GRAINS, out)


@dataclass(frozen=True)
class ViewNotes:
    """What a file says of a view beside its knots."""

    scales: tuple[tuple[str, float, bool], ...]
    levels: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True)
class View:
    """Numbers for every column: numeric ones as they are or as normal scores, levels as 0 or 1 each.

    Normal scores are the quantiles of N(0, 1) at the ranks of the values among the rows the view was made from. A view
    is held, for members count what it shows; so it is kept in few digits, and no knot is a value of a row.
    """

    scales: tuple[ScaledColumn, ...]
    levels: tuple[tuple[str, Levels], ...]  # column, levels that get a number each

    @classmethod
    def of(cls, block: Block, weight: Float, scores: bool, levels: bool) -> View:
        """From coded rows and their weights."""
        schema = block.schema
        scales = []
        for name in schema.numeric:
            x = np.asarray(block.numbers((name,))[0].column(0))
            if (filled := _scale_column(name, x, weight, scores)) is not None:
                scales.append(filled)
        coded: list[tuple[str, Levels]] = []
        for j, name in enumerate(schema.coded if levels else ()):
            codes = block.codes[j]
            count = np.bincount(codes[codes >= 0], weight[codes >= 0], minlength=1)
            seen = np.sort(np.argsort(-count, kind="stable")[:LEVELS])
            seen = seen[count[seen] > 0]
            missing = bool((weight[codes < 0]).sum() > COMMON * weight.sum())
            if len(seen) > 1 or (missing and len(seen)):
                kept = seen[1:] if len(seen) == 2 and not missing else seen  # else a missing level is like the first
                coded.append((name, Levels(tuple(block.levels[name].keys[c] for c in kept.tolist()))))
        return cls(tuple(scales), tuple(coded))

    def without_forgotten(self, reader: Model) -> View:
        """The same numbers of every row, without the names of levels that no row has any more."""
        known = reader.counted.domain.levels
        levels = tuple(
            (name, Levels(tuple(k if k in known[name].index else FORGOTTEN for k in mine.keys)))
            for name, mine in self.levels
        )
        return self if levels == self.levels else replace(self, levels=levels)

    def notes(self) -> ViewNotes:
        """All of it but numbers."""
        scales = tuple((s.name, s.missing, s.flagged) for s in self.scales)
        return ViewNotes(scales, tuple((name, tuple(keys_of(known))) for name, known in self.levels))

    def numbers(self) -> dict[str, Float]:
        """The knots of each numeric column: (2, q)."""
        return {str(i): np.stack([s.scale.values, s.scale.scores]) for i, s in enumerate(self.scales)}

    @classmethod
    def rebuilt(cls, notes: ViewNotes, numbers: Mapping[str, Float], reader: Model) -> View:
        """Back from both; refused where the encoder could not tell it the columns."""
        schema = reader.schema
        if not {s[0] for s in notes.scales} <= {*schema.numeric} or not {n for n, _ in notes.levels} <= {*schema.coded}:
            raise ModelFileError("a view has columns that the model has not")
        scales = []
        for i, (name, missing, flagged) in enumerate(notes.scales):
            knots = numbers[str(i)]
            if knots.ndim != 2 or len(knots) != 2 or not knots.size or (np.diff(knots[0]) < 0).any():
                raise ModelFileError("the scale of a view cannot be")
            scales.append(ScaledColumn(name, Scale(*knots), missing, flagged))
        return cls(tuple(scales), tuple((name, Levels(tuple(map(key_of, keys)))) for name, keys in notes.levels))

    def symbols(self, inputs: TableInputs) -> list[tuple[str, Any]]:
        """The numbers of a portable program, each with the column it comes from."""
        found: list[Any] = []
        for filled in self.scales:
            x = inputs.number(filled.name)
            score = np.where(np.isnan(x), filled.missing, filled.scale.symbol(x))
            found.append(np.floor(score * GRAINS + 0.5) / GRAINS)
            if filled.flagged:
                found.append(where(np.isnan(x), 1.0, 0.0))
        for name, known in self.levels:
            codes = known.codes_in(inputs.model.counted.domain.levels[name])
            found += [
                where(inputs.code(name) == float(c), 1.0, 0.0) for c in np.where(codes < 0, NOWHERE, codes).tolist()
            ]
        return list(zip(self.owners, found, strict=True))

    @property
    def owners(self) -> list[str]:
        """The column of the table that each number comes from."""
        numbers = [name for s in self.scales for name in [s.name] * (1 + s.flagged)]
        return numbers + [name for name, known in self.levels for _ in known.keys]

    def __len__(self) -> int:
        return len(self.owners)

    @property
    def fields(self) -> Fields:
        """Types of the numbers, as of a matrix."""
        return Fields(pa.float64(), positional(len(self)), {})

    def matrix(self, reader: Model, X: TableLike) -> Float:
        """The rows of a table as numbers, one column after the other in memory: (n, len)."""
        return self.of_blocks(list(_blocks(reader, X)))

    def block(self, block: Block) -> Block:
        """Coded rows as numbers."""
        numeric = Columns(self.of_blocks([block]), block.rows)
        return Block(self._schema, numeric, np.empty((0, block.rows), dtype=np.int32), block.groups, block.weights)

    @cached_property
    def _schema(self) -> Schema:
        return infer(self.fields, about=Schema((), named=False))

    def of_blocks(self, blocks: Sequence[Block]) -> Float:
        """The same of coded rows."""
        out, start = np.empty((len(self), sum(block.rows for block in blocks))), 0
        for block in blocks:
            self._write(block, out[:, start : start + block.rows])
            start += block.rows
        return out.T

    def _write(self, block: Block, out: Float) -> None:
        """Into out (len, n)."""
        place = {name: j for j, name in enumerate(block.schema.coded)}
        i = 0
        for filled in self.scales:
            x = np.asarray(block.columns((filled.name,)).column(0))
            filled.write(x, out[i])
            if filled.flagged:
                out[i + 1] = np.isnan(x)
            i += 1 + filled.flagged
        for name, known in self.levels:
            codes = known.codes_in(block.levels[name])
            wanted = np.where(codes < 0, NOWHERE, codes)[:, None]
            np.equal(block.codes[place[name]], wanted, out=out[i : i + len(wanted)], casting="unsafe")
            i += len(wanted)


@dataclass(frozen=True)
class ViewCache:
    """A table as the members of a pool see it: its columns opened once, and each view made once."""

    reader: Model
    X: Any
    _seen: dict[int, tuple[View, Float]] = field(default_factory=dict)

    @classmethod
    def of(cls, reader: Model, X: TableLike) -> ViewCache:
        """Of features; a target that stands beside them is left out."""
        target = reader.schema.target
        rows = drop_columns(X, [str(target)]) if target is not None and target in column_names(X) else X
        return cls(reader, as_arrow(rows, OpenTable.of(rows, None, None, None).source.rows))

    def portions(self) -> Iterator[ViewCache]:
        """Some rows at a time, where views of all of them would take much memory."""
        from scipy.sparse import csr_array, csr_matrix  # a fifth of a second that a question of one row need not wait

        table = isinstance(self.X, pa.Table)
        if not (table or isinstance(self.X, np.ndarray | csr_array | csr_matrix)) or self.X.shape[0] <= PORTION:
            yield self
            return
        rows, sliced = self.X.shape[0], self.X.slice if table else lambda a, n: self.X[a : a + n]
        for start in range(0, rows, PORTION):
            yield ViewCache(self.reader, sliced(start, PORTION))

    def through(self, view: View | None) -> Any:
        """The table itself, or what a view makes of it."""
        if view is None:
            return self.X
        if id(view) not in self._seen:
            self._seen[id(view)] = view, view.matrix(self.reader, self.X)
        return self._seen[id(view)][1]


def as_arrow(X: TableLike, rows: object) -> Any:
    """The columns of a frame as Arrow has them, so that they need not be converted again and again."""
    return rows if isinstance(rows, pa.Table) and kind_of(X) != "pyarrow" else X


def _blocks(reader: Model, X: TableLike) -> Iterator[Block]:
    return BatchPredictor.of(reader, X, READER).blocks()


def _scale_column(name: str, x: Float, weight: Float, scores: bool) -> ScaledColumn | None:
    there = ~np.isnan(x)
    known, mass = x[there], weight[there]
    value, place = np.unique(known, return_inverse=True)
    if len(value) < 2:
        return None
    flagged = bool(mass.sum() < (1 - COMMON) * weight.sum())
    if not scores:
        middle = float(np.average(known, weights=mass))
        apart = known - middle
        most = float(np.abs(apart).max())
        spread = max(most * float(np.sqrt(np.average((apart / most) ** 2, weights=mass))), 1e-300)
        low, high = np.array([middle - spread, spread / 2]), np.array([middle + spread, 3 * spread / 2])
        about, unit = np.where(np.isnan(brief := short(low, high)), [middle, spread], brief).tolist()
        ends = np.array([about - 1e6 * unit, about + 1e6 * unit])
        return ScaledColumn(name, Scale(ends, np.array([-1e6, 1e6])), 0.0, flagged)
    count = np.bincount(place, mass).astype(np.float64, copy=False)
    score, kept = Scale.normal(value, count).scores, np.arange(len(value))
    if len(value) > KNOTS:
        kept = np.unique(np.searchsorted(np.cumsum(count), np.linspace(1, count.sum(), KNOTS)))
    knots = np.column_stack(_around(value))[kept].ravel()
    real = ~np.isnan(knots)
    return ScaledColumn(name, Scale(knots[real], np.repeat(score[kept], 2)[real]), 0.0, flagged) if real.any() else None


def _around(value: Float) -> tuple[Float, Float]:
    """Short numbers just below and above each of some ascending ones, none beyond their ends: (n,) each."""
    middle = value[:-1] / 2 + value[1:] / 2
    return np.append(np.nan, short(middle, value[1:])), np.append(short(value[:-1], middle), np.nan)
