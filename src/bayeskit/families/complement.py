"""Complement: what the counts of all other classes say against a class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from bayeskit import _core
from bayeskit.arrays import Float
from bayeskit.data.block import Block
from bayeskit.data.schema import Column, names_of
from bayeskit.data.written import Ratio
from bayeskit.densities.counts import CountFamily, Counts, Left, LeftOutCounts, rescale
from bayeskit.densities.density import Density, WorkedFactor
from bayeskit.densities.likelihood import Context
from bayeskit.statistics.exact import Scattered
from bayeskit.statistics.totals import Totals
from bayeskit.validation import switch


@dataclass(frozen=True)
class Complement(CountFamily):
    """log p(x | c) = -sum_j x_j log u_cj, u_cj = (R_cj + a) / (sum_j R_cj + a m): R sums x over all other classes.

    For classes of unequal size (Rennie et al., 2003). ``norm`` divides the weights of a class by their sum. Given up
    to a number of the row that is the same for all classes; with ``prior="uniform"`` as in the paper. a is
    ``smoothing``, or the classifier's where none is given.

    Parameters
    ----------
    smoothing : float, optional
        Pseudo-count a of each column; that of the classifier where none is given.
    norm : bool, default False
        Divide the weights of a class by their sum.
    group : int, default 0
        Columns of equal settings are one group; the number distinguishes groups.

    Examples
    --------
    >>> import bayeskit as bk
    >>> model = bk.NaiveBayes(families=Complement(), prior="uniform").fit([[3, 0, 1], [0, 2, 2]], ["ham", "spam"])
    >>> model.predict_proba([[1, 0, 0]]).round(3)
    array([[0.8, 0.2]])
    """

    smoothing: float | None = None
    norm: bool = False
    group: int = 0

    identifier: ClassVar[str] = "family/complement"

    def __post_init__(self) -> None:
        self.check_settings(zero=False)
        switch(self, norm=self.norm)

    def statistic(self, columns: Sequence[Column], n_groups: int) -> Totals:
        return Totals.empty(names_of(columns), n_groups)

    def fit(self, statistic: Totals, context: Context) -> ComplementDensity:
        totals, unit = rescale(statistic)
        a, m = self.alpha * unit, len(totals.columns)
        across = totals.sums.across
        size = np.log((across.total() - across).to_float() + a * m)
        sums, table = totals.sums, np.empty(totals.sums.shape[::-1])
        arguments = sums.starts, sums.columns, sums.cells.limbs, sums.cells.low, a, size
        logs = _core.sparse_complement_weights(*arguments, None, table)
        if self.norm:
            _core.sparse_complement_weights(*arguments, logs, table)
        return ComplementDensity(totals.columns, totals, a, table, unit, logs + m * size, self.norm)


@dataclass(frozen=True)
class ComplementDensity(Counts):
    """Weights from the counts of all other classes, less the largest of the column."""

    logs: Float  # (K,) sum over the columns of log(R + a)
    norm: bool

    def write_factor(self, j: int, row: Block, factor: WorkedFactor) -> WorkedFactor:
        factor = replace(factor, relative=True)
        x, a, across = self.count_of(j, row), self.smoothing, self.totals.sums.across.to_float()
        if self.norm or self.unit != 1:
            return factor
        mine, spread = self.totals.sums.column(j), a * len(self.columns)
        each = zip((mine.sum() - mine).tolist(), (across.sum() - across).tolist(), strict=True)
        made = (f"({Ratio.of([n, a], [of, spread])})^-{x:.6g}, over the largest of the classes" for n, of in each)
        return replace(factor, formulas=tuple(made))

    @property
    def left_out(self) -> Density:
        kept = self.columns, self.totals, self.smoothing, self.table, self.unit
        return _LeftOutComplement(*kept, self.logs, self.norm)


@dataclass(frozen=True)
class _LeftOutComplement(ComplementDensity, LeftOutCounts):
    """Without each row's own counts."""

    @cached_property
    def others(self) -> Scattered:
        """The counts of all other classes: (K, columns)."""
        dense = self.totals.sums.dense
        return Scattered.of(dense.total() - dense)

    def _without(self, left: Left, weights: Float) -> Float:
        m, a, n = len(self.columns), self.smoothing, len(left.group)
        whole_group, plain = self.others.across, self.others.dense.to_float()
        size = whole_group.to_float()
        logs, scale = np.empty((len(left.stored), len(size))), np.empty((n, len(size)))
        for c in range(len(size)):
            mine = left.group == c  # the row is not among the other classes' counts
            whole = np.where(mine, size[c], left.rows_of(whole_group, np.full(n, c)))
            kept = plain[c, left.column]
            cell = np.where(mine[left.row], kept, left.cells_of(self.others, np.full(len(left.stored), c)))
            logs[:, c] = np.log(cell + a) - np.log(whole + a * m)[left.row]
            if self.norm:
                change = np.bincount(left.row, np.log(cell + a) - np.log(kept + a), minlength=n)
                scale[:, c] = self.logs[c] + change - m * np.log(whole + a * m)
        weights[left.stored] = _complement(logs, scale[left.row] if self.norm else None)
        return weights


def _complement(logs: Float, scale: Float | None) -> Float:
    """Weights of a complement, less the largest of all classes: (..., K), none above zero."""
    if scale is None:
        weights = -logs
    else:
        scale = np.broadcast_to(scale, logs.shape)
        weights = np.divide(logs, scale, out=np.zeros_like(logs), where=scale != 0)  # one column alone says nothing
    weights -= np.max(np.moveaxis(weights, -1, 0), axis=0)[..., None]  # classes are few: class by class
    return weights
