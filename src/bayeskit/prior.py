"""Prior probabilities of the classes: from the data, uniform, or given from outside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bayeskit.arrays import Float
from bayeskit.data.levels import Levels, key, show
from bayeskit.errors import InputError

WORDS = ("empirical", "uniform")


def log_prior(prior: Any, classes: Levels, weights: Float) -> Float:
    """log P(class) in the order of the classes; -inf for a class of probability zero.

    >>> np.exp(log_prior({"ill": 0.001, "well": 0.999}, Levels.of(["ill", "well"]), np.array([5.0, 5.0])))
    array([0.001, 0.999])
    """
    with np.errstate(divide="ignore"):
        return np.log(_probabilities(prior, classes, weights))


def _probabilities(prior: Any, classes: Levels, weights: Float) -> Float:
    if isinstance(prior, str):
        if prior == "empirical":
            scaled = weights / weights.max()  # weights may be so large that their sum overflows
            share: Float = scaled / scaled.sum()
            return share
        if prior == "uniform":
            return np.full(len(classes), 1 / len(classes))
        raise InputError(f"prior={prior!r}: choose 'empirical', 'uniform', or give probabilities by class")
    if isinstance(prior, Mapping):
        given = {key(label): p for label, p in prior.items()}
        unknown = [k for k in given if k not in classes.index]
        lacking = [k for k in classes.keys if k not in given]
        if unknown or lacking:
            what = f"names the class {show(unknown[0])!r}, which" if unknown and unknown[0] else "lacks a class:"
            detail = "the model does not have" if unknown else f"{show(lacking[0])!r}"
            raise InputError(f"prior {what} {detail} (classes: {classes.show()})")
        prior = [given[k] for k in classes.keys]
    try:
        p = np.asarray(prior, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"prior={prior!r}: give 'empirical', 'uniform', or probabilities by class") from error
    if p.shape != (len(classes),):
        raise InputError(f"prior has shape {p.shape}, expected one probability for each of: {classes.show()}")
    if not np.isfinite(p).all() or (p < 0).any() or abs(p.sum() - 1) > 1e-6:
        raise InputError(f"prior {p.tolist()} must be probabilities that sum to one (the sum is {p.sum():g})")
    exact: Float = p / p.sum()
    return exact
