"""A small model file, and ways to tamper with its bytes."""

import hashlib
import json
import os
import re
from pathlib import Path

import numpy as np
import pytest

from bayeskit.errors import ModelFileError
from bayeskit.storage import container

SAVER = Path(__file__).with_name("saver.py")
ENV = {**os.environ, "PYTHONPATH": str(Path(container.__file__).parents[1])}
HEADER = {"k": 2, "name": "wétter", "smoothing": 0.5, "tags": [None, True, {}]}
ARRAYS = {"n": np.array([3, -4]), "sum": np.array([[0.5, -0.0]]), "text": np.frombuffer(b"abc", np.uint8)}


def expect(header, shapes):
    """The tensors of ARRAYS; ``k`` is checked by nobody else."""
    return {"n": ("int64", (header["k"],)), "sum": ("<f8", (1, header["k"])), "text": (np.dtype("u1"), (3,))}


def like(arrays):
    """An ``expect`` for any arrays."""
    return lambda header, shapes: {name: (a.dtype, a.shape) for name, a in arrays.items()}


def reseal(raw):
    """What a hostile writer does: make the digest fit the bytes."""
    field = re.search(rb'sha256\\":\\"(.{64})\\"', raw, re.DOTALL)
    if not field:
        return raw
    start = field.start(1)
    digest = hashlib.sha256(raw[:start] + b"0" * 64 + raw[start + 64 :]).hexdigest().encode()
    return raw[:start] + digest + raw[start + 64 :]


def split(raw):
    """The JSON text and the data of a file."""
    length = int.from_bytes(raw[:8], "little")
    return raw[8 : 8 + length], raw[8 + length :]


def join(text, data):
    """A file whose length and digest are right."""
    text += b" " * (-len(text) % 8)
    return reseal(len(text).to_bytes(8, "little") + text + data)


def edited(raw, old, new):
    """The file with ``old`` replaced by ``new`` in its JSON, and sealed again."""
    text, data = split(raw)
    assert text.count(old) == 1, (old, text)
    return join(text.replace(old, new), data)


def dumped(tree, data):
    """A sealed file with this JSON tree; its ``bayeskit`` value may still be a tree."""
    if not isinstance(tree["__metadata__"]["bayeskit"], str):
        inner = json.dumps(tree["__metadata__"]["bayeskit"], sort_keys=True, separators=(",", ":"))
        tree = tree | {"__metadata__": tree["__metadata__"] | {"bayeskit": inner}}
    return join(json.dumps(tree, separators=(",", ":")).encode(), data)


def tree_of(raw):
    """The JSON tree of a file, metadata parsed, and the data."""
    text, data = split(raw)
    tree = json.loads(text)
    tree["__metadata__"]["bayeskit"] = json.loads(tree["__metadata__"]["bayeskit"])
    return tree, data


def refused(path, raw, match=None, expect=expect):
    """The file with these bytes is refused, with its path and what to do."""
    path.write_bytes(raw)
    with pytest.raises(ModelFileError, match=match) as caught:
        container.read(path, expect)
    assert str(caught.value).startswith(f"{path}: ")
    assert ";" in str(caught.value)
    assert len(str(caught.value)) < 1200
