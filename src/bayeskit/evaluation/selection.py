"""Selection: columns one by one, by how well the rows are predicted without themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bayeskit import _core
from bayeskit.arrays import Array, Float, Int
from bayeskit.data.block import Block
from bayeskit.model.model import Model

TILE = 512  # rows that the core looks at together
CLOSE = 2.0**-22  # nats: single precision may be wrong by half of that, in each of two columns
SLOTS = 8  # rows are filled up to a multiple of this, for the core
WORST = 690.0  # nats: more, a row does not count
FLOOR = 1e5  # nats: what a term counts at least
CRITERIA = ("log_score", "error")


@dataclass(frozen=True)
class Step:
    """One column more, or less."""

    column: int  # -1: where the path begins
    columns: tuple[int, ...]  # chosen after it, ascending
    log_score: float  # mean log P(true class), each row predicted without itself
    error: float  # share of the rows predicted wrongly


@dataclass(frozen=True)
class Odds:
    """Log-odds of the other classes against the true one, from the prior and from each column by itself.

    Each row is left out of what predicts it. The odds of some columns together are the sum of theirs, so trying a
    column costs one addition per row.
    """

    prior: Float  # (K - 1, n)
    terms: Float  # (columns, K - 1, n)
    truth: Float  # (n,) the true class
    weights: Float | None  # (n,)
    weight: float

    @classmethod
    def of(cls, model: Model, blocks: list[Block]) -> Odds:
        """From blocks of learned rows; those of a class stand together, which the core likes."""
        rows = sum(len(block.rows_with_weight()[0]) for block in blocks)
        columns, others, size = len(model.schema.names), len(model.weights) - 1, rows + -rows % SLOTS
        prior, terms = np.zeros((others, size)), np.zeros((columns, others, size))
        prior[:, rows:] = -2 * WORST
        truth, weights = np.zeros(size), np.zeros(size)
        start = 0
        for block in blocks:
            row, group, mass = block.rows_with_weight()
            order = np.argsort(group.astype(np.int16 if others < 1 << 15 else np.int64), kind="stable")  # by digits
            span = slice(start, start + len(row))
            start += len(row)
            # one row is left out at a time, also where it stands for several
            once = None if (mass >= 1).all() else np.minimum(mass[order], 1.0)
            alone = replace(block.at(row[order]), weights=once)
            before = np.array(np.broadcast_to(model.log_prior(left_out=alone), (len(row), others + 1)))
            _core.log_odds(before, alone.classes, FLOOR, prior[:, span])
            model.density.left_out.odds(alone, FLOOR, terms[:, :, span])
            truth[span], weights[span] = group[order], mass[order]
        plain = bool((weights[:rows] == 1).all())
        return cls(prior, terms, truth, None if plain else weights, float(weights.sum()))

    def path(self, forward: bool, criterion: str, steps: int) -> tuple[Step, ...]:
        """Greedy: in each step the column that serves best; the first of equal ones."""
        left = np.arange(len(self.terms))
        chosen: set[int] = set() if forward else set(left.tolist())
        trail = Trail.of(self, forward)
        found = [Step(-1, tuple(sorted(chosen)), *trail.scored)]
        for _ in range(steps):
            best = trail.best(left, criterion)
            column = int(left[best])
            trail.take(column)
            chosen ^= {column}
            left = np.delete(left, best)
            found.append(Step(column, tuple(sorted(chosen)), *trail.scored))
        return tuple(found)


@dataclass
class Trail:
    """A path under way: what is there, and how well it serves.

    e^d of what is there times e^d of a column is e^d of both: a trial needs no exponential, only products of what is
    known, in single precision. The columns that could be best by that are tried again in full.
    """

    odds: Odds
    sign: float
    there: Float  # (K - 1, n) log-odds
    powers: Float  # (K - 1, n) e^there
    reach: Float  # (tiles,) the largest |there|
    factors: tuple[Array, Float]  # (tiles, columns, K - 1, TILE) e^(sign * terms), (tiles, columns) the largest |terms|
    scored: tuple[float, float]  # mean log P(true class) and share of errors

    @classmethod
    def of(cls, odds: Odds, forward: bool) -> Trail:
        """From no column, or from all."""
        there = odds.prior.copy() if forward else odds.prior + odds.terms.sum(axis=0)
        sign = 1.0 if forward else -1.0
        columns, others, rows = odds.terms.shape
        tiles = -(-rows // TILE)
        factors = np.empty((tiles, columns, others, TILE), dtype=np.float32), np.empty((tiles, columns))
        _core.selection_factors(odds.terms, sign, *factors)
        new = cls(odds, sign, there, np.empty_like(there), np.empty(tiles), factors, (0.0, 0.0))
        new.take(None)
        return new

    def take(self, column: int | None) -> None:
        """Go one step."""
        term = None if column is None else self.odds.terms[column]
        rows = self.odds.truth, self.odds.weights
        sums = _core.selection_update(self.there, term, self.sign, *rows, self.powers, self.reach)
        self.scored = sums[0] / self.odds.weight, sums[1] / self.odds.weight

    def best(self, left: Int, criterion: str) -> int:
        """The place among the columns left of the one that serves best."""
        rows = self.there, self.odds.terms, self.sign, self.odds.truth, self.odds.weights
        able = np.arange(len(left))
        if criterion == "log_score":
            quick = _core.selection_approximate(*rows, self.powers, self.reach, *self.factors, left)
            able = np.flatnonzero(quick >= quick.max() - CLOSE * self.odds.weight)
            if len(able) == 1:
                return int(able[0])
        scores = _core.selection_scores(*rows, left[able])
        goodness = (
            scores[:, 0] if criterion == "log_score" else -scores[:, 1] + 1e-9 * scores[:, 0]
        )  # ties by log score
        return int(able[np.argmax(goodness)])


def best(path: Sequence[Step], criterion: str) -> Step:
    """The step with the best score; with fewest columns of equal ones."""

    def worth(step: Step) -> tuple[float, int]:
        return round(step.log_score if criterion == "log_score" else -step.error, 12), -len(step.columns)

    return max(path, key=worth)
