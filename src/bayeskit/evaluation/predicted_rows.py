"""PredictedRows: rows with their true class, and what a model said and did."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bayeskit.arrays import Bool, Float, Int
from bayeskit.evaluation.decision_costs import COST, DecisionCosts


@dataclass(frozen=True)
class PredictedRows:
    """What scores are made of.

    >>> rows = PredictedRows(np.array([0, 1]), np.array([[0.8, 0.2], [0.6, 0.4]]))
    >>> rows.done.tolist(), rows.true.tolist()
    ([0, 0], [0.8, 0.4])
    """

    codes: Int  # (n,) true class, -1 where it is not known
    proba: Float  # (n, K)
    weights: Float | None = None  # (n,); None: all 1
    action: Int | None = None  # (n,) what was done: a class, or from K on another action; None: the most probable class
    costs: DecisionCosts | None = None

    @cached_property
    def best(self) -> Int:
        """The most probable class: (n,)."""
        best: Int = np.argmax(self.proba, axis=1)
        return best

    @property
    def done(self) -> Int:
        """What the model did: (n,)."""
        return self.best if self.action is None else self.action

    @cached_property
    def true(self) -> Float:
        """P(true class): (n,)."""
        mine: Float = self.proba[np.arange(len(self.codes)), self.codes]
        return mine

    @cached_property
    def paid(self) -> Float:
        """As ``DecisionCosts.tallied``, zero without costs: (COST, n)."""
        if self.costs is None:
            return np.zeros((COST, len(self.codes)))
        return self.costs.tallied(self.codes, self.proba, self.done)

    def take(self, some: Bool | Int) -> PredictedRows:
        """Some of the rows."""
        weights = None if self.weights is None else self.weights[some]
        action = None if self.action is None else self.action[some]
        return PredictedRows(self.codes[some], self.proba[some], weights, action, self.costs)
