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
        return Tables.empty([(), *((c.name,) for c in columns)], n_groups)

    def fit(self, statistic: Tables, unseen: str = "missing") -> CategoricalDensity:
        rule = smoothing(self.smoothing)
        classes = statistic.table(0).rounded()
        tables = []
        for t in range(1, len(statistic.tables)):
            counts = statistic.table(t).rounded()
            front = np.zeros((len(counts), FRONT))
            new = rule.unseen(counts, classes) if unseen == "smooth" and counts.shape[1] else None
            with np.errstate(divide="ignore"):
                if new is not None:
                    front[:, 0] = np.log(new)
                known = np.log(rule.probabilities(counts, classes)) if counts.shape[1] else counts
            tables.append(np.hstack([front, known]))
        sizes = [0, *(table.shape[1] for table in tables)]
        whole = np.hstack(tables) if tables else np.zeros((len(classes), 0))
        return CategoricalDensity(
            tuple(t[0] for t in statistic.tables[1:]),
            np.cumsum(sizes, dtype=np.int64),
            np.ascontiguousarray(whole.T),
            rule.normalised,
        )


@dataclass(frozen=True)
class CategoricalDensity:
    """Log probabilities of the levels of every column, one table after the other."""

    parts: tuple[str, ...]
    offset: Int  # (columns + 1,)
    table: Float  # (cells, K): per column never seen, missing, then its levels
    normalised: bool

    def add(self, block: Block, out: Float) -> None:
        _core.lookup(block.codes, block.coded(self.parts), self.offset[:-1], self.table, out)

    def terms(self, block: Block, vast: bool = False) -> Float:
        out = np.zeros((block.rows, len(self.parts), self.table.shape[1]))
        for j, position in enumerate(block.coded(self.parts)):
            out[:, j] = self.table[self.offset[j] + FRONT + block.codes[position]]
        return np.where(np.isneginf(out), out, 0.0) if vast else out

    def probabilities(self, j: int) -> Float:
        """Of the levels of column j in every class: (K, m)."""
        return np.exp(self.table[self.offset[j] + FRONT : self.offset[j + 1]].T)
