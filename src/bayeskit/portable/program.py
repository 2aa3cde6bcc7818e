"""The format of a portable program: what every target reads, and how its steps are written down.

A program is JSON. ``format`` is 1. ``columns`` are the inputs: a name, and for categories the levels, whose place is
their code (``missingCode`` is the code of a missing value: -1, or a level of its own; a level never seen has -2).
``tables`` are arrays of numbers with a width. ``steps`` are operations, each on the results of earlier ones:

    ["number", j] ["code", j]        the input of column j: a number (NaN where missing) or the code of a level
    ["constant", v]                  a number, or a list of one for each class
    ["add", i, ...] ["logsum", i, ...]   sums; of exponentials, as a logarithm
    ["sub" | "mul" | "div" | "min" | "max" | "lt" | "le" | "eq" | "and" | "or", i, j]
    ["neg" | "abs" | "floor" | "square" | "sqrt" | "log" | "log1p" | "exp" | "sin" | "cos" | "not" | "missing", i]
    ["where", c, i, j]               i where c holds, else j
    ["deviance", i, j]               x log(x / m) + m - x
    ["stirling", i]                  log Gamma(x + 1) less Stirling's formula
    ["place", i, t] ["take", i, t]   how many numbers of a table lie below; the line of a table at an index from 0 on
    ["largest" | "least" | "together", i]    over the classes: the largest, the least, log of the sum of exponentials
    ["mixture" | "normal" | "network" | "forest" | "neighbours", spec, i, ...]   see ``nodes``

A result is a number, or one for each class. log 0 is minus infinity, and what is undefined is NaN. A member adds up
its ``terms`` and the logarithms of its ``base``: log P(c, x). Each term names the columns it is of; to explain it,
several are revealed in the order of the columns, or add up by the chain rule of a normal density or of a forest
(``chain``); that of neighbours names none, and ``chain`` says which column each of its numbers comes from and is
revealed with. Where all classes have minus infinity, the ``tail`` of each term decides, as smoothing vanishes: [zeros,
size, rest] are the factors that are zero, log2 of the magnitude of a term beyond the range of a double (null: never),
and the rest. The classes that the prior allows run; those with the fewest zeros go on; of these those with the smallest
sum of magnitudes above 2^900; and base + rest is their log P(c, x).

``pool`` joins members: score_c = base_c + sum of weight (log((1 - e) P(c | x) + e own_c) - log own_c). ``calibration``,
if any, maps the result p, by class, with log-odds s of each class against the rest, and makes it sum to one:
["temperature", t] and ["vector", weight, bias] log p; ["sigmoid", slope, shift], ["beta", a, b, c] (a log p - b
log(1 - p) + c) and ["quadratic", a, b, c] (a + b s + c s^2, s within 30) give new log-odds; ["isotonic", edges, levels]
has log-probabilities by steps of s; ["pairs", edges, levels] of each pair of classes in order the probability of the
second by steps of their log-odds, and p = 1 / (sum over the others of 1 / p against each - (K - 2)).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from bayeskit.arrays import Float, Json, Label
from bayeskit.deferred import deferred
from bayeskit.portable.nodes import TableStore, to_list
from bayeskit.portable.symbol import Read, Steps, Symbol, Value, constant, evaluate, evaluate_at, take, total, where

log_expit = deferred("scipy.special", "log_expit")
log_softmax = deferred("scipy.special", "log_softmax")

FORMAT = 1
OVERFLOW = 900.0  # log2 of the magnitude above which terms are compared apart
SURE = 700.0  # log-odds beyond which a double holds no more certainty
FAR = 30.0  # log-odds beyond which a quadratic map goes no further
MOST = 1e300  # of what is compared by pairs
BY_CLASS = ("sigmoid", "beta", "quadratic", "vector")  # calibrations that are numbers by class


Calibration: TypeAlias = tuple[Any, ...]  # a map by its name, and its numbers


class Unportable(Exception):
    """Why a model, or a part of it, cannot be written down."""


class Inputs(Protocol):
    """The columns of a model as symbols."""

    def number(self, name: str) -> Any:
        """NaN where it is missing."""

    def code(self, name: str) -> Any:
        """The code of a level: -1 missing, -2 never seen."""

    def words(self, name: str) -> Sequence[int]:
        """Hashes of the levels of a column, by code."""


@dataclass(frozen=True)
class Tail:
    """A term beyond the range of a double, as ``TailLogDensity`` has it."""

    zeros: Any
    size: Any  # None where it never overflows
    rest: Any


@dataclass(frozen=True)
class Term:
    """What some columns add to log p(x | c)."""

    columns: tuple[str, ...]
    value: Any  # by class
    tail: Tail | None = None
    chain: tuple[str, ...] = ()  # of normal densities, forests and neighbours, the column of each number: one by one

    @property
    def limit(self) -> Tail:
        return self.tail or Tail(0.0, None, self.value)

    @classmethod
    def from_table(cls, columns: tuple[str, ...], table: Float, index: Value, vanishing: Float | None = None) -> Term:
        """The line of a table of logarithms; ``vanishing`` is log(p / a) as a -> 0+ where they are minus infinity."""
        zero = np.isneginf(table)
        if not zero.any():
            return cls(columns, take(table, index))
        rest = np.where(zero, 0.0 if vanishing is None else vanishing, table)
        return cls(columns, take(table, index), Tail(take(zero.astype(np.float64), index), None, take(rest, index)))

    @classmethod
    def from_formula(cls, column: str, x: Symbol, value: Value, size: Value | None = None) -> Term:
        """The formula of a number; beyond the range of a double it is minus infinity, of a magnitude ``size``."""
        if not isinstance(value, Symbol):
            return cls((column,), value)
        if size is None:
            return cls((column,), value)
        low, high = reach(x, value)
        if low == -high:
            near = value if np.isinf(high) else where(np.abs(x) > high, -np.inf, value)
        else:
            near = value if np.isinf(high) else where(x > high, -np.inf, value)
            near = near if np.isinf(low) else where(x < low, -np.inf, near)
        return cls((column,), near, Tail(0.0, size, where(size > OVERFLOW, 0.0, value)))

    @staticmethod
    def by_column(terms: Sequence[Term]) -> list[Term]:
        """One term of each column, whatever number was written."""
        found: dict[tuple[str, ...], Term] = {}
        for term in terms:
            found[term.columns] = found[term.columns] + term if term.columns in found else term
        return list(found.values())

    def vanishing(self, power: Value, rest: Value) -> Term:
        """The same where zeros are known to vanish with a smoothing a as a^power exp(rest)."""
        large = False if self.limit.size is None else self.limit.size > OVERFLOW
        zero = np.isneginf(self.value) & ~large if isinstance(large, Symbol) else np.isneginf(self.value)
        return Term(
            self.columns, self.value, Tail(where(zero, power, 0.0), self.limit.size, where(zero, rest, self.limit.rest))
        )

    def __add__(self, other: Term) -> Term:
        """The product of two factors of the same columns, of which one at the most overflows."""
        if self.tail is None and other.tail is None:
            return Term(self.columns, self.value + other.value)
        one, two = self.limit, other.limit
        size = two.size if one.size is None else one.size
        return Term(self.columns, self.value + other.value, Tail(one.zeros + two.zeros, size, one.rest + two.rest))

    def mask(self, missing: Value) -> Term:
        """The same, but nothing where a condition holds."""
        tail = self.tail
        if tail is not None:
            size = None if tail.size is None else where(missing, -np.inf, tail.size)
            tail = Tail(where(missing, 0.0, tail.zeros), size, where(missing, 0.0, tail.rest))
        return Term(self.columns, where(missing, 0.0, self.value), tail)


def reach(x: Symbol, value: Symbol) -> tuple[float, float]:
    """The numbers x, up to a factor of two, between which a formula of it is a double in every class."""
    sizes = np.ldexp(1.0, np.arange(0, 1024))
    ends = []
    for sign in (-1.0, 1.0):
        overflow = np.isneginf(evaluate_at(value, x, sign * sizes)).any(axis=1) & (sizes > 2.0**300)
        ends.append(sign * (sizes[int(np.argmax(overflow)) - 1] if overflow.any() else np.inf))
    return ends[0], ends[1]


@dataclass(frozen=True)
class Member:
    """A classifier: what it begins with, and what the columns add."""

    name: str
    weight: float
    base: Float  # (K,) log prior
    terms: tuple[Term, ...]

    @cached_property
    def whole(self) -> Any:
        return total([constant(self.base), *(term.value for term in self.terms)])

    def log_posterior(self, read: Read) -> Float:
        """(n, K)."""
        rows = len(read[0])
        score = np.array(np.broadcast_to(evaluate([self.whole], read)[0], (rows, len(self.base))))
        lost = np.flatnonzero(np.isneginf(score).all(axis=1))
        if len(lost):
            score[lost] = self._limit([values[lost] for values in read], len(lost))
        with np.errstate(invalid="ignore"):
            out: Float = log_softmax(score, axis=1)
        return out

    def _limit(self, read: Read, rows: int) -> Float:
        limits = [term.limit for term in self.terms]
        shape = (rows, len(self.base))
        zeros, size, rest = np.zeros(shape), [], np.zeros(shape)
        for limit in limits:
            zero, big, left = evaluate([limit.zeros, -np.inf if limit.size is None else limit.size, limit.rest], read)
            big = np.broadcast_to(np.where(np.isnan(big), -np.inf, big), shape)
            zeros = zeros + zero
            size.append(big)
            rest = rest + left
        unit = np.max([np.zeros((rows, 1)), *(big.max(axis=1, keepdims=True) for big in size)], axis=0)
        overflow = sum(
            (np.where(big > OVERFLOW, -np.exp2(np.minimum(big - unit, 0.0)), 0.0) for big in size), np.zeros(shape)
        )
        running = np.broadcast_to(np.isfinite(self.base), shape)
        for score in (-zeros, overflow):
            running = running & (score == np.where(running, score, -np.inf).max(axis=1, keepdims=True))
        return np.where(running, np.maximum(rest, -1e300) + np.where(np.isfinite(self.base), self.base, 0.0), -np.inf)


@dataclass(frozen=True)
class InputColumn:
    """A column as a program reads it."""

    name: str
    numeric: bool
    keys: tuple[Any, ...] = ()  # of the levels, by code
    missing_code: int = -1  # the code of a missing value
    known_only: bool = False  # whether a level never seen is an error


@dataclass(frozen=True)
class Program:
    """A fitted model: see the module."""

    classes: tuple[Label, ...]
    columns: tuple[InputColumn, ...]
    members: tuple[Member, ...]
    base: Float  # (K,)
    own: Float  # (K,) log of what members are backed off to
    back_off: float  # e
    prior: Float  # (K,) the model's own, as probabilities
    calibration: Calibration | None = None

    @classmethod
    def alone(cls, classes: Sequence[Label], columns: tuple[InputColumn, ...], member: Member, prior: Float) -> Program:
        """Of a single classifier."""
        nothing = np.zeros(len(classes))
        return cls(tuple(classes), columns, (member,), nothing, nothing, 0.0, prior)

    def scale(self, times: float, more: Float) -> Program:
        """With every score multiplied and added to, (K,), instead of a calibration."""
        members = tuple(replace(member, weight=times * member.weight) for member in self.members)
        return replace(self, members=members, base=times * self.base + more, calibration=None)

    def log_proba(self, read: Read) -> Float:
        """log P(c | row) of what the columns hold: (n, K)."""
        score = self.base + np.zeros((len(read[0]), 1))
        with np.errstate(divide="ignore", invalid="ignore"):
            for member in self.members:
                logs = member.log_posterior(read)
                if self.back_off:
                    logs = np.logaddexp(np.log1p(-self.back_off) + logs, np.log(self.back_off) + self.own)
                score = score + member.weight * (logs - self.own)
            out: Float = log_softmax(score, axis=1)
        return calibrate(self.calibration, out)

    @cached_property
    def steps(self) -> Steps:
        """All operations in order."""
        made = Steps()
        for member in self.members:
            for term in member.terms:
                made.add(term.value)
                if term.tail is not None:
                    made.add(term.tail.zeros)
                    made.add(-np.inf if term.tail.size is None else term.tail.size)
                    made.add(term.tail.rest)
        return made

    def json(self, store: TableStore) -> Json:
        """As JSON; a ``store`` numbers the tables."""
        steps, place = self.steps, {column.name: j for j, column in enumerate(self.columns)}

        def term(one: Term) -> Json:
            tail = one.tail
            parts = None
            if tail is not None:
                size = None if tail.size is None else steps.add(tail.size)
                parts = [steps.add(tail.zeros), size, steps.add(tail.rest)]
            of, chain = ([place[name] for name in names] for names in (one.columns, one.chain))
            return {"of": of, "value": steps.add(one.value), "tail": parts, "chain": chain}

        members = [
            {"name": m.name, "weight": m.weight, "base": to_list(m.base), "terms": [term(t) for t in m.terms]}
            for m in self.members
        ]
        return {
            "format": FORMAT,
            "classes": list(self.classes),
            "columns": [_column(column) for column in self.columns],
            "steps": steps.json(store),
            "members": members,
            "pool": {"base": to_list(self.base), "own": to_list(self.own), "backOff": self.back_off},
            "calibration": None if self.calibration is None else list(self.calibration),
            "prior": self.prior.tolist(),
        }


def _column(column: InputColumn) -> Json:
    described: Json = {"name": column.name, "numeric": column.numeric}
    if not column.numeric:
        described |= {
            "levels": [list(key) for key in column.keys],
            "missingCode": column.missing_code,
            "knownOnly": column.known_only,
        }
    return described


def calibrate(calibration: Calibration | None, logs: Float) -> Float:
    """Log posteriors (n, K) through a calibration map, as ``decision.calibration`` has it."""
    if calibration is None:
        return logs
    kind, *numbers = calibration
    k, each = logs.shape[1], [np.array(row) for row in numbers] if kind in BY_CLASS else []
    if kind in ("temperature", "vector"):
        weight, bias = (each[0], each[1]) if kind == "vector" else (numbers[0], 0.0)
        out: Float = log_softmax(weight * np.maximum(logs, -SURE) + bias, axis=1)
        return out
    if kind == "pairs":
        return _join_pairs(numbers[0], numbers[1], np.maximum(logs, -MOST))
    others = [np.logaddexp.reduce(np.delete(logs, c, axis=1), axis=1) for c in range(k)]
    with np.errstate(invalid="ignore"):
        odds = np.clip(logs - np.stack(others, axis=1), -SURE, SURE)
    if kind == "isotonic":
        steps = zip(*numbers, strict=True)
        made = np.stack([np.array(lv)[np.searchsorted(ed, odds[:, c])] for c, (ed, lv) in enumerate(steps)], axis=1)
    elif kind == "sigmoid":
        made = log_expit(each[0] * odds + each[1])
    elif kind == "beta":
        made = log_expit(each[0] * log_expit(odds) - each[1] * log_expit(-odds) + each[2])
    else:
        near = np.clip(odds, -FAR, FAR)
        made = log_expit(each[0] + (each[1] + each[2] * near) * near)
    whole: Float = made - np.logaddexp.reduce(made, axis=1, keepdims=True)
    return whole


def _join_pairs(edges: Sequence[Sequence[float]], levels: Sequence[Sequence[float]], logs: Float) -> Float:
    k = logs.shape[1]
    inverse = np.full(logs.shape, 2.0 - k)
    for (a, b), edge, level in zip(combinations(range(k), 2), edges, levels, strict=True):
        second = np.array(level)[np.searchsorted(edge, logs[:, b] - logs[:, a])]
        inverse[:, a] += 1 / (1 - second)
        inverse[:, b] += 1 / second
    out: Float = log_softmax(-np.log(inverse), axis=1)
    return out


@runtime_checkable
class Portable(Protocol):
    """A classifier that can write itself down."""

    def program(self) -> Program:
        """What every target reads; ``Unportable`` says why there is none."""


def numbers_of(member: Member) -> int:
    """How many numbers the tables of a member have."""
    steps = Steps()
    for term in member.terms:
        steps.add(term.value)
    tables = {id(a): a for step in steps.made for a in step[1:] if not isinstance(a, int | float | tuple)}
    return sum(a.count for a in tables.values())
