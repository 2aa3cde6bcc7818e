"""Bundling: a pool of classifiers as one file, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import bayeskit
from bayeskit.bundle import Bundle
from bayeskit.errors import ModelFileError
from bayeskit.estimators.candidates import Member
from bayeskit.estimators.classifier import BayesClassifier
from bayeskit.estimators.roll import Line, Roll
from bayeskit.estimators.views import View
from bayeskit.model import Model
from bayeskit.pool import Pool
from bayeskit.record import Read

POOL = ("weight", "bias", "gain", "curvature")


def bundled(
    name: str,
    settings: Mapping[str, Any],
    encoder: BayesClassifier,
    members: Sequence[Member],
    pool: Pool,
    roll: Roll,
) -> Bundle:
    """All that a pool has learned."""
    parts = {"encoder": _kept(encoder), **{f"member {i}": _kept(m.classifier) for i, m in enumerate(members)}}
    numbers = {f"pool.{n}": getattr(pool, n) for n in POOL}
    for i, view in enumerate(m.view for m in members):
        numbers |= {} if view is None else {f"view {i}.{n}": a for n, a in view.numbers().items()}
    notes = {
        "names": [m.name for m in members],
        "views": [None if m.view is None else m.view.described() for m in members],
        "roll": [[n, *(v if np.isfinite(v) else None for v in values), why] for n, *values, why in roll.lines],
        "rows": roll.rows,
    }
    return Bundle(name, dict(settings), parts, notes, numbers)


def unbundled(bundle: Bundle) -> tuple[BayesClassifier, tuple[Member, ...], Pool, Roll]:
    """Encoder, members, pool and roll; members that see the same share a view."""
    notes, numbers = bundle.notes, bundle.numbers
    made = {name: revived(*part) for name, part in bundle.parts.items()}
    members: list[Member] = []
    for i, (name, view) in enumerate(zip(notes["names"], notes["views"], strict=True)):
        mine = {k.removeprefix(f"view {i}."): a for k, a in numbers.items() if k.startswith(f"view {i}.")}
        member = Member(name, made[f"member {i}"], None if view is None else View.rebuilt(view, mine))
        same = next((m for m in members if member.sees_like(m)), member)
        members.append(replace(member, view=same.view))
    pool = Pool(*(numbers[f"pool.{n}"] for n in POOL))
    lines = [
        Line._make([n, *(np.nan if v is None else float(v) for v in values), why]) for n, *values, why in notes["roll"]
    ]
    if len(members) != len(pool.weight) or len(pool.bias) != len(made["encoder"].classes_):
        raise ModelFileError("its members do not fit its weights")
    return made["encoder"], tuple(members), pool, Roll(tuple(lines), int(notes["rows"]))


def _kept(classifier: BayesClassifier) -> Read:
    return classifier.model_, type(classifier).__name__, classifier._settings


def revived(model: Model, name: str, settings: dict[str, Any]) -> BayesClassifier:
    """The estimator of a model that was saved."""
    kind = getattr(bayeskit, name)
    if not issubclass(kind, BayesClassifier):
        raise ModelFileError(f"a {name} is no classifier of one model")
    made: BayesClassifier = kind(**settings)
    made._adopt(model)
    return made
