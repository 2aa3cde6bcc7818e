"""Score: how well a family, a node with its parents, explains what was counted of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np
from scipy.special import gammaln, xlogy

from bayeskit import _core
from bayeskit.arrays import Code, Float
from bayeskit.errors import InputError
from bayeskit.statistics.exact import ExactSum, weight_range

CELLS = 1 << 22  # the largest table of a family
SCORES = ("bic", "aic", "bdeu", "k2")
Family = tuple[int, tuple[int, ...]]  # a node and its parents, ascending


def likelihood(counts: Float) -> float:
    """Largest log-likelihood of a table (parents' states, states): sum of n log(n / N)."""
    return float(xlogy(counts, counts).sum() - xlogy(rows := counts.sum(axis=1), rows).sum())


def bic(counts: Float) -> float:
    """The likelihood less log(n) / 2 for each free probability (Schwarz)."""
    return likelihood(counts) - np.log(max(counts.sum(), 1.0)) / 2 * _free(counts)


def aic(counts: Float) -> float:
    """The likelihood less one for each free probability (Akaike)."""
    return likelihood(counts) - _free(counts)


def bdeu(counts: Float, ess: float = 1.0) -> float:
    """log of the marginal likelihood under a Dirichlet prior of ``ess`` rows spread over all cells."""
    return _dirichlet(counts, ess / max(counts.size, 1))


def k2(counts: Float) -> float:
    """The same with one pseudo-row in every cell (Cooper and Herskovits)."""
    return _dirichlet(counts, 1.0)


def _free(counts: Float) -> int:
    return counts.shape[0] * (counts.shape[1] - 1)


def _dirichlet(counts: Float, alpha: float) -> float:
    used = counts[counts.any(axis=1)]  # parents' states without a row add nothing
    rows, whole = used.sum(axis=1), alpha * used.shape[1]
    seen = used[used > 0]
    return float((gammaln(whole) - gammaln(rows + whole)).sum() + (gammaln(seen + alpha) - gammaln(alpha)).sum())


def score_rule(name: str, ess: float) -> Callable[[Float], float]:
    """The score of a name."""
    if name not in SCORES:
        raise InputError(f"score={name!r}: choose one of {', '.join(SCORES)}")
    if name == "bdeu":
        return lambda counts: bdeu(counts, ess)
    return {"bic": bic, "aic": aic, "k2": k2}[name]


@dataclass(frozen=True)
class Scores:
    """Scores of families from the codes of rows, each computed once.

    A family is counted in the rows that have all of it (available cases), and its score is scaled up to all rows, so
    that families with more holes are not preferred for having less to explain.
    """

    codes: Code  # (nodes, rows): -1 where missing
    sizes: tuple[int, ...]  # states of each node
    rule: Callable[[Float], float]
    weights: Float | None = None  # (rows,)
    known: dict[Family, float] = field(default_factory=dict)

    def __call__(self, node: int, parents: Iterable[int]) -> float:
        """Of one family; -inf where its table would be larger than memory allows."""
        family = (node, tuple(sorted(parents)))
        if family not in self.known:
            self.known[family] = self._joined(node, family[1], [])[0]
        return self.known[family]

    def beside(self, node: int, parents: Iterable[int], others: Sequence[int]) -> list[float]:
        """Of a family with one parent more, for each of several: counted together."""
        base = tuple(sorted(parents))
        families = [(node, tuple(sorted((*base, other)))) for other in others]
        new = [i for i, family in enumerate(families) if family not in self.known]
        if new:
            found = self._joined(node, base, [others[i] for i in new])
            self.known.update(zip((families[i] for i in new), found, strict=True))
        return [self.known[family] for family in families]

    def pairs(self) -> None:
        """All families of one parent, counted in one go."""
        every = range(len(self.sizes))
        some = [(a, b) for a in every for b in every if a < b and self._fits((a, b))]
        for (a, b), counts in zip(some, self._counts(self.codes, self.sizes, some), strict=True):
            self.known[b, (a,)], self.known[a, (b,)] = self._scaled(counts), self._scaled(counts.T)

    def _fits(self, nodes: Iterable[int]) -> bool:
        return prod(self.sizes[n] for n in nodes) <= CELLS

    def _joined(self, node: int, parents: tuple[int, ...], others: Sequence[int]) -> list[float]:
        """The scores of a family with each of several parents more, or as it is if there are none."""
        if not self._fits((node, *parents)):
            return [-np.inf] * max(len(others), 1)
        family = np.zeros(self.codes.shape[1], dtype=np.int32)
        for n in (*parents, node):
            family = np.where((family < 0) | (self.codes[n] < 0), -1, family * np.int32(self.sizes[n]) + self.codes[n])
        states = self.sizes[node]
        size = states * prod(self.sizes[p] for p in parents)
        if not others:
            (counts,) = self._counts(family[None].astype(np.int32), (size,), [(0,)])
            return [self._scaled(counts.reshape(-1, states))]
        out = [-np.inf] * len(others)
        fit = [i for i, other in enumerate(others) if self._fits((other, node, *parents))]
        codes = np.vstack([self.codes[[others[i] for i in fit]], family[None].astype(np.int32)])
        sizes = (*(self.sizes[others[i]] for i in fit), size)
        tables = self._counts(codes, sizes, [(i, len(fit)) for i in range(len(fit))])
        for i, counts in zip(fit, tables, strict=True):
            out[i] = self._scaled(counts.reshape(-1, states))
        return out

    def _scaled(self, counts: Float) -> float:
        present, rows = float(counts.sum()), self._rows
        score = self.rule(counts)
        return score if present == rows or not present > 0 else score * (rows / present)

    @property
    def _rows(self) -> float:
        return float(self.codes.shape[1] if self.weights is None else self.weights.sum())

    def _counts(self, codes: Code, sizes: Sequence[int], tables: Sequence[tuple[int, ...]]) -> list[Float]:
        """Tables over some of the columns: each as an array of its sizes."""
        shapes = [tuple(sizes[j] for j in t) for t in tables]
        offset = np.cumsum([0, *map(prod, shapes)], dtype=np.int64)
        light, heavy = (1.0, 1.0) if self.weights is None else weight_range(self.weights)
        cells = ExactSum.zeros((1, int(offset[-1]))).room(*_core.window(1.0, 1.0, 0, light, heavy))
        codes, size = np.ascontiguousarray(codes), np.array(sizes, dtype=np.int32)
        groups = np.zeros(codes.shape[1], dtype=np.int32)
        used = np.array([j for t in tables for j in t], dtype=np.int32)
        if self.weights is None and all(len(t) == 2 for t in tables) and len(tables):
            _core.pairs(codes, groups, used.reshape(-1, 2), size, offset[:-1], cells.limbs, cells.low)
        else:
            start = np.cumsum([0, *map(len, tables)], dtype=np.int64)
            _core.count(codes, groups, self.weights, used, start, size, offset[:-1], cells.limbs, cells.low)
        whole = cells.carried().rounded()[0]
        return [whole[a:b].reshape(shape) for a, b, shape in zip(offset[:-1], offset[1:], shapes, strict=True)]


def total(scores: Scores, parents: Mapping[int, Iterable[int]]) -> float:
    """The score of a whole graph."""
    return sum(scores(node, some) for node, some in parents.items())
