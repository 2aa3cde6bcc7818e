"""Naive: columns independent given the class, each with its family."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from bayeskit import _core
from bayeskit.arrays import Float, Int
from bayeskit.data.block import Block
from bayeskit.data.schema import Column, Schema, names_of
from bayeskit.densities.density import Approximates, Axis, Context, LogDensity, TailLogDensity, held_by
from bayeskit.errors import MergeError
from bayeskit.statistics.product import Product
from bayeskit.structures.choice import ChoiceDensity, weighed_together
from bayeskit.structures.family_trial import Chosen
from bayeskit.structures.from_rows import FromRows
from bayeskit.structures.weighted import weighted


@dataclass(frozen=True)
class Naive:
    """log p(x | c) = sum over columns of log p(x_j | c); a family takes all its columns in one call.

    A numeric column whose missing values are a level stands in two parts: its value and whether it is there.
    """

    columns: tuple[str, ...]
    components: tuple[tuple[Any, tuple[str, ...]], ...]  # family and the columns it owns, in schema order

    @classmethod
    def of(cls, family_of: Mapping[str, Sequence[Any]], schema: Schema) -> Naive:
        """From the families of each column; columns of equal families go together, in the order of the first."""
        owned: dict[Any, list[str]] = {}
        for name in schema.names:
            for family in family_of.get(name, ()):
                owned.setdefault(family, []).append(name)
        return cls(schema.names, tuple((family, tuple(names)) for family, names in owned.items()))

    @classmethod
    def alike(cls, families: Sequence[Any], schema: Schema) -> Naive:
        """Of the same families for every column."""
        return cls(schema.names, tuple((family, schema.names) for family in families))

    @property
    def sparse(self) -> bool:
        """Whether rows are read by what is not zero, whatever the number of columns."""
        return all(getattr(family, "sparse", False) for family, _ in self.components)

    @property
    def chooses(self) -> bool:
        """Whether fitting chooses something by the labels that leave-one-out would hold: it is then a refit."""
        return not all(getattr(family, "leave_one_out", True) for family, _ in self.components)

    @property
    def kept(self) -> bool:
        """Whether the rows are kept, and all that fitting chooses is found in them anew."""
        return any(isinstance(family, FromRows) for family, _ in self.components)

    @property
    def factor_names(self) -> Sequence[Any]:
        """What weights belong to once it is fitted: the columns, or sets of them."""
        by_set = [family.sets for family, _ in self.components if getattr(family, "sets", None) is not None]
        return by_set[0] if by_set else self.columns

    @property
    def family_of(self) -> dict[str, list[Any]]:
        found: dict[str, list[Any]] = {}
        for family, names in self.components:
            for name in names:
                found.setdefault(name, []).append(family)
        return found

    def next_stage(self, statistic: Product, context: Context) -> Naive | None:
        """The structure whose statistic is to be counted next, now that this has been counted; None if nothing is left.

        Families that choose what to count (cuts, arcs) from what was counted before have ``next_stage`` too.
        """
        later = {f: f.next_stage(statistic[f], context) for f, _ in self.components if hasattr(f, "next_stage")}
        if not any(later.values()):
            return None
        return Naive(self.columns, tuple((later.get(f) or f, names) for f, names in self.components))

    def with_choices_of(self, fitted: Naive) -> Naive:
        """The same with what a fitted structure has chosen in its passes, so that more rows are counted alike."""
        known = {f.unfitted(): f for f, _ in fitted.components if hasattr(f, "next_stage")}
        parts = ((known.get(f.unfitted(), f) if hasattr(f, "next_stage") else f, names) for f, names in self.components)
        return Naive(self.columns, tuple(parts))

    def union(self, other: Naive, schema: Schema) -> Naive:
        """One structure for both, over a schema that unifies theirs."""
        if self == other and self.columns == schema.names:
            return self
        mine, theirs = self.family_of, other.family_of
        for name in (n for n in mine if n in theirs):
            if not (set(mine[name]) <= set(theirs[name]) or set(theirs[name]) <= set(mine[name])):
                if list(map(repr, mine[name])) == list(map(repr, theirs[name])):
                    raise MergeError(
                        f"each model has cut and joined its columns by its own rows (column {name!r} is one), so their "
                        f"counts do not fit together; fit one and let it learn the other rows with partial_fit"
                    )
                raise MergeError(
                    f"column {name!r} has family {mine[name]} in one model and {theirs[name]} in the other; "
                    f"fit both with the same families"
                )
        both = {
            n: max(mine.get(n, []), theirs.get(n, []), key=len) for n in schema.names
        }  # undetermined ones have less
        return Naive.of(both, schema)

    def renamed(self, statistic: Product, counted: Naive) -> Product:
        """What another structure of the same columns has counted, as that of this one, which counts the same."""
        pairs = zip(self.components, counted.components, strict=True)
        return Product({mine: statistic[theirs] for (mine, _), (theirs, _) in pairs}, statistic.groups)

    def statistic(self, columns: Sequence[Column], n_groups: int) -> Product:
        every, by_name = names_of(columns), {}
        if any(names is not every and names != every for _, names in self.components):
            by_name = {c.name: c for c in columns}
        parts = {
            family: family.statistic(
                columns if names is every or names == every else [by_name[n] for n in names], n_groups
            )
            for family, names in self.components
        }
        return Product(parts, n_groups)

    def fit(self, statistic: Product, context: Context) -> NaiveDensity:
        densities = weighed_together([family.fit(statistic[family], context) for family, _ in self.components])
        others = (
            d.columns for d in densities if d.columns is not self.columns
        )  # of 100,000 names sets cost most of a fit
        together = [parts for parts in others if not set(parts) <= set(self.columns)]
        return NaiveDensity(together[0] if together else self.columns, densities)


@dataclass(frozen=True)
class NaiveDensity:
    """The sum of its families' densities."""

    columns: tuple[str, ...]
    densities: tuple[LogDensity, ...]

    @property
    def normalised(self) -> bool:
        return all(d.normalised for d in self.densities)

    @property
    def additive(self) -> bool:
        """Whether what a column says does not depend on which others are known."""
        return all(getattr(d, "additive", True) for d in self.densities)

    @property
    def held(self) -> tuple[str, ...]:
        """What leave-one-out has of all rows."""
        return tuple(dict.fromkeys(what for d in self.densities for what in held_by(d)))

    @property
    def trials(self) -> tuple[Any, ...]:
        """What was tried for the columns whose family the data choose."""
        return tuple(trial for d in self.densities for trial in getattr(d, "trials", ()))

    @property
    def chosen(self) -> dict[str, Chosen]:
        """The columns whose family the data choose."""
        return {name: c for d in self.densities if isinstance(d, ChoiceDensity) for name, c in d.chosen.items()}

    @cached_property
    def checks_infinite(self) -> frozenset[str]:
        """The columns in which ``add`` itself refuses infinite numbers."""
        return frozenset(name for d in self.densities for name in getattr(d, "checks_infinite", ()))

    @cached_property
    def constant(self) -> tuple[str, ...]:
        return tuple(name for d in self.densities for name in getattr(d, "constant", ()))

    @cached_property
    def axes(self) -> dict[str, Axis]:
        """Where the numeric columns that say something have their values, as far as their families tell."""
        found: dict[str, Axis] = {}
        for density in self.densities:
            found |= getattr(density, "axes", {})
        return found

    @property
    def regularised(self) -> tuple[tuple[str, ...], ...]:
        """By class, the columns whose covariance had to be helped; of densities of several columns together."""
        return tuple(some for d in self.densities for some in getattr(d, "regularised", ()))

    def add(self, block: Block, out: Float, left_out: bool = False) -> None:
        for density in self.densities:
            density.add(block, out, left_out)

    def terms(self, block: Block, left_out: bool = False) -> Float:
        place = {name: j for j, name in enumerate(self.columns)}
        whole = np.zeros((block.rows, len(place), 1))
        for density in self.densities:
            terms = density.terms(block, left_out)
            if whole.shape[2] != terms.shape[2]:
                whole = np.zeros((block.rows, len(place), terms.shape[2]))
            whole[:, [place[name] for name in density.columns]] += terms
        return whole

    def odds(self, block: Block, floor: float, out: Float) -> None:
        """Add to out (parts, K - 1, n) the log-odds of the other classes against each row's own, without the row.

        Log densities count as -floor at least; every row has a class.
        """
        for density, mine in self._mine(np.arange(len(self.columns))):
            if hasattr(density, "odds") and density.columns == self.columns:
                density.odds(block, floor, out)
                continue
            terms = density.terms(block, left_out=True)
            for place in np.flatnonzero(mine >= 0).tolist():
                term = np.broadcast_to(terms[:, mine[place]], (block.rows, out.shape[1] + 1))
                _core.log_odds(np.array(term), block.classes, floor, out[place])

    @property
    def factor_names(self) -> tuple[str, ...]:
        """What weights belong to: the columns, or sets of them."""
        (own,) = self._by_set or (self,)
        return own.columns if own is self else own.factor_names

    @property
    def _by_set(self) -> tuple[Any, ...]:
        """The density whose weights belong to sets of columns; it is then the only one."""
        return tuple(d for d in self.densities if getattr(d, "by_set", False))

    def factors(self, block: Block) -> Float:
        """The pieces that weights multiply: (n, pieces, K).

        They are the terms of the columns unless these depend on each other: then log p(x_j | what j depends on, c), or
        what a set of columns says.
        """
        for own in self._by_set:
            found: Float = own.factors(block)
            return found
        whole: Float | None = None
        for density in self.densities:
            pieces = density.factors(block) if hasattr(density, "factors") else density.terms(block)
            whole = np.zeros((block.rows, len(self.columns), pieces.shape[2])) if whole is None else whole
            place = {name: j for j, name in enumerate(self.columns)}
            whole[:, [place[name] for name in density.columns]] += pieces
        return np.zeros((block.rows, len(self.columns), 1)) if whole is None else whole

    def weighted(self, weight: Float) -> NaiveDensity:
        """The same with each piece multiplied: (pieces,)."""
        if self._by_set:
            return replace(self, densities=tuple(own.weighted(weight) for own in self._by_set))
        place = {name: j for j, name in enumerate(self.columns)}
        made = (weighted(d, weight[[place[name] for name in d.columns]]) for d in self.densities)
        return replace(self, densities=tuple(made))

    def terms_of(self, block: Block, which: Int) -> Float:
        """The terms of some parts, by position: (n, which, K)."""
        found: Float | None = None
        for density, mine in self._mine(which):
            if hasattr(density, "terms_of"):
                terms = density.terms_of(block, mine[mine >= 0])
            else:
                terms = density.terms(block)[:, mine[mine >= 0]]
            found = np.zeros((block.rows, len(which), terms.shape[2])) if found is None else found
            found[:, mine >= 0] += terms
        return np.zeros((block.rows, len(which), 1)) if found is None else found

    def class_range(self, block: Block) -> Float:
        """How far apart the classes are in the terms of each part, summed over the rows: (parts,)."""
        whole = np.zeros(len(self.columns))
        for density, mine in self._mine(np.arange(len(self.columns))):
            if hasattr(density, "class_range"):
                apart = density.class_range(block)
            else:
                terms = density.terms(block)
                apart = np.ptp(np.where(np.isfinite(terms), terms, -1e300), axis=2).sum(axis=0)
            whole[mine >= 0] += apart[mine[mine >= 0]]
        return whole

    def _mine(self, which: Int) -> Iterator[tuple[LogDensity, Int]]:
        """Each density with the positions of these parts among its own, -1 where it has no such part."""
        for density in self.densities:
            if density.columns == self.columns:
                yield density, which
            else:
                place = {name: j for j, name in enumerate(density.columns)}
                yield density, np.array([place.get(self.columns[j], -1) for j in which.tolist()], dtype=np.int64)

    def log2_magnitude(self, block: Block, left_out: bool = False) -> Float:
        farthest: Float = np.max(
            [np.zeros(block.rows), *(d.log2_magnitude(block, left_out) for d in self.densities)], axis=0
        )
        return farthest

    def tail(self, block: Block, unit: Float, left_out: bool = False) -> TailLogDensity:
        nothing = np.zeros((block.rows, 1))
        return sum(
            (density.tail(block, unit, left_out) for density in self.densities),
            TailLogDensity(nothing, nothing, nothing),
        )

    def out_of_support(self, block: Block) -> dict[str, int]:
        return {name: count for density in self.densities for name, count in density.out_of_support(block).items()}

    def approximated(self, block: Block) -> dict[str, int]:
        """In how many rows something was approximated, by what was done."""
        return {d.bound: d.approximated(block) for d in self.densities if isinstance(d, Approximates)}
