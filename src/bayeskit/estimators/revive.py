"""revive: the estimator of a model that was saved."""

from __future__ import annotations

import bayeskit
from bayeskit.arrays import Json
from bayeskit.errors import ModelFileError
from bayeskit.estimators.classifier import BayesClassifier
from bayeskit.model.model import Model


def revive(model: Model, name: str, settings: Json) -> BayesClassifier:
    """The classifier of one model, by its public name; settings that cannot have made the model are refused."""
    kind = getattr(bayeskit, name)
    if not issubclass(kind, BayesClassifier):
        raise ModelFileError(f"a {name} is no classifier of one model")
    made: BayesClassifier = kind(**settings)
    made.spec().structure(model.schema)  # refuses settings that no table of these columns was learned with
    return made.with_model(model)
