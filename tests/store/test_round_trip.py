"""The container: what goes in comes out."""

import hashlib
import json
import subprocess
import sys

import numpy as np
import pytest
import safetensors
import safetensors.numpy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bayeskit.errors import InputError
from bayeskit.storage import container

from .container import ENV, SAVER, like, split, tree_of


def test_round_trip(path):
    arrays = {
        "zero": np.zeros((0, 3)),
        "nothing": np.zeros(0, np.uint8),
        "scalar": np.array(2.5),
        "whole": np.array(7),
        "turned": np.arange(12.0).reshape(3, 4).T,
        "strided": np.arange(10)[::3],
        "big": np.arange(3, dtype=">i8"),
        "odd": np.array([np.nan, np.inf, -0.0, 5e-324]),
        "bytes é": np.arange(5, dtype=np.uint8),
    }
    header = {
        "t": (1, 2),
        "deep": {"x": [1.5, -(2**63), 2**63 - 1, None, True]},
        "lone \ud800": "\udc80 é 😀",
        "q": '"\\',
    }
    container.write(path, header, arrays)
    got, back = container.read(path, like(arrays))
    assert got == header | {"t": [1, 2]}
    assert back.keys() == arrays.keys()
    for name, array in arrays.items():
        assert back[name].shape == array.shape
        assert back[name].dtype == array.dtype.newbyteorder("=")
        assert back[name].tobytes() == np.asarray(array, back[name].dtype).tobytes()
        assert back[name].flags.aligned
        assert not back[name].flags.writeable
    foreign = safetensors.numpy.load_file(path)
    assert {name: a.tobytes() for name, a in foreign.items()} == {name: a.tobytes() for name, a in back.items()}
    assert {name: a.shape for name, a in foreign.items()} == {name: a.shape for name, a in back.items()}
    with safetensors.safe_open(path, "np") as file:
        assert list(file.metadata()) == ["bayeskit"]


def test_empty_model(path):
    container.write(path, {}, {})
    assert container.read(path, lambda header, shapes: {}) == ({}, {})
    assert safetensors.numpy.load_file(path) == {}


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
shapes = st.lists(st.integers(0, 3), max_size=3).map(tuple)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(st.text(), json_values, max_size=4),
    st.dictionaries(
        st.text().filter(str.isprintable), st.tuples(shapes, st.sampled_from(["f8", "i8", "u1"])), max_size=4
    ),
)
def test_any_round_trip(tmp_path, header, tensors):
    file = tmp_path / "any.bayes"
    arrays = {name: np.ones(shape, kind) for name, (shape, kind) in tensors.items() if name != "__metadata__"}
    container.write(file, header, arrays)
    got, back = container.read(file, like(arrays))
    assert json.dumps(got, sort_keys=True) == json.dumps(header, sort_keys=True)
    for found in (back, safetensors.numpy.load_file(file)):
        assert {n: (a.shape, a.dtype) for n, a in found.items()} == {n: (a.shape, a.dtype) for n, a in arrays.items()}
        assert all((a == 1).all() for a in found.values())


def test_same_bytes_in_every_process_and_order(tmp_path):
    printed = set()
    for seed in range(4):
        out = tmp_path / f"{seed}.bayes"
        run = [sys.executable, SAVER, "order", out, "0"]
        printed.add(
            subprocess.run(run, env=ENV | {"PYTHONHASHSEED": str(seed)}, check=True, capture_output=True).stdout
        )
    assert len(printed) == 1
    assert len({file.read_bytes() for file in tmp_path.iterdir()}) == 1


def test_layout(raw):
    text, data = split(raw)
    assert len(text) % 8 == 0
    assert text.startswith(b'{"__metadata__":{"bayeskit":"{\\"format\\":2,\\"header\\":{')
    assert data == np.array([3, -4]).tobytes() + np.array([0.5, -0.0]).tobytes() + b"abc"
    tree, _ = tree_of(raw)
    assert tree["__metadata__"]["bayeskit"].keys() == {"format", "header", "sha256"}
    blank = raw.replace(tree["__metadata__"]["bayeskit"]["sha256"].encode(), b"0" * 64)
    assert hashlib.sha256(blank).hexdigest() == tree["__metadata__"]["bayeskit"]["sha256"]


@pytest.mark.parametrize(
    "header",
    [
        {"x": float("nan")},
        {"x": [float("inf")]},
        {"x": 2**63},
        {1: "x"},
        {"x": {None: 1}},
        {"x": {1, 2}},
        {"x": np.int64(1)},
        {"x": b"x"},
        {"\ud83d\ude00": 1},
        {"x": "\ud83d\ude00"},
        {"x": "y" * 2**24},
        json.loads('{"x":' * 33 + "1" + "}" * 33),
    ],
)
def test_header_that_would_not_come_back_is_refused(path, header):
    with pytest.raises(InputError, match=";"):
        container.write(path, header, {})
    assert not list(path.parent.iterdir())


def test_header_that_holds_itself_is_refused(path):
    loop = {}
    loop["x"] = loop
    with pytest.raises(InputError, match="deep"):
        container.write(path, loop, {})


def test_deepest_header(path):
    header = json.loads('{"x":' * 31 + "{}" + "}" * 31)
    container.write(path, header, {})
    assert container.read(path, lambda header, shapes: {})[0] == header


@pytest.mark.parametrize(
    "arrays",
    [
        {"x": np.zeros(2, np.float32)},
        {"x": np.zeros(2, bool)},
        {"x": np.array(["a"])},
        {"x": np.array([None])},
        {"__metadata__": np.zeros(2)},
        {"\ud800": np.zeros(2)},
    ],
)
def test_array_that_does_not_fit_is_refused(path, arrays):
    with pytest.raises(InputError, match=";"):
        container.write(path, {}, arrays)
    assert not list(path.parent.iterdir())
