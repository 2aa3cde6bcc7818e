"""Marginal: what a pool says of the class when it knows one column alone; of two together: pairwise effects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.special import log_softmax

from bayeskit.arrays import Float, PriorLike
from bayeskit.data.block import Block
from bayeskit.ensemble.candidate import Member
from bayeskit.ensemble.ensemble import Ensemble
from bayeskit.ensemble.pool import evidence
from bayeskit.explain.marginal import Marginal
from bayeskit.explain.marginal import marginal as marginal_of_model
from bayeskit.explain.pairwise import PairwiseEffect
from bayeskit.model.model import Model


def marginal(ensemble: Ensemble, name: str, prior: PriorLike = None) -> Marginal:
    """p(x | c) = p(x) P(c | x) / P(c) of one column: P(c | x) is the pool's answer to rows that have no other value.

    P(c) is its answer to a row without any value, and p(x) is that of the model which reads the table for the members,
    between the least and the greatest value seen.
    """
    plain = _within_seen(marginal_of_model(ensemble.reader.model_, name, prior))
    said, nothing = _log_posterior(ensemble, {name: plain.values}, prior), _log_posterior(ensemble, {}, prior)
    with np.errstate(divide="ignore"):
        whole = np.logaddexp.reduce(plain.log_density + np.log(plain.prior), axis=1, keepdims=True)
        whole -= np.logaddexp.reduce(whole[:, 0] + np.log(plain.weights))
    return replace(plain, prior=np.exp(nothing[0]), log_density=whole + said - nothing, weight=1.0)


def pairwise(ensemble: Ensemble, first: str, second: str, prior: PriorLike = None) -> PairwiseEffect:
    """What two columns say together, and what of it neither says alone."""
    model = ensemble.reader.model_
    one, two = (_within_seen(marginal_of_model(model, name, prior)).typical() for name in (first, second))
    m, n = len(one), len(two)
    grid = {first: [a for a in one for _ in two], second: [*two] * m}
    nothing = _log_posterior(ensemble, {}, prior)
    both = (_log_posterior(ensemble, grid, prior) - nothing).reshape(m, n, -1)
    each = (_log_posterior(ensemble, {name: at}, prior) - nothing for name, at in ((first, one), (second, two)))
    a, b = each
    return PairwiseEffect((first, second), ensemble.classes, (one, two), np.exp(nothing[0]), both, (a, b))


def _within_seen(plain: Marginal) -> Marginal:
    """Without the values beyond those seen: a normal density has mass below 0 where no row can be."""
    if not plain.continuous or not np.isfinite(plain.seen).all():
        return plain
    low, high = plain.seen
    kept = [i for i, value in enumerate(plain.values) if low <= value <= high]
    values = [plain.values[i] for i in kept]
    return replace(plain, values=values, weights=plain.weights[kept], log_density=plain.log_density[kept])


def _log_posterior(ensemble: Ensemble, known: Mapping[str, Sequence[Any]], prior: PriorLike) -> Float:
    """What the pool says of rows of which it knows these columns alone, log P(c | them); of one row if none: (n, K)."""
    reader = ensemble.reader.model_
    rows = max((len(values) for values in known.values()), default=1)
    given = {name: pa.array(values) for name, values in known.items()}
    table = [given.get(name, pa.nulls(rows)) for name in reader.schema.names]
    scores = np.tile(ensemble.log_base(prior), (rows, 1))
    for member, weight in zip(ensemble.members, ensemble.pool.weight, strict=True):
        logs = _log_posterior_of(member, reader, known, table)
        scores += weight * evidence(logs, ensemble.log_shares, ensemble.weight)
    out: Float = log_softmax(scores, axis=1)
    return out


def _log_posterior_of(member: Member, reader: Model, known: Mapping[str, object], table: list[Any]) -> Float:
    """What a member says of them: (n, K)."""
    model, owners = member.classifier.model_, reader.schema.names
    if member.view is not None:
        numbers = member.view.of_blocks([_block(reader, table)])
        table, owners = [pa.array(column) for column in numbers.T], tuple(member.view.owners)
    mine = np.array([owner in known for owner in owners], dtype=bool)
    return model.posterior(_block(model, table).reveal(mine), log=True)


def _block(model: Model, table: list[Any]) -> Block:
    return model.counted.block(pa.RecordBatch.from_arrays(table, names=list(model.schema.names)))
