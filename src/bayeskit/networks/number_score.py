"""MixedScores: scores of families in which nodes are levels or numbers, from sums of products by cell."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

import numpy as np
from scipy.special import gammaln

from bayeskit.arrays import Code, Float, Int
from bayeskit.errors import InputError, NetworkError
from bayeskit.networks.linear import SINGULAR
from bayeskit.networks.score import CELLS, Family, Scores, score_rule
from bayeskit.numerics.special import LOG_2PI

NUMBER_SCORES = ("bic", "aic", "bge")
KEPT = 1 << 24  # products of cells that are kept


@dataclass(frozen=True)
class MixedScores(Scores):
    """Levels as ``Scores`` has them, numbers as linear normals given levels and numbers; a level has none above it.

    "bic" and "aic" are those of bnlearn ("bic-g", "bic-cg"): the deviation of a cell is that with n - p - 1 degrees of
    freedom, and each cell has p slopes, a mean and a deviation. "bge" is the marginal likelihood under a normal-Wishart
    prior (Geiger and Heckerman 1994, corrected by Kuipers, Moffa and Heckerman 2014).
    """

    names: tuple[str, ...] = ()
    score: str = "bic"
    ess: float = 1.0
    number: tuple[int, ...] = ()  # of each node its place among the numbers, -1 of levels
    values: Float = field(default_factory=lambda: np.empty((0, 0)))  # (numbers, rows)
    _grams: OrderedDict[tuple[int, ...], tuple[Float, Float, Float]] = field(default_factory=OrderedDict, repr=False)

    @classmethod
    def of(
        cls,
        names: Sequence[str],
        sizes: dict[str, int],
        rows: tuple[Code, Float],
        score: str,
        ess: float,
        weights: Float | None,
    ) -> MixedScores:
        """Of nodes by name; those with ``sizes`` are levels, in the order of codes, the others numbers."""
        codes, values = rows
        if score not in NUMBER_SCORES:
            raise InputError(
                f"score={score!r} is for levels alone, and {next(n for n in names if n not in sizes)!r} is a number; "
                f"choose one of {', '.join(NUMBER_SCORES)}, or cut the numbers into intervals (cuts)"
            )
        if score == "bge" and sizes:
            raise InputError(f'score="bge" is for numbers alone, and {next(iter(sizes))!r} has levels; choose "bic"')
        score_rule("bic", ess)  # refuses a wrong ess
        numbers = [n for n in names if n not in sizes]
        number = tuple(numbers.index(n) if n not in sizes else -1 for n in names)
        every = np.zeros((len(names), values.shape[1] if len(values) else codes.shape[1]), dtype=np.int32)
        for code, name in zip(codes, sizes, strict=True):
            every[names.index(name)] = code
        rule = score_rule("aic" if score == "aic" else "bic")
        return cls(
            every,
            tuple(sizes.get(n, 1) for n in names),
            rule,
            weights,
            {},
            tuple(names),
            score,
            ess,
            number,
            values,
        )

    def check_singular(self) -> None:
        """Refuse numbers of which one is a linear function of another: no density has both."""
        x = self._standard
        near = np.abs(x * self._weights @ x.T) / self._weights.sum() > 1 - SINGULAR
        for i, j in np.argwhere(np.triu(near, 1))[:1].tolist():
            one, other = (self.names[self.number.index(k)] for k in (i, j))
            raise NetworkError(f"the number {one!r} is an exact linear function of {other!r}; leave one of them out")

    def __call__(self, node: int, parents: Iterable[int]) -> float:
        family = (node, tuple(sorted(parents)))
        if family not in self.known:
            self.known[family] = self._of(family)
        return self.known[family]

    def beside(self, node: int, parents: Iterable[int], others: Sequence[int]) -> list[float]:
        base = tuple(parents)
        if self.number[node] < 0:
            levels = [p for p in others if self.number[p] < 0]
            if all(self.number[p] < 0 for p in base) and levels:
                super().beside(node, base, levels)
        return [self(node, (*base, other)) for other in others]

    def constant(self, node: int) -> bool:
        return self.number[node] < 0 and super().constant(node)

    def bounded(self, node: int) -> bool:
        return self.number[node] < 0

    def pairs(self) -> None:
        """Scores of single parents are found when they are asked for."""

    def information(self) -> Float:
        raise InputError(f"search='chow-liu' is for levels alone; cut {self._first_number!r} into intervals (cuts)")

    @property
    def _first_number(self) -> str:
        return self.names[next(i for i, j in enumerate(self.number) if j >= 0)]

    def _of(self, family: Family) -> float:
        node, parents = family
        levels = tuple(p for p in parents if self.number[p] < 0)
        numbers = [self.number[p] for p in parents if self.number[p] >= 0]
        if self.number[node] < 0:
            return -np.inf if numbers else self._count_families(node, parents, [])[0]
        if prod(self.sizes[p] for p in levels) * (len(numbers) + 2) > CELLS:
            return -np.inf
        mine = [*numbers, self.number[node]]
        weight, mean, scatter = self._gram(levels)
        if self.score == "bge":
            return self._bge(float(weight[0]), mean[0], scatter[0], mine)
        return self._normal(weight, scatter[np.ix_(range(len(weight)), mine, mine)], mine, levels)

    # -- sums of products --------------------------------------------------------------------------

    @cached_property
    def _units(self) -> tuple[Float, Float]:
        """Mean and deviation of each number: (numbers,) each."""
        weights = self._weights
        share = weights / weights.sum()
        scale = np.maximum(np.abs(self.values).max(axis=1, initial=0.0), 1e-300)
        mean = (self.values / scale[:, None]) @ share * scale
        away = (self.values - mean[:, None]) / scale[:, None]
        deviation = np.sqrt((away**2) @ share) * scale
        return mean, np.where(deviation > 0, deviation, 1.0)

    @cached_property
    def _weights(self) -> Float:
        return np.ones(self.values.shape[1]) if self.weights is None else self.weights

    @cached_property
    def _standard(self) -> Float:
        mean, deviation = self._units
        out: Float = (self.values - mean[:, None]) / deviation[:, None]
        return out

    def _gram(self, levels: tuple[int, ...]) -> tuple[Float, Float, Float]:
        """Weight (C,), mean (C, d) and centred products (C, d, d) of the standardised numbers in the occupied cells."""
        if levels in self._grams:
            self._grams.move_to_end(levels)
            return self._grams[levels]
        cell = np.zeros(self.values.shape[1], dtype=np.int64)
        for p in levels:
            cell = cell * self.sizes[p] + self.codes[p]
        used, place = np.unique(cell, return_inverse=True)
        order = np.argsort(place, kind="stable")
        ends = np.searchsorted(place[order], np.arange(len(used) + 1))
        d = len(self.values)
        weight, mean, scatter = np.empty(len(used)), np.empty((len(used), d)), np.empty((len(used), d, d))
        for c in range(len(used)):
            rows: Int = order[ends[c] : ends[c + 1]]
            w, x = self._weights[rows], self._standard[:, rows]
            weight[c] = w.sum()
            mean[c] = x @ w / max(weight[c], 5e-324)
            away = x - mean[c][:, None]
            scatter[c] = (away * w) @ away.T
        kept = weight > 0
        found = weight[kept], mean[kept], scatter[kept]
        self._grams[levels] = found
        while len(self._grams) > 1 and sum(s.size for _, _, s in self._grams.values()) > KEPT:
            self._grams.popitem(last=False)
        return found

    # -- scores ------------------------------------------------------------------------------------

    def _normal(self, weight: Float, scatter: Float, mine: list[int], levels: tuple[int, ...]) -> float:
        """bic or aic; -inf where a cell has too few rows for its deviation, or a family is singular."""
        p = len(mine) - 1
        freedom = weight - p - 1
        if not (freedom > 0).all():
            return -np.inf
        rest = scatter[:, -1, -1].copy()
        if p:
            x, y = scatter[:, :-1, :-1], scatter[:, :-1, -1]
            size = np.sqrt(np.einsum("cii->ci", x))
            if not (size > 0).all():
                return -np.inf
            correlation = x / size[:, :, None] / size[:, None, :]
            if (np.linalg.eigvalsh(correlation)[:, 0] < SINGULAR * p).any():
                return -np.inf
            side = y / size
            rest -= np.einsum("ci,ci->c", side, np.linalg.solve(correlation, side[:, :, None])[:, :, 0])
        variance = rest / freedom
        if not (variance > SINGULAR).all():  # of the whole column it is 1
            return -np.inf
        scale = float(np.log(self._units[1][mine[-1]]))
        likelihood = float((-0.5 * weight * (LOG_2PI + np.log(variance)) - 0.5 * freedom - weight * scale).sum())
        free = prod(self.sizes[q] for q in levels) * (p + 2)
        return likelihood - free * (1.0 if self.score == "aic" else float(np.log(weight.sum())) / 2)

    def _bge(self, n: float, mean: Float, scatter: Float, mine: list[int]) -> float:
        """With the prior mean at the mean of the rows, ess pseudo-rows for it, and d + 2 degrees of freedom."""
        d, p = len(self.values), len(mine) - 1
        freedom, ess = d + 2.0, self.ess
        t = ess * (freedom - d - 1) / (ess + 1)
        deviation = self._units[1]
        raw = scatter[np.ix_(mine, mine)] * np.outer(deviation[mine], deviation[mine])
        after = raw + t * np.eye(p + 1)
        degrees = freedom - d + p + 1
        found = 0.5 * (np.log(ess) - np.log(n + ess)) - 0.5 * n * np.log(np.pi)
        found += gammaln(0.5 * (n + degrees)) - gammaln(0.5 * degrees)
        found += 0.5 * (degrees * (p + 1) - (degrees - 1) * p) * np.log(t)
        found += 0.5 * (n + degrees - 1) * (np.linalg.slogdet(after[:-1, :-1])[1] if p else 0.0)
        found -= 0.5 * (n + degrees) * np.linalg.slogdet(after)[1]
        return float(found)
