"""Networked: columns and class in one Bayesian network, its arcs given or searched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import ClassVar, Self

import numpy as np

from bayeskit.arrays import FRONT, Float
from bayeskit.data.schema import KINDS, Column
from bayeskit.densities.likelihood import Context
from bayeskit.errors import InputError
from bayeskit.memory import check_pairs
from bayeskit.networks.exploration import Exploration, check_count
from bayeskit.networks.score import CELLS, Scores, score_rule
from bayeskit.networks.search import Limits
from bayeskit.statistics.bins import Bins
from bayeskit.statistics.rows import Rows
from bayeskit.statistics.sliced import Sliced, Slices
from bayeskit.statistics.statistic import Statistic
from bayeskit.structures.conditional import BOTH, CLASS, SHARES, Conditional, Margin
from bayeskit.structures.discrete import FactorDensity, Smoothed
from bayeskit.structures.hidden import NetworkedDensity
from bayeskit.validation import keep, positive

SEARCHED = 100_000  # different rows a search looks at, the same ones in any order of the table
Node = str | None  # a column by name; None is the class
Families = tuple[tuple[Node, tuple[Node, ...]], ...]  # nodes that have parents, with them


@dataclass(frozen=True)
class Networked(Smoothed):
    """p(x | c) = P(c | its parents) / P(c) times the product over columns of P(x_j | parents of j), c maybe among them.

    ``given`` arcs are used as they are. Otherwise a pass over the rows keeps up to 100,000 different ones, and arcs are
    searched by their score, from the class to every column on if ``augmented``. A missing value is a level there:
    scored on complete rows alone, families with many missing values would be preferred for having little to explain.
    Then what the arcs call for is counted, and the arcs are held for rows learned later. Tables are shrunk as in
    ``Conditional``, with all their parents.
    """

    given: Families | None = None
    score: str = "loo"
    search: str = "hill-climb"
    max_parents: int | None = None
    ess: float = 1.0
    restarts: int = 1
    random_state: int | None = 0
    strength: float | None = None
    backoff: str = BOTH
    augmented: bool = True  # whether every column of a searched network has the class as a parent
    found: Families | None = field(default=None, repr=False)  # once the tables to count are known

    identifier: ClassVar[str] = "structure/network"
    kinds: ClassVar[tuple[str, ...]] = KINDS
    leave_one_out: ClassVar[bool] = False  # labels may have chosen cuts and arcs

    def __post_init__(self) -> None:
        super().__post_init__()
        score_rule(self.score, self.ess)
        keep(self, max_parents=check_count("max_parents", self.max_parents))
        keep(self, random_state=check_count("random_state", self.random_state))
        keep(self, restarts=self._exploration.restarts)
        if self.backoff not in SHARES:
            raise InputError(f"backoff={self.backoff!r}: choose one of {', '.join(map(repr, SHARES))}")
        if self.strength is not None:
            keep(self, strength=positive("strength", self.strength))

    @property
    def _exploration(self) -> Exploration:
        return Exploration(self.search, self.restarts, self.random_state)

    def first_stage(self) -> Self:
        return replace(super().first_stage(), found=None)

    @property
    def choices(self) -> tuple[str, ...]:
        searched = self.given is None and self.found is not None
        return (*super().choices, "the arcs") if searched else super().choices

    @cached_property
    def _parents(self) -> dict[Node, tuple[Node, ...]]:
        return dict(self.found or ())

    def _members(self, node: Node, columns: Sequence[str]) -> tuple[str, ...]:
        """The columns among the parents of a node; those without any value have no part in it."""
        return tuple(p for p in self._parents.get(node, ()) if p is not None and p in columns)

    def tables(self, columns: Sequence[str]) -> Mapping[str, Sequence[tuple[str, ...]]]:
        levels = [(name,) for name in columns]
        if self.found is None:
            return {"levels": levels}
        families = [(*self._members(name, columns), name) for name in columns]
        return {"levels": levels, "families": families, "class": [self._members(None, columns)]}

    def statistic(self, columns: Sequence[Column], n_groups: int) -> Statistic:
        if self.given is None and self.found is None:
            check_pairs(len(columns), "scores")
        if self.grid is not None and self.given is None and self.found is None:
            return Rows.empty(columns, n_groups, SEARCHED)
        return super().statistic(columns, n_groups)

    def next_stage(self, statistic: Bins | Rows | Sliced, context: Context) -> Self | None:
        if isinstance(statistic, Bins):
            return self.cut(statistic)
        if isinstance(statistic, Rows):
            return replace(self, found=self._search(statistic))
        if self.found is None:
            asked = replace(self, found=self.given)
            asked._check(statistic)
            return asked
        return None

    def _search(self, rows: Rows) -> Families:
        """The arcs of a high score; the class stands before the columns, which stand in the order of their names unless
        the search goes by the order of the table."""
        slices = Slices.of(rows.columns, dict(self.grid or ()))
        known = {**rows.sizes, **slices.sizes}
        order = list(range(len(slices.columns)))
        if self.search != "k2":
            order.sort(key=slices.columns.__getitem__)
        columns = [slices.columns[j] for j in order]
        sizes = np.array([rows.groups, *(known[name] for name in columns)], dtype=np.int32)
        codes = np.vstack([rows.rows.group.astype(np.int32), slices.codes(rows.block())[order]])
        missing = codes < 0
        states = np.maximum(sizes + missing.any(axis=1), 1)
        weights = rows.rows.weight.to_float()
        most = len(sizes) if self.max_parents is None else self.max_parents
        none = np.zeros((len(sizes), len(sizes)), dtype=bool)
        scores = Scores(
            np.where(missing, sizes[:, None], codes).astype(np.int32),
            tuple(states.tolist()),
            score_rule(self.score, self.ess),
            None if (weights == 1).all() else weights,
        )
        required = none.copy()
        required[1:, 0] = self.augmented
        arcs, _ = self._exploration.find(scores, Limits(required, none, np.full(len(sizes), most)))
        nodes = (None, *columns)
        return tuple(
            (node, tuple(nodes[p] for p in np.flatnonzero(row).tolist()))
            for node, row in zip(nodes, arcs, strict=True)
            if row.any()
        )

    def _check(self, statistic: Sliced) -> None:
        """Refuse tables that would not fit in memory."""
        sizes, columns = statistic["levels"].sizes, statistic.slices.columns
        for node in (None, *columns):
            family = (*self._members(node, columns), *(() if node is None else (node,)))
            cells = prod(sizes[name] + FRONT for name in family) * statistic.groups
            if cells > CELLS and len(family) > 1:
                raise InputError(
                    f"the table of {'the class' if node is None else repr(node)} with its parents would have {cells:,} "
                    f"cells, more than {CELLS:,}; take parents from it, or join levels of {', '.join(family)}"
                )

    def fit(self, statistic: Sliced, context: Context) -> NetworkedDensity:
        names, levels = statistic.slices.columns, statistic["levels"]
        place, smooth = {name: j for j, name in enumerate(names)}, context.unseen == "smooth"
        weights = context.weights
        every = Margin.each(levels, self.smoothing, context)
        pooled = Margin.from_counts([_pool(margin.counts) for margin in every], self.smoothing, smooth)
        tables, arcs, strengths, counted = [], [], [], []
        for j, name in enumerate(names):
            with_class = None in self._parents.get(name, ())
            margins = every if with_class else pooled
            counts = statistic["families"].table(j).to_float()
            parents = tuple(place[p] for p in self._members(name, names))
            if not counts.size and parents:  # a column whose levels have all been forgotten
                counts, parents = every[j].counts, ()
            found = self._conditional(counts if with_class else _pool(counts), margins[j], with_class)
            (table,) = Conditional.logs([found], [margins[j]])
            tables.append(np.broadcast_to(table, (*table.shape[:-1], len(weights))))
            arcs.append(parents)
            strengths.append(found.strength)
            counted.append(found.counted)
        sizes = [margin.counts.shape[1] for margin in every]
        of_class = statistic["class"].table(0).to_float()
        if of_class.ndim > 1 and of_class.size:
            parents = tuple(place[p] for p in self._members(None, names))
            (own,) = Margin.from_counts([weights[None]], self.smoothing, False)
            found = self._conditional(np.moveaxis(of_class, 0, -1)[None], own, False)
            (table,) = Conditional.logs([found], [own])
            said = np.expand_dims(table[..., FRONT:, 0], -2)  # the one level of "the class is as it is"
            tables.append(np.concatenate([np.zeros((*said.shape[:-2], FRONT, len(weights))), said], axis=-2))
            arcs.append(parents)
            sizes.append(1)
            strengths.append(found.strength)
        members = [(*parents, j) for j, parents in enumerate(arcs)]
        direct = FactorDensity.of(statistic.slices, members, sizes, tables, len(weights), strengths)
        of_columns = tuple(None in self._parents.get(name, ()) for name in names)
        return NetworkedDensity(direct, of_columns, smooth, tuple(counted))

    def _conditional(self, counts: Float, child: Margin, with_class: bool) -> Conditional:
        """Without the class among the parents there is nothing else to shrink toward than the column itself."""
        backoff = CLASS if self.backoff == BOTH and not with_class else self.backoff
        return Conditional.of(counts, child, self.strength, backoff, None)


def _pool(counts: Float) -> Float:
    """Of all classes together: (1, ...)."""
    out: Float = counts.sum(axis=0, keepdims=True)
    return out
