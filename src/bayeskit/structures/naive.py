"""Naive: columns independent given the class, each with its family."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from bayeskit.arrays import Float, Int
from bayeskit.data.block import Block
from bayeskit.data.schema import Column, Schema, names_of
from bayeskit.densities.density import Density, Factored, SupportsLeftOut, WorkedFactor, left_out
from bayeskit.densities.likelihood import Context, Likelihood, Staged
from bayeskit.errors import MergeError
from bayeskit.statistics.statistic import Product
from bayeskit.structures.choice import ChoiceDensity, Chosen, FamilyTrial, Sum, weigh_together
from bayeskit.structures.wrapped import FromRows, weigh


@dataclass(frozen=True)
class Naive:
    """log p(x | c) = sum over columns of log p(x_j | c); a family takes all its columns in one call.

    A numeric column whose missing values are a level stands in two parts: its value and whether it is there.
    """

    columns: tuple[str, ...]
    components: tuple[tuple[Likelihood[Any], tuple[str, ...]], ...]  # family and the columns it owns, in schema order

    @classmethod
    def of(cls, family_of: Mapping[str, Sequence[Likelihood[Any]]], schema: Schema) -> Naive:
        """From the families of each column; columns of equal families go together, in the order of the first."""
        owned: dict[Likelihood[Any], list[str]] = {}
        for name in schema.names:
            for family in family_of.get(name, ()):
                owned.setdefault(family, []).append(name)
        return cls(schema.names, tuple((family, tuple(names)) for family, names in owned.items()))

    @classmethod
    def alike(cls, families: Sequence[Likelihood[Any]], schema: Schema) -> Naive:
        """Of the same families for every column."""
        return cls(schema.names, tuple((family, schema.names) for family in families))

    @property
    def sparse(self) -> bool:
        """Whether rows are read by what is not zero, whatever the number of columns."""
        return all(family.sparse for family, _ in self.components)

    @property
    def leave_one_out(self) -> bool:
        """Whether a density can take a row out; not where labels chose something: it is then a refit."""
        return all(family.leave_one_out for family, _ in self.components)

    @property
    def kept(self) -> bool:
        """Whether the rows are kept, and all that fitting chooses is found in them anew."""
        return any(isinstance(family, FromRows) for family, _ in self.components)

    @property
    def factor_names(self) -> Sequence[Any]:
        """What weights belong to once it is fitted: the columns, or sets of them."""
        sets = [family.factor_sets for family, _ in self.components]
        return next((names for names in sets if names is not None), self.columns)

    @property
    def family_of(self) -> dict[str, list[Likelihood[Any]]]:
        found: dict[str, list[Likelihood[Any]]] = {}
        for family, names in self.components:
            for name in names:
                found.setdefault(name, []).append(family)
        return found

    def next_stage(self, statistic: Product, context: Context) -> Naive | None:
        """What to count next, now that this has been counted; None if nothing is left."""
        later: dict[Likelihood[Any], Likelihood[Any] | None]
        later = {f: f.next_stage(statistic[f], context) for f, _ in self.components if isinstance(f, Staged)}
        if not any(later.values()):
            return None
        return Naive(self.columns, tuple((later.get(f) or f, names) for f, names in self.components))

    def with_choices_of(self, fitted: Naive) -> Naive:
        """The same with what a fitted structure has chosen in its passes, so that more rows are counted alike."""
        known = {f.first_stage(): f for f, _ in fitted.components if isinstance(f, Staged)}
        parts = ((known.get(f.first_stage(), f) if isinstance(f, Staged) else f, names) for f, names in self.components)
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

    def rename(self, statistic: Product, counted: Naive) -> Product:
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
        densities = weigh_together([family.fit(statistic[family], context) for family, _ in self.components])
        others = (
            d.columns for d in densities if d.columns is not self.columns
        )  # of 100,000 names sets cost most of a fit
        together = [parts for parts in others if not set(parts) <= set(self.columns)]
        return NaiveDensity(together[0] if together else self.columns, densities)


@dataclass(frozen=True)
class NaiveDensity(Sum, SupportsLeftOut):
    """The sum of its families' densities."""

    columns: tuple[str, ...]
    densities: tuple[Density, ...]

    @property
    def additive(self) -> bool:
        return all(d.additive for d in self.densities)

    @property
    def class_ratios(self) -> bool:
        return any(d.class_ratios for d in self.densities)

    @property
    def held(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(what for d in self.densities for what in d.held))

    @property
    def trials(self) -> tuple[FamilyTrial, ...]:
        """What was tried for the columns whose family the data choose."""
        return tuple(trial for d in self.densities if isinstance(d, ChoiceDensity) for trial in d.trials)

    @property
    def chosen(self) -> dict[str, Chosen]:
        """The columns whose family the data choose."""
        return {name: c for d in self.densities if isinstance(d, ChoiceDensity) for name, c in d.chosen.items()}

    @cached_property
    def checks_infinite(self) -> frozenset[str]:
        return frozenset(name for d in self.densities for name in d.checks_infinite)

    @property
    def regularised(self) -> tuple[tuple[str, ...], ...]:
        return tuple(columns for d in self.densities for columns in d.regularised)

    @property
    def overlap(self) -> Float | None:
        each = [d.overlap for d in self.densities]
        known = [overlap for overlap in each if overlap is not None]
        return np.sum(known, axis=0) if each and len(known) == len(each) else None

    def terms(self, block: Block) -> Float:
        place = {name: j for j, name in enumerate(self.columns)}
        whole = np.zeros((block.rows, len(place), 1))
        for density in self.densities:
            terms = density.terms(block)
            if whole.shape[2] != terms.shape[2]:
                whole = np.zeros((block.rows, len(place), terms.shape[2]))
            whole[:, [place[name] for name in density.columns]] += terms
        return whole

    @cached_property
    def left_out(self) -> NaiveDensity:
        return LeftOutNaive(self.columns, tuple(map(left_out, self.densities)))

    def odds(self, block: Block, floor: float, out: Float) -> None:
        for density, mine in self._mine(np.arange(len(self.columns))):
            if density.columns == self.columns:
                density.odds(block, floor, out)
            else:
                apart = np.zeros((len(density.columns), *out.shape[1:]))
                density.odds(block, floor, apart)
                out[mine >= 0] += apart[mine[mine >= 0]]

    @property
    def factor_names(self) -> tuple[str, ...]:
        return self.columns if self._by_set is None else self._by_set.factor_names

    @property
    def _by_set(self) -> Factored | None:
        """The density whose weights belong to sets of columns; it is then the only one."""
        factored = (d for d in self.densities if isinstance(d, Factored))
        return next((d for d in factored if d.factor_names != d.columns), None)

    def factors(self, block: Block) -> Float:
        """The pieces that weights multiply: (n, pieces, K).

        They are the terms of the columns unless these depend on each other: then log p(x_j | what j depends on, c), or
        what a set of columns says.
        """
        if self._by_set is not None:
            return self._by_set.factors(block)
        whole: Float | None = None
        for density in self.densities:
            pieces = density.factors(block) if isinstance(density, Factored) else density.terms(block)
            whole = np.zeros((block.rows, len(self.columns), pieces.shape[2])) if whole is None else whole
            place = {name: j for j, name in enumerate(self.columns)}
            whole[:, [place[name] for name in density.columns]] += pieces
        return np.zeros((block.rows, len(self.columns), 1)) if whole is None else whole

    def with_weights(self, weight: Float) -> NaiveDensity:
        """The same with each piece multiplied: (pieces,)."""
        if self._by_set is not None:
            return replace(self, densities=(self._by_set.with_weights(weight),))
        place = {name: j for j, name in enumerate(self.columns)}
        made = (weigh(d, weight[[place[name] for name in d.columns]]) for d in self.densities)
        return replace(self, densities=tuple(made))

    def terms_of(self, block: Block, which: Int) -> Float:
        found: Float | None = None
        for density, mine in self._mine(which):
            terms = density.terms_of(block, mine[mine >= 0])
            found = np.zeros((block.rows, len(which), terms.shape[2])) if found is None else found
            found[:, mine >= 0] += terms
        return np.zeros((block.rows, len(which), 1)) if found is None else found

    def work_out(self, row: Block) -> list[WorkedFactor]:
        place = {name: j for j, name in enumerate(self.columns)}
        every = [factor for density in self.densities for factor in density.work_out(row)]
        return sorted(every, key=lambda factor: place.get(factor.columns[0], 0))

    def class_range(self, block: Block) -> Float:
        whole = np.zeros(len(self.columns))
        for density, mine in self._mine(np.arange(len(self.columns))):
            apart = density.class_range(block)
            whole[mine >= 0] += apart[mine[mine >= 0]]
        return whole

    def _mine(self, which: Int) -> Iterator[tuple[Density, Int]]:
        """Each density with the positions of these parts among its own, -1 where it has no such part."""
        for density in self.densities:
            if density.columns == self.columns:
                yield density, which
            else:
                place = {name: j for j, name in enumerate(density.columns)}
                yield density, np.array([place.get(self.columns[j], -1) for j in which.tolist()], dtype=np.int64)

    def count_approximations(self, block: Block) -> dict[str, int]:
        return {what: rows for d in self.densities for what, rows in d.count_approximations(block).items()}


@dataclass(frozen=True)
class LeftOutNaive(NaiveDensity):
    """Without each row's own mass."""

    by_rows: ClassVar[bool] = True  # the core takes normal columns out row by row
