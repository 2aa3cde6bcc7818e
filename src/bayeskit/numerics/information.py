"""Information: what a column tells of the class, from its tables and bins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bayeskit.arrays import Float
from bayeskit.numerics.cut_points import CutPoints, few
from bayeskit.statistics.bins import Bins
from bayeskit.statistics.tables import Tables

ROUNDING = 1e-10  # share of the largest score


def mutual_information(table: Float) -> float:
    """I(class; column) = sum over cells of p(c, x) log p(c, x) / (p(c) p(x)) in nats, from weights (K, m).

    Less (K - 1)(m - 1) / (2 n), what independent columns show by chance (Miller 1955), and never below 0.

    >>> round(mutual_information(np.array([[50.0, 0.0], [0.0, 50.0]])), 4)
    0.6881
    """
    total = table.sum()
    if not total > 0:
        return 0.0
    joint = table / total
    chance = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    seen = joint > 0
    found = float(np.sum(joint[seen] * np.log(joint[seen] / chance[seen])))
    classes, cells = np.count_nonzero(joint.sum(axis=1)), np.count_nonzero(joint.sum(axis=0))
    return max(0.0, found - float((classes - 1) * (cells - 1)) / (2 * float(total)))


def of_levels(tables: Tables) -> dict[str, float]:
    """Of each coded column."""
    return {names[0]: mutual_information(tables.table(t).to_float()) for t, names in enumerate(tables.tables)}


def of_numbers(bins: Bins) -> dict[str, float]:
    """Of each number column, cut into a few cells of equal weight."""
    return {name: _of_column(bins, j) for j, name in enumerate(bins.columns)}


def _of_column(bins: Bins, j: int) -> float:
    column = bins.column(j)
    cuts = CutPoints(column).equal_frequency(few(float(column.pooled.sum())))
    table = np.zeros((bins.groups, len(cuts) + 1))
    np.add.at(table.T, np.searchsorted(cuts, column.edges, side="left"), column.weights.T)
    return mutual_information(table)


def best_first(scores: Float, names: Sequence[Any]) -> list[int]:
    """Positions by score, the best first; scores that are equal but for rounding by name.

    >>> best_first(np.array([1.0, 3.0, 1.0 + 1e-15]), ["b", "c", "a"])
    [1, 2, 0]
    """
    order = np.argsort(-scores, kind="stable").tolist()
    drop = -np.diff(scores[order], prepend=scores[order[:1]])
    place = np.cumsum(drop > ROUNDING * np.abs(scores).max(initial=0.0)).tolist()
    return [j for _, _, j in sorted((at, names[j], j) for at, j in zip(place, order, strict=True))]
