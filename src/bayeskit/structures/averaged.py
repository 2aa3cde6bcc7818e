"""Averaged: one-dependence estimators, one for each column as the parent of all others, averaged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import prod
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np

from bayeskit import _core
from bayeskit.arrays import FRONT, Bool, Code, Float, Int
from bayeskit.data.block import Block
from bayeskit.data.schema import KINDS
from bayeskit.data.written import Ratio
from bayeskit.densities.density import Density, WorkedFactor, reveal_terms
from bayeskit.densities.likelihood import Context
from bayeskit.errors import InputError
from bayeskit.numerics.cut_points import best_first
from bayeskit.portable.program import Inputs, Term
from bayeskit.portable.symbol import logsum, take, total, where
from bayeskit.statistics.bins import Bins
from bayeskit.statistics.sliced import Sliced, Slices
from bayeskit.statistics.tables import Tables
from bayeskit.structures.augmented import relevance
from bayeskit.structures.conditional import Margin, write_laplace
from bayeskit.structures.discrete import Smoothed
from bayeskit.validation import positive

Member = tuple[Bool, Code, Int, Float]  # the rows that have it, their cells (columns, rows), and a table: see lookup

SHOWN = 36  # factors of all members up to which their mean is written out


@dataclass(frozen=True)
class Averaged(Smoothed):
    """p(x | c) = mean over parents p of P(x_p | c) times the product over the others of P(x_j | x_p, c).

    A column is a parent in the rows in which its value is present and was seen with a weight of at least ``limit``;
    without any parent this is naive Bayes. Of more columns than ``parents`` the most informative on the class are
    parents. P(x | c) has ``smoothing`` pseudo-rows in every level, tables given a parent ``given``. The mean of
    densities is one, but not the one a network would have: evidence from it is approximate.
    """

    limit: float = 1.0
    parents: int | None = None
    given: float = 0.5  # pseudo-rows of each level in the tables given a parent

    identifier: ClassVar[str] = "structure/aode"
    kinds: ClassVar[tuple[str, ...]] = KINDS
    pairwise: ClassVar[bool] = True
    leave_one_out: ClassVar[bool] = False  # labels may have chosen cuts and parents

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "limit", positive("limit", self.limit))
        object.__setattr__(self, "given", positive("given", self.given))
        if self.parents is not None and (not isinstance(self.parents, Integral) or self.parents < 1):
            raise InputError(f"parents={self.parents!r}: give a number of columns, or None for all")

    def tables(self, columns: Sequence[str]) -> Mapping[str, Sequence[tuple[str, ...]]]:
        return {"levels": [(name,) for name in columns], "pairs": list(combinations(columns, 2))}

    def next_stage(self, statistic: Bins | Sliced, context: Context) -> Self | None:
        return self.cut(statistic) if isinstance(statistic, Bins) else None

    def best(self, levels: Tables) -> tuple[int, ...]:
        """The columns that are parents, from the table of each; a constant one is not informative of the others."""
        names = [name for (name,) in levels.tables]
        order = best_first(relevance(levels), names)
        several = [j for j in order if levels.sizes[names[j]] > 1]
        return tuple(sorted((several or order)[: self.parents]))

    def fit(self, statistic: Sliced, context: Context) -> Density:
        return self._single(statistic, context)

    def _single(self, statistic: Sliced, context: Context) -> AveragedDensity:
        levels = statistic["levels"]
        every = Margin.each(levels, self.smoothing, context)
        chosen = self.best(levels)
        pairs = statistic["pairs"]
        number = pairs.layout.members.number
        names, tables = statistic.slices.columns, []
        for p in chosen:
            for j in range(len(names)):
                if j == p:
                    tables.append(_log_margin(every[p]))
                else:
                    counts = pairs.table(number[names[min(p, j)], names[max(p, j)]]).to_float()
                    tables.append(given_parents(counts if p < j else counts.swapaxes(1, 2), every[j], self.given))
        known = tuple(np.concatenate([np.zeros(FRONT), m.counts.sum(axis=0)]) >= self.limit for m in every)
        return AveragedDensity(statistic.slices, chosen, tuple(every), tuple(tables), known, pairs, self.given)


def _log_margin(parent: Margin) -> Float:
    """log P(x_p | c): (m + 2, K)."""
    return np.log(parent.fronted.T)


def given_parents(counts: Float, child: Margin, smoothing: float) -> Float:
    """log P(x_j | parents, c), Laplace's, from counts (K, cells of the parents, m_j): (cells, m_j + 2, K)."""
    levels = counts.shape[2]
    within = counts.sum(axis=2, keepdims=True)
    share = (counts + smoothing) / (within + smoothing * levels)
    front = np.ones((*counts.shape[:2], FRONT))
    if child.unseen is not None:
        front[..., 0] = (smoothing / (within + smoothing * (levels + 1)))[..., 0]
    out: Float = np.log(np.moveaxis(np.concatenate([front, share], axis=2), 0, -1))
    return out


@dataclass(frozen=True)
class AveragedDensity(Density):
    """The estimators of all parents: tables by parent, then by column."""

    slices: Slices
    parents: tuple[int, ...]
    margins: tuple[Margin, ...]  # of each column
    tables: tuple[Float, ...]  # parent by parent, for each column (m_p, m_j + 2, K), or (m_p + 2, K) of itself
    known: tuple[Bool, ...]  # of each column the levels that make it a parent, with places for missing values in front
    pairs: Tables  # counts of every two columns
    given: float  # pseudo-rows of each level in the tables given a parent

    normalised: ClassVar[bool] = True
    additive: ClassVar[bool] = False

    @property
    def columns(self) -> tuple[str, ...]:
        return self.slices.columns

    @property
    def intervals(self) -> dict[str, Float]:
        return self.slices.values

    @property
    def constant(self) -> tuple[str, ...]:
        return tuple(name for name, m in zip(self.columns, self.margins, strict=True) if m.counts.shape[1] < 2)

    @property
    def numbers(self) -> int:
        """How many its tables have."""
        return sum(table.size for table in self.tables)

    @cached_property
    def _naive(self) -> tuple[Int, Float]:
        """Where each column begins, and log P(x | c) of all of them: (columns,), (cells, K)."""
        return concatenate_tables([_log_margin(margin) for margin in self.margins])

    @cached_property
    def _given(self) -> list[tuple[Int, Float]]:
        """The same of all columns given each parent."""
        d = len(self.margins)
        groups = [self.tables[i : i + d] for i in range(0, len(self.tables), d)]
        return [concatenate_tables([table.reshape(-1, table.shape[-1]) for table in group]) for group in groups]

    def portable(self, inputs: Inputs) -> list[Term]:
        return [Term(self.columns, self.symbol(self.slices.symbols(inputs)))]

    def symbol(self, codes: Sequence[Any]) -> Any:
        """log p(x | c) of the symbols of codes."""
        each = zip(self.margins, codes, strict=True)
        naive = total([take(_log_margin(margin), code + FRONT) for margin, code in each])
        d, every = len(codes), []
        for i, p in enumerate(self.parents):
            tables = self.tables[i * d : (i + 1) * d]
            lines = [codes[j] + FRONT + (0.0 if j == p else codes[p] * float(tables[j].shape[1])) for j in range(d)]
            flat = (table.reshape(-1, table.shape[-1]) for table in tables)
            estimator = total([take(table, line) for table, line in zip(flat, lines, strict=True)])
            every.append((take(self.known[p].astype(np.float64), codes[p] + FRONT), estimator))
        return mean_symbol(every, naive)

    def add(self, block: Block, out: Float) -> None:
        self.average(self.slices.codes(block), out)

    def average(self, codes: Code, out: Float) -> None:
        """Add log p(x | c) of codes (columns, rows)."""
        alone = mean_of(self._members(codes), out)
        if len(alone):
            naive = out[alone]  # a copy, added to column by column as naive Bayes does
            rows = np.ascontiguousarray(codes[:, alone])
            _core.lookup_tables(rows, np.arange(len(codes), dtype=np.int32), *self._naive, naive)
            out[alone] = naive

    def work_out(self, row: Block) -> list[WorkedFactor]:
        codes = self.slices.codes(row)[:, 0].tolist()
        members = [p for p in self.parents if self.known[p][codes[p] + FRONT]]
        said = [j for j, code in enumerate(codes) if code >= 0 or (code < -1 and self.margins[j].unseen is not None)]
        if len(members) * len(said) > SHOWN:
            return super().work_out(row)
        if len(members) < 2:
            each = [self._factor(j, (members or [j])[0], codes) for j in said]
            return [factor for factor in each if factor.log.any()]
        products = [[self._written(j, p, codes) for j in said] for p in members]
        ratios, shown = [], []
        for k in range(len(self.margins[0].counts)):
            shown.append(tuple(tuple(each[k] for each in product) for product in products))
            above = "+".join("·".join(map(str, product)) for product in shown[k])
            values = (prod((each.value for each in product), start=Fraction(1)) for product in shown[k])
            ratios.append(Ratio(above, str(len(members)), sum(values, Fraction(0)) / len(members)))
        log = np.zeros((1, len(ratios)))
        self.add(row, log)
        names = tuple(self.columns[j] for j in said)
        return [WorkedFactor(names, log[0], ratios=tuple(ratios), mass=True, products=tuple(shown))]

    def _factor(self, j: int, p: int, codes: Sequence[int]) -> WorkedFactor:
        ratios, given = self._written(j, p, codes), (self.columns[p],) * (p != j)
        return WorkedFactor((self.columns[j],), np.log([float(ratio) for ratio in ratios]), given, ratios, mass=True)

    def _written(self, j: int, p: int, codes: Sequence[int]) -> tuple[Ratio, ...]:
        """P(x_j | x_p, c) as fractions by class, P(x_p | c) where both are one column: (K)."""
        if j == p:
            return write_laplace(self.margins[j].counts, codes[j], self.margins[j].smoothing)
        pair = self.columns[min(p, j)], self.columns[max(p, j)]
        counts = self.pairs.table(self.pairs.layout.members.number[pair]).to_float()
        rows: Float = counts[:, codes[p]] if p < j else counts[:, :, codes[p]]
        return write_laplace(rows, codes[j], self.given)

    def _members(self, codes: Code) -> Iterator[Member]:
        width: Code = np.array([[len(known)] for known in self.known], dtype=np.int32).reshape(-1, 1)
        for p, (offset, table) in zip(self.parents, self._given, strict=True):
            there = self.known[p][codes[p] + FRONT]
            given: Code = np.where(there, codes[p], np.int32(0)).astype(np.int32)
            cells = codes + given * width
            cells[p] = codes[p]
            yield there, cells, offset, table

    def terms(self, block: Block) -> Float:
        place = {name: j for j, name in enumerate(block.schema.names)}
        return reveal_terms(self, block, len(self.margins[0].counts))[:, [place[name] for name in self.columns]]


def mean_of(members: Iterable[Member], out: Float) -> Int:
    """Add the logarithm of the mean over the members a row has; the rows that have none stay as they are."""
    total, times = np.full_like(out, -np.inf), np.zeros(len(out))
    for there, cells, offset, table in members:
        if there.any():
            one = np.zeros_like(out)
            _core.lookup_tables(cells, np.arange(len(cells), dtype=np.int32), offset, table, one)
            one[~there] = -np.inf
            np.logaddexp(total, one, out=total)
            times += there
    alone = np.flatnonzero(times == 0)
    before = out[alone]
    out += total - np.log(np.maximum(times, 1.0))[:, None]
    out[alone] = before
    return alone


def mean_symbol(members: Sequence[tuple[Any, Any]], alone: Any) -> Any:
    """The logarithm of the mean over the members that a row has, each (whether it has it, log p); else ``alone``."""
    if not members:
        return alone
    times = total([there for there, _ in members])
    every = logsum([where(there > 0, one, -np.inf) for there, one in members])
    return where(times > 0, every - np.log(np.maximum(times, 1.0)), alone)


def concatenate_tables(tables: Sequence[Float]) -> tuple[Int, Float]:
    """Where each table begins, and all of them one after the other."""
    offset = np.cumsum([0, *map(len, tables[:-1])], dtype=np.int64)
    return offset, np.ascontiguousarray(np.concatenate(tables))
