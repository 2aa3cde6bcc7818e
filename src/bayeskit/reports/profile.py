"""Profile: what the rows of an evaluation hold, column by column, and how the panel asks for a column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from bayeskit.arrays import Float, Int, Json, Label
from bayeskit.data.levels import MARK
from bayeskit.evaluation.evaluation import Evaluation
from bayeskit.evaluation.grouping import columns_of
from bayeskit.model.labelled_table import LabelledTable, take_rows, values_of
from bayeskit.portable.program import InputColumn, Program

COMMON = 200  # levels of a column that are counted one by one


@dataclass(frozen=True)
class Profile:
    """One column: how much is missing, how many values it has, and where they lie."""

    name: str
    type: str
    rows: int
    missing: int
    distinct: int
    low: float = np.nan  # of numbers
    middle: float = np.nan
    high: float = np.nan
    common: tuple[Any, ...] = ()  # of levels, the most frequent first
    single: int = 0  # levels among these that one row alone has

    @classmethod
    def of(cls, name: str, values: pa.ChunkedArray) -> Profile:
        """From the values of a column; NaN is missing.

        >>> Profile.of("x", pa.chunked_array([[1.0, float("nan"), 3.0]])).missing
        1
        """
        kind = str(values.type)
        if pt.is_dictionary(values.type):
            values = values.cast(values.type.value_type)
        if pt.is_floating(values.type):
            values = pc.if_else(pc.is_nan(values), None, values)
        known = values.drop_null()
        rows, missing = len(values), values.null_count
        if pt.is_decimal(values.type):
            known = known.cast(pa.float64())
        if not len(known):
            return cls(name, kind, rows, missing, 0)
        distinct = pc.count_distinct(known).as_py()
        if pt.is_floating(known.type) or pt.is_integer(known.type):
            ends = pc.min_max(known).as_py()
            middle = pc.quantile(known, 0.5, interpolation="nearest")[0].as_py()
            low, high = float(ends["min"]), float(ends["max"])
            return cls(name, kind, rows, missing, distinct, low, float(middle), high, _tops(known)[0])
        tops, often = _tops(known)
        return cls(name, kind, rows, missing, distinct, common=tops, single=int((often == 1).sum()))

    @property
    def numeric(self) -> bool:
        return bool(np.isfinite(self.low))


def _tops(known: pa.ChunkedArray) -> tuple[tuple[Label, ...], Int]:
    """The values that occur most, the first of equal ones first, and how often."""
    counted = pc.value_counts(known)
    often = counted.field("counts").to_numpy(zero_copy_only=False)
    order = np.argsort(-often, kind="stable")[:COMMON]
    return tuple(counted.field("values").take(pa.array(order)).to_pylist()), often[order]


@dataclass(frozen=True)
class Table:
    """The evaluated rows, their true classes and what was predicted of them."""

    sample: LabelledTable
    proba: Float  # (n, K) NaN where a row was not tested

    @classmethod
    def of(cls, evaluation: Evaluation) -> Table | None:
        """None where rows were streamed, so that none was kept."""
        if evaluation.proba is None or evaluation.X is None:
            return None
        models = evaluation.fold_models
        sample = LabelledTable.of(evaluation.X, evaluation.y) if models is None else models.sample
        return cls(sample, evaluation.proba)

    def __len__(self) -> int:
        return len(self.sample.rows)

    @property
    def truth(self) -> Int:
        """The true class of each row by number, -1 without a label: (n,)."""
        return self.sample.rows.codes

    @cached_property
    def loss(self) -> Float:
        """-log P(true class) of the tested rows, NaN of the others: (n,)."""
        right = self.proba[np.arange(len(self)), np.maximum(self.truth, 0)]
        return np.where(self.truth < 0, np.nan, -np.log(np.maximum(right, 1e-15)))

    def take(self, rows: Int) -> Any:
        """The features of some rows, in the kind of table they came in."""
        return take_rows(self.sample.features, rows)

    def pick_rows(self, most: int) -> Int:
        """Rows spread over the table, all of them if they are few."""
        return np.unique(np.linspace(0, len(self) - 1, min(most, len(self))).astype(np.int64))

    def values(self, rows: Int, names: Sequence[str]) -> list[tuple[Label, ...]]:
        """What some rows hold in some columns, None where missing: (rows)(names)."""
        cells = [self.column(name).take(pa.array(rows)).to_pylist() for name in names]
        return [tuple(None if v != v else v for v in row) for row in zip(*cells, strict=True)]

    def column(self, name: str) -> pa.ChunkedArray:
        """All values of a column."""
        return self._columns[name]

    @property
    def names(self) -> list[str]:
        """Of the columns, in order; none for a sparse matrix, whose columns are words."""
        return list(self._columns)

    @property
    def single_values(self) -> bool:
        """Whether rows are single values, texts for instance, of which a pipeline makes columns."""
        return values_of(self.sample.features) is not None

    @cached_property
    def profiles(self) -> dict[str, Profile]:
        """By column, in order."""
        return {name: Profile.of(name, values) for name, values in self._columns.items()}

    @cached_property
    def _columns(self) -> dict[str, pa.ChunkedArray]:
        return dict(columns_of(self.sample))


ABSENT = -9  # the place of a level the program does not hold


@dataclass(frozen=True)
class InputField:
    """A number, or one of some levels."""

    name: str
    start: float | int | None  # a usual value (a number, or the place of a level), None if it has none
    levels: tuple[Any, ...] | None = None
    codes: tuple[int, ...] = ()  # of the levels
    missing_code: int = -1  # the code of a missing level
    more: int = 0  # levels that are left out
    low: float = 0.0
    high: float = 0.0
    whole: bool = False

    @classmethod
    def number(cls, profile: Profile) -> InputField:
        known = profile.numeric
        low, high = (profile.low, profile.high) if known else (0.0, 0.0)
        start = profile.middle if known else None
        if known and 0 < high - low < np.inf:  # to a thousandth of the range
            start = float(np.clip(round(profile.middle, 3 - int(np.floor(np.log10(high - low)))), low, high))
        return cls(profile.name, start, low=low, high=high, whole=profile.type.startswith(("int", "uint")))

    @classmethod
    def level(cls, profile: Profile, column: InputColumn) -> InputField:
        """The levels of a column, of many the most frequent."""
        codes = {value: code for code, (family, value) in enumerate(column.keys) if family != MARK}
        shown = list(codes) if len(codes) <= COMMON else [value for value in profile.common if value in codes]
        start = next((shown.index(value) for value in profile.common if value in codes), None)
        places = tuple(codes[value] for value in shown)
        return cls(profile.name, start, tuple(shown), places, column.missing_code, len(codes) - len(shown))

    def read(self, values: Sequence[Any]) -> Float:
        """What a program computes with: numbers with NaN for missing, or places of levels with -1: (n,)."""
        if self.levels is None:
            return np.array([np.nan if v is None else float(v) for v in values], dtype=np.float64)
        place = {value: code for code, value in enumerate(self.levels)}
        return np.array([-1 if v is None else place.get(v, ABSENT) for v in values], dtype=np.float64)

    def inputs(self, read: Float) -> Float:
        """The same as a portable program has it: numbers, or codes; NaN is missing: (n,)."""
        if self.levels is None:
            return read
        return np.array([*self.codes, self.missing_code], dtype=np.float64)[
            np.nan_to_num(read, nan=-1.0).astype(np.int64)
        ]

    def json(self) -> Json:
        if self.levels is not None:
            levels = {"levels": list(map(str, self.levels)), "codes": self.codes, "missingCode": self.missing_code}
            return {"name": self.name, **levels, "more": self.more, "start": self.start}
        return {"name": self.name, "low": self.low, "high": self.high, "whole": self.whole, "start": self.start}


def questions(program: Program, profiles: Mapping[str, Profile]) -> tuple[InputField, ...]:
    """One for every column of a program, in order."""
    each = ((column, profiles[column.name]) for column in program.columns)
    return tuple(InputField.number(p) if c.numeric else InputField.level(p, c) for c, p in each)
