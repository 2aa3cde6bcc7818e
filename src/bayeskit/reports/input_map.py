"""InputMap: the answers to a panel as a row of numbers, for members that know numbers only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from bayeskit.arrays import Float
from bayeskit.data.levels import MISSING, key
from bayeskit.ensemble.views import GRAINS, ScaledColumn, View
from bayeskit.reports.input_field import InputField
from bayeskit.reports.packed import Store


class Input(Protocol):
    """One number, made of the answer to one question."""

    @property
    def of(self) -> int:
        """The question."""

    def at(self, read: Float) -> Float:
        """(n,)."""

    def json(self, store: Store) -> dict[str, Any]:
        """The same to be read by the page."""


@dataclass(frozen=True)
class Plain:
    """A number, or the code of a level; NaN where it is missing."""

    of: int
    codes: tuple[int, ...] | None = None  # of each level

    def at(self, read: Float) -> Float:
        return read if self.codes is None else np.array([*self.codes, np.nan])[read.astype(np.int64)]

    def json(self, store: Store) -> dict[str, Any]:
        return {"form": "plain", "of": self.of, "codes": self.codes}


@dataclass(frozen=True)
class Knots:
    """A number through knots, straight between them, in whole grains; a missing one has a place of its own."""

    of: int
    filled: ScaledColumn

    def at(self, read: Float) -> Float:
        return self.filled.of(read)

    def json(self, store: Store) -> dict[str, Any]:
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

    def json(self, store: Store) -> dict[str, Any]:
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

    def json(self, store: Store) -> list[dict[str, Any]]:
        return [facet.json(store) for facet in self.inputs]
