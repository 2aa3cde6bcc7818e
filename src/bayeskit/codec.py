"""Settings as JSON and back: numbers, texts, mappings with any keys, and the value classes named here."""

from __future__ import annotations

import ast
import json
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from bayeskit import smoothing
from bayeskit.data.kinds import Nominal, Ordinal
from bayeskit.data.levels import Levels
from bayeskit.errors import InputError, ModelFileError
from bayeskit.families import families
from bayeskit.structures import structures


def _known() -> dict[str, type[Any]]:
    rules = (
        smoothing.Laplace,
        smoothing.NoSmoothing,
        smoothing.ReplaceZeros,
        smoothing.MEstimate,
        smoothing.TowardPooled,
        smoothing.AddM,
    )
    return {**families(), **structures(), **{rule.__name__: rule for rule in rules}}


KINDS = {kind.identifier: kind for kind in (Nominal, Ordinal)}


def describe(value: Any) -> Any:
    """A JSON value that ``build`` turns back into an equal one.

    >>> describe({"age": smoothing.Laplace(2.0)})
    {'map': [['age', {'is': 'Laplace', 'alpha': 2.0}]]}
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray):
        return [describe(v) for v in value.tolist()]
    if isinstance(value, list | tuple):
        return [describe(v) for v in value]
    if hasattr(value, "items"):  # a mapping, or a labelled column
        return {"map": [[describe(k), describe(v)] for k, v in value.items()]}
    if isinstance(value, type) and value.__name__ in _known():
        value = value()
    if isinstance(value, Nominal | Ordinal):
        return {"is": value.identifier, "levels": describe(value.levels)}
    if is_dataclass(value) and type(value).__name__ in _known():
        return {
            "is": type(value).__name__,
            **{f.name: describe(getattr(value, f.name)) for f in fields(value)},
        }
    raise InputError(f"{value!r} cannot be saved in a model file; only bayeskit's own families and smoothings can")


def build(record: Any) -> Any:
    """The value of a description; sequences come back as tuples."""
    if isinstance(record, list):
        return tuple(build(v) for v in record)
    if not isinstance(record, dict):
        return record
    if "map" in record:
        return {build(k): build(v) for k, v in record["map"]}
    kind = {**_known(), **KINDS}.get(record.get("is", ""))
    if kind is None:
        raise ModelFileError(f"the model file names {record.get('is')!r}, which this version does not know")
    return kind(**{name: build(v) for name, v in record.items() if name != "is"})


def read(text: str) -> Any:
    """The value class that a text names, with settings as it would print them; ValueError if it names none.

    >>> read("ZeroInflated(Gamma, smoothing=0.5)")
    ZeroInflated(family=Gamma(), smoothing=0.5)
    """
    try:
        return _read(ast.parse(text.strip(), mode="eval").body)
    except InputError:
        raise
    except (SyntaxError, ValueError, TypeError, KeyError, RecursionError, MemoryError) as error:
        raise ValueError(f"{text!r} cannot be read: {error}") from error


def _read(node: ast.expr) -> Any:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        named = {word.arg: _read(word.value) for word in node.keywords if word.arg is not None}
        return _known()[node.func.id](*map(_read, node.args), **named)
    return _known()[node.id]() if isinstance(node, ast.Name) else ast.literal_eval(node)


def keys_of(levels: Levels) -> list[str]:
    """Levels as JSON texts of type family and value; texts, because labels may be longer than 64 bits."""
    return [json_text(k) for k in levels.keys]


def json_text(value: Any) -> str:
    """The one JSON text of a value."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
