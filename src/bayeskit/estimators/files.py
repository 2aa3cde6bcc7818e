"""load and merge: classifiers from files, and from other classifiers."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Any

from bayeskit import record
from bayeskit.errors import MergeError
from bayeskit.estimators.classifier import BayesClassifier
from bayeskit.estimators.naive import NaiveBayes


def load(path: Any) -> NaiveBayes:
    """The classifier of a ``.bayes`` file, ready to predict, learn and forget."""
    model, settings = record.load(path)
    classifier = NaiveBayes(**settings)
    classifier._adopt(model)
    return classifier


def merge(models: Iterable[BayesClassifier]) -> BayesClassifier:
    """One classifier that has learned what all of them have."""
    given = [models] if isinstance(models, BayesClassifier) else list(models)
    if not given or not all(isinstance(model, BayesClassifier) for model in given):
        raise MergeError("merge takes a list of at least one fitted bayeskit classifier")
    return reduce(lambda a, b: a.merge(b), given)
