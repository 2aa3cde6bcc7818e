"""Conditional: log-probabilities of a column's levels given the class and parents, with a place for every hole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bayeskit.arrays import Float, Int
from bayeskit.likelihood import Context
from bayeskit.smoothing import Laplace
from bayeskit.statistics.tables import Tables

FRONT = 2  # places in front of the levels on each axis: never seen, missing
STRENGTHS = tuple(2.0**e for e in range(-2, 11))  # what leave-one-out chooses from


@dataclass(frozen=True)
class Margin:
    """P(x | c) of one column, which its tables lean on."""

    counts: Float  # (K, m)
    share: Float  # (K, m)
    unseen: Float | None  # (K,) of a level never seen, None where it is taken as missing

    @property
    def fronted(self) -> Float:
        """P(x | c) with the places for holes in front, where it is one or that of a level never seen: (K, m + 2)."""
        front = np.ones((len(self.share), FRONT))
        if self.unseen is not None:
            front[:, 0] = self.unseen
        return np.hstack([front, self.share])


def margins(levels: Tables, smoothing: float, context: Context) -> list[Margin]:
    """Of tables of one column each, with Laplace's correction."""
    rule, found = Laplace(smoothing), []
    for j in range(len(levels.tables)):
        counts = levels.table(j).rounded()
        new = rule.unseen(counts, context.weights) if context.unseen == "smooth" and counts.shape[1] else None
        found.append(Margin(counts, rule.probabilities(counts, context.weights), new))
    return found


def smoothed(counts: Float, margin: Margin, strength: float) -> Float:
    """(n + s P(x | c)) / (N + s) of the counts (K, parents..., m): s pseudo-rows that know the class alone."""
    within = counts.sum(axis=-1, keepdims=True)
    base = _across(margin.share, counts.ndim)
    out: Float = (counts + strength * base) / (within + strength)
    return out


def best_strength(counts: Float, margin: Margin, smoothing: float) -> float:
    """The strength with the largest sum of log p_-i(x_i | parents_i, c_i), each row foretold by the others.

    One row is taken out of its cell, of the rows with the same parents, and of P(x | c); ties go to the stronger.
    """
    within = np.broadcast_to(counts.sum(axis=-1, keepdims=True), counts.shape)
    levels = margin.counts.shape[1]
    alone = np.maximum(margin.counts - 1, 0) + smoothing
    base = alone / (np.maximum(margin.counts.sum(axis=1, keepdims=True) - 1, 0) + smoothing * levels)
    there = np.nonzero(counts)
    weight, mass, all_mass = counts[there], np.maximum(counts[there] - 1, 0), np.maximum(within[there] - 1, 0)
    known = np.broadcast_to(_across(base, counts.ndim), counts.shape)[there]
    scores = [float(weight @ np.log((mass + s * known) / (all_mass + s))) for s in STRENGTHS]
    return max(zip(scores, STRENGTHS, strict=True))[1]


def log_table(share: Float, strength: float, within: Float, child: Margin, parents: Sequence[Margin]) -> Float:
    """log P(x | parents, c) with a place in front of each axis for holes: (parents + 2 ..., m + 2, K).

    A missing parent is summed out with P(parent | c). A missing x says nothing. A level never seen acts as missing;
    where it is smoothed, it is one without a row: as a parent it leaves P(x | c), as x it has what smoothing leaves.
    """
    if child.unseen is None:
        new = np.ones((*share.shape[:-1], 1))
    else:
        new = strength * _across(child.unseen[:, None], share.ndim) / (within + strength)
    table = np.concatenate([new, np.ones((*share.shape[:-1], 1)), share], axis=-1)
    alone = child.fronted
    for axis, parent in enumerate(parents, start=1):
        weight = parent.share / parent.share.sum(axis=1, keepdims=True)
        summed = np.einsum("ka...,ka->k...", np.moveaxis(table, axis, 1), weight)
        summed = np.expand_dims(summed, axis)
        unknown = summed if parent.unseen is None else np.broadcast_to(_across(alone, table.ndim), summed.shape)
        table = np.concatenate([unknown, summed, table], axis=axis)
    table[..., 1] = 1.0  # sums of shares are one but for rounding, and a hole must say nothing at all
    if child.unseen is None:
        table[..., 0] = 1.0
    return np.log(np.moveaxis(table, 0, -1))


def _across(by_class: Float, axes: int) -> Float:
    """(K, m) for use beside (K, parents..., m)."""
    return by_class.reshape(len(by_class), *(1 for _ in range(axes - 2)), by_class.shape[1])


def strides(sizes: Sequence[int]) -> Int:
    """How far apart neighbouring levels lie on each axis of a table with places in front."""
    steps = np.cumprod([1, *(size + FRONT for size in reversed(sizes[1:]))])
    return np.ascontiguousarray(steps[::-1]).astype(np.int64)
