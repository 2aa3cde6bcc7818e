"""Histogram: a density flat between cuts, with tails that decay."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, TypeGuard

import numpy as np

from bayeskit import _core
from bayeskit.arrays import FRONT, Float, Int
from bayeskit.data.block import Block
from bayeskit.data.schema import Column
from bayeskit.data.written import Ratio, decimal, plain
from bayeskit.densities.density import OVERFLOW, Axis, Density, SupportsLeftOut, TailLogDensity, WorkedFactor
from bayeskit.densities.likelihood import Context, Family, Recipe
from bayeskit.densities.tabular import LooStrata
from bayeskit.errors import InputError
from bayeskit.numerics.cut_points import CutPoints, ascending
from bayeskit.numerics.special import LOG_2
from bayeskit.portable.program import Inputs, Term
from bayeskit.portable.symbol import place
from bayeskit.smoothing import pseudo_rows
from bayeskit.statistics.bins import BinnedColumn, Bins
from bayeskit.statistics.cuts import Cuts, cell_of
from bayeskit.statistics.exact import ExactSum
from bayeskit.validation import integer, keep


@dataclass(frozen=True)
class Histogram(Family[Any]):
    """p(x | c) = (n_c(cell) + a) / (n_c + a m) / width: the share of the class in the cell of x, spread evenly.

    Of the m cells two are tails, where the density falls as exp(-distance / l), l the mean width of the inner cells (1
    if there is none), so that it integrates to one. ``bins`` is a number of inner cells of equal width; "auto" for
    2 n^(1/3) cells of equal weight; "mdlp" for the cuts of Fayyad and Irani, which tell the classes apart; or the cuts
    themselves, with right-closed cells. Cells of equal width or weight are made of the column as a whole, never
    narrower than the values were recorded. a is ``smoothing``, 1/m by default.

    Parameters
    ----------
    bins : int, "auto", "mdlp" or tuple of float, default "auto"
        A number of inner cells of equal width; 2 n^(1/3) cells of equal weight; the cuts of Fayyad and Irani; or the
        cuts themselves.
    smoothing : float, optional
        Pseudo-count a of each cell, 1/m by default.

    Examples
    --------
    >>> import bayeskit as bk
    >>> model = bk.NaiveBayes(families=Histogram((0, 10, 20)), prior="uniform")
    >>> model = model.fit([[3.0], [8.0], [12.0], [14.0], [18.0]], ["a", "a", "a", "b", "b"])
    >>> model.predict_proba([[15.0]]).round(3)
    array([[0.294, 0.706]])
    """

    bins: int | str | tuple[float, ...] = "auto"
    smoothing: float | None = None

    identifier: ClassVar[str] = "family/histogram"
    kinds: ClassVar[tuple[str, ...]] = ("quantitative", "count")

    def __post_init__(self) -> None:
        where, cells = f"Histogram(bins={self.bins!r})", integer(self.bins)
        if cells is not None and 1 <= cells <= 10**6:
            keep(self, bins=cells)
        elif cells is None and not isinstance(self.bins, str) and _many(self.bins):
            keep(self, bins=ascending(self.bins, where))
        elif not isinstance(self.bins, str) or self.bins not in ("auto", "mdlp"):
            raise InputError(f"{where}: give a number of cells, the cuts, 'auto' or 'mdlp'")
        if self.smoothing is not None:
            pseudo_rows(self)

    @property
    def leave_one_out(self) -> bool:
        """Whether it can be computed without a refit; not where labels made the cuts."""
        return self.bins != "mdlp"

    def statistic(self, columns: Sequence[Column], n_groups: int) -> Bins | Cuts:
        names = [c.name for c in columns]
        return Cuts.empty(names, self.bins, n_groups) if isinstance(self.bins, tuple) else Bins.empty(names, n_groups)

    def fit(self, statistic: Bins | Cuts, context: Context) -> HistogramDensity:
        every = range(len(statistic.columns))
        if isinstance(statistic, Cuts):
            shift = _shift(max(map(abs, statistic.cuts)))
            cuts = np.ldexp(np.array(statistic.cuts), shift)
            made: list[Cells | None] = [Cells.of(cuts, statistic.column(j), self.smoothing, shift) for j in every]
        else:
            made = [self._cells(statistic.column(j)) for j in every]
        held = () if isinstance(statistic, Cuts) else ("cells of Histogram",)
        return HistogramDensity(statistic.columns, tuple(made), statistic.groups, self.leave_one_out, held)

    @property
    def recipe(self) -> Recipe | None:
        """As the core knows it, which makes cells of equal weight."""
        alpha = np.nan if self.smoothing is None else self.smoothing
        return Recipe("Histogram", alpha) if self.bins == "auto" else None

    def _cells(self, column: BinnedColumn) -> Cells | None:
        """Cells made of the bins of a column; None for a column without spread."""
        if len(column.edges) < 2 and not column.width.any():
            return None
        shift = _shift(float(np.abs(column.edges).max()))
        borders, step = CutPoints(column, shift), float(np.ldexp(column.step, shift))
        first, last = borders.first, borders.last  # a bin of no width is one value
        low = first[0] if first[0] < last[0] else min(first[0] - step / 2, np.nextafter(first[0], -np.inf))
        high = last[-1] + (0 if first[-1] < last[-1] else step / 2)
        if self.bins == "mdlp":
            inner = borders.mdlp()
        elif self.bins == "auto":
            inner = borders.equal_frequency(_core.histogram_bins(float(column.pooled.sum())))
        else:
            with np.errstate(divide="ignore", over="ignore"):  # a step may vanish beside the range
                wanted = int(max(1, min(self.bins, np.round((high - low) / np.float64(step)))))
            inner = borders.equal_width(wanted, low, high)
        cuts = np.array([low, *inner[(inner > low) & (inner < high)], high])
        moves = np.searchsorted(cuts, last, side="left").astype(np.int64)
        return Cells.of(cuts, column.cells.place(moves, len(cuts) + 1, axis=1), self.smoothing, shift)


@dataclass(frozen=True)
class Cells:
    """One column's cells, in units of 2^-shift."""

    shift: int
    cuts: Float  # (m - 1,)
    log_width: Float  # (m,) of the cells; of a tail its length l
    length: float  # l
    alpha: float
    counts: ExactSum  # (K, m)

    @classmethod
    def of(cls, cuts: Float, counts: ExactSum, smoothing: float | None, shift: int) -> Cells:
        widths = np.diff(cuts)
        length = float(cuts[-1] - cuts[0]) / len(widths) if len(widths) else 2.0**shift
        log_width = np.log(np.array([length, *widths, length])) - shift * LOG_2
        alpha = 1 / (len(cuts) + 1) if smoothing is None else float(smoothing)
        return cls(shift, cuts, log_width, length, alpha, counts)

    @cached_property
    def table(self) -> Float:
        """log p inside the cells, and at the near end of the tails: (m, K)."""
        counts = self.counts.to_float()
        return self._log(counts.T, counts.sum(axis=1), counts.sum(axis=0)[:, None]) - self.log_width[:, None]

    def _log(self, count: Float, total: Float, level: Float) -> Float:
        """log of the smoothed share; a class without values takes the shares of all where nothing smooths."""
        with np.errstate(divide="ignore", invalid="ignore"):
            share = (count + self.alpha) / (total + self.alpha * (len(self.cuts) + 1))
            if not self.alpha:
                everything = total.sum(axis=-1, keepdims=True)
                pooled = np.where(everything > 0, level / everything, 1 / (len(self.cuts) + 1))
                share = np.where(total > 0, share, pooled)
            out: Float = np.log(share)
        return out

    def written(self, cell: int) -> tuple[Ratio, ...]:
        """The densities of a cell as fractions, by class; none where they are shares of all classes."""
        counts, cells = self.counts.to_float(), len(self.log_width)
        if self.shift or not (counts.sum(axis=1) + self.alpha).all():
            return ()
        width = float([self.length, *np.diff(self.cuts), self.length][cell])
        plus = Fraction(1, cells) if self.alpha == 1 / cells else decimal(self.alpha)
        found = []
        for row in counts.tolist():
            share = (decimal(row[cell]) + plus) / (decimal(sum(row)) + plus * cells)
            terms = ((row[cell], plus), (sum(row), plus * cells))
            above, below = (f"{plain(n)}+{p}" if p else plain(n) for n, p in terms)
            found.append(Ratio(above, f"({below})·{plain(width)}", share / Fraction(width)))
        return tuple(found)

    @property
    def axis(self) -> Axis:
        steps = self.length * np.array([1.0, 2, 4, 8, 16, 32])
        points = np.concatenate([self.cuts[0] - steps[::-1], self.cuts, self.cuts[-1] + steps])
        return Axis(np.ldexp(points, -self.shift))

    def distance(self, x: Float) -> Float:
        """How many tail lengths a value lies beyond the cuts: (n,)."""
        y = self.at(x)
        with np.errstate(over="ignore"):
            beyond = np.maximum(self.cuts[0] - y, y - self.cuts[-1]) / self.length
        return np.maximum(np.where(np.isnan(x), 0.0, beyond), 0.0)

    def logs(self, x: Float) -> Float:
        """log2 of that distance, which cannot overflow: (n,)."""
        with np.errstate(divide="ignore"):
            direct = np.log2(self.distance(x))
            far = np.log2(np.abs(x)) + self.shift - np.log2(self.length)
        return np.where(np.isposinf(direct), far, direct)

    def code(self, x: Float) -> Int:
        """The cell of each value, -1 where it is missing: (n,)."""
        return cell_of(self.at(x), self.cuts).astype(np.int64)

    def at(self, x: Float) -> Float:
        """Values in its units; infinite where they are out of range."""
        with np.errstate(over="ignore"):
            return np.ldexp(x, self.shift) if self.shift else x

    def inner(self, x: Float) -> Float:
        """log p without the decay of the tails, 0 where x is missing: (n, K)."""
        code = self.code(x)
        return np.where(code[:, None] < 0, 0.0, self.table[code])

    def inner_left_out(self, x: Float, block: Block) -> Float:
        """The same without each row's own mass."""
        code, strata = self.code(x), LooStrata.of(block, len(self.counts.limbs))
        if strata.few(len(self.log_width), 1, len(strata.group)):
            every = self._left if strata.kept else self._tables_without(strata)
            return np.where(code[:, None] < 0, 0.0, every[strata.member, code])
        return self._without(code, *block.values_with_weight(x))

    @cached_property
    def _left(self) -> Float:
        """The table as it is, and without one row of weight 1 of each class: (1 + K, m, K)."""
        classes = len(self.counts.limbs)
        nobody = np.empty(0, dtype=np.int32)
        return self._tables_without(LooStrata(nobody, np.arange(classes), np.ones(classes), True))

    def _tables_without(self, strata: LooStrata) -> Float:
        """The table as it is, and without each pair of class and weight: (1 + pairs, m, K)."""
        level, group, mass = strata.cross(len(self.log_width))
        left = self._without(level, np.arange(len(level)), group, mass)
        return np.concatenate([self.table[None], left.reshape(-1, *self.table.shape)])

    def totals(self, n: int, row: Int, group: Int, mass: Float) -> Float:
        """Weight of all values of each class, in some rows without a mass: (n, K)."""
        total = self.counts.across
        in_class = np.tile(total.to_float(), (n, 1))
        in_class[row, group] = total.without(group, mass)
        return in_class

    def _without(self, code: Int, row: Int, group: Int, mass: Float) -> Float:
        """log p of the cells asked for, some without a mass: (n, K)."""
        size = len(self.log_width)
        pooled, in_class = self.counts.total(), self.totals(len(code), row, group, mass)
        count = self.counts.to_float().T[code]
        count[row, group] = self.counts.flat().without(group * size + code[row], mass)
        level = pooled.to_float()[0, code]
        level[row] = pooled.flat().without(code[row], mass)
        return np.where(code[:, None] < 0, 0.0, self._log(count, in_class, level[:, None]) - self.log_width[code, None])


@dataclass(frozen=True)
class HistogramDensity(SupportsLeftOut):
    """Histograms of several columns."""

    columns: tuple[str, ...]
    cells: tuple[Cells | None, ...]  # None: the column says nothing
    groups: int
    leave_one_out: bool = True
    held: tuple[str, ...] = ()  # what leave-one-out has of all rows

    normalised: ClassVar[bool] = True

    @property
    def constant(self) -> tuple[str, ...]:
        """Columns without spread, which say nothing."""
        return tuple(name for name, cells in zip(self.columns, self.cells, strict=True) if cells is None)

    @property
    def axes(self) -> dict[str, Axis]:
        """Its cells, and tails out to where nothing is left of them."""
        return {name: cells.axis for name, cells in zip(self.columns, self.cells, strict=True) if cells is not None}

    @property
    def left_out(self) -> Density:
        if not self.leave_one_out:
            raise InputError(
                'Histogram(bins="mdlp") cuts by the labels of all rows, so leaving one out is a refit; '
                "use k-fold cross-validation, or another family"
            )
        return LeftOutHistogram(self.columns, self.cells, self.groups, held=self.held)

    def _inner(self, cells: Cells, x: Float, block: Block) -> Float:
        """log p of a column without the decay of the tails: (n, K)."""
        return cells.inner(x)

    def _totals(self, cells: Cells, x: Float, block: Block) -> Float:
        """Weight of all values of each class: (n, K)."""
        return np.broadcast_to(cells.counts.across.to_float(), (block.rows, self.groups))

    def _columns(self, block: Block) -> Iterator[tuple[int, Cells, Float]]:
        numbers, _ = block.numbers(self.columns)
        for j, cells in enumerate(self.cells):
            if cells is not None:
                yield j, cells, numbers.column(j)

    def add(self, block: Block, out: Float) -> None:
        columns = list(self._columns(block))
        if columns:
            self._look_up(columns, block, out)
        for _, cells, x in columns:
            far = np.flatnonzero(~((cells.at(x) > cells.cuts[0]) & (cells.at(x) <= cells.cuts[-1])))
            with np.errstate(over="ignore"):
                out[far] -= cells.distance(x[far])[:, None]

    def _look_up(self, columns: Sequence[tuple[int, Cells, Float]], block: Block, out: Float) -> None:
        """Add log p without the decay of the tails."""
        codes = np.array([cells.code(x) for _, cells, x in columns], dtype=np.int32)
        _core.lookup_tables(codes, np.arange(len(columns), dtype=np.int32), *self._lookup, out)

    @cached_property
    def _lookup(self) -> tuple[Int, Float]:
        """Where the table of each column begins, and all tables, each after two lines for what is not there."""
        tables = [np.pad(cells.table, ((FRONT, 0), (0, 0))) for cells in self.cells if cells is not None]
        return np.cumsum([0, *map(len, tables)], dtype=np.int64)[:-1], np.ascontiguousarray(np.concatenate(tables))

    def terms(self, block: Block) -> Float:
        out = np.zeros((block.rows, len(self.columns), self.groups))
        for j, cells, x in self._columns(block):
            out[:, j] = self._inner(cells, x, block) - cells.distance(x)[:, None]
        return out

    def write_factor(self, j: int, row: Block, factor: WorkedFactor) -> WorkedFactor:
        cells, x = self.cells[j], row.numbers(self.columns)[0].column(j)
        ratios = cells.written(int(cells.code(x)[0])) if cells is not None else ()
        if cells is None or not ratios or not cells.distance(x)[0]:
            return replace(factor, ratios=ratios)
        decay = f"e^(-{cells.distance(x)[0]:.6g})"
        return replace(factor, formulas=tuple(f"{ratio} · {decay}" for ratio in ratios))

    def portable(self, inputs: Inputs) -> list[Term]:
        found, tails = [], []  # tails come last, as in ``add``: beside them the digits of the others are lost
        for name, cells in zip(self.columns, self.cells, strict=True):
            if cells is not None:
                x = inputs.number(name)
                far = cells.distance(x)
                size = np.where(far > 2.0**1000, np.log2(np.abs(x)) + cells.shift - np.log2(cells.length), np.log2(far))
                vanishing = -np.log(np.maximum(cells.counts.across.to_float(), 1e-300)) - cells.log_width[:, None]
                inner = Term.from_table((name,), cells.table, place(cells.cuts, cells.at(x)), vanishing)
                found.append(inner.mask(np.isnan(x)))
                tails.append(Term.from_formula(name, x, -far, size).mask(np.isnan(x)))
        return [*found, *tails]

    def log2_magnitude(self, block: Block) -> Float:
        farthest: Float = np.max([np.zeros(block.rows), *(c.logs(x) for _, c, x in self._columns(block))], axis=0)
        return farthest

    def tail(self, block: Block, unit: Float) -> TailLogDensity:
        zeros, rest = np.zeros((2, block.rows, self.groups))
        overflow = np.zeros((block.rows, 1))
        for _, cells, x in self._columns(block):
            logs, inner = cells.logs(x), self._inner(cells, x, block)
            far = logs > OVERFLOW
            overflow[:, 0] -= np.where(far, np.exp2(np.minimum(logs - unit, 0.0)), 0.0)
            zeros += np.isneginf(inner)
            weight = np.log(np.maximum(self._totals(cells, x, block), 1e-300))
            vanishing = -weight - cells.log_width[cells.code(x), None]  # of a / n_c / width as a -> 0+
            rest += np.where(np.isneginf(inner), vanishing, inner) - np.where(far, 0.0, cells.distance(x))[:, None]
        return TailLogDensity(zeros, overflow + np.zeros_like(zeros), rest)


@dataclass(frozen=True)
class LeftOutHistogram(HistogramDensity):
    """Without each row's own mass; the cells are held."""

    def _inner(self, cells: Cells, x: Float, block: Block) -> Float:
        return cells.inner_left_out(x, block)

    def _totals(self, cells: Cells, x: Float, block: Block) -> Float:
        return cells.totals(block.rows, *block.values_with_weight(x))

    def _look_up(self, columns: Sequence[tuple[int, Cells, Float]], block: Block, out: Float) -> None:
        for _, cells, x in columns:
            out += self._inner(cells, x, block)


def _many(given: object) -> TypeGuard[Iterable[float]]:
    """Whether these are several numbers: a list, an array, a column of a frame."""
    return isinstance(given, Iterable) and not isinstance(given, str | bytes | Mapping | Set)


def _shift(largest: float) -> int:
    """The power of two that makes ordinary numbers of a column's."""
    return 1000 if largest < 2.0**-900 else -200 if largest > 2.0**900 else 0
