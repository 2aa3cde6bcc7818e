"""load and merge: classifiers from files, and from other classifiers."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Any

import bayeskit
from bayeskit import record
from bayeskit.errors import MergeError, ModelFileError
from bayeskit.estimators.classifier import BayesClassifier


def load(path: Any) -> BayesClassifier:
    """The classifier of a ``.bayes`` file, ready to predict, learn and forget."""
    model, name, settings = record.load(path)
    kind = getattr(bayeskit, name) if name in bayeskit.__all__ else None
    if not (isinstance(kind, type) and issubclass(kind, BayesClassifier)):
        raise ModelFileError(f"{path}: model kind {name!r} is not known to this version; update bayeskit")
    classifier = kind(**settings)
    classifier._adopt(model)
    return classifier


def merge(models: Iterable[BayesClassifier]) -> BayesClassifier:
    """One classifier that has learned what all of them have."""
    given = [models] if isinstance(models, BayesClassifier) else list(models)
    if not given or not all(isinstance(model, BayesClassifier) for model in given):
        raise MergeError("merge takes a list of at least one fitted bayeskit classifier")
    return reduce(lambda a, b: a.merge(b), given)
