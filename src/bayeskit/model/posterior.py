"""Bayes' rule over a block: the prior, joint log-probabilities, posteriors and evidence, never NaN."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bayeskit import _core
from bayeskit.arrays import Bool, Float, HasItems, PriorLike
from bayeskit.data.block import Block
from bayeskit.data.levels import TEXT, Key, Levels, key, show
from bayeskit.densities.density import Density
from bayeskit.errors import InputError

WORDS = ("empirical", "uniform")
CLASS_BY_CLASS = 1 << 20  # numbers of a joint that are laid out class by class on the way to a posterior


def normal_prior(prior: PriorLike) -> Any:
    """The prior in the one form that is kept and compared: a word, probabilities in order, or by class sorted.

    >>> normal_prior({"well": 1, "ill": 0}), normal_prior([1, 0])
    ({'ill': 0.0, 'well': 1.0}, (1.0, 0.0))
    """
    if isinstance(prior, str):
        if prior not in WORDS:
            raise InputError(f"prior={prior!r}: choose 'empirical', 'uniform', or give probabilities by class")
        return prior
    try:
        if isinstance(prior, HasItems):  # also a pandas Series, whose labels count
            given = {key(label): float(p) for label, p in prior.items()}
            if None in given:
                raise InputError("prior names a missing label; give probabilities for the classes only")
            return {k[1]: given[k] for k in sorted(k for k in given if k is not None)}
        in_order: Any = prior
        return tuple(float(p) for p in in_order)
    except (TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"prior={prior!r}: give 'empirical', 'uniform', or probabilities by class") from error


def log_prior(prior: PriorLike, classes: Levels, weights: Float) -> Float:
    """log P(class) in the order of the classes; -inf for a class of probability zero.

    Weights are those of the classes, (K,), or (n, K) where they differ by row; only the empirical prior follows them.

    >>> np.exp(log_prior({"ill": 0.001, "well": 0.999}, Levels.of(["ill", "well"]), np.array([5.0, 5.0])))
    array([0.001, 0.999])
    """
    with np.errstate(divide="ignore"):
        return np.log(_probabilities(prior, classes, weights))


def _probabilities(prior: PriorLike, classes: Levels, weights: Float) -> Float:
    prior = normal_prior(prior)
    if isinstance(prior, str):
        if prior == "empirical":
            scaled = weights / weights.max(axis=-1, keepdims=True)  # their sum might overflow
            share: Float = scaled / scaled.sum(axis=-1, keepdims=True)
            return share
        return np.full(len(classes), 1 / len(classes))
    if isinstance(prior, Mapping):
        written: dict[Key, Key] = {
            (TEXT, show(k)): k for k in classes.keys
        }  # a text from a shell stands for the number it writes
        labelled = {k: p for label, p in prior.items() if (k := key(label)) is not None}
        given = {k if k in classes.index else written.get(k, k): p for k, p in labelled.items()}
        unknown = [k for k in given if k not in classes.index]
        lacking = [k for k in classes.keys if k not in given]
        if unknown or lacking:
            odd = (
                f"names the class {show(unknown[0])!r}, which the model lacks"
                if unknown
                else f"lacks {show(lacking[0])!r}"
            )
            raise InputError(f"prior {odd} (classes: {classes.show()})")
        prior = [given[k] for k in classes.keys]
    p = np.array(prior, dtype=np.float64)
    if p.shape != (len(classes),):
        raise InputError(f"prior has shape {p.shape}, expected one probability for each of: {classes.show()}")
    if not np.isfinite(p).all() or (p < 0).any() or abs(p.sum() - 1) > 1e-6:
        raise InputError(f"prior {p.tolist()} must be probabilities that sum to one (the sum is {p.sum():g})")
    exact: Float = p / p.sum()
    return exact


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
