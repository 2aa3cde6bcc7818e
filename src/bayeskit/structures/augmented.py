"""Augmented: naive Bayes with arcs between columns; a tree, or up to k parents each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import ClassVar, Self

from bayeskit.arrays import Float
from bayeskit.data.schema import KINDS
from bayeskit.densities.likelihood import Context
from bayeskit.densities.tabular import FRONT
from bayeskit.errors import InputError
from bayeskit.statistics.bins import Bins
from bayeskit.statistics.sliced import Sliced
from bayeskit.structures.conditional import BOTH, SHARES, Conditional, Margin
from bayeskit.structures.dependence import Dependence
from bayeskit.structures.discrete import Smoothed
from bayeskit.structures.factored import FactorDensity
from bayeskit.structures.hidden import NetworkedDensity
from bayeskit.validation import positive

CELLS = 1 << 18  # cells of the table of one column, holes and classes included: 2 MB


@dataclass(frozen=True)
class Augmented(Smoothed):
    """p(x | c) = product over columns of P(x_j | parents of j, c).

    ``arcs`` is "tree" (Chow and Liu's tree on I(a; b | c)) or "order" (columns ranked by I(a; c), each with the ``k``
    before it that tell most of it). An arc is kept only where the column is predicted better with it than by the class
    alone, by ``penalty`` times log n in leave-one-out (see ``Conditional``, also for ``strength`` and ``backoff``).

    One parent can be read from the tables of all pairs, so the arcs are found anew after learning and forgetting.
    More parents take a further pass over the rows, which counts what the arcs found call for; the arcs are then part of
    the model, as cuts are.
    """

    arcs: str = "tree"
    k: int = 1
    penalty: float | None = 2.0
    strength: float | None = None
    backoff: str = BOTH
    parents: tuple[tuple[str, tuple[str, ...]], ...] | None = field(default=None, repr=False)  # once found, where k > 1

    identifier: ClassVar[str] = "structure/augmented"
    kinds: ClassVar[tuple[str, ...]] = KINDS
    pairwise: ClassVar[bool] = True
    leave_one_out: ClassVar[bool] = False  # labels chose the arcs

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.arcs not in ("tree", "order"):
            raise InputError(f"arcs={self.arcs!r}: choose 'tree' or 'order'")
        if self.backoff not in SHARES:
            raise InputError(f"backoff={self.backoff!r}: choose one of {', '.join(map(repr, SHARES))}")
        if self.strength is not None:
            object.__setattr__(self, "strength", positive("strength", self.strength))

    def first_stage(self) -> Self:
        return replace(super().first_stage(), parents=None)

    @property
    def choices(self) -> tuple[str, ...]:
        return super().choices if self.parents is None else (*super().choices, "the arcs")

    def tables(self, columns: Sequence[str]) -> Mapping[str, Sequence[tuple[str, ...]]]:
        levels = [(name,) for name in columns]
        if self.parents is None:
            return {"levels": levels, "pairs": list(combinations(columns, 2))}
        found = dict(self.parents)
        return {"levels": levels, "families": [(*found.get(name, ()), name) for name in columns]}

    def next_stage(self, statistic: Bins | Sliced, context: Context) -> Self | None:
        if isinstance(statistic, Bins):
            return self.cut(statistic)
        if self.k > 1 and self.parents is None:
            names = statistic.slices.columns
            found = self._arcs(statistic)
            return replace(self, parents=tuple((n, tuple(names[p] for p in found[j])) for j, n in enumerate(names)))
        return None

    def _arcs(self, statistic: Sliced) -> list[tuple[int, ...]]:
        dependence = Dependence.of(statistic["levels"], statistic["pairs"])
        if self.arcs == "tree":
            return dependence.tree()
        sizes = [statistic["levels"].sizes[name] + FRONT for name in statistic.slices.columns]
        return dependence.order(self.k, sizes, CELLS // max(statistic.groups, 1))

    def fit(self, statistic: Sliced, context: Context) -> NetworkedDensity:
        levels = statistic["levels"]
        every = Margin.each(levels, self.smoothing, context)
        asked = list(self._counts(statistic))
        chosen = Conditional.each([counts for _, counts in asked], every, self.strength, self.backoff, self.penalty)
        arcs = [parents[: found.parents] for (parents, _), found in zip(asked, chosen, strict=True)]
        logs = Conditional.logs(chosen, every)
        members = [(*parents, j) for j, parents in enumerate(arcs)]
        sizes = [margin.counts.shape[1] for margin in every]
        strengths = [found.strength for found in chosen]
        tables = FactorDensity.of(statistic.slices, members, sizes, logs, statistic.groups, strengths)
        return NetworkedDensity(tables, (True,) * len(members), context.unseen == "smooth")

    def _counts(self, statistic: Sliced) -> Iterator[tuple[tuple[int, ...], Float]]:
        """The parents of each column, and the counts (K, parents..., m)."""
        names = statistic.slices.columns
        if self.parents is not None:
            place, found = {name: j for j, name in enumerate(names)}, dict(self.parents)
            for j, name in enumerate(names):
                yield tuple(place[p] for p in found.get(name, ())), statistic["families"].table(j).to_float()
            return
        arcs = self._arcs(statistic)
        number = statistic["pairs"].layout.members.number
        ordered = [sorted((j, *parents)) for j, parents in enumerate(arcs)]
        asked = [number[names[some[0]], names[some[1]]] for some in ordered if len(some) > 1]
        pairs = statistic["pairs"].counts(asked)
        for j, (parents, some) in enumerate(zip(arcs, ordered, strict=True)):
            if not parents:
                yield (), statistic["levels"].table(j).to_float()
            else:
                counts = next(pairs)
                yield parents, counts if some[1] == j else counts.swapaxes(1, 2)
