"""Decisions of least expected cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bayeskit.arrays import Array, ArrayLike, CostsLike, Float, Frame, HasColumns, Int, Label
from bayeskit.data.frame import frame
from bayeskit.decision.costs import Costs
from bayeskit.errors import InputError

SLACK = 1e-6  # how far from one probabilities may sum


@dataclass(frozen=True)
class Decision:
    """For each row the action of least expected cost, what every action is expected to cost, and how close it was."""

    actions: Array  # (A,) as in the cost table
    expected: Float  # (n, A) sum over classes of P(c | x) cost(c, action)

    @cached_property
    def best(self) -> Int:
        """Position of the action taken, the first of the cost table in a tie: (n,)."""
        best: Int = np.argmin(self.expected, axis=1)
        return best

    @property
    def action(self) -> Array:
        """What to do: (n,)."""
        return self.actions[self.best]

    @property
    def cost(self) -> Float:
        """What the action taken is expected to cost: (n,)."""
        return np.take_along_axis(self.expected, self.best[:, None], axis=1)[:, 0]

    @property
    def margin(self) -> Float:
        """How much more the next best action is expected to cost; infinite if there is no other: (n,)."""
        if self.expected.shape[1] == 1:
            return np.full(len(self.expected), np.inf)
        two = np.partition(self.expected, 1, axis=1)
        margin: Float = two[:, 1] - two[:, 0]
        return margin

    def __len__(self) -> int:
        return len(self.expected)

    def frame(self, kind: str = "pyarrow") -> Frame:
        """Action, margin and the expected cost of every action, a row for each."""
        costs = {f"cost of {a}": self.expected[:, j] for j, a in enumerate(self.actions)}
        return frame({"action": self.action, "margin": self.margin, **costs}, kind)


def decide(proba: ArrayLike, costs: CostsLike, classes: Sequence[Label] | Array | None = None) -> Decision:
    """The action with the least expected cost, sum over c of P(c | x) cost(c, action), for each row.

    Parameters
    ----------
    proba : array of shape (n, K) or frame
        P(class | row); one row may be given flat.
    costs : Costs, mapping, frame or path
        What each action costs under each class.
    classes : sequence, optional
        The classes of the columns of ``proba``. Without it the columns of a frame go by their names, and those of an
        array by the rows of the cost table.

    Returns
    -------
    Decision
        ``action``, (n,), and ``expected``, (n, actions), the expected cost of every action.

    Examples
    --------
    >>> costs = Costs({"ill": {"treat": 1, "wait": 50}, "well": {"treat": 5, "wait": 0}})
    >>> decision = decide([[0.05, 0.95], [0.5, 0.5]], costs)
    >>> decision.action, decision.expected
    (array(['wait', 'treat'], dtype=object), array([[ 4.8,  2.5],
           [ 3. , 25. ]]))
    """
    known = [] if classes is None else list(classes)
    table = Costs.of(costs, known) if known or not isinstance(costs, Costs) else costs
    if classes is None:
        classes = list(proba.columns) if isinstance(proba, HasColumns) else table.classes
    order = list(classes)
    matrix = table.matrix_for(order)
    p = probabilities(proba, order)
    actions = np.empty(len(table.actions), dtype=object)
    actions[:] = table.actions
    return Decision(actions, p @ matrix)


def probabilities(proba: ArrayLike, classes: Sequence[Label]) -> Float:
    """Checked: one column for each class, no negative or missing value, rows that sum to one."""
    p = np.atleast_2d(np.asarray(proba, dtype=np.float64))
    if p.ndim != 2 or p.shape[1] != len(classes):
        raise InputError(f"proba has the shape {p.shape}, but there are {len(classes)} classes: one column for each")
    bad = ~np.isfinite(p).all(axis=1) | (p < 0).any(axis=1) | (np.abs(p.sum(axis=1) - 1) > SLACK)
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(
            f"row {row} of proba is {p[row].tolist()}, which is no distribution (its sum is {p[row].sum():g}); "
            f"give probabilities that sum to one"
        )
    return p
