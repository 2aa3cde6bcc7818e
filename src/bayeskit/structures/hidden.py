"""NetworkedDensity: log p(x | c) of a network, with what is missing summed out exactly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import ClassVar

import numpy as np

from bayeskit import _core
from bayeskit.arrays import Array, Bool, Code, Float
from bayeskit.data.block import Block
from bayeskit.densities.density import Factored, WorkedFactor
from bayeskit.numerics.special import LOG_2
from bayeskit.portable.nodes import Network, split
from bayeskit.portable.program import Inputs, Term
from bayeskit.portable.symbol import Symbol
from bayeskit.statistics.sliced import Slices
from bayeskit.structures.conditional import CountedTable
from bayeskit.structures.discrete import FactorDensity

LEAST = -1e300  # a logarithm that is still a number
CELLS = 1_000_000  # of a table made to sum a missing value out, classes included


@dataclass(frozen=True)
class NetworkedDensity(Factored):
    """log P(x, c) - log P(c), so that it is a density whether or not the class has parents.

    Rows in which every value has its parents beside it are a sum of table entries: a missing value that nothing
    present depends on drops out. In the others the missing values are summed out of the product of the tables,

        p(given | c) = sum over missing values of the product over columns of P(x_j | parents of j, c),

    column by column. Where this takes a table of more than a million cells (more than the largest table of the model),
    columns with missing parents, those with the most such cells first, say P(x | c) instead; ``count_approximations``
    counts these rows.

    ``weight``, once fitted, multiplies what a column adds to those before it in the order of the arcs: weight_j
    log p(x_j | those of them that are given, c), which is log P(x_j | parents, c) where these are given.
    """

    tables: FactorDensity  # of every column, and last, if it has parents, of the class
    of_class: tuple[bool, ...]  # whether the class is a parent, by column
    smooth_unseen: bool
    counted: tuple[CountedTable, ...]  # what the table of every column is made of
    weight: Float | None = None  # (columns,)

    additive: ClassVar[bool] = False

    @property
    def slices(self) -> Slices:
        return self.tables.slices

    @property
    def columns(self) -> tuple[str, ...]:
        return self.slices.columns

    @property
    def intervals(self) -> dict[str, Float]:
        return self.slices.values

    @property
    def normalised(self) -> bool:
        return self.weight is None

    @property
    def strengths(self) -> tuple[float, ...]:
        """Pseudo-rows of each table, inf where it shrinks toward nothing."""
        return self.tables.strengths

    @property
    def numbers(self) -> int:
        """How many its tables have."""
        return self.tables.numbers

    @property
    def constant(self) -> tuple[str, ...]:
        return tuple(name for name, size in zip(self.columns, self.tables.sizes, strict=False) if size < 2)

    @property
    def classes(self) -> int:
        return int(self.tables.table.shape[1])

    @property
    def class_parents(self) -> tuple[int, ...]:
        """Columns that are parents of the class."""
        return self.tables.arcs[-1] if len(self.tables.arcs) > len(self.columns) else ()

    def name_families(self) -> Iterator[tuple[str | None, tuple[str | None, ...]]]:
        """Each node and its parents; None is the class."""
        yield None, tuple(self.columns[p] for p in self.class_parents)
        for name, parents, of_class in zip(self.columns, self.tables.arcs, self.of_class, strict=False):
            yield name, (*((None,) if of_class else ()), *(self.columns[p] for p in parents))

    def add(self, block: Block, out: Float) -> None:
        self._add(self._codes(block), out)

    def of_codes(self, codes: Code) -> Float:
        """log p(x | c) of codes (columns, rows): (rows, K)."""
        out = np.zeros((codes.shape[1], self.classes))
        self._add(self._known(codes), out)
        return out

    def work_out(self, row: Block) -> list[WorkedFactor]:
        codes = self._codes(row)
        if self.weight is not None or self.class_parents or self._hidden(codes).any():
            return super().work_out(row)
        found = []
        for j, (counted, parents) in enumerate(zip(self.counted, self.tables.arcs, strict=True)):
            log, given = self.tables.factor(codes, j)[0], tuple(self.columns[p] for p in parents)
            if log.any():
                ratios = counted.written(codes[list(parents), 0].tolist(), int(codes[j, 0]))
                ratios *= self.classes // len(ratios)  # one for all where the class is no parent
                found.append(WorkedFactor((self.columns[j],), log, given, ratios, True, of_class=self.of_class[j]))
        return found

    def portable(self, inputs: Inputs) -> list[Term]:
        codes = self.slices.symbols(inputs)
        if not self.smooth_unseen:
            codes = [np.maximum(code, -1.0) for code in codes]
        tables = self.tables
        network = Network(
            *(tables.sizes, tables.arcs, tuple(self.order), tuple(self.rank.tolist()), self.most_cells),
            split(tables.offset, tables.table),
            None if self.weight is None else tuple(self.weight.tolist()),
            self.log_class,
            self.of_codes,
        )
        return [Term(self.columns, Symbol("network", network, *codes))]

    def _add(self, codes: Code, out: Float) -> None:
        hidden = self._hidden(codes)
        if not hidden.any():
            self._look_up(codes, out)
            return
        plain, rest = np.flatnonzero(~hidden), np.flatnonzero(hidden)
        complete = out[plain]
        self._look_up(np.ascontiguousarray(codes[:, plain]), complete)
        out[plain] = complete
        out[rest] += self._sum_out(np.ascontiguousarray(codes[:, rest]))

    def _codes(self, block: Block) -> Code:
        return self._known(self.slices.codes(block))

    def _known(self, codes: Code) -> Code:
        """Level codes (tables, rows): -1 missing, -2 never seen and smoothed."""
        if not self.smooth_unseen and codes.min(initial=0) < -1:
            codes = np.maximum(codes, np.int32(-1))
        if not self.class_parents:
            return codes
        return np.vstack([codes, np.zeros((1, codes.shape[1]), dtype=np.int32)])  # the class is as it is

    def _look_up(self, codes: Code, out: Float) -> None:
        self._weighted.look_up(codes, out)
        if self.class_parents:
            out -= self.log_class

    @cached_property
    def _weighted(self) -> FactorDensity:
        return self.tables if self.weight is None else self.tables.with_weights(self.weight)

    def _hidden(self, codes: Code) -> Bool:
        """Whether a value, or the class, depends on one that is missing: (rows,)."""
        found = np.zeros(codes.shape[1], dtype=bool)
        if codes.min(initial=0) < 0:
            missing = codes == -1
            for j, parents in enumerate(self.tables.arcs):
                for p in parents:
                    found |= missing[p] & ~missing[j]
        return found

    def _sum_out(self, codes: Code) -> Float:
        """log p(what is given | c): (rows, K)."""
        if self.weight is not None:
            out: Float = np.einsum("j,njk->nk", self.weight, self._pieces(codes))
            return out
        found, _ = self._marginal(codes)
        return np.maximum(found - self.log_class, LEAST)

    @cached_property
    def log_class(self) -> Float:
        """log P(c) of the network, 0 where the class has no parents: (K,)."""
        if not self.class_parents:
            return np.zeros(self.classes)
        nothing = np.full((len(self.tables.sizes), 1), -1, dtype=np.int32)
        nothing[-1] = 0
        found: Float = self._marginal(nothing)[0][0]
        return found

    def _marginal(self, codes: Code) -> tuple[Float, Array]:
        """log of the sum over missing values of the product of the tables, (rows, K), and whether a product was too
        large: (rows,)."""
        out, partly = np.zeros((codes.shape[1], self.classes)), np.zeros(codes.shape[1], dtype=np.uint8)
        tables = self.tables
        _core.sum_out_missing(
            codes, *self._layout, tables.offset, tables.table, *self._shares, self.most_cells, out, partly
        )
        return out, partly

    @cached_property
    def order(self) -> list[int]:
        """Tables with parents before their children."""
        arcs, left = self.tables.arcs, set(range(len(self.tables.arcs)))
        found: list[int] = []
        while left:
            ready = [j for j in sorted(left) if not left.intersection(arcs[j])]
            found += ready
            left.difference_update(ready)
        return found

    @cached_property
    def rank(self) -> Code:
        """The place of each table among the names of their columns."""
        names = sorted(range(len(self.columns)), key=self.columns.__getitem__)
        rank = np.full(len(self.tables.sizes), len(names), dtype=np.int32)
        rank[names] = np.arange(len(names))
        return rank

    @cached_property
    def _layout(self) -> tuple[Code, Code, Code, Code]:
        """Of each table the parents, filled up with -1, and its levels; the order; and ranks by name."""
        sizes, order = np.array(self.tables.sizes, dtype=np.int32), np.array(self.order, dtype=np.int32)
        return self.tables.parents, sizes, order, self.rank

    @cached_property
    def _shares(self) -> tuple[Float, Float]:
        """Probabilities, (cells, K), and log2 of the smallest one of each table."""
        tables = self.tables
        return np.exp(tables.table), np.minimum.reduceat(tables.table.min(axis=1), tables.offset[:-1]) / LOG_2

    @property
    def most_cells(self) -> int:
        return max(CELLS, int(np.diff(self.tables.offset).max(initial=0)) * self.classes)

    @cached_property
    def _wide(self) -> bool:
        """Whether some pattern of missing values may be beyond the limit: all of them, children first."""
        scopes = [{*parents, j} for j, parents in enumerate(self.tables.arcs)]
        for v in reversed(self.order):
            together = set().union(*(scope for scope in scopes if v in scope))
            if prod(self.tables.sizes[u] for u in together) * self.classes > self.most_cells:
                return True
            scopes = [scope for scope in scopes if v not in scope] + [together - {v}]
        return False

    def count_approximations(self, block: Block) -> dict[str, int]:
        what = (
            f"the missing values that a column depends on take tables of more than {self.most_cells:,} cells to sum "
            f"out; such columns said P(x | class) there"
        )
        if not self._wide:
            return {what: 0}
        codes = self._codes(block)
        rest = np.flatnonzero(self._hidden(codes))
        return {what: int(self._marginal(np.ascontiguousarray(codes[:, rest]))[1].sum())}

    def factors(self, block: Block) -> Float:
        """What each column adds to those before it in the order of the arcs: (n, columns, K)."""
        return self._pieces(self._codes(block))

    def with_weights(self, weight: Float) -> NetworkedDensity:
        """The same with what each column adds multiplied: (columns,)."""
        return replace(self, weight=weight)

    def _pieces(self, codes: Code) -> Float:
        assert not self.class_parents, "weights belong to columns, and the class has a table too"
        out = np.stack([self.tables.factor(codes, j) for j in range(len(codes))], axis=1)
        missing, seen = codes == -1, np.full_like(codes, -1)
        for j in self.order:
            parents = list(self.tables.arcs[j])
            rows = np.flatnonzero(missing[parents].any(axis=0) & ~missing[j])
            before = np.ascontiguousarray(seen[:, rows])
            seen[j] = codes[j]
            if len(rows):
                out[rows, j] = self._marginal(np.ascontiguousarray(seen[:, rows]))[0] - self._marginal(before)[0]
        return out

    def terms(self, block: Block) -> Float:
        """What each column adds when revealed, in schema order: (n, columns, K)."""
        codes = self._codes(block)
        seen = np.full_like(codes, -1)
        seen[len(self.columns) :] = codes[len(self.columns) :]
        before, out = np.zeros((block.rows, self.classes)), np.empty((block.rows, len(self.columns), self.classes))
        for j in range(len(self.columns)):
            seen[j] = codes[j]
            after = np.zeros_like(before)
            self._add(seen, after)
            out[:, j] = after - before
            before = after
        return out
