"""Pool: several posteriors as one, each counting as much as unseen rows say."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayeskit.arrays import Float, Int
from bayeskit.loglinear import Evidence, mixture_weights

PULLS = (30.0, 300.0)  # toward the shares of a mixture: the better one by cross-validation
BIAS = 5.0  # pull of the biases toward 0
SILENT = 1e-3  # a weight below which a voice is dropped


def smoothed_prior(weights: Float) -> Float:
    """log of (n_c + 1/2) / (n + K/2): (K,)."""
    out: Float = np.log((weights + 0.5) / (weights.sum() + 0.5 * len(weights)))
    return out


def evidence(log_posterior: Float, log_prior: Float, rows: float) -> Float:
    """What a posterior adds to the prior, log P(c | x)/P(c), after it has been backed off to the prior a little.

    q = (1 - e) P(c | x) + e P(c) with e = 1/(rows + 10), so that no voice is ever certain: (n, K).
    """
    e = 1 / (rows + 10)
    out: Float = np.logaddexp(np.log1p(-e) + log_posterior, np.log(e) + log_prior) - log_prior
    return out


@dataclass(frozen=True)
class Pool:
    """score_c = log P(c) + bias_c + sum over voices of weight_m log P_m(c | x)/P(c)."""

    weight: Float  # (M,)
    bias: Float  # (K,)
    pull: float
    gain: Float  # (M,) nats per row that would be lost without each voice, on the rows it was fitted to

    @classmethod
    def of(cls, voices: Float, log_prior: Float, label: Int, mass: Float, part: Int) -> Pool:
        """From what each voice adds, (m, M, K), for rows it has not seen, in parts foretold by other models."""
        row = np.arange(len(label))
        seen = Evidence.of(voices, log_prior, label, mass / mass.mean())
        posterior = voices + log_prior[:, None]
        given = (posterior - np.logaddexp.reduce(posterior, axis=2, keepdims=True))[row, :, label]
        shares = mixture_weights(given, mass)
        pull = PULLS[0] if len(PULLS) == 1 else min(PULLS, key=lambda p: _missed(seen, shares, p, part))
        weight, bias = seen.fitted(shares, pull, BIAS)
        weight = np.where(weight < SILENT, 0.0, weight)
        loss = seen.loss(weight, bias)
        without = [seen.loss(np.where(np.arange(len(weight)) == m, 0.0, weight), bias) for m in range(len(weight))]
        gain = np.where(weight > 0, (np.array(without) - loss) / len(label), 0.0)
        return cls(weight, bias, pull, gain)


def _missed(seen: Evidence, shares: Float, pull: float, part: Int) -> float:
    """The loss on each of three groups of parts with weights fitted to the others."""
    loss = 0.0
    for group in range(3):
        test = part % 3 == group
        if test.any() and not test.all():
            loss += seen.at(test).loss(*seen.at(~test).fitted(shares, pull, BIAS))
    return loss
