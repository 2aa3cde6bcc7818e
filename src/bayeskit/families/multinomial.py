"""Multinomial: how counts divide among a group of columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from bayeskit.arrays import Float
from bayeskit.data.block import Block
from bayeskit.data.schema import Column, names_of
from bayeskit.data.written import Ratio
from bayeskit.densities.counts import CountFamily, Counts, Left, LeftOutCounts, rescale
from bayeskit.densities.density import Density, WorkedFactor
from bayeskit.densities.likelihood import Context
from bayeskit.statistics.totals import Totals

MOST = 1000  # of a word in a text, above which its power is written as a number


@dataclass(frozen=True)
class Multinomial(CountFamily):
    """log p(x | c) = sum_j x_j log t_cj, t_cj = (S_cj + a) / (sum_j S_cj + a m): S sums x over the rows of the class.

    One distribution over all columns of the group; m is their number. Columns of equal settings are one group;
    ``group`` distinguishes groups, and a tuple of columns in ``families=`` is a group of its own. The number of ways
    to order the counts is left out, being the same for all classes: there is no evidence, only posteriors. With no
    smoothing a class that counts nothing takes the frequencies of all classes. a is ``smoothing``, or the classifier's
    where none is given.

    Parameters
    ----------
    smoothing : float, optional
        Pseudo-count a of each column; that of the classifier where none is given.
    group : int, default 0
        Columns of equal settings are one group; the number distinguishes groups.

    Examples
    --------
    >>> import bayeskit as bk
    >>> model = bk.NaiveBayes(families=Multinomial()).fit([[3, 0, 1], [0, 2, 2]], ["ham", "spam"])
    >>> model.predict_proba([[1, 0, 0]]).round(3)
    array([[0.8, 0.2]])
    """

    smoothing: float | None = None
    group: int = 0

    identifier: ClassVar[str] = "family/multinomial"

    def __post_init__(self) -> None:
        self.check_settings(zero=True)

    def statistic(self, columns: Sequence[Column], n_groups: int) -> Totals:
        return Totals.empty(names_of(columns), n_groups)

    def fit(self, statistic: Totals, context: Context) -> MultinomialDensity:
        totals, unit = rescale(statistic)
        a, m = self.alpha * unit, len(totals.columns)
        whole = totals.sums.across.to_float()
        table = totals.sums.logs(a, np.log(np.where(whole > 0, whole, 0.0 if a else 1.0) + a * m))
        if not a and (whole <= 0).any():
            pooled = totals.sums.pool()
            table[:, whole <= 0] = pooled.logs(0.0, np.log(pooled.across.to_float())) if whole.any() else -np.log(m)
        return MultinomialDensity(totals.columns, totals, a, table, unit)


@dataclass(frozen=True)
class MultinomialDensity(Counts):
    """Logarithms of the share of each column in the counts of a class."""

    def probabilities(self) -> Float:
        shares: Float = np.exp(self.table)
        return shares

    def write_factor(self, j: int, row: Block, factor: WorkedFactor) -> WorkedFactor:
        x, a, whole = self.count_of(j, row), self.smoothing, self.totals.sums.across.to_float()
        if self.unit != 1 or not 0 < x <= MOST or x != int(x) or (not a and not whole.all()):
            return factor
        each = zip(self.totals.sums.column(j).tolist(), whole.tolist(), strict=True)
        more = ([a], [a * len(self.columns)]) if a else ([], [])
        return replace(factor, ratios=tuple(Ratio.of([n, *more[0]], [of, *more[1]]).to_power(int(x)) for n, of in each))

    @property
    def left_out(self) -> Density:
        return _LeftOutMultinomial(self.columns, self.totals, self.smoothing, self.table, self.unit)


@dataclass(frozen=True)
class _LeftOutMultinomial(MultinomialDensity, LeftOutCounts):
    """Without each row's own counts."""

    def _without(self, left: Left, weights: Float) -> Float:
        sums, m, a = self.totals.sums, len(self.columns), self.smoothing
        group = left.group[left.row]
        whole = left.rows_of(sums.across, np.maximum(left.group, 0))[left.row]
        share = left.cells_of(sums, group)
        if not a:
            pool, zeros = sums.pool(), np.zeros(len(left.stored), dtype=np.int64)
            pooled = left.cells_of(pool, zeros)
            over = left.rows_of(pool.across, np.zeros(len(left.group), dtype=np.int64))[left.row]
            pooled, over = np.where(over > 0, pooled, 1.0), np.where(over > 0, over, m)
            bare = ~sums.across.nonzero()
            weights[np.ix_(left.stored, bare)] = (_log(pooled) - np.log(over))[:, None]
            share, whole = np.where(whole > 0, share, pooled), np.where(whole > 0, whole, over)
        weights[left.stored, group] = _log(share + a) - np.log(whole + a * m)
        return weights


def _log(numbers: Float) -> Float:
    with np.errstate(divide="ignore"):
        logs: Float = np.log(numbers)
    return logs
