"""Discrete: what likelihoods over levels share, and the density that is a product of tables over few columns."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from bayeskit import _core
from bayeskit.arrays import FRONT, Code, Float, Int
from bayeskit.data.block import Block
from bayeskit.data.schema import Column
from bayeskit.densities.density import Factored
from bayeskit.densities.likelihood import Staged
from bayeskit.errors import InputError
from bayeskit.memory import check_pairs
from bayeskit.numerics.cut_points import CutPoints, ascending
from bayeskit.portable.program import Inputs, Term
from bayeskit.portable.symbol import take, total
from bayeskit.statistics.bins import Bins
from bayeskit.statistics.sliced import Sliced, Slices
from bayeskit.statistics.statistic import Statistic
from bayeskit.structures.conditional import strides
from bayeskit.validation import positive

MDLP: str = "mdlp"
FREQUENCY: str = "frequency"
Grid = tuple[tuple[str, tuple[float, ...]], ...]


@dataclass(frozen=True)
class Discrete(Staged[Any]):
    """Numbers become the interval they lie in. The rows are read twice: the bins of the first pass give the cuts.

    ``cuts`` is "mdlp" (Fayyad and Irani: where the class changes, by minimum description length) or "frequency"
    (n^(1/3) intervals of equal weight, from 3 to 12: no label has a say). Cuts are part of the model from then on: rows
    learned later, or forgotten, are counted between them. So partial_fit, forget and merge of models with the same
    cuts are exact, and models whose own data were cut differently are not merged. A column in which "mdlp" finds no
    cut has one interval, and says nothing.
    """

    cuts: str = FREQUENCY
    grid: Grid | None = field(default=None, repr=False, kw_only=True)  # by column, once a first pass has cut them

    pairwise: ClassVar[bool] = False  # whether every two columns are counted together

    def __post_init__(self) -> None:
        if self.cuts not in (MDLP, FREQUENCY):
            raise InputError(f"cuts={self.cuts!r}: choose {MDLP!r} or {FREQUENCY!r}")
        if self.grid is not None:
            made = ((name, ascending(cuts, f"column {name!r}") if cuts else ()) for name, cuts in self.grid)
            object.__setattr__(self, "grid", tuple(made))

    def first_stage(self) -> Self:
        return replace(self, grid=None)

    @property
    def choices(self) -> tuple[str, ...]:
        many = len(self.grid or ())
        return (f"the cuts of {many} column{'s' * (many > 1)} of numbers",) if many else ()

    @abstractmethod
    def tables(self, columns: Sequence[str]) -> Mapping[str, Sequence[tuple[str, ...]]]:
        """Which tables to count over the columns, by name."""

    def statistic(self, columns: Sequence[Column], n_groups: int) -> Statistic:
        if self.pairwise:
            check_pairs(len(columns), "counts")
        if self.grid is None:
            return Bins.empty([c.name for c in columns if c.numeric], n_groups)
        slices = Slices.of(columns, dict(self.grid))
        return Sliced.empty(slices, self.tables(slices.columns), n_groups)

    def cut(self, bins: Bins) -> Self:
        """The same with cuts made of the bins of a first pass."""
        columns = [bins.column(j) for j in range(len(bins.columns))]
        made = ((column.name, CutPoints(column).to_hold(self.cuts == MDLP)) for column in columns)
        return replace(self, grid=tuple(made))


@dataclass(frozen=True)
class Smoothed(Discrete):
    """Every level of a column has ``smoothing`` pseudo-rows in every class."""

    smoothing: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "smoothing", positive("smoothing", self.smoothing))


@dataclass(frozen=True)
class FactorDensity(Factored):
    """Logarithms by cell and class of every table, one table after the other."""

    slices: Slices
    members: tuple[tuple[int, ...], ...]  # the columns of each table
    sizes: tuple[int, ...]  # levels of each column
    offset: Int  # (tables + 1,)
    table: Float  # (cells, K)
    strengths: tuple[float, ...]  # pseudo-rows of each table, inf where it shrinks toward nothing
    scale: float = 1.0  # how much every table counts while it has no weight of its own

    normalised: ClassVar[bool] = False  # sets of columns overlap
    additive: ClassVar[bool] = False

    @classmethod
    def of(
        cls,
        slices: Slices,
        members: Sequence[tuple[int, ...]],
        sizes: Sequence[int],
        tables: Sequence[Float],
        classes: int,
        strengths: Sequence[float],
    ) -> Self:
        """From tables (levels + 2 ..., K)."""
        flat = [table.reshape(-1, classes) for table in tables]
        offset = np.cumsum([0, *map(len, flat)], dtype=np.int64)
        whole = np.concatenate([np.empty((0, classes)), *flat])
        return cls(slices, tuple(members), tuple(sizes), offset, whole, tuple(strengths))

    @property
    def columns(self) -> tuple[str, ...]:
        return self.slices.columns

    @property
    def factor_names(self) -> tuple[str, ...]:
        """What weights belong to."""
        return tuple(" x ".join(self.columns[j] for j in m) for m in self.members)

    @property
    def numbers(self) -> int:
        """How many its tables have."""
        return self.table.size

    @property
    def constant(self) -> tuple[str, ...]:
        return tuple(name for name, size in zip(self.columns, self.sizes, strict=True) if size < 2)

    @property
    def arcs(self) -> tuple[tuple[int, ...], ...]:
        """The parents in each table: all its columns but the last."""
        return tuple(columns[:-1] for columns in self.members)

    @property
    def parents(self) -> Code:
        """The arcs filled up with -1: (tables, most parents)."""
        return self._places[1]

    @cached_property
    def _places(self) -> tuple[Code, Code, Code]:
        """Of each table its last column, the others filled up with -1, and how far apart their levels lie in it."""
        most = max(map(len, self.arcs), default=0)
        parents, steps = np.full((2, len(self.members), most), -1, dtype=np.int32)
        for t, columns in enumerate(self.members):
            parents[t, : len(columns) - 1] = columns[:-1]
            steps[t, : len(columns) - 1] = strides([self.sizes[i] for i in columns])[:-1]
        return np.array([columns[-1] for columns in self.members], dtype=np.int32), parents, steps

    def _cells(self, codes: Code, which: slice = slice(None)) -> Code:
        """The cell of every row in some tables, from -2 on as the core has it: (tables, rows)."""
        last, parents, steps = (of[which] for of in self._places)
        out = np.empty((len(last), codes.shape[1]), dtype=np.int32)
        _core.table_cells(codes, last, parents, steps, out)
        return out

    def add(self, block: Block, out: Float) -> None:
        self.look_up(self.slices.codes(block), out)

    def look_up(self, codes: Code, out: Float) -> None:
        """Add the logarithms of all tables, from codes (columns, rows)."""
        every = np.arange(len(self.members), dtype=np.int32)
        _core.lookup_tables(self._cells(codes), every, self.offset[:-1], self._scaled, out)

    @cached_property
    def _scaled(self) -> Float:
        return self.table if self.scale == 1 else self.table * self.scale

    def portable(self, inputs: Inputs) -> list[Term]:
        codes, found = self.slices.symbols(inputs), []
        for t, members in enumerate(self.members):
            steps = strides([self.sizes[i] for i in members]).tolist()
            index = total([(codes[i] + FRONT) * step for i, step in zip(members, steps, strict=True)])
            table = self._scaled[self.offset[t] : self.offset[t + 1]]
            found.append(Term(tuple(self.columns[i] for i in members), take(table, index)))
        return found

    def factors(self, block: Block) -> Float:
        """What each table says by itself, before any weight: (n, tables, K)."""
        codes = self.slices.codes(block)
        return np.stack([self.factor(codes, t) for t in range(len(self.members))], axis=1)

    def factor(self, codes: Code, t: int) -> Float:
        """What one table says by itself: (n, K)."""
        return self._factor(codes, t, self.table)

    def with_weights(self, weight: Float) -> FactorDensity:
        """The same with the logarithms of each table multiplied: (tables,)."""
        each = np.repeat(weight, np.diff(self.offset))
        return replace(self, table=self.table * each[:, None], scale=1.0)

    def _factor(self, codes: Code, t: int, table: Float) -> Float:
        found: Float = table[self.offset[t] + FRONT + self._cells(codes, slice(t, t + 1))[0]]
        return found

    def terms(self, block: Block) -> Float:
        """What each column adds when revealed, in schema order, in all tables it is in."""
        codes = self.slices.codes(block)
        out = np.zeros((block.rows, len(self.columns), self.table.shape[1]))
        for t, members in enumerate(self.members):
            seen, before = np.full_like(codes, -1), np.zeros_like(out[:, 0])
            for i in sorted(members):
                seen[i] = codes[i]
                after = self._factor(seen, t, self._scaled)
                out[:, i] += after - before
                before = after
        return out


@dataclass(frozen=True)
class RatioDensity(FactorDensity):
    """Tables of log P(c | x_S)/P(c)."""

    class_ratios: ClassVar[bool] = True
