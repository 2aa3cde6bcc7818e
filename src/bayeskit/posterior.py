"""Bayes' rule over a block: joint log-probabilities, posteriors and evidence, never NaN."""

from __future__ import annotations

import numpy as np

from bayeskit import _core
from bayeskit.arrays import Bool, Float
from bayeskit.data.block import Block
from bayeskit.likelihood import LogDensity


def joint(density: LogDensity, prior: Float, block: Block) -> Float:
    """log P(c) + log p(x | c), (n, K); -inf where a class is impossible."""
    out = np.empty((block.rows, len(prior)))
    out[:] = prior
    density.add(block, out)
    return out


def posterior(density: LogDensity, prior: Float, block: Block, log: bool = False) -> Float:
    """P(c | x), (n, K), or its logarithm.

    Where every class is impossible the answer is the limit of vanishing smoothing: fewest zero factors wins,
    then the product of the rest, in which a zero among n values counts 1/n.
    """
    out = joint(density, prior, block)
    if _core.softmax(out, log, None):
        lost = np.flatnonzero(np.isneginf(out).all(axis=1))
        rescued = _limit(density, prior, block.at(lost))
        _core.softmax(rescued, log, None)
        out[lost] = rescued
    return out


def evidence(density: LogDensity, prior: Float, block: Block) -> Float:
    """log p(x) = log of the sum over classes of P(c) p(x | c), (n,)."""
    out, total = joint(density, prior, block), np.empty(block.rows)
    _core.softmax(out, True, total)
    return total


def _limit(density: LogDensity, prior: Float, block: Block) -> Float:
    """Joint log-probabilities of the classes that stay in the race, -inf for the others: (n, K).

    In order: possible by the prior, fewest zero factors, largest term beyond the range of a double, the rest.
    """
    limit = density.limit(block, density.reach(block))
    running = np.broadcast_to(np.isfinite(prior), (block.rows, len(prior)))
    running = _best(-limit.zeros, running)
    running = _best(limit.vast, running)
    rest = np.maximum(limit.rest, -1e300) + np.where(np.isfinite(prior), prior, 0.0)
    return np.where(running, rest, -np.inf)


def _best(score: Float, running: Bool) -> Bool:
    """Those still running whose score is the largest."""
    score = np.where(running, score, -np.inf)
    best: Bool = running & (score == score.max(axis=1, keepdims=True))
    return best
