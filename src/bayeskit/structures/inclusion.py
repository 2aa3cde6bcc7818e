"""Inclusion: how probable it is that a column depends on the class at all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import expit

from bayeskit.arrays import Float
from bayeskit.structures.family_trial import FamilyTrial

HALVINGS = 64  # of an interval of logits: to the last digit


def inclusion(gain: Float) -> tuple[Float, float]:
    """w_j = pi e^(g_j) / (pi e^(g_j) + 1 - pi) of gains (d,) in nats, and pi = (sum of w + 1/2) / (d + 1).

    pi maximises prod_j (pi e^(g_j) + 1 - pi) sqrt(pi (1 - pi)), whose logarithm is concave: there is one such pi.

    >>> weight, prior = inclusion(np.array([5.0, 5.0, -1.0, -1.0]))
    >>> weight.round(3).tolist(), round(prior, 3)
    ([0.997, 0.997, 0.427, 0.427], 0.669)
    """
    low, high = -np.log(2 * len(gain) + 1), np.log(2 * len(gain) + 1)  # of 1/2 and of d + 1/2 in d + 1
    for _ in range(HALVINGS):
        logit = (low + high) / 2
        if expit(gain + logit).sum() + 0.5 > (len(gain) + 1) * expit(logit):
            low = logit
        else:
            high = logit
    return expit(gain + high), float(expit(high))


@dataclass(frozen=True, eq=False)
class Inclusion:
    """The weights of all columns whose family the data choose; what they share is the prior pi."""

    trials: tuple[FamilyTrial, ...]

    @cached_property
    def weights(self) -> Mapping[str, float]:
        """By column, worked out when first asked for."""
        gain = np.array([trial.gain for trial in self.trials])
        return dict(zip((trial.name for trial in self.trials), inclusion(gain)[0].tolist(), strict=True))
