"""Score: how well families, nodes with their parents, explain what was counted of them."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from math import prod
from typing import Protocol

import numpy as np

from bayeskit import _core
from bayeskit.arrays import Code, Float, Int
from bayeskit.deferred import deferred
from bayeskit.errors import InputError
from bayeskit.statistics.exact import ExactSum, weight_range

gammaln = deferred("scipy.special", "gammaln")

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
    return _likelihoods(counts, start)[0]


def bic(counts: Float, start: Int) -> Float:
    """The likelihood less log(n) / 2 for each free probability (Schwarz)."""
    found, rows = _likelihoods(counts, start)
    out: Float = found - np.log(np.maximum(rows, 1.0)) / 2 * _free(counts, start)
    return out


def _likelihoods(counts: Float, start: Int) -> tuple[Float, Float]:
    """The likelihood and the rows of each table."""
    found, rows = np.empty(len(start)), np.empty(len(start))
    _core.likelihoods(np.ascontiguousarray(counts), start, found, rows)
    return found, rows


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
        base, known = tuple(sorted(parents)), self.known
        families = [(node, (*base[: (at := bisect(base, other))], other, *base[at:])) for other in others]
        new = [i for i, family in enumerate(families) if family not in known]
        if new:
            found = self._count_families(node, base, [others[i] for i in new])
            known.update(zip((families[i] for i in new), found, strict=True))
        return [known[family] for family in families]

    def _pairs(self) -> dict[tuple[int, int], Float]:
        """The tables of all pairs of nodes, of the rows that have both."""
        every = range(len(self.sizes))
        pairs = [(a, b) for a in every for b in every if a < b and self._fits((a, b))]
        shapes = [(self.sizes[a], self.sizes[b]) for a, b in pairs]
        ends = np.cumsum([0, *map(prod, shapes)]).tolist()
        whole = self._tables(self.sizes, pairs)
        return {p: whole[a:b].reshape(s) for p, s, a, b in zip(pairs, shapes, ends, ends[1:], strict=False)}

    def information(self) -> Float:
        """n I(a; b) of all pairs of nodes, n the rows that have both; -inf on the diagonal: (nodes, nodes)."""
        gain = np.full((len(self.sizes), len(self.sizes)), -np.inf)
        first = np.zeros(1, dtype=np.int64)
        for (a, b), table in self._pairs().items():
            gain[a, b] = gain[b, a] = (likelihood(table, first) - likelihood(table.sum(axis=0)[None], first))[0]
        return gain

    def constant(self, node: int) -> bool:
        """Whether a node has one state, which neither explains nor is explained."""
        return self.sizes[node] == 1

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
            return self._score_counts(self._tables(sizes, [(last,)]).reshape(-1, states), [lines])
        most, found = CELLS // (lines * states), [-np.inf] * len(others)
        group, cells = list[int](), 0  # others whose tables are counted together
        for i, other in enumerate((*others, 0)):
            size = 0 if i == len(others) else self.sizes[other]
            if group and (not size or cells + size > most):
                counts = self._tables(sizes, [(others[j], last) for j in group]).reshape(-1, states)
                scores = self._score_counts(counts, [lines * self.sizes[others[j]] for j in group])
                for j, score in zip(group, scores, strict=True):
                    found[j] = score
                group, cells = [], 0
            if 0 < size <= most:
                group.append(i)
                cells += size
        return found

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

    def _tables(self, sizes: Sequence[int], tables: Sequence[tuple[int, ...]]) -> Float:
        """The cells of tables over some of the columns, table after table."""
        if not tables:
            return np.empty(0)
        size = np.array([*sizes, 1][: len(self._buffer)], dtype=np.int32)
        columns = np.array([j for t in tables for j in t], dtype=np.int32)
        ends = [0, *accumulate(prod(sizes[j] for j in t) for t in tables)]
        start = np.array([0, *accumulate(map(len, tables))], dtype=np.int64)
        offset = np.array(ends, dtype=np.int64)
        light, heavy = (1.0, 1.0) if self.weights is None else weight_range(self.weights)
        cells = ExactSum.zeros((1, int(offset[-1]))).room(*_core.limb_window(1.0, 1.0, 0, light, heavy))
        if self.weights is None and all(len(t) == 2 for t in tables):
            pairs = columns.reshape(-1, 2)
            _core.count_pairs(self._buffer, self._groups, pairs, size, offset[:-1], cells.limbs, cells.low)
        else:
            _core.count_tables(
                self._buffer, self._groups, self.weights, columns, start, size, offset[:-1], cells.limbs, cells.low
            )
        whole: Float = cells.carry().to_float()[0]
        return whole


def total(scores: Scores, parents: Mapping[int, Iterable[int]]) -> float:
    """The score of a whole graph."""
    return sum(scores(node, chosen) for node, chosen in parents.items())
