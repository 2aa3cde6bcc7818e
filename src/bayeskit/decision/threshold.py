"""Threshold: from which probability on to take the action of a class, by what that did cost."""

from __future__ import annotations

import numpy as np

from bayeskit.arrays import Bool, Float
from bayeskit.errors import InputError


def threshold_of_costs(table: Float) -> tuple[float, int]:
    """The P(second class) from which on one action costs less than the other, and which one: costs (2, 2).

    >>> threshold_of_costs(np.array([[0.0, 5.0], [50.0, 1.0]]))  # well, ill by wait, treat
    (0.09259259259259259, 1)
    """
    if table.shape != (2, 2):
        raise InputError(
            f"a threshold divides two classes and two actions, and there are {table.shape[0]} and {table.shape[1]}; "
            f"leave cutoff out, and costs decide"
        )
    more = table[:, 1] - table[:, 0]  # what the second action costs more, by class
    act = int(more[1] < more[0])
    if more[0] == more[1] or (more > 0).all() or (more < 0).all():
        raise InputError(
            "one action costs no more than the other whatever the class is, so no threshold is between them; change "
            "the costs, or leave cutoff out"
        )
    return float(more[0] / (more[0] - more[1])), act


def least_cost_threshold(proba: Float, second: Bool, weights: Float, table: Float) -> float:
    """The P(second class) from which on to take its action so that these rows would have cost least: (n,) each.

    Of several, the nearest to what the costs alone say; it lies midway between the probabilities it divides.

    >>> p, ill = np.array([0.1, 0.2, 0.6, 0.9]), np.array([False, True, False, True])
    >>> round(least_cost_threshold(p, ill, np.ones(4), np.array([[0.0, 1.0], [3.0, 0.0]])), 3)
    0.15
    """
    start, act = threshold_of_costs(table)
    codes = second.astype(np.int64)
    taken, other = weights * table[codes, act], weights * table[codes, 1 - act]
    order = np.argsort(proba, kind="stable")
    values, first = np.unique(proba[order], return_index=True)
    below = np.append(0.0, np.cumsum(other[order]))  # of the rows that come before
    above = np.append(np.cumsum(taken[order][::-1])[::-1], 0.0)
    split = np.append(first, len(proba))
    cost = below[split] + above[split]
    edges = np.concatenate([[0.0], (values[1:] + values[:-1]) / 2, [np.nextafter(1.0, 2.0)]])
    low, high = edges.copy(), edges.copy()
    low[1:-1], high[1:-1] = values[:-1], values[1:]
    least = np.flatnonzero(cost <= cost.min() + 1e-12 * max(abs(float(cost.min())), 1.0))
    holds = [i for i in least.tolist() if low[i] < start <= high[i]]
    if holds:
        return start
    best = least[np.argmin(np.abs(edges[least] - start))]
    return float(edges[best])
