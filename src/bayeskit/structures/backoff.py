"""Backed-off densities: a class of few rows leans on all rows together."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bayeskit.arrays import Float
from bayeskit.data.block import Block
from bayeskit.likelihood import Axis, Limit, LogDensity


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
        out += self.terms(block, own)[:, 0]

    def terms(self, block: Block, own: bool = False) -> Float:
        raise NotImplementedError

    def outside(self, block: Block) -> dict[str, int]:
        return self.density.outside(block)


@dataclass(frozen=True)
class BackedOff(Wrapped):
    """p(x | c) = (n_c f_c(x) + f(x)) / (n_c + 1): one pseudo-row of the pooled density f = sum over c of n_c f_c / n.

    A value far from all a class has had then counts against it by log(n_c + 1) at most, as often as columns say so.
    """

    weights: Float  # (K,) of the values the column has in each class

    def terms(self, block: Block, own: bool = False) -> Float:
        terms = self.density.terms(block, own)
        weights = np.broadcast_to(self.weights, (block.rows, len(self.weights)))
        if own:
            row, group, mass = block.own()
            weights = weights.copy()
            weights[row, group] = np.maximum(weights[row, group] - mass, 0.0)
        with np.errstate(divide="ignore"):
            share = np.log(weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-300))
            pooled = np.logaddexp.reduce(terms[:, 0] + share, axis=1, keepdims=True)
            own_part = terms[:, 0] + np.log(weights) - np.log1p(weights)
            backed = np.logaddexp(own_part, pooled - np.log1p(weights))
        silent = (terms[:, 0] == 0).all(axis=1, keepdims=True)  # a missing value says nothing
        return np.where(silent, 0.0, backed)[:, None]

    def reach(self, block: Block, own: bool = False) -> Float:
        return self.density.reach(block, own)

    def limit(self, block: Block, unit: Float, own: bool = False) -> Limit:
        return self.density.limit(block, unit, own)


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
