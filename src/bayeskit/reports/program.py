"""Program: a model's own terms, written down so that a page can compute the posterior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
from scipy.special import log_softmax

from bayeskit.arrays import Float, Json, Label
from bayeskit.reports.discrete import Summed
from bayeskit.reports.factors import Factors
from bayeskit.reports.inputs import ABSENT, InputField
from bayeskit.reports.near import NeighborTerms
from bayeskit.reports.normal import Normal
from bayeskit.reports.packed import Store

Says: TypeAlias = Factors | Normal | NeighborTerms | Summed


@dataclass(frozen=True)
class MemberProgram:
    """A classifier: what it begins with, and what the values add."""

    name: str
    weight: float
    base: Float  # (K,) log prior
    says: Says

    def log_posterior(self, read: Sequence[Float]) -> Float:
        """(n, K)."""
        with np.errstate(invalid="ignore"):
            out: Float = log_softmax(self.base + self.says.log(read), axis=1)
        return out

    def json(self, store: Store) -> Json:
        base = [None if np.isneginf(b) else b for b in self.base.tolist()]
        return {"weight": self.weight, "base": base, **self.says.json(store)}


@dataclass(frozen=True)
class Program:
    """score_c = base_c + sum over members of weight (log((1 - e) P(c | x) + e own_c) - log own_c).

    Of a single classifier e is 0, ``base`` 0 and ``own`` 1, so that the score is its log posterior times the weight:
    the temperature of a calibrated one, else 1. Another prior adds log of it over ``prior``.
    """

    classes: tuple[str, ...]
    questions: tuple[InputField, ...]
    members: tuple[MemberProgram, ...]
    base: Float  # (K,)
    own: Float  # (K,) log of what members are backed off to
    back_off: float  # e
    prior: Float  # (K,) the model's own, as probabilities

    @classmethod
    def alone(
        cls, classes: tuple[str, ...], questions: tuple[InputField, ...], member: MemberProgram, prior: Float
    ) -> Program:
        """Of a single classifier."""
        nothing = np.zeros(len(classes))
        return cls(classes, questions, (member,), nothing, nothing, 0.0, prior)

    def scaled(self, times: float, more: Float, prior: Float) -> Program:
        """With every score multiplied and added to, and another prior as its own: (K,) each."""
        members = tuple(replace(member, weight=times * member.weight) for member in self.members)
        return replace(self, members=members, base=times * self.base + more, prior=prior)

    def without_rows(self) -> Program | None:
        """Without members that look up learned rows, the others counting as much as all did; None if none is left."""
        kept = [member for member in self.members if not isinstance(member.says, NeighborTerms)]
        if not kept:
            return None
        times = sum(member.weight for member in self.members) / sum(member.weight for member in kept)
        return replace(self, members=tuple(replace(member, weight=times * member.weight) for member in kept))

    def proba(self, values: Sequence[Sequence[Label]]) -> Float:
        """P(c | row) of rows with a value for each question, NaN where a row has a level that was left out: (n, K)."""
        read = [q.read([row[j] for row in values]) for j, q in enumerate(self.questions)]
        absent = np.zeros(len(values), dtype=bool)
        for question, mine in zip(self.questions, read, strict=True):
            absent |= (mine == ABSENT) & (question.levels is not None)
        known = [np.where(absent, -1.0, mine) for mine in read]
        score = self.base + np.zeros((len(values), 1))
        with np.errstate(divide="ignore", invalid="ignore"):
            for member in self.members:
                logs = member.log_posterior(known)
                if self.back_off:
                    logs = np.logaddexp(np.log1p(-self.back_off) + logs, np.log(self.back_off) + self.own)
                score = score + member.weight * (logs - self.own)
            share = np.exp(score - score.max(axis=1, keepdims=True))
        share[absent] = np.nan
        out: Float = share / share.sum(axis=1, keepdims=True)
        return out

    @property
    def notes(self) -> list[str]:
        """What is not exact."""
        return [member.says.note for member in self.members if member.says.note]

    @property
    def rows(self) -> int:
        """How many learned rows it holds."""
        return max((len(v.says.heavy) for v in self.members if isinstance(v.says, NeighborTerms)), default=0)

    def apart(self, values: Sequence[Sequence[Label]], proba: Float) -> Float:
        """How far posteriors are from those found otherwise, in rows whose levels the program holds: (rows,)."""
        apart: Float = np.abs(self.proba(values) - proba).max(axis=1)
        return apart[np.isfinite(apart)]

    def json(self) -> Json:
        return self._json

    @cached_property
    def _json(self) -> Json:
        store = Store()
        members = [member.json(store) for member in self.members]
        return {
            "classes": self.classes,
            "questions": [q.json() for q in self.questions],
            "voices": members,
            "numbers": store.json(),
            "base": self.base.tolist(),
            "own": self.own.tolist(),
            "backOff": self.back_off,
            "prior": self.prior.tolist(),
        }
