"""Explanations and nomograms of an ensemble, made of those of its members."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bayeskit.arrays import Label, NamesLike, PriorLike, TableLike
from bayeskit.ensemble.ensemble import Ensemble
from bayeskit.ensemble.pool import FAR, MemberBackoff, backed_off_terms
from bayeskit.ensemble.views import ViewCache
from bayeskit.errors import InputError
from bayeskit.explain.explanation import Explanation
from bayeskit.explain.nomogram import Link, Nomogram
from bayeskit.explain.words import name_parts

NEIGHBOURS: str = "(neighbours)"
BACK_OFF: str = "(back-off)"


def explain(ensemble: Ensemble, X: TableLike, prior: PriorLike = None, names: NamesLike = None) -> Explanation:
    """The terms of all members, each counting as much as the member and as it shows once that is backed off.

    Members that see a row as a whole (neighbours) have one part of their own.
    """
    reader = ensemble.reader
    plain = reader.explain(X, prior=prior)
    parts = (*plain.parts, NEIGHBOURS, BACK_OFF)
    place = {name: j for j, name in enumerate(parts)}
    terms = np.zeros((len(plain), len(parts), len(ensemble.classes)))
    base, seen = ensemble.log_base(prior).copy(), ViewCache.of(reader.model_, X)
    rival = np.argmax(ensemble.score(seen), axis=1) if ensemble.members else np.empty(0, dtype=np.int64)
    for member, weight in zip(ensemble.members, ensemble.pool.weight, strict=True):
        table = seen.through(member.view)
        found, logs = member.classifier.explain(table), member.classifier.predict_log_proba(table)
        owners = [NEIGHBOURS] if member.together else found.parts if member.view is None else member.view.owners
        own = np.zeros_like(terms)
        for j, name in enumerate(owners):
            own[:, place[name]] += np.clip(found.terms[:, j], -FAR, FAR)
        first, moved, rest = backed_off_terms(found.prior, own, logs, ensemble.log_shares, ensemble.weight, rival)
        base += weight * first
        terms += weight * moved
        terms[:, -1] += weight * rest
    kept = [j for j, name in enumerate(parts) if name in plain.parts or terms[:, j].any()]
    values = tuple((*row, "", "") for row in plain.values)
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
