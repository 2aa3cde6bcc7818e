"""Value of information: what knowing a missing value is expected to save, before it is paid for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bayeskit.arrays import Float, Frame, Label
from bayeskit.data.frame import frame
from bayeskit.decision.costs import Costs
from bayeskit.decision.error import integrate
from bayeskit.decision.sampling import Column, column_of, rows_of
from bayeskit.docstrings import document_frame
from bayeskit.errors import InputError
from bayeskit.model.model import Model

FIELDS = ("column", "saving", "price", "net")


@dataclass(frozen=True)
class InformationValue:
    """For each value that is not known: what knowing it saves on the average, its price, and the difference.

    saving = min over actions of E[cost] - E over the value of min over actions of E[cost | value], which is never below
    0: a test is worth its price where ``net`` is above 0, and says nothing for this decision where ``saving`` is 0.
    """

    columns: tuple[str, ...]  # the one with the largest net first
    saving: Float  # (m,)
    price: Float  # (m,)
    action: Label  # the best without any of them
    cost: float  # what that is expected to cost
    left_out: tuple[str, ...] = ()  # columns whose density cannot be summed or integrated

    @property
    def net(self) -> Float:
        """Saving less price: (m,)."""
        net: Float = self.saving - self.price
        return net

    @property
    def best(self) -> str | None:
        """The column to ask for first; None if none is worth its price."""
        return self.columns[0] if len(self.columns) and self.net[0] > 0 else None

    @document_frame
    def frame(self, kind: str = "pyarrow") -> Frame:
        """A line for each column: column, saving, price, net."""
        values = (list(self.columns), self.saving.tolist(), self.price.tolist(), self.net.tolist())
        return frame(dict(zip(FIELDS, values, strict=True)), kind)

    def __str__(self) -> str:
        width = max([6, *map(len, self.columns)])
        lines = [f"without more: {self.action}, expected cost {self.cost:.4g}"]
        lines += [f"{'':{width}}  saving   price     net"] * bool(self.columns)
        for name, saving, price, net in zip(self.columns, self.saving, self.price, self.net, strict=True):
            lines.append(f"{name:{width}}  {saving:6.4g}  {price:6.4g}  {net:+6.4g}")
        if not self.columns and not self.left_out:
            lines.append("nothing is missing that could be asked")
        if self.left_out:
            lines.append(f"not known of: {', '.join(self.left_out)}")
        return "\n".join(lines)


def value_of_columns(
    model: Model,
    known: Mapping[str, object],
    log_prior: Float,
    costs: Costs,
    asked: Sequence[str] | None = None,
    prices: Mapping[str, float] | None = None,
) -> InformationValue:
    """The value of each missing column of a row with these values, by the model's own predictive distribution.

    p(v | x) = sum over c of P(c | x) p(v | c, x): levels, whole numbers and the
    intervals of a model that cuts its numbers are summed over, numbers integrated.
    """
    if model.weighting is not None or not model.density.normalised or model.density.class_ratios:
        raise InputError(
            "value_of_information needs p(value | row), and these likelihoods are no densities (fitted weights, "
            "forests, ReplaceZeros, AddM, Multinomial, Complement); choose a model without them"
        )
    missing = [n for n in model.schema.names if n not in known and model.schema[n].missing != "level"]
    for name in asked or ():
        if name not in model.schema:
            raise InputError(f"{name!r} is no column of the model (it has: {', '.join(model.schema.names[:20])})")
        if name not in missing:
            raise InputError(
                f"column {name!r} is known in this row, so nothing is to be learned from it; leave it empty"
            )
    table = costs.matrix_for(model.classes)
    start = model.joint(model.counted.block(rows_of(model, {n: [v] for n, v in known.items()}, 1)), log_prior)
    evidence = np.logaddexp.reduce(start, axis=1)[0]
    if not np.isfinite(evidence):
        raise InputError("the row is impossible by the model, so nothing follows from it; use smoothing above 0")
    good = table.max() - table  # (K, actions), so that more is better and nothing is below 0

    def value(given: Mapping[str, object], rows: int) -> Float:
        """P(x) times what each action is worth, with more known: (rows, actions)."""
        whole = {n: [v] * rows for n, v in known.items()} | dict(given)
        joint = model.joint(model.counted.block(rows_of(model, whole, rows)), log_prior)
        worth: Float = np.exp(joint - evidence) @ good
        return worth

    found, left = {}, []
    for name in missing if asked is None else asked:
        try:
            column = _column(model, name)
        except InputError:
            if asked is not None:
                raise
            left.append(name)
            continue
        found[name] = 0.0 if column is None else _saving(column, value, good.shape[1])
    now = value({}, 1)[0]
    best = int(np.argmax(now))
    return rank_values(found, prices, costs.actions[best], float(table.max() - now[best]), tuple(left))


def rank_values(
    saving: Mapping[str, float],
    prices: Mapping[str, float] | None,
    action: Label,
    cost: float,
    left_out: tuple[str, ...] = (),
) -> InformationValue:
    """The columns by what is left of their saving once they are paid for."""
    given = dict(prices or {})
    if unknown := [name for name in given if name not in saving and name not in left_out]:
        raise InputError(f"prices name {unknown[0]!r}, which is known already, or no column; price what is missing")
    if bad := [name for name, price in given.items() if not (np.isfinite(price) and price >= 0)]:
        raise InputError(f"the price of {bad[0]!r} is {given[bad[0]]!r}; give a number of at least 0")
    names = sorted(saving, key=lambda name: (given.get(name, 0.0) - saving[name], name))
    worth, price = np.array([saving[n] for n in names]), np.array([given.get(n, 0.0) for n in names])
    return InformationValue(tuple(names), worth, price, action, cost, left_out)


def _column(model: Model, name: str) -> Column | None:
    """A column as it can be summed over: of one that the model cuts, a value of each interval."""
    if name in model.density.intervals and name not in model.constant:
        return Column(name, model.density.intervals[name].tolist(), np.empty(0))
    return column_of(model, name)


def _saving(column: Column, value: Callable[[Mapping[str, object], int], Float], actions: int) -> float:
    """What knowing a column saves: the best action for each value, less the best for all."""
    if not column.continuous:
        worth = value({column.name: list(column.values)}, len(column.values))
        return max(float(worth.max(axis=1).sum() - worth.sum(axis=0).max()), 0.0)
    right, mass = integrate(lambda x: value({column.name: x[:, 0]}, len(x)), [column.points], actions)
    if column.point_mass:
        zero = value({column.name: [0.0]}, 1)[0]
        return max(float(right.sum() + zero.max() - (mass + zero).max()), 0.0)
    return max(float(right.sum() - mass.max()), 0.0)
