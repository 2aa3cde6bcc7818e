"""Backed-off densities: a class of few rows leans on all rows together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from bayeskit.arrays import Float
from bayeskit.data.block import Block
from bayeskit.data.schema import NUMERIC, Column
from bayeskit.likelihood import Axis, Context, Limit, LogDensity


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
    def axes(self) -> dict[str, Axis]:
        return getattr(self.density, "axes", {})

    def add(self, block: Block, out: Float, own: bool = False) -> None:
        out += self.terms(block, own).sum(axis=1)

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
        terms, r = self.density.terms(block, own), self.rows
        weights = np.broadcast_to(self.weights, (block.rows, *self.weights.shape))
        if own:
            row, group, mass = block.own()
            weights = weights.copy()
            weights[row, :, group] = np.maximum(weights[row, :, group] - mass[:, None], 0.0)
        with np.errstate(divide="ignore"):
            share = np.log(weights / np.maximum(weights.sum(axis=2, keepdims=True), 1e-300))
            pooled = np.logaddexp.reduce(terms + share, axis=2, keepdims=True)
            whole = np.log(weights + r)
            backed = np.logaddexp(terms + np.log(weights) - whole, pooled + np.log(r) - whole)
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
