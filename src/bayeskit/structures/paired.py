"""Paired: two-dependence estimators, one for each pair of columns as the parents of all others, averaged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import ClassVar, Self

import numpy as np

from bayeskit.arrays import FRONT, Bool, Code, Float, Int
from bayeskit.data.block import Block
from bayeskit.densities.density import Density, reveal_terms
from bayeskit.densities.likelihood import Context
from bayeskit.errors import InputError
from bayeskit.portable.program import Inputs, Term
from bayeskit.portable.symbol import take, total, where
from bayeskit.statistics.bins import Bins
from bayeskit.statistics.sliced import Sliced
from bayeskit.statistics.tables import Tables
from bayeskit.structures.averaged import (
    Averaged,
    AveragedDensity,
    Member,
    concatenate_tables,
    given_parents,
    mean_of,
    mean_symbol,
)

CELLS = 1 << 24  # counted of three columns and the class: 128 MB
KEPT = 1 << 22  # cells up to which the logarithms of all pairs are kept; beyond, one pair is worked out at a time


@dataclass(frozen=True)
class Paired(Averaged):
    """p(x | c) = mean over pairs p, q of P(x_p, x_q | c) times the product over the others of P(x_j | x_p, x_q, c).

    A pair has a part in the rows in which both values are present and were seen together with a weight of at least
    ``limit``; a row without any pair has the mean over single parents, and without these it is naive Bayes (see
    ``Averaged``, also for the settings). Pairs are those of the ``parents`` columns most informative on the class,
    chosen in a pass over the rows of their own and held from then on.
    """

    chosen: tuple[str, ...] | None = field(default=None, repr=False)  # the columns pairs are made of, once known

    identifier: ClassVar[str] = "structure/a2de"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.chosen is not None and len(set(self.chosen)) < len(self.chosen):
            raise InputError(f"chosen={self.chosen!r}: name each column once")

    def first_stage(self) -> Self:
        return replace(super().first_stage(), chosen=None)

    @property
    def choices(self) -> tuple[str, ...]:
        all_of_them = self.parents is None or self.chosen is None
        return super().choices if all_of_them else (*super().choices, "the columns that make pairs")

    def tables(self, columns: Sequence[str]) -> Mapping[str, Sequence[tuple[str, ...]]]:
        if self.chosen is None:
            return {"levels": [(name,) for name in columns]}
        paired = set(self.chosen)
        triples = [three for three in combinations(columns, 3) if len(paired.intersection(three)) > 1]
        return {**super().tables(columns), "triples": triples}

    def next_stage(self, statistic: Bins | Sliced, context: Context) -> Self | None:
        if isinstance(statistic, Bins) or self.chosen is not None:
            return super().next_stage(statistic, context)
        names, levels = statistic.slices.columns, statistic["levels"]
        chosen = {names[j] for j in self.best(levels)}
        sizes = [(levels.sizes[name], name in chosen) for name in names]
        cells = statistic.groups * _cells([m for m, is_in in sizes if is_in], [m for m, is_in in sizes if not is_in])
        if cells > CELLS:
            raise InputError(
                f"pairs of parents take counts of three columns and the class at a time, here {cells:,} cells, more "
                f"than {CELLS:,}; give parents=, a number of columns less than {len(chosen)} to make pairs of, or n=1"
            )
        return replace(self, chosen=tuple(name for name in names if name in chosen))

    def fit(self, statistic: Sliced, context: Context) -> Density:
        place = {name: j for j, name in enumerate(statistic.slices.columns)}
        pairs = tuple(combinations([place[name] for name in self.chosen or () if name in place], 2))
        single = self._single(statistic, context)
        return PairedDensity(single, pairs, statistic["pairs"], statistic["triples"], self.limit, self.given)


def _cells(chosen: Sequence[int], others: Sequence[int]) -> int:
    """Sum over triples with two chosen columns at least of the product of their levels."""
    one, two, three = sum(chosen), sum(m**2 for m in chosen), sum(m**3 for m in chosen)
    pairs = (one**2 - two) // 2
    return (one**3 - 3 * one * two + 2 * three) // 6 + pairs * sum(others)


@dataclass(frozen=True)
class PairedDensity(Density):
    """The estimators of all pairs; where a row has none, those of single parents."""

    single: AveragedDensity
    pairs: tuple[tuple[int, int], ...]
    together: Tables  # of each pair of columns
    triples: Tables
    least: float  # weight of a pair of values that takes part
    given: float

    normalised: ClassVar[bool] = True
    additive: ClassVar[bool] = False

    @property
    def columns(self) -> tuple[str, ...]:
        return self.single.columns

    @property
    def constant(self) -> tuple[str, ...]:
        return self.single.constant

    @cached_property
    def _levels(self) -> Int:
        return np.array([margin.counts.shape[1] for margin in self.single.margins], dtype=np.int64)

    @cached_property
    def _number(self) -> dict[tuple[str, ...], int]:
        return {**self.together.layout.members.number, **self.triples.layout.members.number}

    def _counts(self, tables: Tables, columns: tuple[int, ...]) -> Float:
        """The table of some columns, with its axes in their order: (K, ...)."""
        order = sorted(columns)
        counts = tables.table(self._number[tuple(self.columns[j] for j in order)]).to_float()
        out: Float = counts.transpose(0, *(1 + order.index(j) for j in columns))
        return out

    @cached_property
    def _known(self) -> list[Bool]:
        """The cells of each pair that were seen often enough: (m_p m_q,) each."""
        return [self._counts(self.together, pair).sum(axis=0).ravel() >= self.least for pair in self.pairs]

    def _estimator(self, pair: tuple[int, int]) -> tuple[Int, Float]:
        """Tables of one pair: log P(x_p, x_q | c), and log P(x_j | x_p, x_q, c) of the other columns."""
        own = self._counts(self.together, pair)
        classes = len(own)
        share = (own + self.given) / (own.sum(axis=(1, 2), keepdims=True) + self.given * own[0].size)
        nothing = np.zeros((FRONT, classes))
        tables = []
        for j, margin in enumerate(self.single.margins):
            if j == pair[0]:
                tables.append(np.concatenate([nothing, np.log(share).reshape(classes, -1).T]))
            elif j == pair[1]:
                tables.append(nothing)
            else:
                counts = self._counts(self.triples, (*pair, j))
                table = given_parents(counts.reshape(classes, -1, counts.shape[-1]), margin, self.given)
                tables.append(table.reshape(-1, classes))
        return concatenate_tables(tables)

    @cached_property
    def _kept(self) -> list[tuple[Int, Float]]:
        return [self._estimator(pair) for pair in self.pairs]

    def _estimators(self) -> Iterable[tuple[Int, Float]]:
        return self._kept if 3 * self.triples.cells.shape[1] <= KEPT else map(self._estimator, self.pairs)

    def _members(self, codes: Code) -> Iterator[Member]:
        width = (self._levels + FRONT).astype(np.int32)[:, None]
        for (p, q), known, (offset, table) in zip(self.pairs, self._known, self._estimators(), strict=True):
            present = (codes[p] >= 0) & (codes[q] >= 0)
            cell = np.where(present, codes[p] * np.int32(self._levels[q]) + codes[q], np.int32(0)).astype(np.int32)
            there = present & known[cell] if len(known) else np.zeros_like(present)
            given = np.where(there, cell, np.int32(0)).astype(np.int32)
            cells = codes + given * width
            cells[p], cells[q] = np.where(there, cell, np.int32(-1)), -1
            yield there, cells, offset, table

    def portable(self, inputs: Inputs) -> list[Term]:
        codes, classes = self.single.slices.symbols(inputs), len(self.single.margins[0].counts)
        every = []
        for (p, q), known, (offset, table) in zip(self.pairs, self._known, self._estimators(), strict=True):
            if not len(known):
                continue
            cell = codes[p] * float(self._levels[q]) + codes[q]
            present = (codes[p] >= 0) & (codes[q] >= 0)
            ends, logs = [*offset.tolist(), len(table)], []
            for j in range(len(codes)):
                if j != q:
                    line = cell + FRONT if j == p else codes[j] + FRONT + cell * float(self._levels[j] + FRONT)
                    logs.append(take(table[ends[j] : ends[j + 1]].reshape(-1, classes), line))
            seen = take(known.astype(np.float64), np.maximum(cell, 0.0))
            every.append((where(present, seen, 0.0), total(logs)))
        return [Term(self.columns, mean_symbol(every, self.single.symbol(codes)))]

    def add(self, block: Block, out: Float) -> None:
        codes = self.single.slices.codes(block)
        alone = mean_of(self._members(codes), out)
        if len(alone):
            naive = out[alone]
            self.single.average(np.ascontiguousarray(codes[:, alone]), naive)
            out[alone] = naive

    def terms(self, block: Block) -> Float:
        place = {name: j for j, name in enumerate(block.schema.names)}
        classes = len(self.single.margins[0].counts)
        return reveal_terms(self, block, classes)[:, [place[name] for name in self.columns]]
