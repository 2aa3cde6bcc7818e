"""Tabular: log probabilities of levels by class, looked up by code, leave-one-out included."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bayeskit import _core
from bayeskit.arrays import FRONT, Code, Float, Int
from bayeskit.data.block import Block, CountedRows
from bayeskit.densities.density import Density, SupportsLeftOut, TailLogDensity, WorkedFactor
from bayeskit.densities.likelihood import Context
from bayeskit.portable.program import Inputs, Term
from bayeskit.smoothing import Cells, Smoothing, beside
from bayeskit.statistics.exact import ExactSum
from bayeskit.statistics.tables import Tables

ENTRIES = 1 << 22  # of tables by stratum left out: 32 MB


@dataclass(frozen=True)
class LooStrata:
    """The pairs of class and weight there are among the rows of a block, without weights one for each class."""

    member: Code  # (n,) 0 for a row that was not counted, else 1 + its pair
    group: Int  # (pairs,)
    mass: Float  # (pairs,)
    kept: bool  # whether all blocks have these pairs

    @classmethod
    def of(cls, block: Block, classes: int) -> LooStrata:
        if block.groups is None:
            raise ValueError("leave-one-out needs a block with classes; see Counted.block_with_classes")
        if block.weights is None:
            return cls(block.groups + np.int32(1), np.arange(classes), np.ones(classes), True)
        row, group, mass = block.rows_with_weight()
        masses, place = np.unique(mass, return_inverse=True)
        member = np.zeros(block.rows, dtype=np.int32)
        member[row] = 1 + place * classes + group
        return cls(member, np.tile(np.arange(classes), len(masses)), np.repeat(masses, classes), False)

    def few(self, lines: int, columns: int, classes: int) -> bool:
        """Whether tables of so many lines are worth making for every pair."""
        many = (len(self.group) + 1) * lines
        return many * classes <= ENTRIES and (self.kept or many <= len(self.member) * columns)

    def cross(self, size: int) -> tuple[Int, Int, Float]:
        """Every pair with each of ``size`` levels: level, class and weight, (pairs * size,) each."""
        level = np.tile(np.arange(size), len(self.group))
        return level, np.repeat(self.group, size), np.repeat(self.mass, size)


@dataclass(frozen=True)
class TabularDensity(SupportsLeftOut):
    """Log probabilities of the levels of every column, one table after the other."""

    columns: tuple[str, ...]
    offset: Int  # (columns + 1,)
    table: Float  # (cells, K): per column never seen, missing, then its levels
    normalised: bool
    rule: Smoothing
    tables: Tables  # for leave-one-out: what a row added is taken out of it
    context: Context

    @classmethod
    def of(cls, statistic: Tables, rule: Smoothing, context: Context) -> TabularDensity:
        """From tables of one column each."""
        classes = context.weights
        tables = []
        for t in range(len(statistic.tables)):
            counts = statistic.table(t).to_float()
            front = np.zeros((len(counts), FRONT))
            new = rule.unseen(counts, classes) if context.unseen == "smooth" and counts.shape[1] else None
            with np.errstate(divide="ignore"):
                if new is not None:
                    front[:, 0] = np.log(new)
                known = np.log(rule.probabilities(counts, classes)) if counts.shape[1] else counts
            tables.append(np.hstack([front, known]))
        sizes = [0, *(table.shape[1] for table in tables)]
        whole = np.hstack(tables) if tables else np.zeros((len(classes), 0))
        return cls(
            tuple(t[0] for t in statistic.tables),
            np.cumsum(sizes, dtype=np.int64),
            np.ascontiguousarray(whole.T),
            rule.normalised,
            rule,
            statistic,
            context,
        )

    @cached_property
    def left_out(self) -> Density:
        kept = self.columns, self.offset, self.table, self.normalised, self.rule, self.tables, self.context
        return _LeftOutTabular(*kept)

    def add(self, block: Block, out: Float) -> None:
        _core.lookup_tables(block.codes, block.code_positions(self.columns), self.offset[:-1], self.table, out)

    def terms(self, block: Block) -> Float:
        return self._cells(block, self.table)

    def work_out(self, row: Block) -> list[WorkedFactor]:
        found = []
        for j, (name, position) in enumerate(zip(self.columns, row.code_positions(self.columns).tolist(), strict=True)):
            code = int(row.codes[position, 0])
            log, known = self.table[self.offset[j] + FRONT + code], code >= 0
            if known or log.any():
                counts = self.tables.table(j).to_float()
                ratios = self.rule.written(code, counts, self.context.weights) if known else ()
                found.append(WorkedFactor((name,), log, ratios=ratios, mass=True))
        return found

    def portable(self, inputs: Inputs) -> list[Term]:
        found = []
        for j, name in enumerate(self.columns):
            mine = slice(self.offset[j], self.offset[j + 1])
            index = inputs.code(name) + FRONT
            found.append(Term.from_table((name,), self.table[mine], index, self._vanishing[mine]))
        return found

    def tail(self, block: Block, unit: Float) -> TailLogDensity:
        terms, vanishing = self._with_vanishing(block)
        zero = np.isneginf(terms)
        zeros = zero.sum(axis=1).astype(np.float64)
        return TailLogDensity(zeros, np.zeros_like(zeros), np.where(zero, vanishing, terms).sum(axis=1))

    def _with_vanishing(self, block: Block) -> tuple[Float, Float]:
        """Terms, and log(p / a) as a -> 0+ where they are zero: (n, columns, K) each."""
        return self._cells(block, self.table), self._cells(block, self._vanishing)

    @cached_property
    def _vanishing(self) -> Float:
        """Of the cells of the table, log(p / a) as a -> 0+ where the class never had the level: (cells, K)."""
        every = (self.tables.table(t).to_float() for t in range(len(self.columns)))
        cells = (self.rule.vanishing(Cells.of(counts, self.context.weights)) for counts in every)
        return np.concatenate([np.pad(np.log(table.T), ((FRONT, 0), (0, 0))) for table in cells])

    def _cells(self, block: Block, table: Float) -> Float:
        """The entries of a table that the rows point at: (n, columns, K)."""
        out = np.empty((block.rows, len(self.columns), table.shape[1]))
        for j, position in enumerate(block.code_positions(self.columns)):
            out[:, j] = table[self.offset[j] + FRONT + block.codes[position]]
        return out

    def probabilities(self, j: int) -> Float:
        """Of the levels of column j in every class: (K, m)."""
        return np.exp(self.table[self.offset[j] + FRONT : self.offset[j + 1]].T)


@dataclass(frozen=True)
class _LeftOutTabular(TabularDensity):
    """The same without each row's own weight."""

    def add(self, block: Block, out: Float) -> None:
        strata = LooStrata.of(block, out.shape[1])
        if strata.few(len(self.table), len(self.columns), out.shape[1]):
            sizes, table = self._left if strata.kept else self._tables_without(strata)
            codes = block.codes[block.code_positions(self.columns)] + strata.member * sizes[:, None]
            offset = np.cumsum([0, *sizes[:-1] * (len(strata.group) + 1)], dtype=np.int64)
            _core.lookup_tables(codes, np.arange(len(sizes), dtype=np.int32), offset, table, out)
        else:
            for terms, _ in self._by_column(block):
                out += terms

    def terms(self, block: Block) -> Float:
        return self._with_vanishing(block)[0]

    def _with_vanishing(self, block: Block) -> tuple[Float, Float]:
        terms, vanishing = np.empty((2, block.rows, len(self.columns), self.table.shape[1]))
        for j, found in enumerate(self._by_column(block)):
            terms[:, j], vanishing[:, j] = found
        return terms, vanishing

    @cached_property
    def _left(self) -> tuple[Code, Float]:
        """The tables without one row of weight 1."""
        classes = len(self.context.weights)
        nobody = np.empty(0, dtype=np.int32)
        return self._tables_without(LooStrata(nobody, np.arange(classes), np.ones(classes), True))

    def _tables_without(self, strata: LooStrata) -> tuple[Code, Float]:
        """Lines of each column, and its table as it is, then without each pair of class and weight."""
        sizes, tables = np.diff(self.offset), []
        for j, size in enumerate(sizes.tolist()):
            level, group, mass = strata.cross(size - FRONT)
            plain = self.table[self.offset[j] : self.offset[j + 1]]
            every = np.tile(plain, (len(strata.group) + 1, 1, 1))
            if size > FRONT:
                classes = np.tile(self.context.weights[:, None], len(level))
                row = np.arange(len(level))
                classes[group, row] = self.context.without(group, mass)
                cells = _without(self.tables.table(j), level, CountedRows(row, group, mass), classes, row)
                with np.errstate(all="ignore"):  # a level a class never had cannot leave it
                    every[1:, FRONT:] = np.log(self.rule.at(cells)).T.reshape(-1, size - FRONT, len(classes))
            tables.append(every.reshape(-1, every.shape[2]))
        whole = np.concatenate(tables) if tables else np.empty((0, len(self.context.weights)))
        return sizes.astype(np.int32), np.ascontiguousarray(whole)

    def _by_column(self, block: Block) -> Iterator[tuple[Float, Float]]:
        """Terms (n, K) of each column and what they vanish with (n, K)."""
        rows = block.rows_with_weight()
        classes = np.tile(self.context.weights[:, None], block.rows)
        classes[rows.group, rows.row] = self.context.without(rows.group, rows.mass)
        for j, position in enumerate(block.code_positions(self.columns)):
            codes = block.codes[position]
            terms = self.table[self.offset[j] + FRONT + codes].copy()
            vanishing = np.zeros_like(terms)
            there = np.flatnonzero(codes >= 0)
            if len(there):
                cells = _without(self.tables.table(j), codes, rows.at(codes[rows.row] >= 0), classes, there)
                with np.errstate(divide="ignore"):
                    terms[there] = np.log(self.rule.at(cells)).T
                vanishing[there] = np.log(self.rule.vanishing(cells)).T
            yield terms, vanishing


def _without(table: ExactSum, codes: Code | Int, rows: CountedRows, classes: Float, there: Int) -> Cells:
    """What decides the probability of each row's level: counts without the mass of that row, where it was counted."""
    (row, group, mass), levels = rows, table.shape[1]
    total, pooled = table.place(np.zeros(levels, dtype=np.int64), 1, axis=1), table.total()
    counts = table.to_float()
    count = counts[:, codes]
    count[group, row] = table.flat().without(group * levels + codes[row], mass)
    in_class = np.tile(total.to_float(), len(codes))
    in_class[group, row] = total.flat().without(group, mass)
    level = pooled.to_float()[0, codes]
    level[row] = pooled.flat().without(codes[row].astype(np.int64), mass)
    everything = np.repeat(total.total().to_float()[0], len(codes))
    everything[row] = total.total().flat().without(np.zeros(len(row), dtype=np.int64), mass)
    # a row changes the count of its own level only, so of its neighbours' only where an end stands beside itself
    below, above = (np.where(of[codes] == codes, count, counts[:, of[codes]]) for of in beside(levels))
    cells = Cells(count, in_class, level, everything, classes, below, above, codes.astype(np.int64), levels)
    return cells.at(there)
