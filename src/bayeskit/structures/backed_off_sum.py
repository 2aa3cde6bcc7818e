"""BackedOffSum: many columns that are backed off, added up by the core in one pass."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bayeskit import _core
from bayeskit._core import FormulaKind
from bayeskit.arrays import Code, Float, Int
from bayeskit.data.block import Block, Columns
from bayeskit.data.schema import Column, Schema
from bayeskit.densities.density import CoreFormula, Density
from bayeskit.densities.tabular import TabularDensity
from bayeskit.structures.wrapped import BackedOff

TOGETHER = 16  # columns whose log densities are written down at a time: fixed, for sums depend on it
COUNTS = 1024  # whole numbers up to which a column has a table


@dataclass(frozen=True)
class BackedOffSum:
    """log p(x | class) of columns of one density each: by formulas and tables of the core, or as densities say it."""

    densities: tuple[Density, ...]

    def add(self, block: Block, out: Float) -> None:
        """Add the sum over the columns into out (n, K)."""
        if self._tables is not None:
            names, offset, table = self._tables
            _core.lookup_tables(block.codes, block.code_positions(names), offset, table, out)
        for numbers in self._numbers:
            numbers.add(block, out)
        for density in self._others:
            density.add(block, out)

    @cached_property
    def _others(self) -> list[Density]:
        return [d for d in self.densities if not isinstance(d, BackedOff) or len(d.columns) != 1]

    @cached_property
    def _tables(self) -> tuple[tuple[str, ...], Int, Float] | None:
        """Columns of levels: names, where the cells of each begin, and the cells, backed off."""
        found = [(d, d.density) for d in self._single if isinstance(d.density, TabularDensity)]
        if not found:
            return None
        tables = [backed.back_off(np.ascontiguousarray(plain.table[:, None]))[:, 0] for backed, plain in found]
        offset = np.cumsum([0, *map(len, tables)], dtype=np.int64)[:-1]
        return tuple(plain.columns[0] for _, plain in found), offset, np.ascontiguousarray(np.concatenate(tables))

    @cached_property
    def _numbers(self) -> list[Numbers]:
        mine = [d for d in self._single if not isinstance(d.density, TabularDensity)]
        return [Numbers(tuple(mine[i : i + TOGETHER])) for i in range(0, len(mine), TOGETHER)]

    @property
    def _single(self) -> Iterator[BackedOff]:
        return (d for d in self.densities if isinstance(d, BackedOff) and len(d.columns) == 1)


@dataclass(frozen=True)
class Numbers:
    """Some columns of numbers, added up in one pass over the rows."""

    densities: tuple[BackedOff, ...]

    @cached_property
    def _formulas(self) -> list[tuple[BackedOff, CoreFormula]]:
        found = ((d, _formula(d)) for d in self.densities)
        return [(density, formula) for density, formula in found if formula is not None]

    @cached_property
    def _known(self) -> list[BackedOff]:
        """Those without a formula: they say their log densities themselves."""
        have = {density.columns for density, _ in self._formulas}
        return [density for density in self.densities if density.columns not in have]

    @cached_property
    def _recipe(self) -> tuple[Code, Float, Float, Float, Int]:
        """Kinds, numbers, weights, tables and where these begin, as the core reads them."""
        formulas = [formula for _, formula in self._formulas]
        classes = self.densities[0].weights.shape[1]
        weight = [density.counting[:, 0] for density in (*(d for d, _ in self._formulas), *self._known)]
        empty = np.empty((0, classes))
        tables = [empty if f.table is None else f.table for f in formulas]
        return (
            np.array([formula.kind for formula in formulas], dtype=np.int32),
            np.array([formula.numbers for formula in formulas]).reshape(-1, 3, classes),
            np.array(weight),
            np.ascontiguousarray(np.concatenate([empty, *tables])),
            np.cumsum([0, *map(len, tables)], dtype=np.int64),
        )

    def add(self, block: Block, out: Float) -> None:
        columns = block.columns([density.columns[0] for density, _ in self._formulas])
        known = np.zeros((len(self._known), *out.shape))
        for density, terms in zip(self._known, known, strict=True):
            density.density.add(block, terms)
        sums = np.empty(out.shape)
        if _core.backed_off_sums(columns.address, columns.stride, block.rows, *self._recipe, known, sums):
            odd = np.flatnonzero(np.isnan(sums).any(axis=1))
            rows = block.at(odd)
            sums[odd] = sum(density.terms(rows)[:, 0] for density in self.densities)
        out += sums


def _formula(density: BackedOff) -> CoreFormula | None:
    """How the core knows a column: by the formula of its density, or whole numbers by a table of all of it."""
    inner, name = density.density, density.columns[0]
    axis = inner.axes.get(name)
    if axis is None or not axis.integer:
        return inner.core_formula
    x = np.arange(min(axis.points[-1] + 1, COUNTS))
    schema = Schema((Column(name, "quantitative", "double", "whole numbers"),))
    rows = Block(schema, Columns((x,), len(x)), np.empty((0, len(x)), dtype=np.int32))
    nothing = np.zeros((3, density.weights.shape[1]))
    return CoreFormula(FormulaKind.COUNTS, nothing, density.terms(rows)[:, 0])
