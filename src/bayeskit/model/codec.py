"""Settings as JSON and back, the value classes files may name, and the hash that a model is known by."""

from __future__ import annotations

import ast
import hashlib
import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import numpy as np

from bayeskit import smoothing
from bayeskit.arrays import Array, HasItems, Json
from bayeskit.data.kinds import Nominal, Ordinal
from bayeskit.data.levels import Levels
from bayeskit.errors import InputError, ModelFileError
from bayeskit.families import families
from bayeskit.structures import structures
from bayeskit.validation import SAVED_AS

T = TypeVar("T")
WHOLE = re.compile(r"-?[0-9]{19,4000}")  # an integer of more than 64 bits
NUMBERS: dict[Any, tuple[type, ...]] = {bool: (bool,), int: (int,), float: (float, int), str: (str,)}


def smoothings() -> dict[str, type[Any]]:
    """Every zero-count correction by name."""
    rules = (rule for rule in vars(smoothing).values() if isinstance(rule, type) and is_dataclass(rule))
    return {rule.__name__: rule for rule in rules if smoothing.Smoothing in rule.__mro__}


@cache
def registry() -> dict[str, type[Any]]:
    """Every value class that a file may name, by its identifier there."""
    known: list[Any] = [*families().values(), *structures().values(), *smoothings().values(), Nominal, Ordinal]
    found: dict[str, type[Any]] = {}
    for kind in known:
        if (other := found.setdefault(kind.identifier, kind)) is not kind:
            both = " and ".join(f"{k.__module__}.{k.__qualname__}" for k in (other, kind))
            raise TypeError(f"{both} have the same identifier in files, {kind.identifier!r}; give each its own")
    return found


def likelihoods() -> list[type[Any]]:
    """Those that are likelihoods of columns."""
    return [kind for name, kind in registry().items() if name.startswith(("family/", "structure/"))]


def describe(value: Any) -> Any:
    """A JSON value that ``build`` turns back into an equal one.

    >>> describe({"age": smoothing.Laplace(2.0), "sex": smoothing.Laplace()})
    {'map': [['age', {'is': 'smoothing/laplace', 'alpha': 2.0}], ['sex', {'is': 'smoothing/laplace'}]]}
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, int) and not -(2**63) <= value < 2**63:  # as labels may be, which JSON's readers are not
        return {"whole": str(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray):
        return [describe(v) for v in value.tolist()]
    if isinstance(value, list | tuple):
        return [describe(v) for v in value]
    if isinstance(value, HasItems):  # a mapping, or a labelled column
        return {"map": [[describe(k), describe(v)] for k, v in value.items()]}
    if isinstance(value, type) and value in registry().values():
        value = value()
    if type(value) in registry().values():
        return {"is": type(value).identifier, **write_fields(value)}
    raise InputError(f"{value!r} cannot be saved in a model file; only bayeskit's own families and smoothings can")


def build(record: object) -> Any:
    """The value of a description; sequences come back as tuples."""
    if isinstance(record, list):
        return tuple(build(v) for v in record)
    if not isinstance(record, dict):
        return record
    if "whole" in record:
        return _whole(parse(str, record["whole"], "an integer"))
    if "map" in record:
        return _mapping(parse(tuple[tuple[Any, Any], ...], record["map"], "a mapping"))
    kind = registry().get(parse(str, record.get("is", ""), "an identifier"))
    if kind is None:
        raise ModelFileError(f"the model file names {record.get('is')!r}, which this version does not know")
    return parse_fields(kind, {name: v for name, v in record.items() if name != "is"})


def _whole(digits: str) -> int:
    if not WHOLE.fullmatch(digits):
        raise ModelFileError("an integer is none")
    return int(digits)


def _mapping(pairs: tuple[tuple[Any, Any], ...]) -> dict[Any, Any]:
    try:
        found = dict(pairs)
    except TypeError as error:
        raise ModelFileError("a mapping has a key that is none") from error
    if len(found) < len(pairs):
        raise ModelFileError("a mapping has the same key twice")
    return found


def write_fields(value: object) -> Json:
    """The fields of a dataclass as JSON, but for those that equal their defaults.

    >>> write_fields(smoothing.MEstimate(2.0))
    {'m': 2.0}
    """
    kind: Any = type(value)
    records = {name: _describe_field(hint, getattr(value, f.name)) for name, (f, hint) in _fields(kind).items()}
    return {name: record for name, record in records.items() if json_text(record) != _defaults(kind).get(name)}


def parse_fields(kind: Callable[..., T], record: object) -> T:
    """The dataclass that ``write_fields`` turned into JSON, each field of the type it is declared to have."""
    known = _fields(kind)
    if not isinstance(record, Mapping) or (odd := sorted(record.keys() - known.keys())):
        what = f"the field {odd[0]!r}" if isinstance(record, Mapping) else f"{type(record).__name__} for fields"
        raise ModelFileError(f"{kind.__name__} has {what}, which this version does not know")
    given = {known[name][0].name: parse(known[name][1], part, name) for name, part in record.items()}
    if lacking := [f.name for f, _ in known.values() if f.name not in given and not _optional(f)]:
        raise ModelFileError(f"{kind.__name__} lacks {lacking[0]!r}")
    return kind(**given)


def parse(hint: Any, record: Any, where: str) -> Any:
    """The value of a JSON record that has to be of a type."""
    if hint is Any:
        return build(record)
    if get_origin(hint) in (Union, UnionType):
        return parse(next((arm for arm in get_args(hint) if _fits(arm, record)), get_args(hint)[0]), record, where)
    if not _fits(hint, record):
        raise ModelFileError(
            f"{where} is {type(record).__name__}, not {hint.__name__ if isinstance(hint, type) else hint}"
        )
    if get_origin(hint) is tuple:
        inner = get_args(hint)
        each = [inner[0]] * len(record) if inner[-1] is Ellipsis else inner
        if len(each) != len(record):
            raise ModelFileError(f"{where} has {len(record)} parts, not {len(each)}")
        return tuple(parse(part, item, where) for part, item in zip(each, record, strict=True))
    if hint in NUMBERS or hint is NoneType:
        return record
    if is_dataclass(hint) and hint not in registry().values():
        return parse_fields(cast(Any, hint), record)
    value = build(record)
    if (get_origin(hint) or hint) not in type(value).__mro__:
        raise ModelFileError(f"{where} is {value!r}, not a {hint.__name__}")
    return value


def _fits(hint: object, record: object) -> bool:
    """Whether a record looks like a value of a type; numbers are no truth values."""
    if hint in NUMBERS:
        return type(record) in NUMBERS[hint]
    if hint is NoneType or hint is Any:
        return hint is Any or record is None
    return isinstance(record, list if get_origin(hint) is tuple else dict)


def _describe_field(hint: object, value: object) -> Any:
    """A field as JSON."""
    if get_origin(hint) is tuple and isinstance(value, tuple):
        inner = get_args(hint)
        each = [inner[0]] * len(value) if inner[-1] is Ellipsis else inner
        return [_describe_field(part, item) for part, item in zip(each, value, strict=True)]
    plain = hint is not Any and is_dataclass(value) and type(value) not in registry().values()
    return write_fields(value) if plain else describe(value)


@cache
def _fields(kind: Any) -> dict[str, tuple[Field[Any], Any]]:
    """The fields of a dataclass with their types, by name in files."""
    hints = get_type_hints(kind)
    return {f.metadata.get(SAVED_AS, f.name): (f, hints[f.name]) for f in fields(kind)}


@cache
def _defaults(kind: Any) -> dict[str, str]:
    """The defaults of a dataclass as JSON texts, by name in files."""
    known = _fields(kind).items()
    plain = kind() if all(_optional(f) for _, (f, _) in known) else None  # with its settings in their plain form
    given = {
        n: (hint, _default(f) if plain is None else getattr(plain, f.name)) for n, (f, hint) in known if _optional(f)
    }
    return {name: json_text(_describe_field(hint, value)) for name, (hint, value) in given.items()}


def _optional(f: Field[Any]) -> bool:
    return f.default is not MISSING or f.default_factory is not MISSING


def _default(f: Field[Any]) -> Any:
    return f.default if f.default_factory is MISSING else f.default_factory()


def read(text: str) -> Any:
    """The family that a text names, with settings as it would print them; ValueError if it names none.

    >>> read("ZeroInflated(Gamma, smoothing=0.5)")
    ZeroInflated(family=Gamma(), smoothing=0.5)
    """
    try:
        return _read(ast.parse(text.strip(), mode="eval").body, "")
    except InputError:
        raise
    except (SyntaxError, ValueError, TypeError, KeyError, RecursionError, MemoryError) as error:
        raise ValueError(f"{text!r} cannot be read: {error}") from error


def _read(node: ast.expr, setting: str) -> Any:
    """A value; names are those of families, or of smoothings where the setting is one."""
    known = smoothings() if setting == "smoothing" else {**families(), **structures()}
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        kind = known[_meant(node.func.id, known)]
        placed = [_read(part, f.name) for part, f in zip(node.args, fields(kind), strict=False)]
        named = {word.arg: _read(word.value, word.arg) for word in node.keywords if word.arg is not None}
        return kind(*placed, *node.args[len(placed) :], **named)
    return known[_meant(node.id, known)]() if isinstance(node, ast.Name) else ast.literal_eval(node)


def _meant(name: str, known: Mapping[str, object]) -> str:
    """The known name that is meant, whatever the case of its letters: "negative_binomial" is NegativeBinomial."""
    return {other.lower(): other for other in known}.get(name.lower().replace("_", ""), name)


def keys_of(levels: Levels) -> list[str]:
    """Levels as JSON texts of type family and value; texts, because labels may be longer than 64 bits."""
    return [json_text(k) for k in levels.keys]


def json_text(value: object) -> str:
    """The one JSON text of a value."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


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


def to_stored_dtype(name: str, dtype: np.dtype[np.generic]) -> np.dtype[np.generic]:
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
