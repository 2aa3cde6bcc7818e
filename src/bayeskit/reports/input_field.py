"""InputField: a column as the panel asks for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskit.arrays import Float
from bayeskit.model.model import Model
from bayeskit.reports.profile import COMMON, Profile

ABSENT = -9  # the place of a level the program does not hold


@dataclass(frozen=True)
class InputField:
    """A number, or one of some levels."""

    name: str
    start: float | int | None  # a usual value (a number, or the place of a level), None if it has none
    levels: tuple[Any, ...] | None = None
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
    def level(cls, profile: Profile, levels: Sequence[Any], more: int = 0) -> InputField:
        place = {value: code for code, value in enumerate(levels)}
        start = next((place[value] for value in profile.common if value in place), None)
        return cls(profile.name, start, tuple(levels), more)

    def read(self, values: Sequence[Any]) -> Float:
        """What a program computes with: numbers with NaN for missing, or places of levels with -1: (n,)."""
        if self.levels is None:
            return np.array([np.nan if v is None else float(v) for v in values], dtype=np.float64)
        place = {value: code for code, value in enumerate(self.levels)}
        return np.array([-1 if v is None else place.get(v, ABSENT) for v in values], dtype=np.float64)

    def json(self) -> dict[str, Any]:
        if self.levels is not None:
            return {"name": self.name, "levels": list(map(str, self.levels)), "more": self.more, "start": self.start}
        return {"name": self.name, "low": self.low, "high": self.high, "whole": self.whole, "start": self.start}


def questions(model: Model, profiles: Mapping[str, Profile]) -> tuple[InputField, ...]:
    """One for every column of a model, in order."""
    found = []
    for column in model.schema.columns:
        profile = profiles[column.name]
        if column.numeric:
            found.append(InputField.number(profile))
            continue
        levels = model.counted.domain.levels[column.name].values if column.coded else ()
        known = [value for value in levels if value is not None]
        if len(known) <= COMMON:
            found.append(InputField.level(profile, known))
        else:
            some = set(known)
            found.append(InputField.level(profile, [v for v in profile.common if v in some], len(known) - COMMON))
    return tuple(found)
