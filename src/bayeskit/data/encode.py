"""The one way from a batch of rows to a Block: two doors (record batch, matrix), one validator."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from bayeskit._core import RangeRow
from bayeskit.arrays import Array, Code, Float
from bayeskit.data.block import Block, Columns
from bayeskit.data.coding import any_codes, codes_of, integer_codes
from bayeskit.data.levels import EVERYTHING, MISSING, NUMBER, PRESENT, Domain, Levels
from bayeskit.data.matrix import Matrix, Sparse
from bayeskit.data.schema import Column, Schema
from bayeskit.errors import InputError, KindError

LABEL, WEIGHT, FOLD = ":label:", ":weight:", ":fold:"
EXACT_INTEGERS = 2**53


@dataclass(frozen=True)
class Roles:
    """Which columns of a batch are not features."""

    label: str | None = None
    weight: str | None = None
    fold: str | None = None

    @property
    def names(self) -> list[str]:
        return [n for n in (self.label, self.weight, self.fold) if n is not None]


@dataclass(frozen=True)
class IngestReport:
    """What happened to rows and values on the way in; reported, never part of a model's identity."""

    rows: int = 0
    unlabelled: int = 0
    rounded: int = 0

    def __add__(self, other: IngestReport) -> IngestReport:
        return IngestReport(self.rows + other.rows, self.unlabelled + other.unlabelled, self.rounded + other.rounded)


def encode(
    batch: pa.RecordBatch | Matrix, schema: Schema, domain: Domain, roles: Roles = Roles(), folds: int = 1
) -> tuple[Block, Domain, IngestReport]:
    """A batch to be counted, under a schema and a domain that new classes and levels join.

    Rows without a label get group -1. Infinite numbers are refused.
    """
    numeric, codes, levels, rounded = _code_columns(batch, schema, domain, grow=True)
    _check_finite(numeric, schema, ())
    groups, classes, unlabelled = groups_of(batch, roles, domain.classes, folds)
    grown = Domain(classes, levels)
    block = Block(schema, numeric, codes, groups, weights_of(batch, roles), levels)
    return block, domain if grown == domain else grown, IngestReport(batch.num_rows, unlabelled, rounded)


def encode_asked(
    batch: pa.RecordBatch | Matrix, schema: Schema, domain: Domain, guarded: Collection[str] = ()
) -> Block:
    """A batch to be asked about: a level never seen gets code -2, labels are not looked at.

    Infinite numbers are refused, but for the columns ``guarded`` by whoever reads the block.
    """
    numeric, codes, levels, _ = _code_columns(batch, schema, domain, grow=False)
    _check_finite(numeric, schema, guarded)
    return Block(schema, numeric, codes, levels=levels)


def recode_missing(block: Block, schema: Schema) -> Block:
    """Rows coded with missing values left out, under a schema of the same columns in which some of them are a level."""
    if schema.coded == block.schema.coded and not any(c.missing == "level" for c in schema.coded_columns):
        return replace(block, schema=schema)
    known, place = dict(block.levels), block.schema.coded_index
    codes = np.empty((len(schema.coded), block.rows), dtype=np.int32)
    for j, column in enumerate(schema.coded_columns):
        if column.numeric:
            known[column.name] = Levels.intern((PRESENT, MISSING))
            codes[j] = _presence(block.columns((column.name,)).column(0))
            continue
        codes[j] = block.codes[place[column.name]] if column.name in place else -1
        if column.missing == "level":
            known[column.name] = levels = known.get(column.name, Levels()).union(Levels((MISSING,)))
            codes[j][codes[j] == -1] = levels.index[MISSING]
    return replace(block, schema=schema, codes=codes, levels=known)


def _code_columns(
    batch: pa.RecordBatch | Matrix, schema: Schema, domain: Domain, grow: bool
) -> tuple[Columns, Code, dict[str, Levels], int]:
    """Numbers, codes (coded columns, rows), the levels these stand for, and how many integers were rounded."""
    numeric, values, rounded = _matrix(batch, schema, grow) if isinstance(batch, Matrix) else _record(batch, schema)
    codes = np.empty((len(schema.coded), batch.num_rows), dtype=np.int32)
    known = [domain.levels.get(name, Levels()) for name in schema.coded]
    if isinstance(values, np.ndarray):
        known = integer_codes(values, schema.coded_columns, known, grow, codes)
    else:
        known = any_codes(values, schema.coded_columns, known, grow, codes)
    return numeric, codes, {**domain.levels, **dict(zip(schema.coded, known, strict=True))}, rounded


# -- the two doors ----------------------------------------------------------------------------------


def _record(batch: pa.RecordBatch, schema: Schema) -> tuple[Columns, list[Any], int]:
    """Columns of a record batch, by name: numbers, what is to be coded, and how many integers were rounded."""
    held = dict(zip(batch.schema.names, batch.columns, strict=True))
    numbers, rounded = [], 0
    for name in schema.numeric:
        values, lost = _floats(held[name], name)
        numbers.append(values)
        rounded += lost
    coded: list[Any] = []
    for name in schema.coded:
        numeric = schema.numeric_index.get(name)
        coded.append(held[name] if numeric is None else _presence(numbers[numeric]))
    return Columns(tuple(numbers), batch.num_rows), coded, rounded


def _matrix(batch: Matrix, schema: Schema, counted: bool) -> tuple[Columns, list[Any] | Array, int]:
    """Columns of a matrix, what is to be coded, and how many integers of rows to be ``counted`` were rounded.

    Nothing is copied where it holds doubles already.
    """
    if isinstance(batch.x, Sparse) and len(schema.numeric) == len(schema.names) and not schema.coded:
        return Columns(batch.x.floats(), batch.num_rows), [], batch.x.rounded
    x = batch.dense()
    position = batch.positions
    integral = x.dtype.kind in "iub"
    if integral and not schema.numeric:
        every = len(schema.coded) == x.shape[1]
        return Columns((), len(x)), x if every else x[:, [position[n] for n in schema.coded]], 0
    floats = x if x.dtype == np.float64 and x.flags.aligned and x.dtype.isnative else x.astype(np.float64)
    numeric = Columns(floats, len(x))
    if len(schema.numeric) < x.shape[1]:
        numeric = numeric.take(np.array([position[n] for n in schema.numeric], dtype=np.int64))
    rounded = 0
    if counted and x.dtype.kind in "iu" and numeric.span[RangeRow.LARGEST].max(initial=0.0) >= EXACT_INTEGERS:
        wide = x if not schema.coded else x[:, [position[n] for n in schema.numeric]]
        rounded = sum(int(float(v)) != int(v) for v in wide[np.abs(wide.astype(np.float64)) >= EXACT_INTEGERS])
    coded: list[Any] = []
    for name in schema.coded:
        values = x[:, position[name]]
        if name in schema.numeric_index:
            coded.append(_presence(floats[:, position[name]]))
        else:
            coded.append(pa.array(values, from_pandas=True))
    return numeric, coded, rounded


def _presence(values: Float) -> Code:
    """Whether a value is there, as codes of (present, missing)."""
    return np.isnan(values).astype(np.int32)


def _floats(values: pa.Array, name: str) -> tuple[Float, int]:
    """An Arrow column as doubles with NaN for null, and how many integers did not fit 53 bits."""
    kind = values.type
    if pt.is_dictionary(kind):
        values = values.dictionary_decode()
        kind = values.type
    if pt.is_float64(kind):
        if values.null_count == 0:
            return values.to_numpy(zero_copy_only=True), 0
        return values.to_numpy(zero_copy_only=False), 0
    if pt.is_null(kind):
        return np.full(len(values), np.nan), 0
    if not (pt.is_integer(kind) or pt.is_floating(kind) or pt.is_decimal(kind) or pt.is_boolean(kind)):
        raise KindError(
            f"column {name!r} held numbers when the model was fitted and now has type {kind}; convert it to numbers"
        )
    if pt.is_integer(kind) and kind.bit_width == 64:  # Arrow compares and casts no unsigned number beyond 2**63
        whole = pc.fill_null(values, 0).to_numpy(zero_copy_only=False)
        floats = whole.astype(np.float64)
        rounded = 0
        if max(floats.max(initial=0.0), -floats.min(initial=0.0)) >= EXACT_INTEGERS:
            rounded = sum(int(float(v)) != v for v in whole[np.abs(floats) >= EXACT_INTEGERS].tolist())
        if values.null_count:
            floats[values.is_null().to_numpy(zero_copy_only=False)] = np.nan
        return floats, rounded
    cast = pc.cast(values, pa.float64(), safe=False)
    return np.ascontiguousarray(cast.to_numpy(zero_copy_only=False)), 0


# -- what stands beside the features ----------------------------------------------------------------


def _beside(batch: pa.RecordBatch | Matrix, name: str) -> pa.Array:
    return batch.beside[name] if isinstance(batch, Matrix) else batch.column(name)


def groups_of(batch: pa.RecordBatch | Matrix, roles: Roles, classes: Levels, folds: int) -> tuple[Code, Levels, int]:
    """Group codes class x fold (fold innermost); -1 where the label is missing; without labels one group of all."""
    if roles.label is None:
        return np.zeros(batch.num_rows, dtype=np.int32), classes.union(Levels((EVERYTHING,))), 0
    values = _beside(batch, roles.label)
    name = "y" if roles.label == LABEL else roles.label
    if pt.is_temporal(values.type) or pt.is_nested(values.type):
        raise KindError(
            f"Unknown label type: target {name!r} has type {values.type}; labels are text, integers or booleans"
        )
    codes, grown = codes_of(values, classes, True, Column(name, "nominal", str(values.type), "target"))
    for k in grown.keys[len(classes) :]:
        if k[0] == NUMBER and isinstance(k[1], float):
            raise InputError(
                f"Unknown label type: continuous. Target {name!r} holds the fraction {k[1]}; "
                f"a classifier needs classes: cut it into intervals first"
            )
    if not len(classes):  # free to sort: many sums by class then need not be moved
        ordered = grown.ordered
        codes, grown = np.append(grown.codes_in(ordered), -1).astype(np.int32)[codes], ordered
    groups = np.ascontiguousarray(codes, dtype=np.int32)
    if roles.fold is not None:
        fold = np.asarray(_beside(batch, roles.fold).to_numpy(zero_copy_only=False), dtype=np.int64)
        if len(fold) and (fold.min() < 0 or fold.max() >= folds):
            raise InputError(f"fold numbers must lie in 0..{folds - 1}")
        groups = np.where(groups < 0, -1, groups * folds + fold).astype(np.int32)
    return groups, grown, int(np.count_nonzero(groups < 0))


def weights_of(batch: pa.RecordBatch | Matrix, roles: Roles) -> Float | None:
    """Weights of the rows, checked; None is weight 1."""
    if roles.weight is None:
        return None
    given = _beside(batch, roles.weight)
    if not (pt.is_integer(given.type) or pt.is_floating(given.type) or pt.is_decimal(given.type)):
        raise KindError(f"sample_weight has type {given.type}; weights are numbers")
    weights, _ = _floats(given, roles.weight)
    bad = ~(np.isfinite(weights) & (weights >= 0))
    if bad.any():
        raise InputError(f"sample_weight has the value {weights[bad][0]}; weights are finite frequencies of at least 0")
    return np.ascontiguousarray(weights)


# -- the validator ----------------------------------------------------------------------------------


def _check_finite(numeric: Columns, schema: Schema, guarded: Collection[str]) -> None:
    """Refuse infinite numbers in the columns nobody else guards; a sparse matrix is looked through in any case."""
    names = schema.numeric
    if guarded and not isinstance(numeric.arrays, Sparse):
        names = tuple(n for n in names if n not in guarded)
        numeric = numeric.take(np.array([schema.numeric_index[n] for n in names], dtype=np.int64))
    if names:
        numeric.refuse_infinite(names)


def error_on_unseen(block: Block, batch: pa.RecordBatch | Matrix, domain: Domain) -> None:
    """The answer to unseen="error": name the column and the level."""
    rows = np.argwhere(block.codes == -2)
    if len(rows):
        j, i = rows[0]
        name = block.schema.coded[j]
        value = _value(batch, block.schema, name, int(i))
        raise InputError(
            f"column {name!r} has level {value!r}, not seen in fitting "
            f'(known: {domain.levels[name].show()}); pass unseen="missing" or refit'
        )


def _value(batch: pa.RecordBatch | Matrix, schema: Schema, name: str, row: int) -> Any:
    if isinstance(batch, Matrix):
        return batch.dense()[row, batch.positions[name]].item()
    return batch.column(name)[row].as_py()
