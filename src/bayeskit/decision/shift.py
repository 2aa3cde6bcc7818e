"""Prior shift: how common the classes are among new rows whose labels nobody knows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp, softmax

from bayeskit.arrays import Array, Float, Label
from bayeskit.data.frame import align
from bayeskit.errors import InputError

CLOSE = 1e-10  # largest change of a probability at which it stops
MOST = 10_000


@dataclass(frozen=True)
class PriorShift:
    """Class probabilities before and after, and how much more likely they make the new rows."""

    classes: Array  # (K,)
    old: Float  # (K,)
    new: Float  # (K,)
    gain: float  # log-likelihood of the new rows under the new priors minus that under the old, in nats
    iterations: int
    converged: bool

    @property
    def by_class(self) -> dict[Label, float]:
        """The new prior, as settings take it."""
        return dict(zip(self.classes.tolist(), self.new.tolist(), strict=True))

    def __str__(self) -> str:
        rows = [[str(c), f"{a:.4f}", f"{b:.4f}"] for c, a, b in zip(self.classes, self.old, self.new, strict=True)]
        end = "" if self.converged else f"; not settled after {self.iterations} steps"
        return (
            align([["class", "old prior", "new prior"], *rows], left=1)
            + f"\n\nthe new shares raise the log-likelihood of the rows by {self.gain:.2f}{end}"
        )


def prior_shift(classes: Array, log_posterior: Float, log_prior: Float, weight: Float | None = None) -> PriorShift:
    """The priors that make new rows most likely, by EM (Saerens, Latinne and Decaestecker 2002).

    With q the new and p the old prior: P'(c | x) is proportional to P(c | x) q_c / p_c, and q_c = mean of P'(c | x).
    A class without a prior before has none after. Where rows have a ``weight``, (n,), the mean is a weighted one.

    >>> posterior = np.array([[0.9, 0.1]] * 8 + [[0.1, 0.9]] * 2)
    >>> prior_shift(np.array(["a", "b"]), np.log(posterior), np.log([0.5, 0.5])).new.round(3)
    array([0.875, 0.125])
    """
    possible = np.isfinite(log_prior)
    if not len(log_posterior):
        raise InputError("there are no rows to adapt the prior to")
    with np.errstate(invalid="ignore"):
        likelihood = np.where(possible, log_posterior - np.where(possible, log_prior, 0.0), -np.inf)
    likelihood = likelihood - likelihood.max(axis=1, keepdims=True)  # what is common to all classes cancels
    old = np.exp(log_prior)
    q, steps, moved = old, 0, np.inf
    while moved > CLOSE and steps < MOST:
        with np.errstate(divide="ignore"):
            new = np.average(softmax(likelihood + np.log(q), axis=1), axis=0, weights=weight)
        q, moved, steps = new, float(np.abs(new - q).max()), steps + 1
    with np.errstate(divide="ignore"):
        each = logsumexp(likelihood + np.log(q), axis=1) - logsumexp(likelihood + log_prior, axis=1)
    gain = each.sum() if weight is None else each @ weight
    return PriorShift(classes, old, q, float(gain), steps, moved <= CLOSE)
