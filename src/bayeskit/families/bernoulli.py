"""Bernoulli: which columns of a group have anything at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from bayeskit.arrays import Float, Int
from bayeskit.data.block import Block
from bayeskit.data.matrix import Sparse
from bayeskit.data.schema import Column, names_of
from bayeskit.data.written import Ratio
from bayeskit.densities.counts import CountFamily, Counts, Left, LeftOutCounts
from bayeskit.densities.density import Density, TailLogDensity, WorkedFactor
from bayeskit.densities.likelihood import Context
from bayeskit.portable.program import Inputs, Term
from bayeskit.statistics.exact import ExactSum
from bayeskit.statistics.totals import Totals


@dataclass(frozen=True)
class Bernoulli(CountFamily):
    """log p(x | c) = sum_j log (x_j > 0 ? q_cj : 1 - q_cj), q_cj = (n_cj + a) / (n_c + 2 a).

    n_cj is the weight of the class's rows with x_j > 0, n_c that of its rows where x_j is not missing. a is
    ``smoothing``, or the classifier's where none is given.

    Parameters
    ----------
    smoothing : float, optional
        Pseudo-count a of each column; that of the classifier where none is given.
    group : int, default 0
        Columns of equal settings are one group; the number distinguishes groups.

    Examples
    --------
    >>> import bayeskit as bk
    >>> model = bk.NaiveBayes(families=Bernoulli()).fit([[3, 0, 1], [0, 2, 2]], ["ham", "spam"])
    >>> model.predict_proba([[1, 0, 0]]).round(3)
    array([[0.8, 0.2]])
    """

    smoothing: float | None = None
    group: int = 0

    identifier: ClassVar[str] = "family/bernoulli"

    def __post_init__(self) -> None:
        self.check_settings(zero=False)

    def statistic(self, columns: Sequence[Column], n_groups: int) -> Totals:
        return Totals.empty(names_of(columns), n_groups, presence=True)

    def fit(self, statistic: Totals, context: Context) -> BernoulliDensity:
        seen, none = statistic.seen(), np.zeros(statistic.groups)
        a = self.alpha
        if statistic.missing.shape[1]:
            absent = np.log((seen - statistic.sums.dense).to_float().T + a)
        else:
            rows = ExactSum(seen.limbs[statistic.sums.owner, 0], seen.low)
            gone = replace(statistic.sums, cells=rows - statistic.sums.cells)
            absent = gone.logs(a, none, seen.to_float()[:, 0])
        table = statistic.sums.logs(a, none)
        table -= absent
        absent -= np.log(seen.to_float().T + 2 * a)
        return BernoulliDensity(statistic.columns, statistic, a, table, 1.0, absent)


@dataclass(frozen=True)
class BernoulliDensity(Counts):
    """Log odds of presence, over the log probability that nothing is there."""

    absent: Float  # (columns, K) log(1 - q)

    normalised: ClassVar[bool] = True

    def probabilities(self) -> Float:
        present: Float = np.exp(self.table + self.absent)
        return present

    def write_factor(self, j: int, row: Block, factor: WorkedFactor) -> WorkedFactor:
        rows, a = self.totals.seen().to_float(), self.smoothing
        seen, there = rows[:, min(j, rows.shape[1] - 1)], self.totals.sums.column(j)
        counts = there if self.count_of(j, row) else seen - there
        each = zip(counts.tolist(), seen.tolist(), strict=True)
        return replace(factor, ratios=tuple(Ratio.of([n, a], [of, 2 * a]) for n, of in each))

    @property
    def left_out(self) -> Density:
        return _LeftOutBernoulli(self.columns, self.totals, self.smoothing, self.table, self.unit, self.absent)

    def add(self, block: Block, out: Float) -> None:
        cells = block.sparse(self.columns)
        missing = self._missing(cells)
        out += self.absent[_shown(cells)].sum(axis=0)
        super().add(block, out)
        np.subtract.at(out, cells.owner[missing], self.absent[cells.indices[missing]])

    def terms_of(self, block: Block, which: Int) -> Float:
        cells, absent = block.sparse(self.columns), self._absent(block, which)
        place = np.full(len(self.columns), -1, dtype=np.int64)
        place[which] = np.arange(len(which))
        missing = self._missing(cells)
        missing = missing[place[cells.indices[missing]] >= 0]
        absent[cells.owner[missing], place[cells.indices[missing]]] = 0.0
        if cells.hidden is not None:
            absent[:, cells.hidden[which]] = 0.0
        return super().terms_of(block, which) + absent

    def _absent(self, block: Block, which: Int) -> Float:
        """log(1 - q) of some columns in every row: (n, which, K)."""
        return np.broadcast_to(self.absent[which], (block.rows, len(which), self.table.shape[1])).copy()

    def class_range(self, block: Block) -> Float:
        cells, m = block.sparse(self.columns), len(self.columns)
        there = np.bincount(cells.indices, self._values(cells), minlength=m)
        gone = block.rows - there - np.bincount(cells.indices[self._missing(cells)], minlength=m)
        if cells.hidden is not None:
            gone[cells.hidden] = 0.0
        apart: Float = there * np.ptp(self.table + self.absent, axis=1) + gone * np.ptp(self.absent, axis=1)
        return apart

    def portable(self, inputs: Inputs) -> list[Term]:
        found = []
        for j, name in enumerate(self.columns):
            x: Any = inputs.number(name)
            value = np.where(x > 0, self.table[j] + self.absent[j], self.absent[j])
            found.append(Term((name,), value).mask(np.isnan(x) | (x < 0)))
        return found

    def log2_magnitude(self, block: Block) -> Float:
        return np.zeros(block.rows)  # logarithms of probabilities are never overflow

    def tail(self, block: Block, unit: Float) -> TailLogDensity:
        rest = np.zeros((block.rows, self.table.shape[1]))
        self.add(block, rest)
        return TailLogDensity(np.zeros_like(rest), np.zeros_like(rest), rest)

    @staticmethod
    def _missing(cells: Sparse) -> Int:
        """Which stored values are missing, or taken as missing: they are not absent either."""
        return np.flatnonzero(~(cells.values >= 0))


@dataclass(frozen=True)
class _LeftOutBernoulli(BernoulliDensity, LeftOutCounts):
    """Without each row's own presences."""

    def add(self, block: Block, out: Float) -> None:
        super().add(block, out)
        cells = block.sparse(self.columns)
        shown, missing = _shown(cells), self._missing(cells)
        for rows, c, absent in self._left_out_absences(block):
            out[rows, c] += absent[shown].sum() - self.absent[shown, c].sum()
            mine = missing[np.isin(cells.owner[missing], rows)]
            np.subtract.at(out[:, c], cells.owner[mine], (absent - self.absent[:, c])[cells.indices[mine]])

    def _absent(self, block: Block, which: Int) -> Float:
        absent = super()._absent(block, which)
        for rows, c, moved in self._left_out_absences(block):
            absent[rows, :, c] = moved[which]
        return absent

    def _left_out_absences(self, block: Block) -> Iterator[tuple[Int, int, Float]]:
        """Rows of one class and weight, the class, and log(1 - q) of each column without such a row, if it lacks it."""
        row, group, mass = block.rows_with_weight()
        seen = self.totals.seen()
        gone = seen - self.totals.sums.dense
        for c, weight in sorted(set(zip(group.tolist(), mass.tolist(), strict=True))):
            rows = row[(group == c) & (mass == weight)]
            size = _less(seen, c, weight)
            yield rows, c, np.log(_less(gone, c, weight) + self.smoothing) - np.log(size + 2 * self.smoothing)

    def _without(self, left: Left, weights: Float) -> Float:
        group, a = left.group[left.row], self.smoothing
        there = np.log(left.cells_of(self.totals.sums, group) + a)
        gone = self.totals.seen() - self.totals.sums.dense
        for c, weight in set(zip(group.tolist(), left.mass[left.row].tolist(), strict=True)):
            mine = np.flatnonzero((group == c) & (left.mass[left.row] == weight))
            columns = left.column[mine]
            weights[left.stored[mine], c] = there[mine] - np.log(_less(gone, c, weight)[columns] + a)
        return weights


def _shown(cells: Sparse) -> Int:
    """The columns that are there."""
    return np.arange(cells.width) if cells.hidden is None else np.flatnonzero(~cells.hidden)


def _less(sums: ExactSum, c: int, mass: float) -> Float:
    """The cells of class c without a mass, at least 0: (columns,), or (1,) where all are the same."""
    cells = ExactSum(sums.limbs[c], sums.low)
    every = np.arange(cells.shape[0])
    return np.maximum(cells.without(every, np.full(len(every), mass)), 0.0)
