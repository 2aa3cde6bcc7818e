"""Augmented: naive Bayes with arcs between columns; a tree, or up to k parents each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import ClassVar, Self

import numpy as np

from bayeskit import _core
from bayeskit.arrays import Code, Float, Int
from bayeskit.data.block import Block
from bayeskit.data.schema import KINDS
from bayeskit.errors import InputError
from bayeskit.likelihood import Bounded, Context
from bayeskit.statistics.bins import Bins
from bayeskit.statistics.sliced import Sliced, Slices
from bayeskit.structures.conditional import BOTH, FRONT, SHARES, Conditional, Margin, strides
from bayeskit.structures.dependence import Dependence
from bayeskit.structures.discrete import Discrete, positive

CELLS = 1 << 18  # cells of the table of one column, holes and classes included: 2 MB


@dataclass(frozen=True)
class Augmented(Discrete):
    """p(x | c) = product over columns of P(x_j | parents of j, c).

    ``arcs`` is "tree" (Chow and Liu's tree on I(a; b | c)) or "order" (columns ranked by I(a; c), each with the ``k``
    before it that tell most of it). An arc is kept only where the column is foretold better with it than by the class
    alone, by ``toll`` times log n in leave-one-out (see ``Conditional``, also for ``strength`` and ``backoff``).

    One parent can be read from the tables of all pairs, so the arcs are found anew after learning and forgetting.
    More parents take a further pass over the rows, which counts what the arcs found call for; the arcs are then part of
    the model, as cuts are.
    """

    arcs: str = "tree"
    k: int = 1
    toll: float | None = 2.0
    strength: float | None = None
    backoff: str = BOTH
    parents: tuple[tuple[str, tuple[str, ...]], ...] | None = field(default=None, repr=False)  # once found, where k > 1

    kinds: ClassVar[tuple[str, ...]] = KINDS
    leave_one_out: ClassVar[bool] = False  # labels chose the arcs

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.arcs not in ("tree", "order"):
            raise InputError(f"arcs={self.arcs!r}: choose 'tree' or 'order'")
        if self.backoff not in SHARES:
            raise InputError(f"backoff={self.backoff!r}: choose one of {', '.join(map(repr, SHARES))}")
        if self.strength is not None:
            object.__setattr__(self, "strength", positive("strength", self.strength))

    def first(self) -> Self:
        return replace(super().first(), parents=None)

    def tables(self, columns: Sequence[str]) -> Mapping[str, Sequence[tuple[str, ...]]]:
        levels = [(name,) for name in columns]
        if self.parents is None:
            return {"levels": levels, "pairs": list(combinations(columns, 2))}
        found = dict(self.parents)
        return {"levels": levels, "families": [(*found.get(name, ()), name) for name in columns]}

    def further(self, statistic: Bins | Sliced, context: Context) -> Self | None:
        """What to count next, now that this has been counted; None if nothing is left."""
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

    def fit(self, statistic: Sliced, context: Context) -> AugmentedDensity:
        levels = statistic["levels"]
        every = Margin.each(levels, self.smoothing, context)
        asked = list(self._counts(statistic))
        chosen = Conditional.each([counts for _, counts in asked], every, self.strength, self.backoff, self.toll)
        arcs = [parents[: found.parents] for (parents, _), found in zip(asked, chosen, strict=True)]
        logs = Conditional.logs(chosen, every, [[every[p] for p in parents] for parents in arcs])
        tables = [table.reshape(-1, statistic.groups) for table in logs]
        offset = np.cumsum([0, *map(len, tables)], dtype=np.int64)
        sizes = tuple(margin.counts.shape[1] for margin in every)
        whole = np.concatenate([np.empty((0, statistic.groups)), *tables])
        return AugmentedDensity(
            statistic.slices, tuple(arcs), sizes, offset, whole, tuple(found.strength for found in chosen)
        )

    def _counts(self, statistic: Sliced) -> Iterator[tuple[tuple[int, ...], Float]]:
        """The parents of each column, and the counts (K, parents..., m)."""
        names = statistic.slices.columns
        if self.parents is not None:
            place, found = {name: j for j, name in enumerate(names)}, dict(self.parents)
            for j, name in enumerate(names):
                yield tuple(place[p] for p in found.get(name, ())), statistic["families"].table(j).rounded()
            return
        arcs = self._arcs(statistic)
        number = statistic["pairs"].layout.members.number
        ordered = [sorted((j, *parents)) for j, parents in enumerate(arcs)]
        asked = [number[names[some[0]], names[some[1]]] for some in ordered if len(some) > 1]
        pairs = statistic["pairs"].counts(asked)
        for j, (parents, some) in enumerate(zip(arcs, ordered, strict=True)):
            if not parents:
                yield (), statistic["levels"].table(j).rounded()
            else:
                counts = next(pairs)
                yield parents, counts if some[1] == j else counts.swapaxes(1, 2)


@dataclass(frozen=True)
class AugmentedDensity(Bounded):
    """Log-probabilities of every column given its parents and the class, one table after the other."""

    slices: Slices
    arcs: tuple[tuple[int, ...], ...]  # the parents of each column
    sizes: tuple[int, ...]  # levels of each column
    offset: Int  # (columns + 1,)
    table: Float  # (cells, K)
    strengths: tuple[float, ...]  # pseudo-rows of each table, inf without parents
    normalised: bool = True
    additive: ClassVar[bool] = False

    @property
    def parts(self) -> tuple[str, ...]:
        return self.slices.columns

    @property
    def constant(self) -> tuple[str, ...]:
        return tuple(name for name, size in zip(self.parts, self.sizes, strict=True) if size < 2)

    @cached_property
    def _families(self) -> tuple[Code, Code, Code]:
        """Of each table its column, its parents filled up with -1, and how far apart their levels lie in it."""
        most = max(map(len, self.arcs), default=0)
        parents, steps = np.full((2, len(self.arcs), most), -1, dtype=np.int32)
        for j, of in enumerate(self.arcs):
            parents[j, : len(of)] = of
            steps[j, : len(of)] = strides([self.sizes[i] for i in (*of, j)])[:-1]
        return np.arange(len(self.arcs), dtype=np.int32), parents, steps

    def _cells(self, codes: Code, which: slice = slice(None)) -> Code:
        """The cell of every row in some tables, from -2 on as the core has it: (tables, rows)."""
        child, parents, steps = (of[which] for of in self._families)
        out = np.empty((len(child), codes.shape[1]), dtype=np.int32)
        _core.cells(codes, child, parents, steps, out)
        return out

    def add(self, block: Block, out: Float, own: bool = False) -> None:
        refuse(own)
        self.look_up(self.slices.codes(block), out)

    def look_up(self, codes: Code, out: Float) -> None:
        """Add the logarithms of all tables, from codes (columns, rows)."""
        every, _, _ = self._families
        _core.lookup(self._cells(codes), every, self.offset[:-1], self.table, out)

    def factors(self, block: Block) -> Float:
        """log P(x_j | parents of j, c) of every column: (n, columns, K)."""
        codes = self.slices.codes(block)
        return np.stack([self._factor(codes, j) for j in range(len(self.arcs))], axis=1)

    def weighted(self, weight: Float) -> AugmentedDensity:
        """The same with the logarithms of each table multiplied: (columns,)."""
        each = np.repeat(weight, np.diff(self.offset))
        return replace(self, table=self.table * each[:, None], normalised=False)

    def _factor(self, codes: Code, j: int) -> Float:
        found: Float = self.table[self.offset[j] + FRONT + self._cells(codes, slice(j, j + 1))[0]]
        return found

    def terms(self, block: Block, own: bool = False) -> Float:
        """What each column adds when revealed, in schema order: of its own factor and of those it is a parent in."""
        refuse(own)
        codes = self.slices.codes(block)
        out = np.zeros((block.rows, len(self.arcs), self.table.shape[1]))
        for j, parents in enumerate(self.arcs):
            seen, before = np.full_like(codes, -1), np.zeros_like(out[:, 0])
            for i in sorted((*parents, j)):
                seen[i] = codes[i]
                after = self._factor(seen, j)
                out[:, i] += after - before
                before = after
        return out

    def named(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Each column and its parents."""
        for name, parents in zip(self.parts, self.arcs, strict=True):
            yield name, tuple(self.parts[p] for p in parents)


def refuse(own: bool) -> None:
    """Leave-one-out is no algebra here."""
    if own:
        raise InputError(
            "arcs were found with the labels of all rows, so leaving a row out means to fit anew without it"
        )
