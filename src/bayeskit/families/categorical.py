"""Categorical: a table of level probabilities per class and column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bayeskit import _core
from bayeskit.arrays import Float, Int
from bayeskit.data.block import Block
from bayeskit.data.schema import Column
from bayeskit.likelihood import Context, Limit
from bayeskit.smoothing import Smoothing, smoothing
from bayeskit.statistics.tables import Tables

FRONT = 2  # cells in front of each column's levels: never seen, missing


@dataclass(frozen=True)
class Categorical:
    """p(x = v | c) = (n_cv + a) / (n_c + a m): counts of the class with a zero-count correction.

    n_c is the weight of the class's rows that have a value, m the number of levels. ``smoothing`` is a number or
    one of ``bayeskit.smoothing``.

    >>> import bayeskit as bk
    >>> model = bk.NaiveBayes().fit([["red"], ["red"], ["blue"], ["blue"]], [1, 1, 1, 0])
    >>> model.predict_proba([["red"]]).round(3)
    array([[0.156, 0.844]])
    """

    smoothing: float | Smoothing = 1.0

    kinds: ClassVar[tuple[str, ...]] = ("binary", "nominal", "ordinal")

    def __post_init__(self) -> None:
        smoothing(self.smoothing)

    def statistic(self, columns: Sequence[Column], n_groups: int) -> Tables:
        return Tables.empty([(c.name,) for c in columns], n_groups)

    def fit(self, statistic: Tables, context: Context) -> CategoricalDensity:
        rule = smoothing(self.smoothing)
        classes = context.weights
        tables, weights = [], []
        for t in range(len(statistic.tables)):
            counts = statistic.table(t).rounded()
            weights.append(np.log(np.maximum(counts.sum(axis=1), 1e-300)))
            front = np.zeros((len(counts), FRONT))
            new = rule.unseen(counts, classes) if context.unseen == "smooth" and counts.shape[1] else None
            with np.errstate(divide="ignore"):
                if new is not None:
                    front[:, 0] = np.log(new)
                known = np.log(rule.probabilities(counts, classes)) if counts.shape[1] else counts
            tables.append(np.hstack([front, known]))
        sizes = [0, *(table.shape[1] for table in tables)]
        whole = np.hstack(tables) if tables else np.zeros((len(classes), 0))
        return CategoricalDensity(
            tuple(t[0] for t in statistic.tables),
            np.cumsum(sizes, dtype=np.int64),
            np.ascontiguousarray(whole.T),
            rule.normalised,
            np.array(weights).reshape(len(tables), len(classes)),
        )


@dataclass(frozen=True)
class CategoricalDensity:
    """Log probabilities of the levels of every column, one table after the other."""

    parts: tuple[str, ...]
    offset: Int  # (columns + 1,)
    table: Float  # (cells, K): per column never seen, missing, then its levels
    normalised: bool
    log_weight: Float  # (columns, K) log n_c: a zero among n_c values vanishes as a / n_c

    def add(self, block: Block, out: Float) -> None:
        _core.lookup(block.codes, block.coded(self.parts), self.offset[:-1], self.table, out)

    def terms(self, block: Block) -> Float:
        return self._cells(block, self.table)

    def reach(self, block: Block) -> Float:
        return np.zeros(block.rows)  # logarithms of probabilities are never vast

    def limit(self, block: Block, unit: Float) -> Limit:
        zero = np.isneginf(self.table)
        per_part = np.diff(self.offset)
        vanishing = np.where(zero, -np.repeat(self.log_weight, per_part, axis=0), self.table)
        zeros = self._cells(block, zero.astype(np.float64)).sum(axis=1)
        return Limit(zeros, np.zeros_like(zeros), self._cells(block, vanishing).sum(axis=1))

    def _cells(self, block: Block, table: Float) -> Float:
        """The entries of a table that the rows point at: (n, columns, K)."""
        out = np.empty((block.rows, len(self.parts), table.shape[1]))
        for j, position in enumerate(block.coded(self.parts)):
            out[:, j] = table[self.offset[j] + FRONT + block.codes[position]]
        return out

    def probabilities(self, j: int) -> Float:
        """Of the levels of column j in every class: (K, m)."""
        return np.exp(self.table[self.offset[j] + FRONT : self.offset[j + 1]].T)
