"""revive: estimators back from what a file holds; wrappers enclose the estimator inside them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import bayeskit
from bayeskit.arrays import Float, Json
from bayeskit.errors import ModelFileError
from bayeskit.estimators.classifier import BayesClassifier
from bayeskit.estimators.wrapper import Wrapper
from bayeskit.model.codec import build, describe
from bayeskit.model.model import Model
from bayeskit.storage import identifiers
from bayeskit.storage.bundle import Bundle

INNER, ONE = "inside.", "model"  # what is inside a wrapper, and the part of a classifier of one model


def revive(model: Model, name: str, settings: Json) -> BayesClassifier:
    """The classifier of one model, by its public name; settings that cannot have made the model are refused."""
    kind = getattr(bayeskit, name)
    if not issubclass(kind, BayesClassifier):
        raise ModelFileError(f"a {name} is no classifier of one model")
    made: BayesClassifier = kind(**settings)
    made.spec().structure(model.schema)  # refuses settings that no table of these columns was learned with
    return made.with_model(model)


def revive_bundle(bundle: Bundle) -> BayesClassifier | Wrapper:
    """The wrapper of a bundle, or the classifier of one model."""
    kind = getattr(bayeskit, bundle.kind)
    if issubclass(kind, Wrapper):
        made: Wrapper = kind.from_bundle(bundle)
        return made
    return revive(bundle.parts[ONE][0], bundle.kind, dict(bundle.settings))


def enclose(
    name: str, settings: Json, inner: BayesClassifier | Wrapper, notes: Json, numbers: Mapping[str, Float]
) -> Bundle:
    """A wrapper with what it adds, around all that the estimator inside holds."""
    if isinstance(inner, Wrapper):
        held = inner.bundle()
    else:
        kind, given = type(inner).__name__, inner.settings_to_save()
        held = Bundle(kind, given, {ONE: (inner.model_, kind, given)}, None, {})
    inside = {
        "model": identifiers.identifier_of(held.kind),
        "settings": describe(identifiers.name_settings(held.settings)),
        "notes": held.notes,
    }
    parts = {f"{INNER}{n}": part for n, part in held.parts.items()}
    return Bundle(
        name,
        settings,
        parts,
        {**notes, "inside": inside},
        {**numbers, **{f"{INNER}{n}": a for n, a in held.numbers.items()}},
    )


def disclose(bundle: Bundle) -> tuple[BayesClassifier | Wrapper, Json, dict[str, Float]]:
    """What is inside a wrapper, and the notes and numbers of the wrapper itself."""
    notes: dict[str, Any] = dict(bundle.notes)
    inside = notes.pop("inside")
    kind = identifiers.estimator_of(inside["model"])
    held = Bundle(
        kind,
        identifiers.settings_of(build(inside["settings"])),
        {n.removeprefix(INNER): part for n, part in bundle.parts.items() if n.startswith(INNER)},
        inside["notes"],
        {n.removeprefix(INNER): a for n, a in bundle.numbers.items() if n.startswith(INNER)},
    )
    own = {n: a for n, a in bundle.numbers.items() if not n.startswith(INNER)}
    return revive_bundle(held), notes, own
