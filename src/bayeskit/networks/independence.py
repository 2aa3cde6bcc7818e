"""Independence: whether two columns are informative of each other once others are known, by tests on rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

import numpy as np
from scipy.special import chdtrc, chdtri, fdtrc, gammaln, logsumexp, xlogy
from scipy.stats import random_table

from bayeskit.arrays import Bool, Code, Float, Int
from bayeskit.errors import InputError
from bayeskit.networks.linear import SINGULAR

TESTS = ("auto", "g2", "exact")
ENOUGH = 5.0  # rows for each cell, from which the chi-square distribution holds
LARGEST = 1 << 15  # values of a statistic whose probabilities are written down
FILLINGS = 300  # ways to fill a column of a table that are gone through for it
STRATA = 12  # tables at most for that
DRAWS, BATCH, PLENTY = 2000, 250, 20  # tables drawn at most, at a time, and as extreme ones from which no more are


@dataclass(frozen=True)
class Outcome:
    """A test: its p-value, and how far it goes beyond, which ranks outcomes whose p-values are both 0."""

    p: float
    statistic: float

    @property
    def rank(self) -> tuple[float, float]:
        """Smaller where the columns hang together more."""
        return self.p, -self.statistic


NOTHING = Outcome(1.0, 0.0)


@dataclass(frozen=True)
class Independence:
    """Tests of a and b given others, each made once, on the rows that have all of them.

    Levels: G^2 = 2 sum n log(n / expected) within each state of the others, with (rows - 1)(columns - 1) degrees of
    freedom for the rows and columns that occur there; "auto" takes its exact distribution given all margins where there
    are fewer than five rows to a cell, "g2" never, "exact" always. Numbers: the partial correlation, by Student's t.
    A number and a level: whether regressions on the other numbers are the same in every state of the level, by F.
    Where levels are among the others, each of their states has its own test, and the p-values are joined by Lancaster's
    method, which is exact. Two levels given numbers are not tested: no number stands above a level, so that levels
    alone part them.
    """

    codes: Code  # (nodes, rows): -1 missing; of numbers anything
    sizes: tuple[int, ...]
    number: tuple[int, ...] = ()  # of each node its place among the numbers, -1 of levels
    values: Float = field(default_factory=lambda: np.empty((0, 0)))  # (numbers, rows)
    weights: Float | None = None  # (rows,)
    test: str = "auto"
    seed: int | None = 0
    known: dict[tuple[int, int, tuple[int, ...]], Outcome] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if self.test not in TESTS:
            raise InputError(f"test={self.test!r}: choose one of {', '.join(TESTS)}")
        if not self.number:
            object.__setattr__(self, "number", (-1,) * len(self.sizes))

    def __call__(self, a: int, b: int, given: Sequence[int] = ()) -> Outcome:
        key = (min(a, b), max(a, b), tuple(sorted(given)))
        if key not in self.known:
            self.known[key] = self._test(*key)
        return self.known[key]

    def _test(self, a: int, b: int, given: tuple[int, ...]) -> Outcome:
        levels = [n for n in given if self.number[n] < 0]
        numbers = [self.number[n] for n in given if self.number[n] >= 0]
        if self.number[a] >= 0 and self.number[b] >= 0 and not levels and self._complete:
            return self._correlation(self.number[a], self.number[b], numbers)
        if self.number[a] < 0 and self.number[b] < 0 and not numbers:
            return self._table(a, b, levels)
        if self.number[a] < 0 and self.number[b] < 0:
            raise InputError("two levels given numbers are not tested; give levels, or cut the numbers (cuts)")
        if self.number[a] < 0:
            a, b = b, a
        cells = [cell for cell in self._cells(a, b, levels, numbers) if cell is not None]
        freedom = sum(free for _, free, _ in cells)
        if not cells:
            return NOTHING
        if len(cells) == 1:
            return Outcome(cells[0][0], cells[0][2])
        joined = sum(float(chdtri(free, p)) if p > 0 else np.inf for p, free, _ in cells)
        return Outcome(float(chdtrc(freedom, joined)), sum(far for *_, far in cells))

    # -- levels ------------------------------------------------------------------------------------

    def _table(self, a: int, b: int, given: Sequence[int]) -> Outcome:
        """Counts by state of the others: (strata, states of a, states of b)."""
        shape = (prod(self.sizes[n] for n in given), self.sizes[a], self.sizes[b])
        codes, weights = self._codes, self.weights
        if self._missing[[a, b, *given]].any():
            there = (codes[[a, b, *given]] >= 0).all(axis=0)
            codes, weights = codes[:, there], None if weights is None else weights[there]
        place = np.zeros(codes.shape[1], dtype=np.int64)
        for n in given:
            place = place * self.sizes[n] + codes[n]
        if prod(shape) > max(1 << 16, codes.shape[1]):
            used, place = np.unique(place, return_inverse=True)
            shape = (len(used), *shape[1:])
        place = (place * shape[1] + codes[a]) * shape[2] + codes[b]
        counts = np.bincount(place, weights, minlength=prod(shape)).reshape(shape).astype(np.float64, copy=False)
        rows, columns = counts.sum(axis=2), counts.sum(axis=1)
        free = np.maximum((rows > 0).sum(axis=1) - 1, 0) * np.maximum((columns > 0).sum(axis=1) - 1, 0)
        informative = free > 0
        counts, rows, columns = counts[informative], rows[informative], columns[informative]
        if not informative.any():
            return NOTHING
        whole = rows.sum(axis=1)
        inside = xlogy(counts, counts).sum()
        g = 2 * float(inside - xlogy(rows, rows).sum() - xlogy(columns, columns).sum() + xlogy(whole, whole).sum())
        cells = float(((rows > 0).sum(axis=1) * (columns > 0).sum(axis=1)).sum())
        few = self.test == "exact" or (self.test == "auto" and whole.sum() < ENOUGH * cells)
        if few and (counts == np.rint(counts)).all():
            strata = [
                table[np.ix_(row > 0, column > 0)] for table, row, column in zip(counts, rows, columns, strict=True)
            ]
            return Outcome(exact_p(strata, self.seed), g)
        return Outcome(float(chdtrc(free.sum(), max(g, 0.0))), g)

    @cached_property
    def _codes(self) -> Int:
        return self.codes.astype(np.int64)

    @cached_property
    def _missing(self) -> Bool:
        return np.asarray((self.codes < 0).any(axis=1))

    # -- numbers -----------------------------------------------------------------------------------

    @cached_property
    def _complete(self) -> bool:
        return not np.isnan(self.values).any()

    @cached_property
    def _mass(self) -> Float:
        return np.ones(self.values.shape[1]) if self.weights is None else self.weights

    @cached_property
    def _standard(self) -> Float:
        """Numbers less their means, in deviations: (numbers, rows)."""
        there = ~np.isnan(self.values)
        scale = np.maximum(np.abs(self.values).max(axis=1, initial=0.0, where=there), 1e-300)[:, None]
        x, mass = self.values / scale, there * self._mass
        mass = mass / np.maximum(mass.sum(axis=1), 5e-324)[:, None]
        x = x - (np.where(there, x, 0.0) * mass).sum(axis=1)[:, None]
        deviation = np.sqrt((np.where(there, x, 0.0) ** 2 * mass).sum(axis=1))
        out: Float = x / np.where(deviation > 0, deviation, 1.0)[:, None]
        return out

    @cached_property
    def _products(self) -> Float:
        out: Float = (self._standard * self._mass) @ self._standard.T / self._mass.sum()
        return out

    def _correlation(self, a: int, b: int, given: Sequence[int]) -> Outcome:
        c, rest, held = self._products, np.array([a, b]), np.array(given, dtype=np.int64)
        left = c[np.ix_(rest, rest)]
        if given:
            side = c[np.ix_(held, rest)]
            left = left - side.T @ np.linalg.pinv(c[np.ix_(held, held)], rcond=SINGULAR, hermitian=True) @ side
        free = float(self._mass.sum()) - 2 - len(given)
        if free <= 0 or min(left[0, 0], left[1, 1]) < SINGULAR:
            return NOTHING  # nothing is left to correlate
        rest_share = max(1 - left[0, 1] ** 2 / (left[0, 0] * left[1, 1]), 0.0)
        return _f_test(1.0, rest_share, 1, free)

    def _cells(
        self, a: int, b: int, levels: Sequence[int], numbers: Sequence[int]
    ) -> Iterator[tuple[float, float, float] | None]:
        """p-value, degrees of freedom and statistic in every state of the levels, None where there are too few rows."""
        both = [self.number[n] for n in (a, b) if self.number[n] >= 0]
        coded = [n for n in (a, b, *levels) if self.number[n] < 0]
        there = (self.codes[coded] >= 0).all(axis=0) & ~np.isnan(self.values[[*both, *numbers]]).any(axis=0)
        there &= self._mass > 0
        place = np.zeros(int(there.sum()), dtype=np.int64)
        for n in levels:
            place = place * self.sizes[n] + self.codes[n, there]
        kept = np.flatnonzero(there)
        for cell in np.unique(place).tolist():
            rows = kept[place == cell]
            x, w = self._standard[np.ix_(numbers, rows)], self._mass[rows]
            if self.number[b] < 0:
                yield _regressions(self._standard[self.number[a], rows], self.codes[b, rows], x.T, w)
            else:
                other = self._standard[self.number[b], rows]
                yield _slope(self._standard[self.number[a], rows], other, x.T, w)


def _f_test(before: float, after: float, free: float, rest: float) -> Outcome:
    """Whether a residual sum of squares falls by more than chance."""
    if after <= 0:
        return Outcome(0.0, np.inf)
    f = max(before - after, 0.0) / free / (after / rest)
    return Outcome(float(fdtrc(free, rest, f)), rest * float(np.log(before / after)) if before > 0 else 0.0)


def _residual(design: Float, y: Float, w: Float) -> tuple[float, int]:
    """Weighted residual sum of squares, and the rank of the design."""
    root = np.sqrt(w)
    found, _, rank, _ = np.linalg.lstsq(design * root[:, None], y * root, rcond=1e-10)
    return float((w * (y - design @ found) ** 2).sum()), int(rank)


def _compare(y: Float, w: Float, small: Float, large: Float) -> tuple[float, float, float] | None:
    """An F test of a linear model against one with more columns."""
    (before, few), (after, more) = _residual(small, y, w), _residual(large, y, w)
    free, rest = more - few, float(w.sum()) - more
    if free <= 0 or rest <= 0 or before < SINGULAR * w.sum():
        return None
    found = _f_test(before, after if after > SINGULAR * before else 0.0, free, rest)
    return found.p, free, found.statistic


def _slope(y: Float, x: Float, others: Float, w: Float) -> tuple[float, float, float] | None:
    small = np.column_stack([np.ones(len(y)), others])
    return _compare(y, w, small, np.column_stack([small, x]))


def _regressions(y: Float, code: Code, others: Float, w: Float) -> tuple[float, float, float] | None:
    """Means and slopes by state against the same for all."""
    small = np.column_stack([np.ones(len(y)), others])
    states = np.unique(code)
    return _compare(y, w, small, np.column_stack([small * (code == s)[:, None] for s in states]))


# -- exact distributions -------------------------------------------------------------------------------


def exact_p(tables: Sequence[Float], seed: int | None = 0) -> float:
    """The probability, given all margins, of a sum of G^2 as large as that of these tables, or larger.

    Written down while there are few values, else estimated from tables drawn at random, 2,000 at most, by
    (as extreme + 1) / (drawn + 1).

    >>> round(exact_p([np.array([[3.0, 0.0], [0.0, 3.0]])]), 6)  # 2 of the 20 tables
    0.1
    """
    seen = sum(float(xlogy(t, t).sum()) for t in tables)
    slack = 1e-9 * max(seen, 1.0)
    values, mass = np.zeros(1), np.ones(1)
    for table in tables:
        one = _distribution(table.sum(axis=1), table.sum(axis=0)) if len(tables) <= STRATA else None
        if one is None or len(values) * len(one[0]) > LARGEST:
            return _drawn_p(tables, seen - slack, seed)
        values, mass = _merge((values[:, None] + one[0]).ravel(), np.outer(mass, one[1]).ravel())
    return min(float(mass[values >= seen - slack].sum()), 1.0)


def _merge(values: Float, mass: Float) -> tuple[Float, Float]:
    """Values that differ by rounding alone taken together."""
    order = np.argsort(values, kind="stable")
    values, mass = values[order], mass[order]
    first = np.flatnonzero(np.diff(values, prepend=-np.inf) > 1e-10 * np.maximum(np.abs(values), 1.0))
    return values[first], np.add.reduceat(mass, first)


def _distribution(rows: Float, columns: Float) -> tuple[Float, Float] | None:
    """Values of sum n log n over all tables of these margins, and their probabilities; None where there are too many.

    Column by column: the rows that are left decide what may follow (Mehta and Patel 1983).
    """
    left, tried = {tuple(rows.astype(int).tolist()): (np.zeros(1), np.zeros(1))}, 0
    for column in np.sort(columns)[:-1].astype(int).tolist():
        parts: dict[tuple[int, ...], list[tuple[Float, Float]]] = {}
        for state, (values, logs) in left.items():
            for filled in _fillings(state, column):
                n = np.array(filled)
                rest = tuple(have - take for have, take in zip(state, filled, strict=True))
                far, log = float(xlogy(n, n).sum()), float(gammaln(n + 1).sum())
                parts.setdefault(rest, []).append((values + far, logs - log))
                if (tried := tried + 1) > FILLINGS:
                    return None
        left = {}
        for state, pairs in parts.items():
            values, logs = (np.concatenate([pair[i] for pair in pairs]) for i in (0, 1))
            top = logs.max()
            values, mass = _merge(values, np.exp(logs - top))
            left[state] = values, np.log(mass) + top
        if sum(len(v) for v, _ in left.values()) > LARGEST:
            return None
    ends = []
    for state, (values, logs) in left.items():
        n = np.array(state)
        ends.append((values + xlogy(n, n).sum(), logs - gammaln(n + 1).sum()))
    values, logs = (np.concatenate([pair[i] for pair in ends]) for i in (0, 1))
    return _merge(values, np.exp(logs - logsumexp(logs)))


def _fillings(rows: tuple[int, ...], total: int) -> Iterator[tuple[int, ...]]:
    """How a column of a given total may be filled."""
    if len(rows) == 1:
        if total <= rows[0]:
            yield (total,)
        return
    for first in range(max(0, total - sum(rows[1:])), min(rows[0], total) + 1):
        for rest in _fillings(rows[1:], total - first):
            yield (first, *rest)


def _drawn_p(tables: Sequence[Float], seen: float, seed: int | None) -> float:
    rng = np.random.default_rng(seed)
    makers = [random_table(t.sum(axis=1).astype(int), t.sum(axis=0).astype(int)) for t in tables]
    extreme = drawn = 0
    while drawn < DRAWS and extreme < PLENTY:
        sums = np.zeros(BATCH)
        for maker in makers:
            counts = maker.rvs(BATCH, random_state=rng)
            sums += xlogy(counts, counts).sum(axis=(1, 2))
        extreme, drawn = extreme + int((sums >= seen).sum()), drawn + BATCH
    return (extreme + 1) / (drawn + 1)
