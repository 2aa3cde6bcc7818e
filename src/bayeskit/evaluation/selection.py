"""Selection: columns one by one, by how well the rows are foretold without themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bayeskit import _core
from bayeskit.arrays import Float, Int
from bayeskit.data.block import Block
from bayeskit.model import Model

SLOTS = 8  # rows are filled up to a multiple of this, for the core
WORST = 690.0  # nats: more, a row does not count
FLOOR = 1e5  # nats: what a term counts at least
CRITERIA = ("log_score", "error")


@dataclass(frozen=True)
class Step:
    """One column more, or less."""

    column: int  # -1: where the path begins
    columns: tuple[int, ...]  # chosen after it, ascending
    log_score: float  # mean log P(true class), each row foretold without itself
    error: float  # share of the rows foretold wrongly


@dataclass(frozen=True)
class Odds:
    """Log-odds of the other classes against the true one, from the prior and from each column by itself.

    Each row is left out of what foretells it. The odds of some columns together are the sum of theirs, so trying a
    column costs one addition per row.
    """

    prior: Float  # (K - 1, n)
    terms: Float  # (columns, K - 1, n)
    truth: Float  # (n,) the true class
    weights: Float | None  # (n,)
    weight: float

    @classmethod
    def of(cls, model: Model, blocks: list[Block]) -> Odds:
        """From blocks of learned rows."""
        rows = sum(len(block.own()[0]) for block in blocks)
        columns, others, size = len(model.schema.names), len(model.weights) - 1, rows + -rows % SLOTS
        prior, terms = np.full((others, size), -2 * WORST), np.zeros((columns, others, size))
        truth, weights = np.zeros(size), np.zeros(size)
        start = 0
        for block in blocks:
            row, group, mass = block.own()
            span = slice(start, start + len(row))
            start += len(row)
            # one row is left out at a time, also where it stands for several
            alone = replace(block.at(row), weights=np.minimum(mass, 1.0))
            prior[:, span] = _apart(np.broadcast_to(model.log_prior(own=alone), (len(row), others + 1)), group)
            for j, column in enumerate(np.moveaxis(model.terms(alone, own=True), 1, 0)):
                terms[j, :, span] = _apart(column, group)
            truth[span], weights[span] = group, mass
        plain = bool((weights[:rows] == 1).all())
        return cls(prior, terms, truth, None if plain else weights, float(weights.sum()))

    def tried(self, there: Float, candidates: Int, sign: float) -> Float:
        """Mean log P(true class) and share of errors with each candidate added, or taken away: (candidates, 2)."""
        sums = _core.selection(there, self.terms, sign, self.truth, self.weights, candidates)
        shares: Float = sums / self.weight
        return shares

    def _scored(self, there: Float) -> tuple[float, float]:
        nothing = _core.selection(there, self.terms[:1], 0.0, self.truth, self.weights, np.zeros(1, dtype=np.int64))
        log_score, error = (nothing[0] / self.weight).tolist()
        return log_score, error

    def path(self, forward: bool, criterion: str, steps: int) -> tuple[Step, ...]:
        """Greedy: in each step the column that serves best; the first of equal ones."""
        left = np.arange(len(self.terms))
        chosen: set[int] = set() if forward else set(left.tolist())
        there = self.prior.copy() if forward else self.prior + self.terms.sum(axis=0)
        sign = 1.0 if forward else -1.0
        found = [Step(-1, tuple(sorted(chosen)), *self._scored(there))]
        for _ in range(steps):
            scores = self.tried(there, left, sign)
            goodness = (
                scores[:, 0] if criterion == "log_score" else -scores[:, 1] + 1e-9 * scores[:, 0]
            )  # ties by log score
            best = int(np.argmax(goodness))
            column = int(left[best])
            there += sign * self.terms[column]
            chosen ^= {column}
            left = np.delete(left, best)
            found.append(Step(column, tuple(sorted(chosen)), *scores[best].tolist()))
        return tuple(found)


def best(path: Sequence[Step], criterion: str) -> Step:
    """The step with the best score; with fewest columns of equal ones."""

    def worth(step: Step) -> tuple[float, int]:
        return round(step.log_score if criterion == "log_score" else -step.error, 12), -len(step.columns)

    return max(path, key=worth)


def _apart(logs: Float, group: Int) -> Float:
    """Log-odds of the other classes, in order, against the true one: (K - 1, n)."""
    bounded = np.maximum(logs, -FLOOR)
    own = bounded[np.arange(len(group)), group]
    classes = np.arange(logs.shape[1] - 1)[:, None]
    others = classes + (classes >= group)
    odds: Float = bounded[np.arange(len(group)), others] - own
    return odds
