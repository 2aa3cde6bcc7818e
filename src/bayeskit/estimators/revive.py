"""revive: estimators back from what a file holds; wrappers enclose the estimator inside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import bayeskit
from bayeskit.arrays import Float, Json
from bayeskit.errors import ModelFileError
from bayeskit.estimators.classifier import BayesClassifier
from bayeskit.estimators.wrapper import Wrapper
from bayeskit.model.codec import build, describe
from bayeskit.model.model import Model
from bayeskit.storage import identifiers
from bayeskit.storage.model_file import Bundle

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
    name: str,
    settings: Json,
    inner: BayesClassifier | Wrapper,
    notes: Json,
    numbers: Mapping[str, Float],
    others: Sequence[BayesClassifier | Wrapper] = (),
) -> Bundle:
    """A wrapper with what it adds, around all that the estimator inside holds, and others of its kind."""
    parts: dict[str, Any] = {}
    inside: list[Any] = []
    arrays = dict(numbers)
    for k, one in enumerate((inner, *others)):
        held, place = _hold(one), _place(k)
        parts |= {f"{place}{n}": part for n, part in held.parts.items()}
        arrays |= {f"{place}{n}": a for n, a in held.numbers.items()}
        inside.append(
            {
                "model": identifiers.identifier_of(held.kind),
                "settings": describe(identifiers.name_settings(held.settings)),
                "notes": held.notes,
            }
        )
    beside = {"others": inside[1:]} if others else {}
    return Bundle(name, settings, parts, {**notes, "inside": inside[0], **beside}, arrays)


def _hold(inner: BayesClassifier | Wrapper) -> Bundle:
    if isinstance(inner, Wrapper):
        return inner.bundle()
    kind, given = type(inner).__name__, inner.settings_to_save()
    return Bundle(kind, given, {ONE: (inner.model_, kind, given)}, None, {})


def _place(k: int) -> str:
    """What the names of the parts of an estimator inside begin with: the first, and those beside it."""
    return INNER if k == 0 else f"beside {k}."


def disclose(bundle: Bundle) -> tuple[BayesClassifier | Wrapper, Json, dict[str, Float]]:
    """What is inside a wrapper, and the notes and numbers of the wrapper itself."""
    (inner, *_), notes, own = disclose_all(bundle)
    return inner, notes, own


def disclose_all(bundle: Bundle) -> tuple[list[BayesClassifier | Wrapper], Json, dict[str, Float]]:
    """The same with the others that stand beside what is inside."""
    notes: dict[str, Any] = dict(bundle.notes)
    inside = [notes.pop("inside"), *notes.pop("others", [])]
    found, own = [], dict(bundle.numbers)
    for k, one in enumerate(inside):
        place = _place(k)
        held = Bundle(
            identifiers.estimator_of(one["model"]),
            identifiers.settings_of(build(one["settings"])),
            {n.removeprefix(place): part for n, part in bundle.parts.items() if n.startswith(place)},
            one["notes"],
            {n.removeprefix(place): a for n, a in bundle.numbers.items() if n.startswith(place)},
        )
        own = {n: a for n, a in own.items() if not n.startswith(place)}
        found.append(revive_bundle(held))
    return found, notes, own
