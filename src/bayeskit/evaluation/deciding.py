"""Deciding: what a classifier does beside naming the most probable class, and what that costs."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.pipeline import Pipeline

from bayeskit.arrays import Array, Classifier, CostsLike
from bayeskit.decision.costs import Costs
from bayeskit.errors import InputError
from bayeskit.evaluation.actions import Actions
from bayeskit.evaluation.decision_costs import DecisionCosts
from bayeskit.evaluation.protocols import Decider


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
        own = decider.reject if isinstance(decider, Decider) else None
        return DecisionCosts(given.table, own if given.reject is None else given.reject, given.actions, actions)
    if decider.costs is None and not decider.may_abstain:
        return None
    table = Costs.of(decider.costs, classes.tolist())
    priced = decider.costs is not None or decider.reject is not None
    return DecisionCosts(table.matrix_for(classes), decider.reject, table.actions, actions, priced, given=False)


def _decider(model: Classifier) -> Any:
    """Who decides otherwise than for the most probable class, if anyone does."""
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    kinds = (Decider, FixedThresholdClassifier, TunedThresholdClassifierCV)
    return last if isinstance(last, kinds) else None
