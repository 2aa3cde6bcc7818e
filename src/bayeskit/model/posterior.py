"""Bayes' rule over a block: joint log-probabilities, posteriors and evidence, never NaN."""

from __future__ import annotations

import numpy as np

from bayeskit import _core
from bayeskit.arrays import Bool, Float
from bayeskit.data.block import Block
from bayeskit.densities.density import Density

CLASS_BY_CLASS = 1 << 20  # numbers of a joint that are laid out class by class on the way to a posterior


def joint(density: Density, prior: Float, block: Block, out: Float | None = None) -> Float:
    """log P(c) + log p(x | c), (n, K), written to ``out`` if given; -inf where a class is impossible.

    ``prior`` is (K,), or (n, K) if it differs by row.
    """
    out = np.empty((block.rows, prior.shape[-1])) if out is None else out
    out[:] = prior
    density.add(block, out)
    return out


def posterior(density: Density, prior: Float, block: Block, log: bool = False, out: Float | None = None) -> Float:
    """P(c | x), (n, K), or its logarithm, written to ``out`` if given.

    Where every class is impossible the answer is the limit of vanishing smoothing: fewest zero factors wins,
    then the product of the rest, in which a zero among n values counts 1/n.
    """
    shape = block.rows, prior.shape[-1]
    out = np.empty(shape) if out is None else out
    room = out
    if not density.by_rows and out.size <= CLASS_BY_CLASS:  # the core then need not turn rows into classes and back
        room = np.empty(shape[::-1]).T
    joint(density, prior, block, room)
    if _core.softmax(room, log, None, out):
        lost = np.flatnonzero(np.isneginf(out).all(axis=1))
        rescued = _limit(density, np.broadcast_to(prior, out.shape)[lost], block.at(lost))
        _core.softmax(rescued, log, None)
        out[lost] = rescued
    return out


def evidence(density: Density, prior: Float, block: Block) -> Float:
    """log p(x) = log of the sum over classes of P(c) p(x | c), (n,)."""
    out, total = joint(density, prior, block), np.empty(block.rows)
    _core.softmax(out, True, total)
    return total


def _limit(density: Density, prior: Float, block: Block) -> Float:
    """Joint log-probabilities of the classes that stay in the race, -inf for the others: (n, K).

    In order: possible by the prior, fewest zero factors, largest term beyond the range of a double, the rest.
    """
    tail = density.tail(block, density.log2_magnitude(block))
    running = _best(-tail.zeros, np.isfinite(prior))
    running = _best(tail.overflow, running)
    rest = np.maximum(tail.rest, -1e300) + np.where(np.isfinite(prior), prior, 0.0)
    return np.where(running, rest, -np.inf)


def _best(score: Float, running: Bool) -> Bool:
    """Those still running whose score is the largest."""
    score = np.where(running, score, -np.inf)
    best: Bool = running & (score == score.max(axis=1, keepdims=True))
    return best
