"""Ordinal: levels in an order, where neighbours lend each other weight."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from bayeskit.arrays import Float
from bayeskit.data.schema import Column
from bayeskit.data.written import Ratio, decimal, plain
from bayeskit.densities.likelihood import Context, Family
from bayeskit.densities.tabular import TabularDensity
from bayeskit.errors import InputError
from bayeskit.smoothing import Cells, NoSmoothing, Smoothing, pseudo_rows
from bayeskit.statistics.tables import Tables


@dataclass(frozen=True)
class Ordinal(Family[Tables]):
    """p(x = v | c) = (n_v + a m q_v) / (n_c + a m), with q_v = 1/(2m) + (f_(v-1) + f_(v+1))/4.

    As many pseudo-rows as Laplace's (a = ``smoothing`` for each of the m levels), but half of them stand beside what
    the class has: f are its own frequencies, and the first and the last level stand beside themselves. The more
    rows, the less it matters. A class without values has q_v = 1/m.

    Parameters
    ----------
    smoothing : float, default 1.0
        Pseudo-rows a for each of the m levels.

    Examples
    --------
    >>> import bayeskit as bk
    >>> model = bk.NaiveBayes(families=Ordinal(), kinds={"pain": ["none", "some", "much"]})
    >>> _ = model.fit([{"pain": "none"}, {"pain": "none"}, {"pain": "much"}, {"pain": "much"}], [0, 0, 1, 1])
    >>> model.model_.density.densities[0].probabilities(0).round(2)
    array([[0.65, 0.25, 0.1 ],
           [0.1 , 0.25, 0.65]])
    """

    smoothing: float = 1.0

    identifier: ClassVar[str] = "family/ordinal"
    kinds: ClassVar[tuple[str, ...]] = ("ordinal",)

    def __post_init__(self) -> None:
        pseudo_rows(self)

    def statistic(self, columns: Sequence[Column], n_groups: int) -> Tables:
        for column in columns:
            if column.missing == "level":
                raise InputError(
                    f"column {column.name!r} has missing='level', and a missing value has no place in the order of "
                    f"Ordinal; give it missing='skip' or the family Categorical"
                )
        return Tables.empty([(c.name,) for c in columns], n_groups)

    def fit(self, statistic: Tables, context: Context) -> TabularDensity:
        return TabularDensity.of(statistic, _Neighbours(self.smoothing), context)


@dataclass(frozen=True)
class _Neighbours(Smoothing):
    """The formula of Ordinal."""

    alpha: float

    @property
    def normalised(self) -> bool:
        return True

    def at(self, cells: Cells) -> Float:
        if self.alpha == 0:
            return cells.relative
        m = cells.levels
        out: Float = (cells.count + self.alpha * m * _lent(cells)) / (cells.total + self.alpha * m)
        return out

    def vanishing(self, cells: Cells) -> Float:
        out: Float = cells.levels * _lent(cells) / np.maximum(cells.total, 1e-300)
        return out

    def unseen(self, counts: Float, classes: Float) -> Float | None:
        return None  # a new level has no place in the order

    def written(self, level: int, counts: Float, classes: Float) -> tuple[Ratio, ...]:
        if self.alpha == 0:
            return NoSmoothing().written(level, counts, classes)
        m = counts.shape[1]
        return tuple(self._written(row, level, max(level - 1, 0), min(level + 1, m - 1)) for row in counts)

    def _written(self, row: Float, level: int, below: int, above: int) -> Ratio:
        m, total, pseudo = len(row), float(row.sum()), self.alpha * len(row)
        lent, q = f"1/{m}", Fraction(1, m)
        if total:
            lent = f"(1/{2 * m}+({plain(row[below])}+{plain(row[above])})/(4·{plain(total)}))"
            q = Fraction(1, 2 * m) + (decimal(row[below]) + decimal(row[above])) / (4 * decimal(total))
        value = (decimal(row[level]) + decimal(pseudo) * q) / (decimal(total) + decimal(pseudo))
        return Ratio(f"{plain(row[level])}+{plain(pseudo)}·{lent}", f"{plain(total)}+{plain(pseudo)}", value)


def _lent(cells: Cells) -> Float:
    """q: half of a pseudo-row anywhere, half beside what the class has."""
    known = np.where(cells.total > 0, cells.total, 1.0)
    out: Float = np.where(
        cells.total > 0, 0.5 / cells.levels + (cells.below + cells.above) / (4 * known), 1 / cells.levels
    )
    return out
