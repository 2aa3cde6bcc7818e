"""Bundle: several models in one ``.bayes`` file, with notes and numbers of the one they belong to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from bayeskit.arrays import Array, FilePath, Float
from bayeskit.errors import ModelFileError
from bayeskit.model.codec import build, describe, parse
from bayeskit.storage import container, identifiers, model_file

T = TypeVar("T")
FIELDS = {"model", "settings", "parts", "notes"}


@dataclass(frozen=True)
class Bundle:
    """An estimator made of others."""

    kind: str
    settings: Mapping[str, Any]
    parts: Mapping[str, model_file.Read]  # each model with the name and settings of its estimator
    notes: Any  # whatever JSON holds
    numbers: Mapping[str, Float]

    def save(self, path: FilePath) -> None:
        """Write it whole or not at all."""
        headers: dict[str, Any] = {}
        arrays: dict[str, Array] = {
            f"numbers/{name}": np.asarray(a, dtype=np.float64) for name, a in self.numbers.items()
        }
        for name, (model, kind, settings) in self.parts.items():
            headers[name], tensors = model_file.pack(model, kind, settings)
            arrays |= {f"{name}/{key}": array for key, array in tensors.items()}
        header = {
            "model": identifiers.identifier_of(self.kind),
            "settings": describe(identifiers.name_settings(self.settings)),
            "parts": headers,
            "notes": self.notes,
        }
        container.write(path, header, arrays)

    @classmethod
    def load(cls, path: FilePath) -> Bundle:
        """Back from a file; ModelFileError if anything is not as saved."""
        read, arrays = container.read(path, _tensor_spec)
        header: dict[str, Any] = dict(read)
        with model_file.doubts(path):
            parts = {name: model_file.unpack(head, _of(name, arrays)) for name, head in header["parts"].items()}
            numbers = _of("numbers", arrays)
            if not all(np.isfinite(array).all() for array in numbers.values()):
                raise ModelFileError("it holds numbers that are none")
            kind = identifiers.estimator_of(parse(str, header["model"], "model"))
            return cls(kind, identifiers.settings_of(build(header["settings"])), parts, header["notes"], numbers)


def _of(name: str, arrays: Mapping[str, T]) -> dict[str, T]:
    return {key.removeprefix(f"{name}/"): array for key, array in arrays.items() if key.startswith(f"{name}/")}


def _tensor_spec(header: Mapping[str, object], shapes: container.Shapes) -> container.Spec:
    """Names and types of the tensors a file with this header must have; their shapes are those there are."""
    if header.keys() != FIELDS or not isinstance(header["parts"], dict):
        raise ModelFileError("the header does not describe models; save the model again")
    spec: dict[str, Any] = {n: (np.dtype(np.float64), shape) for n, shape in shapes.items() if n.startswith("numbers/")}
    for name, head in header["parts"].items():
        spec |= {f"{name}/{key}": what for key, what in model_file.tensor_spec(head, _of(name, shapes)).items()}
    return spec
