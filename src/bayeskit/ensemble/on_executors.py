"""On executors: what a pool answers where rows are, from its models alone; scikit-learn need not be there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from bayeskit.arrays import Float, PriorLike
from bayeskit.data.block import Block
from bayeskit.deferred import deferred
from bayeskit.ensemble.ensemble import Ensemble
from bayeskit.ensemble.pool import evidence
from bayeskit.ensemble.views import View
from bayeskit.explain.answers import Answers
from bayeskit.model.coded import in_codes_of
from bayeskit.model.model import Model

softmax = deferred("scipy.special", "softmax")


@dataclass(frozen=True)
class PoolAnswers:
    """The answers of a pool about batches of rows."""

    answers: Answers
    members: tuple[tuple[Model, View | None, float], ...]  # with their weights
    log_base: Float  # (K,)
    log_shares: Float  # (K,)
    rows: float

    @classmethod
    def of(cls, answers: Answers, pool: Ensemble, prior: PriorLike) -> PoolAnswers:
        weights = pool.pool.weight.tolist()
        members = tuple((m.classifier.model_, m.view, w) for m, w in zip(pool.members, weights, strict=True))
        return cls(answers, members, pool.log_base(prior), pool.log_shares, pool.weight)

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        proba = self.posterior(self.answers.model.block(batch.select(self.answers.model.schema.names)))
        return self.answers.beside(batch, proba, None, None)

    def posterior(self, block: Block) -> Float:
        """P(class | row) of coded rows, (n, K)."""
        score = np.tile(self.log_base, (block.rows, 1))
        for model, view, weight in self.members:
            seen = in_codes_of(model, block if view is None else view.block(block))
            score += weight * evidence(model.posterior(seen, model.log_base(), log=True), self.log_shares, self.rows)
        out: Float = softmax(score, axis=1)
        return out
