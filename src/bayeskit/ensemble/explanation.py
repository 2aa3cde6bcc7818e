"""Explanations and nomograms of an ensemble, made of those of its members."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bayeskit.arrays import Float, Label, NamesLike, PriorLike, TableLike
from bayeskit.data.block import Block
from bayeskit.ensemble.candidate import Member
from bayeskit.ensemble.ensemble import Ensemble
from bayeskit.ensemble.pool import FAR, MemberBackoff, back_off_terms
from bayeskit.ensemble.views import ViewCache
from bayeskit.errors import InputError
from bayeskit.explain.explanation import Explanation
from bayeskit.explain.nomogram import Link, Nomogram
from bayeskit.explain.words import name_parts
from bayeskit.model.batch_predictor import BatchPredictor
from bayeskit.model.model import Model
from bayeskit.structures.neighbours import NeighbourDensity

BACK_OFF: str = "(back-off)"


def explain(ensemble: Ensemble, X: TableLike, prior: PriorLike = None, names: NamesLike = None) -> Explanation:
    """The terms of all members, each counting as much as the member and as it shows once that is backed off."""
    reader = ensemble.reader
    plain = reader.explain(X, prior=prior)
    parts = (*plain.parts, BACK_OFF)
    place = {name: j for j, name in enumerate(parts)}
    terms = np.zeros((len(plain), len(parts), len(ensemble.classes)))
    base, seen = ensemble.log_base(prior).copy(), ViewCache.of(reader.model_, X)
    rival = np.argmax(ensemble.score(seen), axis=1) if ensemble.members else np.empty(0, dtype=np.int64)
    for member, weight in zip(ensemble.members, ensemble.pool.weight, strict=True):
        table = seen.through(member.view)
        logs, own = member.classifier.predict_log_proba(table), np.zeros_like(terms)
        for name, term in _terms(member, table, plain.parts):
            own[:, place[name]] += np.clip(term, -FAR, FAR)
        start = member.classifier.model_.log_base()
        first, moved, rest = back_off_terms(start, own, logs, ensemble.log_shares, ensemble.weight, rival)
        base += weight * first
        terms += weight * moved
        terms[:, -1] += weight * rest
    kept = [j for j, name in enumerate(parts) if name in plain.parts or terms[:, j].any()]
    values = tuple((*row, "") for row in plain.values)
    unseen = np.zeros((len(plain), 0), dtype=bool) if plain.unseen is None else plain.unseen
    return replace(
        plain,
        prior=base,
        parts=name_parts([parts[j] for j in kept], reader.model_.schema.names, names),
        terms=terms[:, kept],
        values=tuple(tuple(row[j] for j in kept) for row in values),
        unseen=np.pad(unseen, ((0, 0), (0, len(parts) - unseen.shape[1])))[:, kept],
        proba=np.exp(ensemble.log_posterior(X, prior)),
        asked=None,
        density=False,
    )


def _terms(member: Member, table: Any, columns: Sequence[str]) -> Iterator[tuple[str, Float]]:
    """Columns with what a member says of them, (n, K); one may come several times, as the numbers of a view do.

    Neighbours see a row as a whole: a column says what changes as it is revealed, in schema order.
    """
    model = member.classifier.model_
    owners = columns if member.view is None else member.view.owners
    (density,) = model.density.densities if member.together else (None,)
    if not isinstance(density, NeighbourDensity):
        found = member.classifier.explain(table).terms
        yield from zip(owners, found.swapaxes(0, 1), strict=True)
        return
    order = {name: j for j, name in enumerate(n for n in columns if n in set(owners))}
    owner = {name: order[mine] for name, mine in zip(model.schema.names, owners, strict=True)}

    def asked(model: Model, block: Block, *_: object) -> Float:
        return density.stages(block, owner)

    answers = (len(order) + 1) * len(model.weights)
    rows = BatchPredictor.of(model, table, member.name).steps(None, asked, answers=answers)
    yield from zip(order, np.diff(np.concatenate(list(rows)), axis=1).swapaxes(0, 1), strict=True)


def nomogram(
    ensemble: Ensemble,
    pair: tuple[Label | None, Label | None],
    prior: PriorLike = None,
    among: TableLike | None = None,
    names: NamesLike = None,
) -> Nomogram:
    """Points that add up to the odds of a pair of classes: of one member, with columns independent given two."""
    if not ensemble.members:
        raise InputError("nothing predicts the class better than its prior here, so there are no points to add up")
    member, *others = ensemble.members
    mixed = [m.name for m in ensemble.members if m.view is not None or not m.classifier.model_.density.additive]
    if mixed or others or len(ensemble.classes) > 2:
        why = (
            f"its member {mixed[0]!r} has columns that depend on each other"
            if mixed
            else f"its {len(ensemble.members)} members are each backed off to the prior, which is no sum over columns"
            if others
            else "between more than two classes a member backed off to the prior is no sum over columns"
        )
        raise InputError(f"a nomogram adds up points column by column, and {why}; explain the rows instead")
    plain = member.classifier.nomogram(*pair, among=among, names=names)
    places, base = list(plain.pair), ensemble.log_base(prior)
    shift = float(base[places[0]] - base[places[1]])
    backed = MemberBackoff(ensemble.log_shares[places], ensemble.weight, float(ensemble.pool.weight[0]), shift)
    reader = ensemble.reader.model_
    return replace(
        plain,
        link=Link(backed.odds, backed.member_odds),
        explain=lambda rows: member.classifier.explain(ViewCache.of(reader, rows).X),
    )
