"""Score: how well families, nodes with their parents, explain what was counted of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Protocol

import numpy as np
from scipy.special import gammaln

from bayeskit import _core
from bayeskit.arrays import Code, Float, Int
from bayeskit.errors import InputError
from bayeskit.statistics.exact import ExactSum, weight_range

PSEUDO_ROWS = (0.25, 1.0, 4.0, 16.0, 64.0, 256.0)  # pseudo-rows tried
CELLS = 1 << 22  # the largest table of a family
Family = tuple[int, tuple[int, ...]]  # a node and its parents, ascending


class Rule(Protocol):
    """Scores tables of families from their counts."""

    def __call__(self, counts: Float, start: Int) -> Float:
        """Of tables one after the other: counts (lines, states of the node), a line for each state of the parents, and
        the first line of each table; (tables,)."""


def likelihood(counts: Float, start: Int) -> Float:
    """The largest log-likelihood: sum of n log(n / N).

    >>> likelihood(np.array([[2.0, 2.0], [4.0, 0.0]]), np.array([0])).round(4)
    array([-2.7726])
    """
    rows = counts.sum(axis=1)
    gain = np.einsum("ij,ij->i", counts, np.log(np.maximum(counts, 1e-300)))
    gain -= rows * np.log(np.maximum(rows, 1e-300))
    out: Float = np.add.reduceat(gain, start)
    return out


def bic(counts: Float, start: Int) -> Float:
    """The likelihood less log(n) / 2 for each free probability (Schwarz)."""
    rows = np.add.reduceat(counts.sum(axis=1), start)
    return likelihood(counts, start) - np.log(np.maximum(rows, 1.0)) / 2 * _free(counts, start)


def aic(counts: Float, start: Int) -> Float:
    """The likelihood less one for each free probability (Akaike)."""
    return likelihood(counts, start) - _free(counts, start)


def k2(counts: Float, start: Int) -> Float:
    """log of the marginal likelihood under a Dirichlet prior of one row in every cell (Cooper and Herskovits)."""
    return _dirichlet(counts, start, np.ones(len(counts)))


@dataclass(frozen=True)
class BDeu:
    """The same under a prior of ``ess`` rows spread evenly over the cells of a table."""

    ess: float = 1.0

    def __call__(self, counts: Float, start: Int) -> Float:
        lines = _lines(counts, start)
        return _dirichlet(counts, start, np.repeat(self.ess / (lines * counts.shape[1]), lines))


def loo(counts: Float, start: Int) -> Float:
    """The log-likelihood of each row predicted by the others, less log(n) for every doubling of the parents' states.

    p = (n - 1 + s b) / (N - 1 + s): s pseudo-rows, as many as predict best, shrink toward the shares b of the node
    alone. So are tables of classifiers made, and a table of many empty lines costs no more than it loses in predicting.
    """
    lines, rows = _lines(counts, start), counts.sum(axis=1, keepdims=True)
    alone = np.add.reduceat(counts, start, axis=0) + 1.0
    base = np.repeat(alone / alone.sum(axis=1, keepdims=True), lines, axis=0)
    others, beside = np.maximum(counts - 1, 0), np.maximum(rows - 1, 0)
    best = np.full(len(start), -np.inf)
    for s in PSEUDO_ROWS:
        gain = np.einsum("ij,ij->i", counts, np.log((others + s * base) / (beside + s)))
        best = np.maximum(best, np.add.reduceat(gain, start))
    n = np.add.reduceat(rows[:, 0], start)
    out: Float = best - np.log(np.maximum(n, 1.0)) * np.log2(np.maximum(lines, 1))
    return out


def _lines(counts: Float, start: Int) -> Int:
    return np.diff(np.append(start, len(counts)))


def _free(counts: Float, start: Int) -> Float:
    out: Float = _lines(counts, start) * (counts.shape[1] - 1.0)
    return out


def _dirichlet(counts: Float, start: Int, alpha: Float) -> Float:
    """With alpha pseudo-rows in each cell of a line: (tables,)."""
    whole = alpha * counts.shape[1]
    cells = (gammaln(counts + alpha[:, None]) - gammaln(alpha)[:, None]).sum(axis=1)
    out: Float = np.add.reduceat(gammaln(whole) - gammaln(counts.sum(axis=1) + whole) + cells, start)
    return out


def score_rule(name: str, ess: float = 1.0) -> Rule:
    """The score of a name."""
    known: dict[str, Rule] = {"bic": bic, "aic": aic, "bdeu": BDeu(ess), "k2": k2, "loo": loo}
    if name not in known:
        raise InputError(f"score={name!r}: choose one of {', '.join(known)}")
    if not 0 < ess < np.inf:
        raise InputError(f"ess={ess!r}: give a finite number above 0")
    return known[name]


@dataclass(frozen=True)
class Scores:
    """Scores of families from the codes of complete rows, each computed once."""

    codes: Code  # (nodes, rows); only pairs and their information may be asked of rows with missing values, -1
    sizes: tuple[int, ...]  # states of each node
    rule: Rule
    weights: Float | None = None  # (rows,)
    known: dict[Family, float] = field(default_factory=dict)

    def __call__(self, node: int, parents: Iterable[int]) -> float:
        """Of one family; -inf where its table would be larger than memory allows."""
        family = (node, tuple(sorted(parents)))
        if family not in self.known:
            self.known[family] = self._count_families(node, family[1], [])[0]
        return self.known[family]

    def beside(self, node: int, parents: Iterable[int], others: Sequence[int]) -> list[float]:
        """Of a family with one parent more, for each of several: counted together."""
        base = tuple(sorted(parents))
        families = [(node, tuple(sorted((*base, other)))) for other in others]
        new = [i for i, family in enumerate(families) if family not in self.known]
        if new:
            found = self._count_families(node, base, [others[i] for i in new])
            self.known.update(zip((families[i] for i in new), found, strict=True))
        return [self.known[family] for family in families]

    def _pairs(self) -> dict[tuple[int, int], Float]:
        """The tables of all pairs of nodes, of the rows that have both."""
        every = range(len(self.sizes))
        pairs = [(a, b) for a in every for b in every if a < b and self._fits((a, b))]
        return dict(zip(pairs, self._tables(self.sizes, pairs), strict=True))

    def information(self) -> Float:
        """n I(a; b) of all pairs of nodes, n the rows that have both; -inf on the diagonal: (nodes, nodes)."""
        gain = np.full((len(self.sizes), len(self.sizes)), -np.inf)
        first = np.zeros(1, dtype=np.int64)
        for (a, b), table in self._pairs().items():
            gain[a, b] = gain[b, a] = (likelihood(table, first) - likelihood(table.sum(axis=0)[None], first))[0]
        return gain

    def bounded(self, node: int) -> bool:
        """Whether the log-likelihood of a node is at most 0, as that of states is."""
        return True

    def pairs(self) -> None:
        """All families of one parent, counted in one go."""
        every, tables = range(len(self.sizes)), self._pairs()
        for node in every:
            others = [p for p in every if (min(p, node), max(p, node)) in tables]
            counts = [tables[p, node] if p < node else tables[node, p].T for p in others]
            found = self._score_counts(np.concatenate(counts), [self.sizes[p] for p in others]) if counts else []
            self.known.update({(node, (p,)): score for p, score in zip(others, found, strict=True)})

    def _fits(self, nodes: Iterable[int]) -> bool:
        return prod(self.sizes[n] for n in nodes) <= CELLS

    def _count_families(self, node: int, parents: tuple[int, ...], others: Sequence[int]) -> list[float]:
        """The scores of a family with each of several parents more, or as it is if there are none."""
        if not self._fits((node, *parents)):
            return [-np.inf] * max(len(others), 1)
        joined, *rest = (*parents, node)
        family = self.codes[joined]
        for n in rest:
            family = family * np.int32(self.sizes[n]) + self.codes[n]
        last, states = len(self.sizes), self.sizes[node]
        self._buffer[last] = family
        lines = prod(self.sizes[p] for p in parents)
        sizes = (*self.sizes, lines * states)
        if not others:
            return self._score_counts(self._tables(sizes, [(last,)])[0].reshape(-1, states), [lines])
        out = [-np.inf] * len(others)
        fit = [i for i, other in enumerate(others) if self._fits((other, node, *parents))]
        if fit:
            counts = self._tables(sizes, [(others[i], last) for i in fit])
            whole = np.concatenate([table.reshape(-1, states) for table in counts])
            for i, score in zip(
                fit, self._score_counts(whole, [lines * self.sizes[others[i]] for i in fit]), strict=True
            ):
                out[i] = score
        return out

    def _score_counts(self, counts: Float, lines: Sequence[int]) -> list[float]:
        start = np.cumsum([0, *lines[:-1]], dtype=np.int64)
        scores: list[float] = self.rule(counts, start).tolist()
        return scores

    @cached_property
    def _buffer(self) -> Code:
        """The codes with room for one column more, that of a family."""
        return np.vstack([self.codes, np.zeros((1, self.codes.shape[1]), dtype=np.int32)])

    @cached_property
    def _groups(self) -> Code:
        return np.zeros(self.codes.shape[1], dtype=np.int32)

    def _tables(self, sizes: Sequence[int], tables: Sequence[tuple[int, ...]]) -> list[Float]:
        """Tables over some of the columns: each as an array of its sizes."""
        shapes = [tuple(sizes[j] for j in t) for t in tables]
        offset = np.cumsum([0, *map(prod, shapes)], dtype=np.int64)
        light, heavy = (1.0, 1.0) if self.weights is None else weight_range(self.weights)
        cells = ExactSum.zeros((1, int(offset[-1]))).room(*_core.limb_window(1.0, 1.0, 0, light, heavy))
        size = np.ones(len(self._buffer), dtype=np.int32)
        size[: len(sizes)] = sizes
        columns = np.array([j for t in tables for j in t], dtype=np.int32)
        if self.weights is None and tables and all(len(t) == 2 for t in tables):
            pairs = columns.reshape(-1, 2)
            _core.count_pairs(self._buffer, self._groups, pairs, size, offset[:-1], cells.limbs, cells.low)
        else:
            start = np.cumsum([0, *map(len, tables)], dtype=np.int64)
            _core.count_tables(
                self._buffer, self._groups, self.weights, columns, start, size, offset[:-1], cells.limbs, cells.low
            )
        whole = cells.carry().to_float()[0]
        return [whole[a:b].reshape(shape) for a, b, shape in zip(offset[:-1], offset[1:], shapes, strict=True)]


def total(scores: Scores, parents: Mapping[int, Iterable[int]]) -> float:
    """The score of a whole graph."""
    return sum(scores(node, chosen) for node, chosen in parents.items())
