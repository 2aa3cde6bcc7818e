"""Backed-off densities: a class of few rows leans on all rows together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from bayeskit import _core
from bayeskit.arrays import Float
from bayeskit.data.block import Block
from bayeskit.data.schema import NUMERIC, Column
from bayeskit.likelihood import Axis, Context, Limit, LogDensity, held_by


@dataclass(frozen=True)
class Wrapped:
    """The density of one column, used in another way."""

    density: LogDensity

    @property
    def parts(self) -> tuple[str, ...]:
        return self.density.parts

    @property
    def normalised(self) -> bool:
        return self.density.normalised

    @property
    def constant(self) -> tuple[str, ...]:
        return getattr(self.density, "constant", ())

    @property
    def held(self) -> tuple[str, ...]:
        return held_by(self.density)

    @property
    def axes(self) -> dict[str, Axis]:
        return getattr(self.density, "axes", {})

    def add(self, block: Block, out: Float, own: bool = False) -> None:
        terms = self.terms(block, own)
        out += terms[:, 0] if terms.shape[1] == 1 else terms.sum(axis=1)

    def terms(self, block: Block, own: bool = False) -> Float:
        raise NotImplementedError

    def outside(self, block: Block) -> dict[str, int]:
        return self.density.outside(block)


@dataclass(frozen=True)
class BackedOff(Wrapped):
    """p(x | c) = (n_c f_c(x) + r f(x)) / (n_c + r): r pseudo-rows of the pooled density f = sum over c of n_c f_c / n.

    A value far from all a class has had then speaks against it, beside all rows together, by log(n_c / r + 1) at most.
    """

    weights: Float  # (parts, K) of the values each column has in each class
    rows: float = 1.0

    def terms(self, block: Block, own: bool = False) -> Float:
        terms = self._plain(block, own)
        if own:
            weights = np.repeat(self.weights[None], block.rows, axis=0)
            row, group, mass = block.own()
            weights[row, :, group] = np.maximum(weights[row, :, group] - mass[:, None], 0.0)
            return self._backed(terms, weights)
        share = self.weights / np.maximum(self.weights.sum(axis=1, keepdims=True), 1e-300)
        mine, rest = self.weights / (self.weights + self.rows), self.rows / (self.weights + self.rows)
        out = np.empty_like(terms)
        if _core.back_off(terms, share, mine, rest, out):
            odd = np.flatnonzero(np.isnan(out).any(axis=(1, 2)))
            out[odd] = self._backed(terms[odd], self.weights[None])
        return out

    def _plain(self, block: Block, own: bool) -> Float:
        """Terms of the density itself: (n, parts, K). Many add up faster than they tell what they add."""
        if len(self.parts) != 1:
            return np.ascontiguousarray(self.density.terms(block, own))
        sums = np.zeros((block.rows, self.weights.shape[1]))
        self.density.add(block, sums, own)
        return sums[:, None]

    def _backed(self, terms: Float, weights: Float) -> Float:
        """With weights of each row, (n or 1, parts, K), whatever the size of the terms."""
        with np.errstate(divide="ignore"):
            share = np.log(weights / np.maximum(weights.sum(axis=2, keepdims=True), 1e-300))
            pooled = np.logaddexp.reduce(terms + share, axis=2, keepdims=True)
            whole = np.log(weights + self.rows)
            backed = np.logaddexp(terms + np.log(weights) - whole, pooled + np.log(self.rows) - whole)
        silent = (terms == 0).all(axis=2, keepdims=True)  # a missing value says nothing
        return np.where(silent, 0.0, backed)

    def reach(self, block: Block, own: bool = False) -> Float:
        return self.density.reach(block, own)

    def limit(self, block: Block, unit: Float, own: bool = False) -> Limit:
        return self.density.limit(block, unit, own)


@dataclass(frozen=True)
class Backed:
    """A family of numbers whose densities are backed off to the pooled one with so many pseudo-rows."""

    family: Any
    rows: float

    kinds: ClassVar[tuple[str, ...]] = NUMERIC

    @property
    def leave_one_out(self) -> bool:
        return bool(getattr(self.family, "leave_one_out", True))

    def statistic(self, columns: Sequence[Column], n_groups: int) -> Any:
        return self.family.statistic(columns, n_groups)

    def fit(self, statistic: Any, context: Context) -> BackedOff:
        density = self.family.fit(statistic, context)
        present: dict[str, Float] = {}
        for name, weight in statistic.column_weights():  # in one of its views, a column may leave some values out
            present[name] = np.maximum(weight.rounded(), present.get(name, np.zeros(1)))
        return BackedOff(density, np.array([present[name] for name in density.parts]), self.rows)


@dataclass(frozen=True)
class Pooled(Wrapped):
    """One density for all classes: the column says how usual a row is, and nothing about its class."""

    classes: int  # the density itself has one

    def terms(self, block: Block, own: bool = False) -> Float:
        terms = self.density.terms(_one_group(block), own)
        return np.repeat(terms, self.classes, axis=2)

    def reach(self, block: Block, own: bool = False) -> Float:
        return self.density.reach(_one_group(block), own)

    def limit(self, block: Block, unit: Float, own: bool = False) -> Limit:
        some = self.density.limit(_one_group(block), unit, own)
        return Limit(*(np.repeat(part, self.classes, axis=1) for part in (some.zeros, some.vast, some.rest)))


def _one_group(block: Block) -> Block:
    """The same rows, all of one class."""
    return block if block.groups is None else replace(block, groups=np.minimum(block.groups, 0))
