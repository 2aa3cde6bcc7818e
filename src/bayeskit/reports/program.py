"""Program: the portable program of a model behind the questions of a page, its many numbers packed as text."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from bayeskit.arrays import Array, Float, Json, Label
from bayeskit.portable.nodes import Neighbours
from bayeskit.portable.program import Member, Program
from bayeskit.portable.symbol import Symbol
from bayeskit.reports.profile import ABSENT, InputField

LARGEST = 1e3  # magnitude up to which numbers are kept to a share of it
STEPS = 2**31 - 2  # of such a number on either side of zero
NEVER = -(2**31)  # stands for minus infinity


@dataclass(frozen=True)
class Store:
    """Tables that a page holds, by number; equal ones are held once.

    >>> store = Store()
    >>> store.logs(np.array([0.0, -1.0])), store.logs(np.array([0.0, -1.0])), store.table(np.array([2.5]))
    (0, 0, 1)
    """

    curves: ClassVar[bool] = False  # a page sums kernels, which takes less room than their curves

    _tables: dict[tuple[bytes, int, float, int], int] = field(default_factory=dict, repr=False)  # as in ``json``

    def table(self, numbers: Float) -> int:
        """Doubles as they are."""
        return self._add(np.ascontiguousarray(numbers, dtype="<f8"), 1.0)

    def logs(self, numbers: Float) -> int:
        """To 2^-32 of the largest magnitude, which for logarithms of probabilities is about 1e-8."""
        finite = np.isfinite(numbers)
        most = float(np.abs(numbers[finite]).max(initial=0.0))
        if most > LARGEST or np.isnan(numbers).any():
            return self.table(numbers)
        unit = (most or 1.0) / STEPS
        steps = np.full(np.shape(numbers), NEVER, dtype="<i4")
        steps[finite] = np.rint(numbers[finite] / unit)
        return self._add(steps, unit)

    def _add(self, raw: Array, unit: float) -> int:
        width = raw.shape[1] if raw.ndim > 1 else 1
        return self._tables.setdefault((raw.tobytes(), raw.dtype.itemsize, unit, width), len(self._tables))

    def json(self) -> Json:
        """All tables one after the other, and how to read each: bytes of a number, its unit, how many, how wide."""
        whole = zlib.compress(b"".join(raw for raw, *_ in self._tables), 9)
        parts = [[size, unit, len(raw) // size, width] for raw, size, unit, width in self._tables]
        return {"parts": parts, "data": base64.b64encode(whole).decode("ascii")}


@dataclass(frozen=True)
class PageProgram:
    """A question for each column, and the program that computes with the answers."""

    program: Program
    questions: tuple[InputField, ...]

    @property
    def classes(self) -> tuple[str, ...]:
        return tuple(map(str, self.program.classes))

    @property
    def members(self) -> tuple[Member, ...]:
        return self.program.members

    def without_rows(self) -> PageProgram | None:
        """Without members that look up learned rows, the others counting as much as all did; None if none is left."""
        kept = [member for member in self.members if not _rows(member)]
        if not kept:
            return None
        times = sum(member.weight for member in self.members) / sum(member.weight for member in kept)
        members = tuple(replace(member, weight=times * member.weight) for member in kept)
        return replace(self, program=replace(self.program, members=members))

    def proba(self, values: Sequence[Sequence[Label]]) -> Float:
        """P(c | row) of rows with a value for each question, NaN where a row has a level that was left out: (n, K)."""
        read = [q.read([row[j] for row in values]) for j, q in enumerate(self.questions)]
        absent = np.zeros(len(values), dtype=bool)
        for question, mine in zip(self.questions, read, strict=True):
            absent |= (mine == ABSENT) & (question.levels is not None)
        inputs = [q.inputs(np.where(absent, np.nan, mine)) for q, mine in zip(self.questions, read, strict=True)]
        out: Float = np.exp(self.program.log_proba(inputs))
        out[absent] = np.nan
        return out

    @property
    def rows(self) -> int:
        """How many learned rows it holds."""
        return max(map(_rows, self.members), default=0)

    def apart(self, values: Sequence[Sequence[Label]], proba: Float) -> Float:
        """How far posteriors are from those found otherwise, in rows whose levels the program holds: (rows,)."""
        apart: Float = np.abs(self.proba(values) - proba).max(axis=1)
        return apart[np.isfinite(apart)]

    def json(self) -> Json:
        return self._json

    @cached_property
    def _json(self) -> Json:
        store = Store()
        program = self.program.json(store)
        columns = [
            {"numeric": column["numeric"]} for column in program["columns"]
        ]  # names and levels are the questions'
        asked = [question.json() for question in self.questions]
        return {**program, "classes": self.classes, "columns": columns, "questions": asked, "numbers": store.json()}


def _rows(member: Member) -> int:
    """How many learned rows a member looks up."""
    waiting: list[Any] = [term.value for term in member.terms if not term.columns]
    nodes = [a for s in waiting if isinstance(s, Symbol) for a in s.args if isinstance(a, Neighbours)]
    return sum(len(node.mass) for node in nodes)
