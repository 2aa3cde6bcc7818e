"""Fingerprint: header and tensors in their one canonical form, and the hash of it that a model is known by."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from bayeskit.arrays import Array
from bayeskit.errors import InputError

DEPTH = 32  # the deepest nesting of a header


CODES = {"<f8": "F64", "<i8": "I64", "|u1": "U8"}


_SPLIT = re.compile("[\ud800-\udbff][\udc00-\udfff]")  # JSON would join the two surrogates


def fingerprint(header: Mapping[str, object], arrays: Mapping[str, Array]) -> str:
    """Hex SHA-256 of header and arrays by value: the identity of a model, whatever the layout of its file.

    >>> fingerprint({"a": 1, "b": 2}, {}) == fingerprint({"b": 2, "a": 1}, {})
    True
    """
    plain = {name: to_stored_array(name, arrays[name]) for name in sorted(arrays)}
    tensors = [[name, CODES[array.dtype.str], array.shape] for name, array in plain.items()]
    digest = hashlib.sha256(canonical({"header": check_header(dict(header)), "tensors": tensors}).encode())
    for array in plain.values():
        digest.update(raw_bytes(array))
    return digest.hexdigest()


def canonical(value: object) -> str:
    """The one JSON text of a value; ASCII, so that lone surrogates pass."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def check_header(value: object, depth: int = 1) -> Any:
    """A header, refused if JSON would change it (but for tuples) or ``read`` refuse it."""
    if depth > DEPTH:
        raise InputError(f"the header is nested more than {DEPTH} deep; flatten it")
    match value:
        case dict():
            for key, part in value.items():
                if not isinstance(key, str):
                    raise InputError(f"the header has the key {key!r}; use text")
                check_header(key, depth)
                check_header(part, depth + 1)
        case list() | tuple():
            for part in value:
                check_header(part, depth + 1)
        case str() if _SPLIT.search(value):
            raise InputError(f"the header has a character in two surrogates, {value!r}; join them")
        case float() if not math.isfinite(value):
            raise InputError(f"the header has the number {value}; use a finite one or None")
        case int() if not -(2**63) <= value < 2**63:
            raise InputError("the header has an integer of more than 64 bits; use text or a tensor")
        case _ if not isinstance(value, str | float | int | None):
            raise InputError(f"the header has a {type(value)}; use text, numbers, None, lists and dicts")
    return value


def to_stored_dtype(name: str, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype as files have it, little-endian."""
    kind = dtype.newbyteorder("<")
    if kind.str not in CODES:
        raise InputError(f"tensor {name!r} is {dtype}; use float64, int64 or uint8")
    return kind


def to_stored_array(name: str, array: Array) -> Array:
    """The array as files have it (``ascontiguousarray`` would make 0-d 1-d)."""
    return np.asarray(array, dtype=to_stored_dtype(name, array.dtype), order="C")


def raw_bytes(array: Array) -> memoryview:
    """The bytes of a plain array, not copied."""
    return array.reshape(-1).view(np.uint8).data
