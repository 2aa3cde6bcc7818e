"""Inputs: a column as the panel asks for it, and the answers as the numbers that members know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from bayeskit.arrays import Float, Json, Label
from bayeskit.data.levels import MISSING, key
from bayeskit.ensemble.views import GRAINS, ScaledColumn, View
from bayeskit.model.model import Model
from bayeskit.reports.packed import Store
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
    def level(cls, profile: Profile, levels: Sequence[Label], more: int = 0) -> InputField:
        place = {value: code for code, value in enumerate(levels)}
        start = next((place[value] for value in profile.common if value in place), None)
        return cls(profile.name, start, tuple(levels), more)

    def read(self, values: Sequence[Any]) -> Float:
        """What a program computes with: numbers with NaN for missing, or places of levels with -1: (n,)."""
        if self.levels is None:
            return np.array([np.nan if v is None else float(v) for v in values], dtype=np.float64)
        place = {value: code for code, value in enumerate(self.levels)}
        return np.array([-1 if v is None else place.get(v, ABSENT) for v in values], dtype=np.float64)

    def json(self) -> Json:
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


class Input(Protocol):
    """One number, made of the answer to one question."""

    @property
    def of(self) -> int:
        """The question."""

    def at(self, read: Float) -> Float:
        """(n,)."""

    def json(self, store: Store) -> Json:
        """The same to be read by the page."""


@dataclass(frozen=True)
class Plain:
    """A number, or the code of a level; NaN where it is missing."""

    of: int
    codes: tuple[int, ...] | None = None  # of each level

    def at(self, read: Float) -> Float:
        return read if self.codes is None else np.array([*self.codes, np.nan])[read.astype(np.int64)]

    def json(self, store: Store) -> Json:
        return {"form": "plain", "of": self.of, "codes": self.codes}


@dataclass(frozen=True)
class Knots:
    """A number through knots, straight between them, in whole grains; a missing one has a place of its own."""

    of: int
    filled: ScaledColumn

    def at(self, read: Float) -> Float:
        return self.filled.of(read)

    def json(self, store: Store) -> Json:
        scale = self.filled.scale
        ends = {"values": store.exact(scale.values), "scores": store.exact(scale.scores)}
        return {"form": "knots", "of": self.of, "hole": self.filled.hole, "grains": GRAINS, **ends}


@dataclass(frozen=True)
class Is:
    """1 where the answer is a certain level, or is missing (-1), else 0."""

    of: int
    place: int  # of the level

    def at(self, read: Float) -> Float:
        out: Float = np.where(np.isnan(read), -1.0, read) == self.place
        return out.astype(np.float64)

    def json(self, store: Store) -> Json:
        return {"form": "is", "of": self.of, "place": self.place}


@dataclass(frozen=True)
class InputMap:
    """A number for each facet."""

    inputs: tuple[Input, ...]

    @classmethod
    def of(cls, view: View, questions: Sequence[InputField]) -> InputMap:
        """What a view makes of a row."""
        place = {q.name: j for j, q in enumerate(questions)}
        inputs: list[Input] = []
        for filled in view.scales:
            q = place[filled.name]
            inputs.append(Knots(q, filled))
            if filled.flagged:
                inputs.append(Is(q, -1))
        for name, told in view.levels:
            q = place[name]
            known: dict[Any, int] = {key(value): i for i, value in enumerate(questions[q].levels or ())}
            known[MISSING] = -1
            inputs += [Is(q, known.get(level, -2)) for level in told.keys]  # one that is not offered is never met
        return cls(tuple(inputs))

    def matrix(self, read: Sequence[Float]) -> Float:
        """(n, inputs)."""
        return np.stack([facet.at(read[facet.of]) for facet in self.inputs], axis=1)

    def json(self, store: Store) -> list[Json]:
        return [facet.json(store) for facet in self.inputs]
