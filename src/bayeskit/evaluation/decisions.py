"""Decisions: what they cost, were expected to cost and did, and what acting at a threshold is worth, as curves too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from bayeskit.arrays import Array, ArrayLike, Bool, Classifier, CostsLike, Float, Frame, Int, Label
from bayeskit.data.frame import TableRepr, frame
from bayeskit.decision.costs import Costs
from bayeskit.docstrings import document_frame_like_x
from bayeskit.errors import InputError
from bayeskit.evaluation.intervals import by_rows
from bayeskit.evaluation.protocols import Decider
from bayeskit.numerics.rates import curve, effective, ratio, wilson

COST = 5  # expected, realised, whether it was decided, whether by naming a class, and whether rightly
POINTS = np.arange(1, 100) / 100


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

    def _columns_of_actions(self, expected: Float, action: Int) -> Int:
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

    def count_actions(self, codes: Int, proba: Float, action: Int, weights: Float) -> Float:
        """Weights by true class and column of the table, the rows left undecided last: (K, actions + 1)."""
        classes, actions = self.table.shape
        column = self._columns_of_actions(proba @ self.table, action)
        place = codes * (actions + 1) + np.where(column < 0, actions, column)
        counts: Float = np.bincount(place, weights, minlength=classes * (actions + 1)).astype(np.float64)
        return counts.reshape(classes, actions + 1)

    def price_actions(self, codes: Int, proba: Float, action: Int) -> Float:
        """By row what the action was expected to cost and turned out to, whether it was decided, by naming a class,
        and rightly: (COST, n). ``action`` is what the model does."""
        expected, row = proba @ self.table, np.arange(len(codes))
        column = self._columns_of_actions(expected, action)
        decided, undecided = column >= 0, 0.0 if self.reject is None else self.reject
        least = np.where(decided, expected[row, column], undecided)
        realised = np.where(decided, self.table[codes, column], undecided)
        named = decided & (action < len(self.table))
        return np.stack([least, realised, *(x.astype(np.float64) for x in (decided, named, named & (action == codes)))])


@dataclass(frozen=True)
class Actions:
    """Codes are those of the classes, which a model may name, then of whatever else it does.

    >>> codes, actions = Actions(("ill", "well")).encode(["well", "wait", "ill"])
    >>> codes.tolist(), actions.others
    ([1, 2, 0], ('wait',))
    """

    classes: tuple[Any, ...]
    others: tuple[Any, ...] = ()  # actions that are no classes
    abstain: int | None = None  # the code that stands for no decision

    @property
    def names(self) -> tuple[Label, ...]:
        return (*self.classes, *self.others)

    def encode(self, taken: Sequence[Label] | Array) -> tuple[Int, Actions]:
        """The code of each action taken, (n,), and the actions with those that are new."""
        code = {name: k for k, name in enumerate(self.names)}
        if isinstance(taken, np.ndarray) and taken.dtype != object:
            different, first, place = np.unique(taken, return_index=True, return_inverse=True)
            for name in different[np.argsort(first)].tolist():
                code.setdefault(name, len(code))
            codes = np.array([code[name] for name in different.tolist()], dtype=np.int64)[place]
        else:
            codes = np.array([code.setdefault(name, len(code)) for name in list(taken)], dtype=np.int64)
        return codes, replace(self, others=tuple(code)[len(self.classes) :])


def price_decisions(costs: CostsLike, reject: float | None, classes: Array) -> DecisionCosts | None:
    """The cost table by the classes of the sample; being wrong costs 1 where only rejection has a price."""
    if costs is None and reject is None:
        return None
    if reject is not None and not np.isfinite(reject):
        raise InputError(f"reject={reject!r}: give the cost of leaving a row undecided")
    table = Costs.of(costs, classes.tolist())
    return DecisionCosts(table.matrix_for(classes), None if reject is None else float(reject), table.actions)


def actions_of(model: Classifier, classes: Array) -> Actions:
    """The actions a classifier is known to take; others may come up."""
    known, decider = tuple(classes.tolist()), _decider(model)
    if not isinstance(decider, Decider):
        return Actions(known)
    others = tuple(a for a in Costs.of(decider.costs, known).actions if a not in known)
    if not decider.may_abstain or decider.abstain in known:
        return Actions(known, others)
    others = others if decider.abstain in others else (*others, decider.abstain)
    return Actions(known, others, len(known) + others.index(decider.abstain))


def costs_of_decisions(model: Classifier, given: DecisionCosts | None, classes: Array) -> DecisionCosts | None:
    """What is at stake: a classifier that decides has its own actions priced, by the costs given or else by its own."""
    decider = _decider(model)
    if decider is None or (given is None and not isinstance(decider, Decider)):
        return given
    actions = actions_of(model, classes)
    if given is not None:
        own = decider.reject_cost if isinstance(decider, Decider) else None
        return DecisionCosts(given.table, own if given.reject is None else given.reject, given.actions, actions)
    if decider.costs is None and not decider.may_abstain:
        return None
    table = Costs.of(decider.costs, classes.tolist())
    priced = decider.costs is not None or decider.reject_cost is not None
    return DecisionCosts(table.matrix_for(classes), decider.reject_cost, table.actions, actions, priced, given=False)


def _decider(model: Classifier) -> Any:
    """Who decides otherwise than for the most probable class, if anyone does."""
    from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV  # slow to load
    from sklearn.pipeline import Pipeline

    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    kinds = (Decider, FixedThresholdClassifier, TunedThresholdClassifierCV)
    return last if isinstance(last, kinds) else None


THRESHOLDS = np.arange(1, 100) / 100


@dataclass(frozen=True, eq=False, repr=False)
class DecisionCurve(TableRepr):
    """Net benefit of treating the rows whose probability of a class is at least t, for each threshold t.

    benefit(t) = (true positives - false positives * t / (1 - t)) / n, in true positives a row (Vickers and Elkin,
    Medical Decision Making 26, 2006). t / (1 - t) is what a false alarm costs by what a find is worth. Treating none
    has benefit 0, treating all π - (1 - π) t / (1 - t), π the share of the class. Intervals are of the mean over rows.

    >>> proba, ill = np.array([0.9, 0.6, 0.4, 0.1]), np.array([True, False, True, False])
    >>> found = DecisionCurve.of("ill", proba, ill, thresholds=[0.5])
    >>> found.benefit.tolist(), found.treat_all.tolist()
    ([0.0], [0.0])
    """

    label: Label
    share: float  # of the class
    threshold: Float  # (m,)
    found: Float  # (m,) share of all rows that is of the class and treated
    false: Float  # (m,) share of all rows that is of another class and treated
    low: Float  # (m,) of the benefit, with 95 % confidence
    high: Float
    kind: str = "pyarrow"

    @classmethod
    def of(
        cls,
        label: Label,
        proba: Float,
        positive: Bool,
        weights: Float | None = None,
        thresholds: ArrayLike = THRESHOLDS,
    ) -> DecisionCurve:
        """From the probability of a class in each row, and whether the row is of it: (n,) each."""
        t = np.asarray(thresholds, dtype=np.float64)
        if t.ndim != 1 or not len(t) or not ((t > 0) & (t < 1)).all():
            raise InputError("thresholds are probabilities to act at: give some between 0 and 1")
        if not len(proba):
            raise InputError("a decision curve needs rows")
        w = np.ones(len(proba)) if weights is None else weights
        order = np.argsort(proba, kind="stable")
        first = np.searchsorted(proba[order], t, side="left")  # rows from there on are treated
        total, rows = float(w.sum()), float(effective(w.sum(), w @ w))
        above = [np.append(np.cumsum((w * side)[order][::-1])[::-1], 0.0)[first] for side in (positive, ~positive)]
        found, false = (np.asarray(ratio(part, total)) for part in above)
        odds = t / (1 - t)
        mean = found - false * odds
        second = found + false * odds**2 - mean**2
        third = found - false * odds**3 - 3 * mean * (found + false * odds**2) + 2 * mean**3
        every = zip(mean.tolist(), second.tolist(), third.tolist(), strict=True)
        ends = [by_rows(m, max(v, 0.0), s, rows) for m, v, s in every]
        low, high = np.array([e.low for e in ends]), np.array([e.high for e in ends])
        return cls(label, float(ratio((w * positive).sum(), total)), t, found, false, low, high)

    @property
    def benefit(self) -> Float:
        """By the model: (m,)."""
        return self.found - self.false * self._odds

    @property
    def treat_all(self) -> Float:
        """Of treating every row: (m,)."""
        return self.share - (1 - self.share) * self._odds

    @property
    def useful(self) -> Bool:
        """Where the model is worth more than treating all and than treating none: (m,)."""
        useful: Bool = self.benefit > np.maximum(self.treat_all, 0.0) + 1e-12
        return useful

    @property
    def sensitivity(self) -> Float:
        """Share of the class that is treated: (m,)."""
        return ratio(self.found, np.full(len(self.found), self.share))

    @property
    def precision(self) -> Float:
        """Share of those treated that is of the class, NaN where none is: (m,)."""
        return ratio(self.found, self.found + self.false)

    @property
    def _odds(self) -> Float:
        odds: Float = self.threshold / (1 - self.threshold)
        return odds

    @document_frame_like_x
    def frame(self, kind: str | None = None) -> Frame:
        """A line for each threshold."""
        columns: dict[str, Any] = {
            "threshold": self.threshold,
            "net_benefit": self.benefit,
            "low": self.low,
            "high": self.high,
            "treat_all": self.treat_all,
            "treat_none": np.zeros(len(self.threshold)),
            "true_positives": self.found,
            "false_positives": self.false,
        }
        return frame(columns, kind or self.kind)

    def _title(self) -> str:
        return f"net benefit of acting on P({self.label}), in true positives a row"

    def _lines(self) -> list[list[str]]:
        chosen = np.unique(np.linspace(0, len(self.threshold) - 1, min(9, len(self.threshold))).astype(int)).tolist()
        lines = [["threshold", "net benefit", "95 % from", "to", "treat all", "treat none"]]
        for i in chosen:
            values = (self.benefit[i], self.low[i], self.high[i], self.treat_all[i], 0.0)
            lines.append([f"{self.threshold[i]:g}", *(f"{x:.4f}" for x in values)])
        return lines


@dataclass(frozen=True, eq=False, repr=False)
class CostCurve(TableRepr):
    """Cost of deciding for a class by its probability, as a share of the most it can be, by how dear misses are.

    PC = π m / (π m + (1 - π) f), π the share of the class, m and f what a miss and a false alarm cost; the cost of a
    threshold is FNR PC + FPR (1 - PC), a line (Drummond and Holte, Machine Learning 65, 2006). ``cost`` is that of the
    threshold f / (f + m), which right probabilities make the best; ``least`` that of the best threshold for these very
    rows, known afterwards only; always saying the class, or never, costs min(PC, 1 - PC). Intervals are Wilson's of
    both rates, combined (MOVER).

    >>> proba, ill = np.array([0.9, 0.6, 0.4, 0.1]), np.array([True, False, True, False])
    >>> found = CostCurve.of("ill", proba, ill, np.ones(4), np.array([0.5]))
    >>> found.cost.tolist(), found.least.tolist(), found.trivial.tolist()
    ([0.5], [0.25], [0.5])
    """

    label: Label
    weighed: Float  # (m,) PC
    threshold: Float  # (m,) of the probability, at which costs alone would decide
    cost: Float  # (m,)
    low: Float  # (m,) with 95 % confidence
    high: Float
    least: Float  # (m,)
    kind: str = "pyarrow"

    @classmethod
    def of(cls, label: Label, proba: Float, positive: Bool, weights: Float, weighed: Float | None = None) -> CostCurve:
        """From the probability of a class in each row, and whether the row is of it: (n,) each."""
        pc = POINTS if weighed is None else np.asarray(weighed, dtype=np.float64)
        if pc.ndim != 1 or not len(pc) or not ((pc > 0) & (pc < 1)).all():
            raise InputError("balances are shares of the cost that misses have: give some between 0 and 1")
        mine, rest = float(weights @ positive), float(weights @ ~positive)
        if not (mine > 0 and rest > 0):
            raise InputError(f"a cost curve needs rows of class {label!r} and rows of others")
        share = mine / (mine + rest)
        threshold = share * (1 - pc) / (share * (1 - pc) + (1 - share) * pc)
        missed = np.array([weights @ (positive & (proba < t)) for t in threshold]) / mine
        alarmed = np.array([weights @ (~positive & (proba >= t)) for t in threshold]) / rest
        cost = missed * pc + alarmed * (1 - pc)
        rows = [float(effective(weights[side].sum(), weights[side] @ weights[side])) for side in (positive, ~positive)]
        below, above = np.zeros(len(pc)), np.zeros(len(pc))
        for rates, n, part in ((missed, rows[0], pc), (alarmed, rows[1], 1 - pc)):
            ends = [wilson(rate, n) for rate in rates.tolist()]
            below += (part * (rates - [e.low for e in ends])) ** 2
            above += (part * ([e.high for e in ends] - rates)) ** 2
        found = curve(proba, positive, weights)
        lines = (1 - found.true_positive) * pc[:, None] + found.false_positive * (1 - pc)[:, None]
        return cls(label, pc, threshold, cost, cost - np.sqrt(below), cost + np.sqrt(above), lines.min(axis=1))

    @property
    def trivial(self) -> Float:
        """Of saying the same of every row: (m,)."""
        return np.minimum(self.weighed, 1 - self.weighed)

    @property
    def useful(self) -> Bool:
        """Where decisions cost less than saying the same of every row: (m,)."""
        useful: Bool = self.cost < self.trivial - 1e-12
        return useful

    @document_frame_like_x
    def frame(self, kind: str | None = None) -> Frame:
        """A line for each balance."""
        columns: dict[str, Any] = {
            "probability_cost": self.weighed,
            "threshold": self.threshold,
            "cost": self.cost,
            "low": self.low,
            "high": self.high,
            "least": self.least,
            "trivial": self.trivial,
        }
        return frame(columns, kind or self.kind)

    def _title(self) -> str:
        return f"cost of deciding for {self.label}, as a share of the most it can be"

    def _lines(self) -> list[list[str]]:
        chosen = np.unique(np.linspace(0, len(self.weighed) - 1, min(9, len(self.weighed))).astype(int)).tolist()
        lines = [["misses' share", "threshold", "cost", "95 % from", "to", "least", "trivial"]]
        each = (self.threshold, self.cost, self.low, self.high, self.least, self.trivial)
        for i in chosen:
            lines.append([f"{self.weighed[i]:g}", *(f"{column[i]:.4f}" for column in each)])
        return lines
