"""Model file: a model as the header and tensors of a ``.bayes`` file, and back with every doubt raised."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from bayeskit.arrays import Array, FilePath, Json
from bayeskit.data.schema import Alike, Schema
from bayeskit.errors import BayeskitError, InputError, ModelFileError
from bayeskit.model.codec import json_text, keys_of, parse_fields, write_fields
from bayeskit.model.model import Model
from bayeskit.storage import container, format1
from bayeskit.storage.model_reading import Header, expected_tensors, read_model

ESTIMATORS = {name: identifier for name, identifier in format1.ESTIMATORS.items() if name != format1.NETWORK}
SETTINGS: dict[str, str] = {}  # those of estimators that go by another name in files


def save(path: FilePath, model: Model, kind: str, settings: Mapping[str, object]) -> None:
    """Write a model with the name and the settings of its estimator."""
    container.write(path, *pack(model, kind, settings))


def pack(model: Model, kind: str, settings: Mapping[str, object]) -> tuple[dict[str, Any], dict[str, Array]]:
    """Header and tensors of a model."""
    counted, schema = model.counted, model.schema
    arrays: dict[str, Array] = {}
    domain = counted.domain
    names = schema.coded
    runs = list(_without_titles(schema).runs)
    texts = {
        "names": list(schema.names),
        "columns": [json_text(write_fields(run.like)) for run in runs],
        "classes": keys_of(domain.classes),
        "levels": [text for name in names for text in keys_of(domain.levels[name])],
    }
    for name, lines in texts.items():
        arrays[f"{name}.text"], arrays[f"{name}.ends"] = container.pack(lines)
    arrays["columns.runs"] = np.array([len(run) for run in runs], dtype=np.int64)
    arrays["levels.sizes"] = np.array([len(domain.levels[n]) for n in names], dtype=np.int64)
    position = {name: j for j, name in enumerate(schema.names)}
    arrays["owners"] = np.array([position[n] for _, owned in model.structure.components for n in owned], dtype=np.int64)
    arrays |= {f"counts/{name}": array for name, array in counted.statistic.arrays().items()}
    if ranged := counted.ranges.known:
        arrays["ranges.low"], arrays["ranges.high"] = counted.ranges.low, counted.ranges.high
        arrays["ranges.decimals"] = counted.ranges.decimals
    if model.weighting is not None:
        arrays["tuning.weight"], arrays["tuning.bias"] = model.weighting.weight, model.weighting.bias_of(domain.classes)
    header = Header(
        identifier_of(kind),
        tuple((family, len(owned)) for family, owned in model.structure.components),
        schema.named,
        schema.target,
        schema.label,
        schema.classes,
        model.prior,
        model.unseen,
        model.weighting is not None,
        False,
        ranged,
        ranged,
        named_settings(settings),
        counted.tally,
        model.journal,
        model.digest,
    )
    return write_fields(header), arrays


def identifier_of(kind: str) -> str:
    """What files call an estimator."""
    if kind not in ESTIMATORS:
        raise InputError(f"a {kind} cannot be saved in a model file; only bayeskit's own estimators can")
    return ESTIMATORS[kind]


def estimator_of(identifier: str) -> str:
    """The estimator that files call so."""
    for name, known in ESTIMATORS.items():
        if known == identifier:
            return name
    raise ModelFileError(f"model kind {identifier!r} is not known to this version; update bayeskit")


def named_settings(settings: Mapping[str, object]) -> Json:
    """Settings of an estimator by their names in files."""
    return {SETTINGS.get(name, name): value for name, value in settings.items()}


def settings_of(saved: Any) -> Json:
    """And back."""
    if not isinstance(saved, dict) or not all(isinstance(name, str) for name in saved):
        raise ModelFileError("its settings are none")
    names = {other: name for name, other in SETTINGS.items()}
    return {names.get(str(name), str(name)): value for name, value in saved.items()}


Read = tuple[Model, str, dict[str, Any]]  # a model, the name and the settings of its estimator


def load(path: FilePath) -> Read:
    """What a file holds; ModelFileError if anything is not as saved."""
    header, arrays = container.read(path, expected_tensors)
    with doubts(path):
        return unpack(header, arrays)


def unpack(header: Mapping[str, object], arrays: Mapping[str, Array]) -> Read:
    """Back from header and tensors."""
    told = parse_fields(Header, header)
    return read_model(told, arrays), estimator_of(told.model), settings_of(told.settings)


@contextmanager
def doubts(path: FilePath) -> Iterator[None]:
    """Whatever turns out wrong in the content of a file is told with its name."""
    try:
        yield
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from error
    except (BayeskitError, ValueError, TypeError, KeyError, IndexError, OverflowError) as error:
        raise ModelFileError(f"{path}: its content contradicts itself ({error}); save the model again") from error


def _without_titles(schema: Schema) -> Schema:
    """The schema without what its families are called, which follows from the components."""
    if isinstance(schema.columns, Alike):
        return replace(schema, columns=replace(schema.columns, like=replace(schema.columns.like, family="")))
    return replace(schema, columns=tuple(replace(column, family="") for column in schema.columns))
