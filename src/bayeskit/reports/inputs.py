"""Inputs: a column as the panel asks for it, and the answers as a program reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskit.arrays import Float, Json
from bayeskit.data.levels import MARK
from bayeskit.portable.program import InputColumn, Program
from bayeskit.reports.profile import COMMON, Profile

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
