"""DecisionCosts: what actions cost, and what each row's action was expected to cost and did."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bayeskit.arrays import Float, Int
from bayeskit.errors import InputError
from bayeskit.evaluation.actions import Actions

COST = 5  # expected, realised, whether it was decided, whether by naming a class, and whether rightly


@dataclass(frozen=True)
class DecisionCosts:
    """What actions cost, with rejection as one action more if it has a price.

    A model that decides by itself has ``own`` actions, which are priced; for any other the action of least expected
    cost is taken.
    """

    table: Float  # (K, actions) rows are true classes
    reject: float | None = None
    actions: tuple[Any, ...] = ()  # their names
    own: Actions | None = None
    priced: bool = True  # whether there are costs, not only reasons to abstain
    given: bool = True  # to evaluate; else they are the model's

    @property
    def abstains(self) -> bool:
        """Whether rows may be left undecided."""
        return self.reject is not None if self.own is None else self.own.abstain is not None

    @cached_property
    def _column(self) -> Int:
        """Of each action of the model its column in the table, -1 if it abstains, -2 if there is none: (codes,)."""
        assert self.own is not None
        place = {name: j for j, name in enumerate(self.actions)}
        found = [place.get(name, -2) for name in self.own.names]
        if self.own.abstain is not None:
            found[self.own.abstain] = -1
        return np.array(found, dtype=np.int64)

    def _taken(self, expected: Float, action: Int) -> Int:
        """The column of the table each row's action is in, -1 if it is left undecided: (n,)."""
        if self.own is not None:
            column = self._column[action]
            if (column == -2).any():
                name = self.own.names[int(action[np.argmax(column == -2)])]
                raise InputError(
                    f"the model's action {name!r} has no cost (priced are {', '.join(map(str, self.actions))}); add it "
                    f"to the costs"
                )
            return column
        best = np.argmin(expected, axis=1)
        least = expected[np.arange(len(best)), best]
        return best if self.reject is None else np.where(least <= self.reject, best, -1)

    def tallied(self, codes: Int, proba: Float, action: Int) -> Float:
        """By row what the action was expected to cost and turned out to, whether it was decided, by naming a class,
        and rightly: (COST, n). ``action`` is what the model does."""
        expected, row = proba @ self.table, np.arange(len(codes))
        column = self._taken(expected, action)
        decided, undecided = column >= 0, 0.0 if self.reject is None else self.reject
        least = np.where(decided, expected[row, column], undecided)
        realised = np.where(decided, self.table[codes, column], undecided)
        named = decided & (action < len(self.table))
        return np.stack([least, realised, *(x.astype(np.float64) for x in (decided, named, named & (action == codes)))])
