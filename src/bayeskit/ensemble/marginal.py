"""Marginal: what a pool says of the class when it knows one column alone."""

from __future__ import annotations

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
from bayeskit.model.model import Model


def marginal(ensemble: Ensemble, name: str, prior: PriorLike = None) -> Marginal:
    """p(x | c) = p(x) P(c | x) / P(c) of one column: P(c | x) is the pool's answer to rows that have no other value.

    P(c) is its answer to a row without any value, and p(x) is that of the model which reads the table for the members,
    between the least and the greatest value seen.
    """
    reader = ensemble.reader.model_
    plain = _within_seen(marginal_of_model(reader, name, prior))
    values = pa.array(plain.values)
    rows = len(values) + 1  # the last has no value
    asked = pa.concat_arrays([values, pa.nulls(1, values.type)])
    table = [asked if column == name else pa.nulls(rows) for column in reader.schema.names]
    scores = np.tile(ensemble.log_base(prior), (rows, 1))
    for member, weight in zip(ensemble.members, ensemble.pool.weight, strict=True):
        logs = _log_posterior(member, reader, name, table)
        scores += weight * evidence(logs, ensemble.log_shares, ensemble.weight)
    said = log_softmax(scores, axis=1)
    with np.errstate(divide="ignore"):
        whole = np.logaddexp.reduce(plain.log_density + np.log(plain.prior), axis=1, keepdims=True)
        whole -= np.logaddexp.reduce(whole[:, 0] + np.log(plain.weights))
    return replace(plain, prior=np.exp(said[-1]), log_density=whole + said[:-1] - said[-1], weight=1.0)


def _within_seen(plain: Marginal) -> Marginal:
    """Without the values beyond those seen: a normal density has mass below 0 where no row can be."""
    if not plain.continuous or not np.isfinite(plain.seen).all():
        return plain
    low, high = plain.seen
    kept = [i for i, value in enumerate(plain.values) if low <= value <= high]
    values = [plain.values[i] for i in kept]
    return replace(plain, values=values, weights=plain.weights[kept], log_density=plain.log_density[kept])


def _log_posterior(member: Member, reader: Model, name: str, table: list[Any]) -> Float:
    """What a member says of rows of which it knows this column, and of the last without it: (n, K)."""
    model, owners = member.classifier.model_, reader.schema.names
    if member.view is not None:
        numbers = member.view.of_blocks([_block(reader, table)])
        table, owners = [pa.array(column) for column in numbers.T], tuple(member.view.owners)
    block = _block(model, table)
    mine = np.array([owner == name for owner in owners], dtype=bool)
    known, nothing = (model.posterior(block.reveal(seen), log=True) for seen in (mine, np.zeros_like(mine)))
    return np.append(known[:-1], nothing[-1:], axis=0)


def _block(model: Model, table: list[Any]) -> Block:
    return model.counted.block(pa.RecordBatch.from_arrays(table, names=list(model.schema.names)))
