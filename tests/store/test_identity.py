"""What identifies a model, and how its names are packed."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayeskit import store
from bayeskit.errors import InputError, ModelFileError

from .container import ARRAYS, HEADER, like


def test_fingerprint():
    first = store.fingerprint(HEADER, ARRAYS)
    assert re.fullmatch("[0-9a-f]{64}", first)
    assert first == store.fingerprint(dict(reversed(HEADER.items())), dict(reversed(ARRAYS.items())))
    assert first == store.fingerprint(HEADER, ARRAYS | {"n": np.array([[3, 0], [-4, 0]])[:, 0].astype(">i8")})
    n = ARRAYS["n"]
    others = [
        store.fingerprint(HEADER | {"k": 3}, ARRAYS),
        store.fingerprint(HEADER | {"k": 2.0}, ARRAYS),
        store.fingerprint(HEADER, ARRAYS | {"n": n + 1}),
        store.fingerprint(HEADER, ARRAYS | {"n": n.view(np.float64)}),
        store.fingerprint(HEADER, ARRAYS | {"n": n.reshape(1, 2)}),
        store.fingerprint(HEADER, ARRAYS | {"more": np.zeros(0)}),
        store.fingerprint(HEADER, {("m" if name == "n" else name): a for name, a in ARRAYS.items()}),
        store.fingerprint({}, {}),
    ]
    assert len({first, *others}) == len(others) + 1
    with pytest.raises(InputError):
        store.fingerprint({"x": float("nan")}, {})


@given(st.lists(st.text(st.characters(exclude_categories=())), max_size=20))
def test_pack_round_trip(texts):
    data, offsets = store.pack(texts)
    assert (data.dtype, offsets.dtype, offsets.shape) == (np.uint8, np.int64, (len(texts) + 1,))
    assert store.unpack(data, offsets) == texts


def test_pack_many(path):
    texts = [f"level {i} é" for i in range(100_000)]
    arrays = dict(zip(("data", "offsets"), store.pack(texts), strict=True))
    store.write(path, {}, arrays)
    assert store.unpack(**store.read(path, like(arrays))[1]) == texts


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
        store.unpack(np.frombuffer(data, np.uint8), np.array(offsets, np.int64))


def test_unpack_refuses_other_arrays():
    data, offsets = store.pack(["a", "b"])
    for odd in (
        (data.view(np.int8), offsets),
        (data, offsets * 1.0),
        (data[None], offsets),
        (data, offsets[None]),
    ):
        with pytest.raises(ModelFileError, match="uint8"):
            store.unpack(*odd)
