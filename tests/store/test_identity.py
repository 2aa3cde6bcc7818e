"""What identifies a model, and how its names are packed."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayeskit.errors import InputError, ModelFileError
from bayeskit.model.codec import fingerprint
from bayeskit.storage import container

from .container import ARRAYS, HEADER, like


def test_fingerprint():
    first = fingerprint(HEADER, ARRAYS)
    assert re.fullmatch("[0-9a-f]{64}", first)
    assert first == fingerprint(dict(reversed(HEADER.items())), dict(reversed(ARRAYS.items())))
    assert first == fingerprint(HEADER, ARRAYS | {"n": np.array([[3, 0], [-4, 0]])[:, 0].astype(">i8")})
    n = ARRAYS["n"]
    others = [
        fingerprint(HEADER | {"k": 3}, ARRAYS),
        fingerprint(HEADER | {"k": 2.0}, ARRAYS),
        fingerprint(HEADER, ARRAYS | {"n": n + 1}),
        fingerprint(HEADER, ARRAYS | {"n": n.view(np.float64)}),
        fingerprint(HEADER, ARRAYS | {"n": n.reshape(1, 2)}),
        fingerprint(HEADER, ARRAYS | {"more": np.zeros(0)}),
        fingerprint(HEADER, {("m" if name == "n" else name): a for name, a in ARRAYS.items()}),
        fingerprint({}, {}),
    ]
    assert len({first, *others}) == len(others) + 1
    with pytest.raises(InputError):
        fingerprint({"x": float("nan")}, {})


@given(st.lists(st.text(st.characters(exclude_categories=())), max_size=20))
def test_pack_round_trip(texts):
    data, offsets = container.pack(texts)
    assert (data.dtype, offsets.dtype, offsets.shape) == (np.uint8, np.int64, (len(texts) + 1,))
    assert container.unpack(data, offsets) == texts


def test_pack_many(path):
    texts = [f"level {i} é" for i in range(100_000)]
    arrays = dict(zip(("data", "offsets"), container.pack(texts), strict=True))
    container.write(path, {}, arrays)
    assert container.unpack(**container.read(path, like(arrays))[1]) == texts


@pytest.mark.parametrize(
    ("data", "offsets"),
    [
        (b"abc", []),
        (b"abc", [0]),
        (b"abc", [1, 3]),
        (b"abc", [0, 2]),
        (b"abc", [0, 4]),
        (b"abc", [0, 2, 1, 3]),
        (b"abc", [0, -1, 3]),
        (b"abc", [0, 2**63 - 1, -2, 3]),
        (b"\xff", [0, 1]),
        ("é".encode(), [0, 1, 2]),
    ],
)
def test_unpack_refuses(data, offsets):
    with pytest.raises(ModelFileError, match=";"):
        container.unpack(np.frombuffer(data, np.uint8), np.array(offsets, np.int64))


def test_unpack_refuses_other_arrays():
    data, offsets = container.pack(["a", "b"])
    for odd in (
        (data.view(np.int8), offsets),
        (data, offsets * 1.0),
        (data[None], offsets),
        (data, offsets[None]),
    ):
        with pytest.raises(ModelFileError, match="uint8"):
            container.unpack(*odd)
