"""Naive: columns independent given the class, each with its family."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskit.arrays import Float
from bayeskit.data.block import Block
from bayeskit.data.schema import Column, Schema
from bayeskit.errors import MergeError
from bayeskit.likelihood import Context, Limit, LogDensity
from bayeskit.statistics.product import Product


@dataclass(frozen=True)
class Naive:
    """log p(x | c) = sum over columns of log p(x_j | c); a family takes all its columns in one call.

    A numeric column whose missing values are a level stands in two parts: its value and whether it is there.
    """

    columns: tuple[str, ...]
    parts: tuple[tuple[Any, tuple[str, ...]], ...]  # family and the columns it owns, in schema order

    @classmethod
    def of(cls, family_of: Mapping[str, Sequence[Any]], schema: Schema) -> Naive:
        """From the families of each column; columns of equal families go together."""
        owned: dict[Any, list[str]] = {}
        for name in schema.names:
            for family in family_of.get(name, ()):
                owned.setdefault(family, []).append(name)
        in_order = sorted(owned.items(), key=lambda part: repr(part[0]))
        return cls(schema.names, tuple((family, tuple(names)) for family, names in in_order))

    @property
    def family_of(self) -> dict[str, list[Any]]:
        found: dict[str, list[Any]] = {}
        for family, names in self.parts:
            for name in names:
                found.setdefault(name, []).append(family)
        return found

    def union(self, other: Naive, schema: Schema) -> Naive:
        """One structure for both, over a schema that unifies theirs."""
        mine, theirs = self.family_of, other.family_of
        for name in mine.keys() & theirs.keys():
            if sorted(map(repr, mine[name])) != sorted(map(repr, theirs[name])):
                raise MergeError(
                    f"column {name!r} has family {mine[name]} in one model and {theirs[name]} in the other; "
                    f"fit both with the same families"
                )
        return Naive.of({**theirs, **mine}, schema)

    def statistic(self, columns: Sequence[Column], n_groups: int) -> Product:
        by_name = {c.name: c for c in columns}
        parts = {repr(f): f.statistic([by_name[n] for n in names], n_groups) for f, names in self.parts}
        return Product(parts, n_groups)

    def fit(self, statistic: Product, context: Context) -> NaiveDensity:
        densities = tuple(family.fit(statistic[repr(family)], context) for family, _ in self.parts)
        return NaiveDensity(self.columns, densities)


@dataclass(frozen=True)
class NaiveDensity:
    """The sum of its families' densities."""

    parts: tuple[str, ...]
    densities: tuple[LogDensity, ...]

    @property
    def normalised(self) -> bool:
        return all(d.normalised for d in self.densities)

    @property
    def constant(self) -> tuple[str, ...]:
        return tuple(name for d in self.densities for name in getattr(d, "constant", ()))

    def add(self, block: Block, out: Float) -> None:
        for density in self.densities:
            density.add(block, out)

    def terms(self, block: Block) -> Float:
        place = {name: j for j, name in enumerate(self.parts)}
        whole = np.zeros((block.rows, len(place), 1))
        for density in self.densities:
            terms = density.terms(block)
            if whole.shape[2] != terms.shape[2]:
                whole = np.zeros((block.rows, len(place), terms.shape[2]))
            whole[:, [place[name] for name in density.parts]] += terms
        return whole

    def reach(self, block: Block) -> Float:
        farthest: Float = np.max([np.zeros(block.rows), *(d.reach(block) for d in self.densities)], axis=0)
        return farthest

    def limit(self, block: Block, unit: Float) -> Limit:
        nothing = np.zeros((block.rows, 1))
        return sum((density.limit(block, unit) for density in self.densities), Limit(nothing, nothing, nothing))
