"""Factors: a member that multiplies what tables and curves say of single columns or of few together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bayeskit.arrays import Float, Int, Json
from bayeskit.densities.tabular import FRONT
from bayeskit.reports.curve import Curve
from bayeskit.reports.packed import Store


@dataclass(frozen=True)
class Coding:
    """How a column is read as a code: a level by its place, a number by the right-closed interval it lies in."""

    codes: tuple[int, ...] | None = None  # of each level
    cuts: tuple[float, ...] = ()
    hole: int = -1  # the code of a missing value

    def of(self, read: Float) -> Int:
        """(n,)."""
        if self.codes is None:
            return np.where(np.isnan(read), self.hole, np.searchsorted(np.array(self.cuts), read, side="left"))
        return np.array([*self.codes, self.hole], dtype=np.int64)[read.astype(np.int64)]

    def json(self) -> Json:
        return {"codes": self.codes, "cuts": self.cuts, "hole": self.hole}


@dataclass(frozen=True)
class Table:
    """A factor of one or more columns, looked up by their codes; the last column is the one predicted."""

    of: tuple[int, ...]  # questions
    steps: tuple[int, ...]
    table: Float  # (cells, K)
    weight: float = 1.0  # how much it counts

    def terms(self, codings: Sequence[Coding], read: Sequence[Float]) -> Float:
        cells = sum((codings[q].of(read[q]) + FRONT) * step for q, step in zip(self.of, self.steps, strict=True))
        out: Float = self.table[np.asarray(cells)] * self.weight
        return out

    def json(self, store: Store) -> Json:
        return {"of": self.of, "steps": self.steps, "table": store.close(self.table), "weight": self.weight}


@dataclass(frozen=True)
class Shape:
    """A factor of one number."""

    of: tuple[int]
    curve: Curve
    missing: Float  # (K,)
    zero: Float | None = None  # (K,) where zero has a probability of its own
    weight: float = 1.0  # how much it counts

    def terms(self, codings: Sequence[Coding], read: Sequence[Float]) -> Float:
        x = read[self.of[0]]
        out = np.tile(self.missing, (len(x), 1))
        known = ~np.isnan(x)
        out[known] = self.curve.at(x[known])
        if self.zero is not None:
            out[x == 0] = self.zero
        return out * self.weight

    def json(self, store: Store) -> Json:
        zero = None if self.zero is None else self.zero.tolist()
        curve = self.curve.json(store)
        return {"of": self.of, "curve": curve, "missing": self.missing.tolist(), "zero": zero, "weight": self.weight}


@dataclass(frozen=True)
class Mixture:
    """One of several estimators that are averaged in the rows in which its parent is known."""

    of: int  # the question that is the parent
    known: tuple[bool, ...]  # by code, with places in front
    factors: tuple[Table, ...]

    def json(self, store: Store) -> Json:
        return {"of": self.of, "known": self.known, "factors": [f.json(store) for f in self.factors]}


@dataclass(frozen=True)
class Factors:
    """log p(x | c) = sum of the factors, or the mean over the mixtures that apply."""

    codings: tuple[Coding, ...]  # of each question
    factors: tuple[Table | Shape, ...]  # of rows in which no mixture has its parent, if there are mixtures
    mixtures: tuple[Mixture, ...] = ()
    note: str = ""  # on what is not exact

    def log(self, read: Sequence[Float]) -> Float:
        """(n, K)."""
        plain = self._sum(self.factors, read)
        if not self.mixtures:
            return plain
        total, times = np.full_like(plain, -np.inf), np.zeros(len(plain))
        for mixture in self.mixtures:
            there = np.array(mixture.known)[self.codings[mixture.of].of(read[mixture.of]) + FRONT]
            one = np.where(there[:, None], self._sum(mixture.factors, read), -np.inf)
            total = np.logaddexp(total, one)
            times += there
        return np.where(times[:, None] > 0, total - np.log(np.maximum(times, 1.0))[:, None], plain)

    def _sum(self, factors: Sequence[Table | Shape], read: Sequence[Float]) -> Float:
        total: Float = np.zeros((len(read[0]) if read else 1, 1))
        for factor in factors:
            total = total + factor.terms(self.codings, read)
        return total

    def json(self, store: Store) -> Json:
        return {
            "kind": "factors",
            "codings": [c.json() for c in self.codings],
            "factors": [f.json(store) for f in self.factors],
            "mixtures": [m.json(store) for m in self.mixtures],
        }
