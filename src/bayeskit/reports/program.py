"""Program: a model's own terms, written down so that a page can compute the posterior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskit.arrays import Float, Int
from bayeskit.reports.curve import Curve, rounded
from bayeskit.reports.profile import Profile

FRONT = 2  # places in front of the levels on each axis of a table: never seen, missing
ABSENT = -9  # the code of a level the program does not hold


@dataclass(frozen=True)
class Question:
    """A column as the panel asks for it: a number, or one of some levels."""

    name: str
    start: float | int | None  # a usual value (a number, or the place of a level), None if it has none
    levels: tuple[Any, ...] | None = None
    more: int = 0  # levels that are left out
    low: float = 0.0
    high: float = 0.0
    whole: bool = False
    cuts: tuple[float, ...] | None = None  # of a number that is read as the interval it lies in
    hole: int = -1  # the code of a missing value

    @classmethod
    def number(cls, profile: Profile, whole: bool, cuts: tuple[float, ...] | None = None, hole: int = -1) -> Question:
        known = profile.numeric
        low, high = (profile.low, profile.high) if known else (0.0, 0.0)
        start = profile.middle if known else None
        if known and 0 < high - low < np.inf:  # to a thousandth of the range
            start = float(np.clip(round(profile.middle, 3 - int(np.floor(np.log10(high - low)))), low, high))
        return cls(profile.name, start, low=low, high=high, whole=whole, cuts=cuts, hole=hole)

    @classmethod
    def level(cls, profile: Profile, levels: Sequence[Any], more: int = 0) -> Question:
        """Of some levels; None among them is the level that missing values are."""
        place = {value: code for code, value in enumerate(levels)}
        start = next((place[value] for value in profile.common if value in place), None)
        return cls(profile.name, start, tuple(levels), more, hole=place.get(None, -1))

    def read(self, values: Sequence[Any]) -> Float:
        """What the program computes with: numbers with NaN for missing, or codes of levels: (n,)."""
        if self.levels is None:
            return np.array([np.nan if v is None else float(v) for v in values], dtype=np.float64)
        place = {value: code for code, value in enumerate(self.levels)}
        return np.array([self.hole if v is None else place.get(v, ABSENT) for v in values], dtype=np.float64)

    def codes(self, read: Float) -> Int:
        """The same as codes of a table: (n,)."""
        if self.levels is not None:
            return read.astype(np.int64)
        cell = np.searchsorted(np.array(self.cuts or ()), read, side="left")  # right-closed intervals
        return np.where(np.isnan(read), self.hole, cell)

    def json(self) -> dict[str, Any]:
        if self.levels is not None:
            levels = ["" if v is None else str(v) for v in self.levels]
            return {"name": self.name, "levels": levels, "more": self.more, "start": self.start, "hole": self.hole}
        number = {"name": self.name, "low": self.low, "high": self.high, "whole": self.whole, "start": self.start}
        return number if self.cuts is None else {**number, "cuts": self.cuts, "hole": self.hole}


@dataclass(frozen=True)
class Table:
    """A factor of one or more columns, looked up by their codes; the last column is the one foretold."""

    of: tuple[int, ...]  # questions
    steps: tuple[int, ...]
    table: Float  # (cells, K)

    def terms(self, questions: Sequence[Question], read: Sequence[Float]) -> Float:
        cells = sum((questions[q].codes(read[q]) + FRONT) * step for q, step in zip(self.of, self.steps, strict=True))
        out: Float = self.table[np.asarray(cells)]
        return out

    def json(self) -> dict[str, Any]:
        return {"of": self.of, "steps": self.steps, "table": rounded(self.table)}


@dataclass(frozen=True)
class Shape:
    """A factor of one number."""

    of: tuple[int]
    curve: Curve
    missing: Float  # (K,)
    zero: Float | None = None  # (K,) where zero has a probability of its own

    def terms(self, questions: Sequence[Question], read: Sequence[Float]) -> Float:
        x = read[self.of[0]]
        out = np.tile(self.missing, (len(x), 1))
        known = ~np.isnan(x)
        out[known] = self.curve.at(x[known])
        if self.zero is not None:
            out[x == 0] = self.zero
        return out

    def json(self) -> dict[str, Any]:
        zero = None if self.zero is None else self.zero.tolist()
        return {"of": self.of, "curve": self.curve.json(), "missing": self.missing.tolist(), "zero": zero}


@dataclass(frozen=True)
class Mixture:
    """One of several estimators that are averaged in the rows in which its parent is known."""

    of: int  # the question that is the parent
    known: tuple[bool, ...]  # by code, with places in front
    factors: tuple[Table, ...]

    def json(self) -> dict[str, Any]:
        return {"of": self.of, "known": self.known, "factors": [f.json() for f in self.factors]}


@dataclass(frozen=True)
class Parts:
    """What a program is made of, and a note on what is not exact."""

    questions: tuple[Question, ...]
    factors: tuple[Table | Shape, ...]  # of rows in which no mixture has its parent, if there are mixtures
    note: str = ""
    mixtures: tuple[Mixture, ...] = ()


@dataclass(frozen=True)
class Program:
    """log P(c | x) = t (base_c + sum over factors of terms_c) + log new prior_c - log prior_c - log of the sum.

    t is the temperature of a calibrated model, else 1. Of mixtures the mean of the products counts.
    """

    classes: tuple[str, ...]
    parts: Parts
    base: Float  # (K,)
    prior: Float  # (K,) the model's own, as probabilities
    temperature: float = 1.0

    def proba(self, values: Sequence[Sequence[Any]]) -> Float:
        """P(c | row) of rows with a value for each question, NaN where a row has a level that was left out: (n, K)."""
        read = [q.read([row[j] for row in values]) for j, q in enumerate(self.questions)]
        absent = np.zeros(len(values), dtype=bool)
        for question, mine in zip(self.questions, read, strict=True):
            absent |= (mine == ABSENT) & (question.levels is not None)
        total = self.temperature * (self.base + self._likelihood([np.where(absent, -1.0, mine) for mine in read]))
        with np.errstate(invalid="ignore"):
            share = np.exp(total - total.max(axis=1, keepdims=True))
        share[absent] = np.nan
        out: Float = share / share.sum(axis=1, keepdims=True)
        return out

    def _likelihood(self, read: Sequence[Float]) -> Float:
        """The sum of the factors, or the mean over the mixtures that apply: (n, K)."""
        plain = self._sum(self.parts.factors, read)
        if not self.parts.mixtures:
            return plain
        total, times = np.full_like(plain, -np.inf), np.zeros(len(plain))
        for mixture in self.parts.mixtures:
            there = np.array(mixture.known)[self.questions[mixture.of].codes(read[mixture.of]) + FRONT]
            one = np.where(there[:, None], self._sum(mixture.factors, read), -np.inf)
            total = np.logaddexp(total, one)
            times += there
        return np.where(times[:, None] > 0, total - np.log(np.maximum(times, 1.0))[:, None], plain)

    def _sum(self, factors: Sequence[Table | Shape], read: Sequence[Float]) -> Float:
        total = np.zeros((len(read[0]), len(self.base)))
        for factor in factors:
            total += factor.terms(self.questions, read)
        return total

    @property
    def questions(self) -> tuple[Question, ...]:
        return self.parts.questions

    def gap(self, values: Sequence[Sequence[Any]], proba: Float) -> tuple[float, int]:
        """The largest difference from posteriors found otherwise, and in how many rows it was looked for."""
        apart = np.abs(self.proba(values) - proba).max(axis=1)
        known = apart[np.isfinite(apart)]
        return float(known.max(initial=0.0)), len(known)

    def json(self) -> dict[str, Any]:
        return {
            "classes": self.classes,
            "questions": [q.json() for q in self.questions],
            "factors": [f.json() for f in self.parts.factors],
            "mixtures": [m.json() for m in self.parts.mixtures],
            "base": self.base.tolist(),
            "prior": self.prior.tolist(),
            "temperature": self.temperature,
        }
