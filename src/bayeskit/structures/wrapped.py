"""Wrapped: backed off to all rows together, with weights of their columns, or derived from rows that are kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from bayeskit import _core
from bayeskit.arrays import Float
from bayeskit.data.block import Block
from bayeskit.data.levels import Levels
from bayeskit.data.schema import KINDS, NUMERIC, Column
from bayeskit.densities.density import OVERFLOW, Axis, Density, Factored, SupportsLeftOut, TailLogDensity, left_out
from bayeskit.densities.likelihood import AnyFamily, Context, Likelihood, Staged, describe_family
from bayeskit.errors import InputError
from bayeskit.portable.program import Inputs, Tail, Term
from bayeskit.portable.symbol import Symbol, largest, least, together, where
from bayeskit.statistics.rows import CAP, Distinct, Rows
from bayeskit.validation import keep, positive

NONE = np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class Wrapped(SupportsLeftOut):
    """The density of one column, used in another way."""

    density: Density

    @property
    def columns(self) -> tuple[str, ...]:
        return self.density.columns

    @property
    def normalised(self) -> bool:
        return self.density.normalised

    @property
    def constant(self) -> tuple[str, ...]:
        return self.density.constant

    @property
    def held(self) -> tuple[str, ...]:
        return self.density.held

    @property
    def axes(self) -> dict[str, Axis]:
        return self.density.axes

    @property
    def intervals(self) -> dict[str, Float]:
        return self.density.intervals

    @cached_property
    def left_out(self) -> Density:
        return replace(self, density=left_out(self.density))

    def add(self, block: Block, out: Float) -> None:
        terms = self.terms(block)
        out += terms[:, 0] if terms.shape[1] == 1 else terms.sum(axis=1)

    def _terms(self, inputs: Inputs) -> list[Term]:
        """What each column says in a portable program."""
        return Term.by_column(self.density.portable(inputs))

    def log2_magnitude(self, block: Block) -> Float:
        return self.density.log2_magnitude(block)

    def tail(self, block: Block, unit: Float) -> TailLogDensity:
        return self.density.tail(block, unit)

    def out_of_support(self, block: Block) -> dict[str, int]:
        return self.density.out_of_support(block)


@dataclass(frozen=True)
class BackedOff(Wrapped):
    """p(x | c) = a_c f_c(x) + (1 - a_c) f(x), a_c = w n_c / (n_c + r), f = sum over c of n_c f_c / n.

    r pseudo-rows of the pooled density f: a value far from all a class has had then speaks against it, beside all rows
    together, by log(n_c / r + 1) at most. w is how probable it is that the column depends on the class at all.
    """

    weights: Float  # (parts, K) of the values each column has in each class
    rows: float = 1.0
    inclusion: float = 1.0

    @cached_property
    def left_out(self) -> Density:
        return _LeftOutBackedOff(left_out(self.density), self.weights, self.rows, self.inclusion)

    def terms(self, block: Block) -> Float:
        return self.back_off(self._plain(block))

    @property
    def counting(self) -> Float:
        """Shares of the classes, and what counts of a class and of all together: (3, parts, K)."""
        mine = self._mine(self.weights)
        return np.stack([_shares(self.weights), mine, 1 - mine])

    def back_off(self, terms: Float) -> Float:
        """Terms of the density itself, (n, parts, K), backed off."""
        out = np.empty_like(terms)
        share, mine, rest = self.counting
        if _core.back_off(terms, share, mine, rest, out):
            odd = np.flatnonzero(np.isnan(out).any(axis=(1, 2)))
            out[odd] = self._back_off(terms[odd], self.weights[None])
        return out

    def _plain(self, block: Block) -> Float:
        """Terms of the density itself: (n, parts, K). Many add up faster than they tell what they add."""
        if len(self.columns) != 1:
            return np.ascontiguousarray(self.density.terms(block))
        sums = np.zeros((block.rows, self.weights.shape[1]))
        self.density.add(block, sums)
        return sums[:, None]

    def _mine(self, weights: Float) -> Float:
        """a_c: what a class has of its own, nothing without a row."""
        out: Float = self.inclusion * weights / np.maximum(weights + self.rows, 1e-300)
        return out

    def _back_off(self, terms: Float, weights: Float) -> Float:
        """With weights of each row, (n or 1, parts, K), whatever the size of the terms."""
        mine = self._mine(weights)
        with np.errstate(divide="ignore"):
            pooled = np.logaddexp.reduce(terms + np.log(_shares(weights)), axis=2, keepdims=True)
            backed = np.logaddexp(terms + np.log(mine), pooled + np.log1p(-mine))
        missing = (terms == 0).all(axis=2, keepdims=True)  # a missing value says nothing
        return np.where(missing, 0.0, backed)

    def portable(self, inputs: Inputs) -> list[Term]:
        place = {name: j for j, name in enumerate(self.columns)}
        return [self._portable(term, self.weights[place[term.columns[0]]]) for term in self._terms(inputs)]

    def _portable(self, term: Term, weights: Float) -> Term:
        if not isinstance(term.value, Symbol):
            return term
        mine, own, share = self._mine(weights), weights > 0, _shares(weights)
        with np.errstate(divide="ignore"):
            known, share, others = np.log(mine), np.log(share), np.log1p(-mine)
        value = term.value
        backed = np.logaddexp(value + known, together(value + share) + others)
        missing = (largest(value) == 0) & (least(value) == 0)  # a missing value says nothing
        zeros, rest = term.limit.zeros, term.limit.rest
        size = -np.inf if term.limit.size is None else term.limit.size
        large = where(size > OVERFLOW, size, -np.inf)
        fewest = least(where(own, zeros, np.inf))
        there = (zeros == fewest) & own
        smallest = least(where(there, large, np.inf))
        there = there & (large == smallest)
        pooled = together(where(there, rest + share, -np.inf))
        left = np.logaddexp(where(there, rest + known, -np.inf), pooled + others)
        tail = None if term.tail is None else Tail(fewest, None if term.tail.size is None else smallest, left)
        return Term(term.columns, backed, tail).mask(missing)

    def tail(self, block: Block, unit: Float) -> TailLogDensity:
        if len(self.columns) == 1:
            return self._tail(self.density.tail(block, unit), self.weights[0])
        each = ([name == part for name in block.schema.names] for part in self.columns)
        alone = (self.density.tail(block.reveal(np.array(seen)), unit) for seen in each)
        first, *others = (self._tail(tail, weights) for tail, weights in zip(alone, self.weights, strict=True))
        return sum(others, first)

    def _tail(self, tail: TailLogDensity, weights: Float) -> TailLogDensity:
        """The same for one column where the classes' own densities vanish: that of all together does as the largest."""
        zeros, overflow, rest = np.broadcast_arrays(tail.zeros, tail.overflow, tail.rest, np.empty((1, len(weights))))[
            :3
        ]
        mine = self._mine(weights)
        with np.errstate(divide="ignore"):
            known, share, others = np.log(mine), np.log(_shares(weights)), np.log1p(-mine)
        fewest = np.where(weights > 0, zeros, np.inf).min(axis=1, keepdims=True)
        there = (zeros == fewest) & (weights > 0)
        largest = np.where(there, overflow, -np.inf).max(axis=1, keepdims=True)
        there &= overflow == largest
        pooled = np.logaddexp.reduce(np.where(there, rest + share, -np.inf), axis=1, keepdims=True)
        backed = np.logaddexp(np.where(there, rest + known, -np.inf), pooled + others)
        return TailLogDensity(np.broadcast_to(fewest, rest.shape), np.broadcast_to(largest, rest.shape), backed)


@dataclass(frozen=True)
class _LeftOutBackedOff(BackedOff):
    """Without each row's own mass."""

    def terms(self, block: Block) -> Float:
        weights = np.repeat(self.weights[None], block.rows, axis=0)
        row, group, mass = block.rows_with_weight()
        weights[row, :, group] = np.maximum(weights[row, :, group] - mass[:, None], 0.0)
        return self._back_off(self._plain(block), weights)


def _shares(weights: Float) -> Float:
    """n_c / n, over the last axis."""
    out: Float = weights / np.maximum(weights.sum(axis=-1, keepdims=True), 1e-300)
    return out


@dataclass(frozen=True, eq=False)
class FactorWeights:
    """How much each column counts, and what is added for each class, found by the rows' own labels.

    score_c = log P(c) + bias_c + sum over columns of weight_j log p(x_j | ..., c), weights of 0 or more.
    """

    weight: Float  # (columns,)
    bias: Float  # (K,)
    classes: Levels  # those the biases are for

    def bias_of(self, classes: Levels) -> Float:
        """The biases in the order of some classes; a class that came later has none: (K,)."""
        place = classes.codes_in(self.classes)
        return np.where(place < 0, 0.0, np.append(self.bias, 0.0)[place])

    def on(self, classes: Levels) -> FactorWeights:
        """For these classes alone."""
        return self if classes == self.classes else FactorWeights(self.weight, self.bias_of(classes), classes)


@dataclass(frozen=True)
class Weighted(Wrapped):
    """weight_j times the logarithm of each piece of another density; no longer a density itself."""

    weight: Float  # (parts,)

    @property
    def normalised(self) -> bool:
        return False

    def add(self, block: Block, out: Float) -> None:
        out += np.einsum("j,njk->nk", self.weight, self._finite(block))

    def terms(self, block: Block) -> Float:
        out: Float = self._finite(block) * self.weight[:, None]
        return out

    def portable(self, inputs: Inputs) -> list[Term]:
        weight = dict(zip(self.columns, self.weight.tolist(), strict=True))
        terms = self._terms(inputs)
        return [Term(term.columns, weight[term.columns[0]] * np.maximum(term.value, -1e300)) for term in terms]

    def _finite(self, block: Block) -> Float:
        return np.maximum(self.density.terms(block), -1e300)


def weigh(density: Density, weight: Float) -> Density:
    """A density with the logarithm of each part multiplied; its own way if it has one."""
    return density.with_weights(weight) if isinstance(density, Factored) else Weighted(density, weight)


@dataclass(frozen=True)
class Backoff(Likelihood[Any]):
    """A family of numbers whose densities are backed off to the pooled one with so many pseudo-rows."""

    family: AnyFamily
    rows: float

    identifier: ClassVar[str] = "structure/backoff"
    kinds: ClassVar[tuple[str, ...]] = NUMERIC

    def __post_init__(self) -> None:
        keep(self, rows=positive("backoff", self.rows))

    def __str__(self) -> str:
        return f"{describe_family(self.family)}, backed off by {self.rows:g} rows"

    @property
    def leave_one_out(self) -> bool:
        return self.family.leave_one_out

    def statistic(self, columns: Sequence[Column], n_groups: int) -> Any:
        return self.family.statistic(columns, n_groups)

    def fit(self, statistic: Any, context: Context) -> BackedOff:
        density = self.family.fit(statistic, context)
        present: dict[str, Float] = {}
        for name, weight in statistic.column_weights():  # in one of its views, a column may leave some values out
            present[name] = np.maximum(weight.to_float(), present.get(name, np.zeros(1)))
        return BackedOff(density, np.array([present[name] for name in density.columns]), self.rows)


def title(family: Likelihood[Any]) -> str:
    """What a person reads of a family: the settings that differ from their defaults, and what it is backed off by."""
    return str(family) if isinstance(family, Backoff) else describe_family(family)


@dataclass(frozen=True)
class SilentDensity(Density):
    """That of rows which are only kept: it says nothing of any class."""

    columns: tuple[str, ...]
    normalised: ClassVar[bool] = False

    def add(self, block: Block, out: Float) -> None:
        """Nothing is added."""

    def terms(self, block: Block) -> Float:
        return np.zeros((block.rows, len(self.columns), 1))

    def portable(self, inputs: Inputs) -> list[Term]:
        return []


@dataclass(frozen=True)
class FromRows(Likelihood[Distinct]):
    """The rows are kept, equal ones once with their weight; cuts, arcs, sets and tables are found in them anew.

    So what was learned in batches, merged, or learned beside rows since forgotten is, bit for bit, the model of one
    fit. A model of more than 200,000 different rows is refused, and its file holds the rows.
    """

    likelihood: Staged[Any] | None = None  # one that chooses what to count, before it has; None only keeps the rows

    identifier: ClassVar[str] = "structure/kept"  # in files
    kinds: ClassVar[tuple[str, ...]] = KINDS
    leave_one_out: ClassVar[bool] = False  # labels choose cuts and arcs

    def __post_init__(self) -> None:
        if self.likelihood is None:
            return
        if not isinstance(self.likelihood, Staged) or self.likelihood != self.likelihood.first_stage():
            raise InputError(
                f"Kept({self.likelihood!r}): give a likelihood that chooses what to count, before it chose"
            )

    def statistic(self, columns: Sequence[Column], n_groups: int) -> Distinct:
        return Distinct.empty(columns, n_groups)

    def fit(self, statistic: Distinct, context: Context) -> Density:
        if self.likelihood is None:
            return SilentDensity(tuple(c.name for c in statistic.columns))
        likelihood, counted = self.chosen(statistic, context)
        return likelihood.fit(counted, context)

    def chosen(self, rows: Distinct, context: Context) -> tuple[Staged[Any], Any]:
        """The likelihood with all that it chooses, and what it counts then."""
        assert self.likelihood is not None  # what only keeps rows is not asked
        likelihood = self.likelihood.first_stage()
        while True:
            counted = self._count(likelihood, rows, context)
            later = likelihood.next_stage(counted, context)
            if later is None:
                return likelihood, counted
            likelihood = later

    @staticmethod
    def _count(likelihood: Staged[Any], rows: Distinct, context: Context) -> Any:
        empty = likelihood.statistic(rows.columns, rows.groups)
        if isinstance(empty, Rows):
            return rows.sample(empty.most or CAP)
        levels = {name: (NONE, size) for name, size in rows.sizes.items()}
        return empty.place(np.arange(rows.groups), rows.groups, levels).update(
            replace(rows.block(), levels={} if context.domain is None else context.domain.levels)
        )
