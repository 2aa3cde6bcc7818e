"""Pool: several posteriors as one, each counting as much as unseen rows say."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bayeskit.arrays import Bool, Float, Int
from bayeskit.deferred import deferred
from bayeskit.numerics.log_linear import Evidence, mixture_weights

expit = deferred("scipy.special", "expit")
log_expit = deferred("scipy.special", "log_expit")
log_softmax = deferred("scipy.special", "log_softmax")
logit = deferred("scipy.special", "logit")

PULL = 30.0  # of the weights toward the shares of a mixture
BIAS = 5.0  # pull of the biases toward 0
MEMBER, ALONE = 0.3, 5.0  # rows that each member, and the prior alone, are taken to have predicted best beforehand
NEGLIGIBLE = 1e-3  # a weight below which a member is dropped
ROUNDING = 1e-13  # share of what terms say
FAR = 1e6  # nats: what a single term can say at most
UNJUDGED = 1.1  # sum of the weights of several members that are not judged
SPARED = 5e-4  # nats per row that dropping the faintest members may cost altogether


def smooth_prior(weights: Float) -> Float:
    """log of (n_c + 1/2) / (n + K/2): (K,)."""
    out: Float = np.log((weights + 0.5) / (weights.sum() + 0.5 * len(weights)))
    return out


def evidence(log_posterior: Float, log_prior: Float, rows: float) -> Float:
    """What a posterior adds to the prior, log P(c | x)/P(c), after it has been backed off to the prior a little.

    q = (1 - e) P(c | x) + e P(c) with e = 1/(rows + 10), so that no member is ever certain: (n, K).
    """
    e = 1 / (rows + 10)
    out: Float = np.logaddexp(np.log1p(-e) + log_posterior, np.log(e) + log_prior) - log_prior
    return out


def back_off_terms(
    start: Float, terms: Float, log_posterior: Float, log_prior: Float, rows: float, rival: Int
) -> tuple[Float, Float, Float]:
    """The terms of a posterior as they show once it is backed off: its base (K,), terms (n, J, K) and rest (n, K).

    Between a class and the ``rival`` of its row, which have the share s of the posterior, log-odds of d show as

        h(d) = log((1 - e) s expit(d) + e P(c)) / ((1 - e) s expit(-d) + e P(rival)) - log P(c)/P(rival).

    All terms in favour of the class together move h by what they add before and after those against it, on the
    average (Shapley's value), and share that as they are large; so do those against it. No term is then larger than
    the range of h, which is at most 2 log (rows + 10)/min P(c). base + sum of terms + rest is ``evidence``, but for
    what all classes have in common; the rest is 0 where the base is the prior, or there are two classes.
    """
    e, row = 1 / (rows + 10), np.arange(len(terms))
    start, terms = np.maximum(start, -FAR), np.clip(terms, -FAR, FAR)
    base = evidence(log_softmax(start), log_prior, rows)
    said = evidence(log_posterior, log_prior, rows)
    apart = terms - terms[row, :, rival][:, :, None]
    for_it, against = np.maximum(apart, 0.0), np.minimum(apart, 0.0)
    more, less = for_it.sum(axis=1), against.sum(axis=1)
    before = start - start[rival][:, None]
    share = np.log1p(-e) + np.logaddexp(log_posterior, log_posterior[row, rival][:, None])
    theirs = np.log(e) + log_prior[rival][:, None]

    def shown(odds: Float) -> Float:
        mine = np.logaddexp(share + log_expit(odds), np.log(e) + log_prior)
        out: Float = mine - np.logaddexp(share + log_expit(-odds), theirs)
        return out

    none, up, down, both = (shown(before + odds) for odds in (0.0, more, less, more + less))
    moved = for_it * ((up - none + both - down) / np.where(more > 0, 2 * more, 1.0))[:, None]
    moved += against * ((down - none + both - up) / np.where(less < 0, 2 * less, 1.0))[:, None]
    rest = (said - base) - (said - base)[row, rival][:, None] - moved.sum(axis=1)
    rest[np.abs(rest) <= ROUNDING * (1 + np.abs(moved).sum(axis=1))] = 0.0
    return base, moved - moved.mean(axis=2, keepdims=True), rest - rest.mean(axis=1, keepdims=True)


@dataclass(frozen=True)
class MemberBackoff:
    """Between two classes, what a pool makes of the log odds of its only member, and the way back."""

    log_prior: Float  # (2,) the member is backed off to
    rows: float
    weight: float
    base: float  # log odds that the member adds to

    def odds(self, member: Float) -> Float:
        said = evidence(np.stack([log_expit(member), log_expit(-member)], axis=-1), self.log_prior, self.rows)
        out: Float = self.base + self.weight * (said[..., 0] - said[..., 1])
        return out

    def member_odds(self, odds: Float) -> Float:
        """Infinite or NaN where no member has enough weight."""
        share = expit((odds - self.base) / self.weight + self.log_prior[0] - self.log_prior[1])
        e = 1 / (self.rows + 10)
        with np.errstate(invalid="ignore", divide="ignore"):
            out: Float = logit((share - e * np.exp(self.log_prior[0])) / (1 - e))
        return out


@dataclass(frozen=True)
class Pool:
    """score_c = log P(c) + bias_c + sum over members of weight_m log P_m(c | x)/P(c)."""

    weight: Float  # (M,)
    bias: Float  # (K,)
    gain: Float  # (M,) nats per row that would be lost without each member, on the rows it was fitted to
    curvature: Float  # (M + K, M + K) of what was minimised: how firmly the weights are known

    @classmethod
    def of(cls, members: Float, log_prior: Float, label: Int, mass: Float) -> Pool:
        """From what each member adds, (m, M, K), for rows it has not seen.

        ``mass`` is what each row counts beside the pulls, about 1: (m,).
        """
        row = np.arange(len(label))
        seen = Evidence.of(members, log_prior, label, mass)
        posterior = members + log_prior[:, None]
        given = (posterior - np.logaddexp.reduce(posterior, axis=2, keepdims=True))[row, :, label]
        alone = (log_prior - np.logaddexp.reduce(log_prior, axis=1, keepdims=True))[row, label, None]
        before = np.append(np.full(given.shape[1], MEMBER), ALONE)
        shares = mixture_weights(np.concatenate([given, alone], axis=1), mass, before)[:-1]
        weight, bias = seen.fit(shares, PULL, BIAS)
        pulls = np.diag(np.repeat([PULL, BIAS], [len(weight), len(bias)]))
        kept = _worth(weight, seen.curvature(weight, bias) + pulls, SPARED * mass.sum())
        if kept.sum() < (weight > 0).sum():
            shares = shares[kept] * (shares.sum() / max(float(shares[kept].sum()), 1e-300))
            weight = np.zeros(len(weight))
            weight[kept], bias = seen.only(kept).fit(shares, PULL, BIAS)
        weight = np.where(weight < NEGLIGIBLE, 0.0, weight)
        loss = seen.loss(weight, bias)
        without = [seen.loss(np.where(np.arange(len(weight)) == m, 0.0, weight), bias) for m in range(len(weight))]
        gain = np.where(weight > 0, (np.array(without) - loss) / mass.sum(), 0.0)
        return cls(weight, bias, gain, seen.curvature(weight, bias) + pulls)

    @classmethod
    def unjudged(cls, shares: Float, classes: int) -> Pool:
        """With weights that are known beforehand, and no bias; where members are missing, the others count more."""
        weight = shares * ((UNJUDGED if len(shares) > 1 else 1.0) / shares.sum())
        pulls = np.repeat([PULL, BIAS], [len(weight), classes])
        return cls(weight, np.zeros(classes), np.zeros(len(weight)), np.diag(pulls))

    @classmethod
    def empty(cls, classes: int) -> Pool:
        """Of no member: the prior alone."""
        return cls(np.empty(0), np.zeros(classes), np.empty(0), BIAS * np.eye(classes))

    def kept(self) -> Pool:
        """Without the members that have no weight."""
        held = np.concatenate([self.weight > 0, np.ones(len(self.bias), dtype=bool)])
        kept = self.weight > 0
        return replace(
            self, weight=self.weight[kept], gain=self.gain[kept], curvature=self.curvature[np.ix_(held, held)]
        )

    def step(self, members: Float, log_prior: Float, label: Int, mass: Float) -> Pool:
        """Moved by new rows, as far as the rows it was fitted to allow."""
        seen = Evidence.of(members, log_prior, label, mass)
        weight, bias = seen.drawn(np.concatenate([self.weight, self.bias]), self.curvature)
        return replace(self, weight=weight, bias=bias, curvature=self.curvature + seen.curvature(weight, bias))

    def place(self, place: Int, classes: int) -> Pool:
        """With the biases of the old classes at new places, -1 where a class is gone."""
        m, there = len(self.weight), place >= 0
        index, known = np.append(np.arange(m), m + place[there]), np.append(np.arange(m), m + np.flatnonzero(there))
        curvature = np.diag(np.repeat([0.0, BIAS], [m, classes]))
        curvature[np.ix_(index, index)] = self.curvature[np.ix_(known, known)]
        bias = np.zeros(classes)
        bias[place[there]] = self.bias[there]
        return replace(self, bias=bias, curvature=curvature)


def _worth(weight: Float, curvature: Float, spared: float) -> Bool:
    """Which members to keep, when the loss may grow by ``spared`` in all: (M,).

    Taking weight w away and moving the others to where the loss is least then costs w^2 / (2 H^-1), with the entry of
    the inverse curvature that belongs to it; the faintest goes first.
    """
    kept = weight > 0
    left = weight.copy()
    while kept.sum() > 1:
        index = np.concatenate([np.flatnonzero(kept), np.arange(len(weight), len(curvature))])
        inverse = np.linalg.inv(curvature[np.ix_(index, index)])
        here = index[: kept.sum()]
        cost = left[here] ** 2 / (2 * np.diag(inverse)[: len(here)])
        faint = int(np.argmin(cost))
        spared -= float(cost[faint])
        if spared < 0:
            break
        left[here] = np.maximum(left[here] - inverse[: len(here), faint] * left[here[faint]] / inverse[faint, faint], 0)
        kept[here[faint]] = False
    return kept
