"""Bundle: several models in one ``.bayes`` file, with notes and numbers of the one they belong to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskit import record, store
from bayeskit.arrays import Array, Float
from bayeskit.codec import build, describe
from bayeskit.errors import ModelFileError


@dataclass(frozen=True)
class Bundle:
    """An estimator made of others."""

    kind: str
    settings: Mapping[str, Any]
    parts: Mapping[str, record.Read]  # each model with the name and settings of its estimator
    notes: Any  # whatever JSON holds
    numbers: Mapping[str, Float]

    def save(self, path: Any) -> None:
        """Write it whole or not at all."""
        headers: dict[str, Any] = {}
        arrays: dict[str, Array] = {
            f"numbers/{name}": np.asarray(a, dtype=np.float64) for name, a in self.numbers.items()
        }
        for name, (model, kind, settings) in self.parts.items():
            headers[name], tensors = record.packed(model, kind, settings)
            arrays |= {f"{name}/{key}": array for key, array in tensors.items()}
        header = {
            "model": self.kind,
            "settings": describe(dict(self.settings)),
            "parts": headers,
            "notes": self.notes,
            "numbers": {name: list(np.shape(array)) for name, array in self.numbers.items()},
        }
        store.write(path, header, arrays)

    @classmethod
    def load(cls, path: Any) -> Bundle:
        """Back from a file; ModelFileError if anything is not as saved."""
        read, arrays = store.read(path, _expected)
        header: dict[str, Any] = dict(read)
        with record.doubts(path):
            parts = {name: record.unpacked(head, _of(name, arrays)) for name, head in header["parts"].items()}
            numbers = _of("numbers", arrays)
            if not all(np.isfinite(array).all() for array in numbers.values()):
                raise ModelFileError("it holds numbers that are none")
            return cls(str(header["model"]), build(header["settings"]), parts, header["notes"], numbers)


def _of(name: str, arrays: Mapping[str, Array]) -> dict[str, Array]:
    return {key.removeprefix(f"{name}/"): array for key, array in arrays.items() if key.startswith(f"{name}/")}


def _expected(header: Mapping[str, Any]) -> store.Spec:
    """Names, types and shapes a file with this header must have."""
    try:
        spec: dict[str, Any] = {
            f"numbers/{name}": (np.dtype(np.float64), tuple(shape)) for name, shape in header["numbers"].items()
        }
        for name, head in header["parts"].items():
            spec |= {f"{name}/{key}": what for key, what in record.expected(head).items()}
        return spec
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(f"the header does not describe models ({error}); save the model again") from error
