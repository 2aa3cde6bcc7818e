"""load and merge: classifiers and networks from files, and from others of their kind."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Any

import bayeskit
from bayeskit import network_record, record, store
from bayeskit.errors import MergeError, ModelFileError
from bayeskit.estimators.classifier import BayesClassifier
from bayeskit.estimators.network import Network


def load(path: Any) -> BayesClassifier | Network:
    """The classifier or network of a ``.bayes`` file, ready to predict, learn and forget."""
    if store.peek(path).get("model") == network_record.KIND:
        return Network.restored(path)
    model, name, settings = record.load(path)
    kind = getattr(bayeskit, name) if name in bayeskit.__all__ else None
    if not (isinstance(kind, type) and issubclass(kind, BayesClassifier)):
        raise ModelFileError(f"{path}: model kind {name!r} is not known to this version; update bayeskit")
    classifier = kind(**settings)
    classifier._adopt(model)
    return classifier


def merge(models: Iterable[Any]) -> Any:
    """One classifier, or network, that has learned what all of them have."""
    given = [models] if isinstance(models, BayesClassifier | Network) else list(models)
    if not given or not all(isinstance(model, BayesClassifier | Network) for model in given):
        raise MergeError("merge takes a list of at least one fitted bayeskit classifier, or network")
    return reduce(lambda a, b: a.merge(b), given)
