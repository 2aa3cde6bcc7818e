"""Pool: several posteriors as one, each counting as much as unseen rows say."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, log_expit, logit

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
class Backed:
    """Between two classes, what a pool makes of the log odds of its only voice, and the way back."""

    log_prior: Float  # (2,) the voice is backed off to
    rows: float
    weight: float
    base: float  # log odds that the voice adds to

    def odds(self, voice: Float) -> Float:
        said = evidence(np.stack([log_expit(voice), log_expit(-voice)], axis=-1), self.log_prior, self.rows)
        out: Float = self.base + self.weight * (said[..., 0] - said[..., 1])
        return out

    def voice(self, odds: Float) -> Float:
        """Infinite or NaN where no voice is loud enough."""
        share = expit((odds - self.base) / self.weight + self.log_prior[0] - self.log_prior[1])
        e = 1 / (self.rows + 10)
        with np.errstate(invalid="ignore", divide="ignore"):
            out: Float = logit((share - e * np.exp(self.log_prior[0])) / (1 - e))
        return out


@dataclass(frozen=True)
class Pool:
    """score_c = log P(c) + bias_c + sum over voices of weight_m log P_m(c | x)/P(c)."""

    weight: Float  # (M,)
    bias: Float  # (K,)
    pull: float
    gain: Float  # (M,) nats per row that would be lost without each voice, on the rows it was fitted to
    curvature: Float  # (M + K, M + K) of what was minimised: how firmly the weights are known

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
        pulls = np.diag(np.repeat([pull, BIAS], [len(weight), len(bias)]))
        weight = np.where(weight < SILENT, 0.0, weight)
        loss = seen.loss(weight, bias)
        without = [seen.loss(np.where(np.arange(len(weight)) == m, 0.0, weight), bias) for m in range(len(weight))]
        gain = np.where(weight > 0, (np.array(without) - loss) / len(label), 0.0)
        return cls(weight, bias, pull, gain, seen.curvature(weight, bias) + pulls)

    @classmethod
    def silent(cls, classes: int) -> Pool:
        """Of no voice: the prior alone."""
        return cls(np.empty(0), np.zeros(classes), 0.0, np.empty(0), BIAS * np.eye(classes))

    def kept(self) -> Pool:
        """Without the voices that have no weight."""
        some = np.concatenate([self.weight > 0, np.ones(len(self.bias), dtype=bool)])
        loud = self.weight > 0
        return replace(
            self, weight=self.weight[loud], gain=self.gain[loud], curvature=self.curvature[np.ix_(some, some)]
        )

    def stepped(self, voices: Float, log_prior: Float, label: Int, mass: Float) -> Pool:
        """Moved by new rows, as far as the rows it was fitted to allow."""
        seen = Evidence.of(voices, log_prior, label, mass)
        weight, bias = seen.drawn(np.concatenate([self.weight, self.bias]), self.curvature)
        return replace(self, weight=weight, bias=bias, curvature=self.curvature + seen.curvature(weight, bias))

    def placed(self, place: Int, classes: int) -> Pool:
        """With the biases of the old classes at new places among more."""
        m = len(self.weight)
        index = np.concatenate([np.arange(m), m + place])
        curvature = np.diag(np.repeat([0.0, BIAS], [m, classes]))
        curvature[np.ix_(index, index)] = self.curvature
        bias = np.zeros(classes)
        bias[place] = self.bias
        return replace(self, bias=bias, curvature=curvature)


def _missed(seen: Evidence, shares: Float, pull: float, part: Int) -> float:
    """The loss on each of three groups of parts with weights fitted to the others."""
    loss = 0.0
    for group in range(3):
        test = part % 3 == group
        if test.any() and not test.all():
            loss += seen.at(test).loss(*seen.at(~test).fitted(shares, pull, BIAS))
    return loss
