"""Bayes' rule on numbers and tables."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from bayeskit.errors import InputError

TOLERANCE = 1e-6  # of the sum of priors, as of a model's


def bayes_rule(prior: Any, likelihood: Any, evidence: float | Fraction | None = None) -> Any:
    """P(h | e) = P(e | h) P(h) / P(e): for one hypothesis with its evidence, or for a table of them.

    Fractions stay exact.

    Parameters
    ----------
    prior : number, mapping or sequence
        P(h): a number, or the probabilities of the hypotheses by name or in order.
    likelihood : number, mapping or sequence
        P(e | h), likewise.
    evidence : number, optional
        P(e). For a table it is the sum of the joint probabilities unless given; the priors must then sum to 1.

    Returns
    -------
    number, dict or list
        P(h | e), in the form of the prior.

    Examples
    --------
    >>> round(bayes_rule(prior=0.00002, likelihood=0.5, evidence=0.05), 7)
    0.0002
    >>> bayes_rule({"ill": 0.01, "well": 0.99}, {"ill": 0.9, "well": 0.09})
    {'ill': 0.09174311926605506, 'well': 0.9082568807339451}
    """
    if isinstance(prior, Mapping) != isinstance(likelihood, Mapping):
        raise InputError("give prior and likelihood both by name, or both in order")
    if isinstance(prior, Mapping):
        if prior.keys() != likelihood.keys():
            odd = sorted(map(str, prior.keys() ^ likelihood.keys()))
            raise InputError(f"prior and likelihood name different hypotheses: {', '.join(odd)} stand in one only")
        values = bayes_rule(list(prior.values()), [likelihood[name] for name in prior], evidence)
        return dict(zip(prior, values, strict=True))
    single = np.ndim(prior) == 0
    if single != (np.ndim(likelihood) == 0):
        raise InputError("prior and likelihood must be two numbers, or two lists of equal length")
    priors, likelihoods = ([prior], [likelihood]) if single else (list(prior), list(likelihood))
    if len(priors) != len(likelihoods):
        raise InputError(f"{len(priors)} priors but {len(likelihoods)} likelihoods")
    if single and evidence is None:
        raise InputError("one hypothesis alone needs evidence=P(e); or give all hypotheses, then it is their sum")
    for what, numbers in (("prior", priors), ("likelihood", likelihoods)):
        _check(what, numbers, 1 if what == "prior" else np.inf)
    if sum(priors) > 1 + 1e-9:
        raise InputError(f"the priors sum to {sum(priors)}; probabilities of different hypotheses sum to at most 1")
    if not single and evidence is None and abs(sum(priors) - 1) > TOLERANCE:
        raise InputError(
            f"the priors must be probabilities that sum to one (the sum is {float(sum(priors)):g}); give those of all "
            f"hypotheses, or evidence=P(e) if some are left out"
        )
    joint = [p * q for p, q in zip(priors, likelihoods, strict=True)]
    total = sum(joint) if evidence is None else evidence
    _check("evidence", [total], np.inf)
    if total == 0:
        raise InputError("the evidence has probability 0: it cannot have happened under any hypothesis given")
    if evidence is not None and sum(joint) > total * (1 + 1e-9):
        raise InputError(f"evidence {total} is smaller than the joint probabilities it must include ({sum(joint)})")
    posterior = [j / total for j in joint]
    if single:
        return posterior[0]
    exact = all(isinstance(p, Fraction | int) for p in posterior)
    return posterior if exact or not isinstance(prior, np.ndarray) else np.array(posterior)


def _check(what: str, numbers: list[Any], most: float) -> None:
    for number in numbers:
        if not 0 <= number <= most:
            raise InputError(
                f"{what} has the value {number}; "
                + ("a probability lies in 0..1" if most == 1 else "it is not negative")
            )
