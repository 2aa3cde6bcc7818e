"""Mutants of model files: damaged bytes, and files whose digest is right and whose content is not."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bayeskit.model.codec import registry
from bayeskit.storage import container

GOLDEN = Path(__file__).parents[1] / "golden"
ODD: list[Any] = [
    *(None, True, False, 0, 1, -1, 2, 7, 10**9, 2**62, -(2**63), 0.5, -0.5, 1e308, -1e308, 5e-324, 1e-300),
    *(
        "",
        "x",
        "class",
        "O",
        "U",
        "<f8",
        "missing",
        "level",
        "skip",
        "nominal",
        "quantitative",
        "count",
        "é",
        "a" * 999,
    ),
    *([], {}, [[]], [None], [1, 2], {"map": []}, {"map": [[1, 2]]}, {"map": [[[], 1]]}, {"is": "x"}),
]


def content(file: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Header and tensors of a sound file, to be changed."""
    raw = file.read_bytes()
    length = int.from_bytes(raw[:8], "little")
    tree, data = json.loads(raw[8 : 8 + length]), raw[8 + length :]
    header = json.loads(tree.pop("__metadata__")["bayeskit"])["header"]
    kinds = {"F64": "<f8", "I64": "<i8", "U8": "|u1"}
    arrays = {}
    for name, entry in tree.items():
        begin, end = entry["data_offsets"]
        arrays[name] = np.frombuffer(data[begin:end], kinds[entry["dtype"]]).reshape(entry["shape"]).copy()
    return header, arrays


def crafted(file: Path, chance: random.Random) -> tuple[dict[str, Any], dict[str, Any]]:
    """A file's content with one to three things changed, and without the digest that would tell."""
    header, arrays = content(file)
    for part in [header, *header.get("parts", {}).values()]:
        part.pop("digest", None)
    for _ in range(chance.choice([1, 1, 1, 2, 3])):
        if chance.random() < 0.5:
            header = changed(header, chance)
            header = header if isinstance(header, dict) else {}
        else:
            _change_tensor(arrays, chance)
    return header, arrays


def changed(tree: Any, chance: random.Random) -> Any:
    """JSON with one value, key or item changed."""
    tree = copy.deepcopy(tree)
    places = list(_places(tree))
    if not places:
        return chance.choice(ODD)
    owner, key = chance.choice(places)
    value = owner[key]
    match chance.randrange(7):
        case 0:
            del owner[key]
        case 1 if isinstance(owner, list):
            owner.insert(key, copy.deepcopy(value))
        case 2:
            other, there = chance.choice(places)
            owner[key] = copy.deepcopy(other[there])
        case 3 if isinstance(value, int | float) and not isinstance(value, bool):
            owner[key] = chance.choice([value + 1, value - 1, -value, value * 1e9, 0, float(value)])
        case 4:
            owner[key] = {"is": chance.choice(list(registry()))}
        case 5 if isinstance(owner, dict):
            owner[chance.choice(["more", "is", "map", *owner])] = copy.deepcopy(value)
        case _:
            owner[key] = copy.deepcopy(chance.choice(ODD))
    return tree


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Every value of a JSON tree, as its owner and its place there."""
    for key in tree if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ():
        yield tree, key
        yield from _places(tree[key])


def _change_tensor(arrays: dict[str, Any], chance: random.Random) -> None:
    name = chance.choice(list(arrays))
    if chance.random() < 0.3:
        texts = [name for name in arrays if name.endswith(".text")]
        if texts:
            _change_text(arrays, chance.choice(texts).removesuffix(".text"), chance)
            return
    array = arrays[name]
    match chance.randrange(6):
        case 0 if array.ndim:
            axis = chance.randrange(array.ndim)
            keep = np.arange(array.shape[axis])[: -1 if chance.random() < 0.5 else None]
            arrays[name] = np.take(array, [*keep.tolist(), *keep[-1:].tolist()], axis=axis)
        case 1 if array.ndim:
            arrays[name] = array[..., :-1] if chance.random() < 0.5 else array[1:]
        case 2 if array.size:
            arrays[name] = array.reshape(-1)[::-1].reshape(array.shape).copy()
        case 3 if chance.random() < 0.3:
            arrays[name] = array.astype("<f8" if array.dtype != "<f8" else "<i8")
        case 4:
            arrays[name] = array.reshape(chance.choice([(-1,), (1, -1), (-1, 1)])) if array.size else array
        case _ if array.size:
            flat = array.reshape(-1)
            j = chance.randrange(flat.size)
            flat[j] = _number(flat[j], chance)


def _number(old: Any, chance: random.Random) -> Any:
    if old.dtype.kind == "f":
        return chance.choice([0.0, -1.0, np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, old + 1, -old, old * 1e9])
    if old.dtype.itemsize == 1:
        return chance.randrange(256)
    whole = int(old)
    near = [whole + 1, whole - 1, -whole, whole ^ (1 << chance.randrange(62)), 2**31, 2**62, -(2**63), 2**63 - 1, 0, -1]
    return max(-(2**63), min(2**63 - 1, chance.choice(near)))


def _change_text(arrays: dict[str, Any], name: str, chance: random.Random) -> None:
    """A text changed, with the offsets that fit it; as JSON if it is some."""
    lines = container.unpack(arrays[f"{name}.text"], arrays[f"{name}.ends"])
    if not lines:
        return
    j = chance.randrange(len(lines))
    try:
        tree = [json.loads(lines[j])]
        line = json.dumps((changed(tree, chance) or [None])[0])
        lines[j] = line if chance.random() < 0.95 else "[" * 5000 + "]" * 5000
    except (ValueError, RecursionError):
        lines[j] = chance.choice(["", lines[0], "x" * 500, "\x00", "é", lines[j] + " "])
    text, ends = container.pack(lines)
    arrays[f"{name}.text"], arrays[f"{name}.ends"] = text.copy(), ends


def damaged(raw: bytes, chance: random.Random) -> bytes:
    """Bytes flipped, cut, doubled or moved."""
    data = bytearray(raw)
    for _ in range(chance.choice([1, 1, 2, 5])):
        begin = chance.randrange(len(data)) if data else 0
        end = min(len(data), begin + chance.choice([1, 1, 4, 8, 64]))
        match chance.randrange(5):
            case 0:
                data[begin:end] = bytes(chance.randrange(256) for _ in range(end - begin))
            case 1:
                del data[begin:end]
            case 2:
                data[begin:begin] = data[begin:end]
            case 3:
                del data[begin:]
            case _ if data:
                data[begin] ^= 1 << chance.randrange(8)
    return bytes(data) if data != raw else damaged(raw, chance)
