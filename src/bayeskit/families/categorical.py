"""Categorical: a table of level probabilities per class and column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import ClassVar

from bayeskit.data.schema import Column
from bayeskit.densities.likelihood import Context, Family
from bayeskit.densities.tabular import TabularDensity
from bayeskit.smoothing import Smoothing, smoothing
from bayeskit.statistics.tables import Tables


@dataclass(frozen=True)
class Categorical(Family[Tables]):
    """p(x = v | c) = (n_cv + a) / (n_c + a m): counts of the class with a zero-count correction.

    n_c is the weight of the class's rows that have a value, m the number of levels. ``smoothing`` is a number or
    one of ``bayeskit.smoothing``.

    Parameters
    ----------
    smoothing : float or one of ``bayeskit.smoothing``, default 1.0
        Correction of zero counts.

    Examples
    --------
    >>> import bayeskit as bk
    >>> model = bk.NaiveBayes().fit([["red"], ["red"], ["blue"], ["blue"]], [1, 1, 1, 0])
    >>> model.predict_proba([["red"]]).round(3)
    array([[0.156, 0.844]])
    """

    smoothing: float | Smoothing = 1.0

    identifier: ClassVar[str] = "family/categorical"
    kinds: ClassVar[tuple[str, ...]] = ("binary", "nominal", "ordinal")

    def __post_init__(self) -> None:
        smoothing(self.smoothing)
        if isinstance(self.smoothing, Real):
            object.__setattr__(self, "smoothing", float(self.smoothing))

    def statistic(self, columns: Sequence[Column], n_groups: int) -> Tables:
        return Tables.empty([(c.name,) for c in columns], n_groups)

    def fit(self, statistic: Tables, context: Context) -> TabularDensity:
        return TabularDensity.of(statistic, smoothing(self.smoothing), context)
