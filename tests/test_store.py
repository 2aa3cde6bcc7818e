"""The container: what goes in comes out, and nothing else is let in."""

import errno
import hashlib
import json
import os
import random
import re
import resource
import stat
import subprocess
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import safetensors
import safetensors.numpy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bayeskit import store
from bayeskit.errors import InputError, ModelFileError
from store_saver import expect as saver_expect
from store_saver import model as saver_model

SAVER = Path(__file__).with_name("store_saver.py")
ENV = {**os.environ, "PYTHONPATH": str(Path(store.__file__).parents[1])}
HEADER = {"k": 2, "name": "wétter", "smoothing": 0.5, "tags": [None, True, {}]}
ARRAYS = {"n": np.array([3, -4]), "sum": np.array([[0.5, -0.0]]), "text": np.frombuffer(b"abc", np.uint8)}


def expect(header):
    """The tensors of ARRAYS; ``k`` is checked by nobody else."""
    return {"n": ("int64", (header["k"],)), "sum": ("<f8", (1, header["k"])), "text": (np.dtype("u1"), (3,))}


def like(arrays):
    """An ``expect`` for any arrays."""
    return lambda header: {name: (a.dtype, a.shape) for name, a in arrays.items()}


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


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.bayes"


@pytest.fixture
def raw(path):
    store.write(path, HEADER, ARRAYS)
    return path.read_bytes()


def refused(path, raw, match=None, expect=expect):
    """The file with these bytes is refused, with its path and what to do."""
    path.write_bytes(raw)
    with pytest.raises(ModelFileError, match=match) as caught:
        store.read(path, expect)
    assert str(caught.value).startswith(f"{path}: ")
    assert ";" in str(caught.value)
    assert len(str(caught.value)) < 1200


# what goes in comes out


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
    store.write(path, header, arrays)
    got, back = store.read(path, like(arrays))
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
    store.write(path, {}, {})
    assert store.read(path, lambda header: {}) == ({}, {})
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
    store.write(file, header, arrays)
    got, back = store.read(file, like(arrays))
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
    assert text.startswith(b'{"__metadata__":{"bayeskit":"{\\"format\\":1,\\"header\\":{')
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
        store.write(path, header, {})
    assert not list(path.parent.iterdir())


def test_header_that_holds_itself_is_refused(path):
    loop = {}
    loop["x"] = loop
    with pytest.raises(InputError, match="deep"):
        store.write(path, loop, {})


def test_deepest_header(path):
    header = json.loads('{"x":' * 31 + "{}" + "}" * 31)
    store.write(path, header, {})
    assert store.read(path, lambda header: {})[0] == header


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
        store.write(path, {}, arrays)
    assert not list(path.parent.iterdir())


# nothing else is let in


def test_every_bit_counts(path, raw):
    assert len(raw) < 1000
    for place in range(len(raw)):
        for bit in range(8):
            damaged = bytearray(raw)
            damaged[place] ^= 1 << bit
            refused(path, damaged)


def test_every_truncation_and_extension(path, raw):
    for length in range(len(raw)):
        refused(path, raw[:length])
        refused(path, reseal(raw[:length]))
    for more in (b"\0", b" ", b"\0" * 8, raw):
        refused(path, raw + more)
        refused(path, reseal(raw + more), "bytes where")
    refused(path, b" " + raw)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"a,b,c\n1,2,3\n" * 9,
        b"PK\x03\x04" + bytes(60),
        b"\x80\x04\x95\x0b\0\0\0\0\0\0\0}\x94\x8c\x01a\x94K\x01s.",
        bytes(4096),
        (2**63).to_bytes(8, "little") + b"{}",
        (2**64 - 1).to_bytes(8, "little") + b"{}",
        (2).to_bytes(8, "little") + b"{}",
        (2).to_bytes(8, "little") + b"[]",
        (4).to_bytes(8, "little") + b"\xff\xfe{}",
        (4).to_bytes(8, "little") + b"null",
        safetensors.numpy.save({"x": np.zeros(2)}),
        safetensors.numpy.save({"x": np.zeros(2)}, {"bayeskit": "{}"}),
        safetensors.numpy.save({"x": np.zeros(2)}, {"bayeskit": "[]"}),
        safetensors.numpy.save({"x": np.zeros(2)}, {"bayeskit": "1", "more": "2"}),
    ],
)
def test_other_kinds_of_file(path, raw):
    refused(path, raw)


def test_what_is_no_file(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    for odd in (tmp_path, tmp_path / "none.bayes", tmp_path / "fifo", Path("/dev/zero"), tmp_path / "a\0b"):
        with pytest.raises(ModelFileError, match="; ") as caught:
            store.read(odd, expect)
        assert str(caught.value).startswith(f"{odd}: ")


def test_duplicate_keys(path, raw):
    again = b'"n":{"dtype":"I64","shape":[2],"data_offsets":[0,16]}'
    refused(path, edited(raw, again, again + b"," + again), "twice")
    refused(path, edited(raw, rb"\"k\":2", rb"\"k\":2,\"k\":2"), "twice")
    refused(path, edited(raw, rb"{\"format\":1", rb"{\"format\":1,\"format\":1"), "twice")
    refused(path, edited(raw, b'"dtype":"U8"', b'"dtype":"U8","dtype":"U8"'), "twice")
    refused(path, edited(raw, b'{"__metadata__"', b'{"__metadata__":{},"__metadata__"'), "twice")


def test_names_of_tensors(path, raw):
    tree, data = tree_of(raw)
    refused(path, dumped(tree | {"more": {"dtype": "U8", "shape": [0], "data_offsets": [35, 35]}}, data), "more")
    refused(path, dumped({k: v for k, v in tree.items() if k != "text"}, data[:-3]), "text")
    refused(path, dumped({("m" if k == "n" else k): v for k, v in tree.items()}, data), r"\['m', 'n'\]")


@pytest.mark.parametrize(
    ("name", "entry"),
    [
        ("n", {"shape": [1, 2]}),
        ("n", {"shape": [3]}),
        ("n", {"shape": [2.0]}),
        ("n", {"shape": [True, 2]}),
        ("n", {"shape": [2**61 + 2]}),
        ("n", {"shape": [2**64 + 2]}),
        ("n", {"shape": [-2]}),
        ("n", {"shape": [-1, -2]}),
        ("n", {"shape": [2**32, 2**32, 2]}),
        ("n", {"shape": 2}),
        ("n", {"shape": None}),
        ("n", {"dtype": "F64"}),
        ("n", {"dtype": "I32"}),
        ("n", {"dtype": "BOOL"}),
        ("n", {"dtype": ["I64"]}),
        ("n", {"data_offsets": [8, 24]}),
        ("n", {"data_offsets": [16, 32]}),
        ("n", {"data_offsets": [0, 8]}),
        ("n", {"data_offsets": [-16, 0]}),
        ("n", {"data_offsets": [0, 16, 16]}),
        ("n", {"data_offsets": [2**64, 2**64 + 16]}),
        ("n", {"data_offsets": [0, "16"]}),
        ("sum", {"data_offsets": [0, 16]}),
        ("text", {"data_offsets": [33, 36]}),
        ("text", {"more": 1}),
    ],
)
def test_entries_of_tensors(path, raw, name, entry):
    tree, data = tree_of(raw)
    tree[name] = tree[name] | entry
    refused(path, dumped(tree, data))


def test_other_order_of_tensors(path, raw):
    tree, data = tree_of(raw)
    tree["n"]["data_offsets"], tree["sum"]["data_offsets"] = (
        tree["sum"]["data_offsets"],
        tree["n"]["data_offsets"],
    )
    refused(path, dumped(tree, data), "tensor 'n'")


def test_wrong_shape_by_header(path, raw):
    for k in (3, 1, 0, -2, 2.0, True, "2", None, [], 2**61 + 2, 2**62, 10**18):
        tree, data = tree_of(raw)
        tree["__metadata__"]["bayeskit"]["header"]["k"] = k
        refused(path, dumped(tree, data))
    tree, data = tree_of(raw)
    del tree["__metadata__"]["bayeskit"]["header"]["k"]
    refused(path, dumped(tree, data), "KeyError")


@pytest.mark.parametrize("shape", [(2**62,), (0, 2**62), (2**31, 2**31, 0), (0,) * 65, (2**64,), (-1,), ("2",), (1.5,)])
def test_shapes_that_overflow(path, shape):
    tree, data = tree_of(_bytes_of(path, {}, {"x": np.zeros(0)}))
    tree["x"]["shape"] = shape
    match = "cannot have shape|TypeError"
    refused(path, dumped(tree, data), match, expect=lambda header: {"x": ("f8", shape)})


def _bytes_of(path, header, arrays):
    store.write(path, header, arrays)
    return path.read_bytes()


def test_format_and_metadata(path, raw):
    refused(path, edited(raw, rb"\"format\":1", rb"\"format\":2"), "format 2 is unknown.*newer")
    tree, data = tree_of(raw)
    future = tree | {"__metadata__": {"bayeskit": {"format": 7, "quite": "other"}}}
    refused(path, dumped(future, data), "format 7 is unknown")
    for odd in (True, 1.0, "1", None, [1]):
        tree["__metadata__"]["bayeskit"]["format"] = odd
        refused(path, dumped(tree, data))
    for change in ({"more": 1}, {"header": []}, {"header": None}, {"sha256": None}):
        tree, data = tree_of(raw)
        tree["__metadata__"]["bayeskit"] |= change
        refused(path, dumped(tree, data))
    for metadata in ({}, [], {"bayeskit": 1}, {"Bayeskit": "{}"}):
        tree, data = tree_of(raw)
        refused(path, join(json.dumps(tree | {"__metadata__": metadata}).encode(), data))
    tree, data = tree_of(raw)
    digest = tree["__metadata__"]["bayeskit"]["sha256"].encode()
    assert digest != digest.upper()
    refused(path, raw.replace(digest, digest.upper()), "SHA-256")
    refused(path, raw.replace(digest, b"0" * 64), "SHA-256")
    tree["__metadata__"]["also"] = "x"
    refused(path, dumped(tree, data), "not of bayeskit alone")


def test_other_spelling_of_the_same_json(path, raw):
    refused(path, edited(raw, b'"n":{', b'"n": {'), "not as bayeskit writes it")
    refused(path, edited(raw, b'"n":{', b'"\\u006e":{'), "not as bayeskit writes it")
    refused(path, edited(raw, rb"\"smoothing\":0.5", rb"\"smoothing\":0.50"), "not as bayeskit writes it")
    text, data = split(raw)
    refused(path, join(text + b" " * 8, data), "not as bayeskit writes it")


@pytest.mark.parametrize(
    ("number", "match"),
    [
        ("NaN", "invalid literal"),
        ("Infinity", "invalid literal"),
        ("-Infinity", "invalid literal"),
        ("9" * 25, "64 bits"),
        ("9" * 100_000, "64 bits"),
        (str(2**63), "64 bits|tensor 'n'"),
        ("1e999", "finite|tensor 'n'"),
        ("-1e999", "finite|tensor 'n'"),
    ],
)
def test_numbers_of_the_header(path, raw, number, match):
    refused(path, edited(raw, rb"\"smoothing\":0.5", rb"\"smoothing\":" + number.encode()), match)
    refused(path, edited(raw, b"[0,16]", b"[" + number.encode() + b",16]"), match)


@pytest.mark.parametrize("opening", [b"[", b'{\\"a\\":', b"[[],"])
def test_deep_nesting(path, raw, opening):
    refused(path, edited(raw, rb"\"smoothing\":0.5", rb"\"smoothing\":" + opening * 10**5), "deep")
    plain = opening.replace(b"\\", b"")
    refused(path, join(plain * 10**5, b""), "deep")
    limit = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(10**6)  # then json would overflow the C stack
        refused(path, join(plain * 10**5, b""), "deep")
    finally:
        sys.setrecursionlimit(limit)


def test_hostile_strings_take_linear_time(path):
    start = time.perf_counter()
    for text in (b'"' + b'\\"' * 10**6, b'"' * (10**6 + 1), b'{"' + b"\\" * (10**6 + 1), b"[]" * 10**6):
        refused(path, join(text, b""))
    assert time.perf_counter() - start < 5


def test_giant_header_is_not_read(path):
    for length in (2**24 + 8, 5 * 2**30):
        with path.open("wb") as file:
            file.write(length.to_bytes(8, "little") + b'{"')
            file.truncate(10 * 2**30)  # sparse
        tracemalloc.start()
        with pytest.raises(ModelFileError, match="no model file"):
            store.read(path, expect)
        assert tracemalloc.get_traced_memory()[1] < 10**6
        tracemalloc.stop()


def test_giant_data_is_not_read(path, raw):
    path.write_bytes(raw)
    os.truncate(path, 10 * 2**30)
    with pytest.raises(ModelFileError, match="bytes where"):
        store.read(path, expect)


def test_memory_of_reading(path):
    arrays = {"x": np.arange(2**22), "y": np.ones(2**22)}
    store.write(path, {}, arrays)
    tracemalloc.start()
    store.read(path, like(arrays))
    assert tracemalloc.get_traced_memory()[1] < path.stat().st_size + 10**6
    tracemalloc.stop()


def test_errors_of_expect_are_the_files(path, raw):
    for error in (
        KeyError("k"),
        TypeError("x"),
        RecursionError(),
        MemoryError(),
        OverflowError(),
        AttributeError(),
    ):
        refused(path, raw, expect=_raiser(error))
    refused(path, raw, "model.bayes: 3 columns; refit", expect=_raiser(ModelFileError("3 columns; refit")))
    refused(path, raw, expect=lambda header: {"n": ("f4", (2,))})
    refused(path, raw, expect=lambda header: None)
    with pytest.raises(KeyboardInterrupt):
        store.read(path, _raiser(KeyboardInterrupt()))


def _raiser(error):
    def expect(header):
        raise error

    return expect


JSON_PIECES = [
    b'"',
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"0",
    b"-1",
    b"1e9",
    b"9" * 30,
    b"null",
    b"true",
    b"NaN",
    b"\\",
    b"\\u0000",
]
JSON_PIECES += [
    b"\\ud800",
    b"\xff",
    b"\xc3\xa9",
    b" ",
    b"\n",
    b'"n"',
    b"__metadata__",
    b"I64",
    b"F32",
    rb"\"",
    b"18446744073709551616",
]


@settings(max_examples=600, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_fuzz_with_right_digest(tmp_path, data):
    file = tmp_path / "fuzz.bayes"
    store.write(file, HEADER, ARRAYS)
    original = file.read_bytes()
    text, rest = split(original)
    text = bytearray(text)
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = min(len(text), start + data.draw(st.integers(0, 6)))
        text[start:end] = data.draw(st.sampled_from(JSON_PIECES) | st.binary(max_size=4))
    rest = data.draw(st.sampled_from([rest, rest[:-1], rest + b"\0", b""]) | st.binary(min_size=35, max_size=35))
    hostile = join(bytes(text), rest) if data.draw(st.booleans()) else reseal(original[:8] + bytes(text) + rest)
    file.write_bytes(hostile)
    try:
        header, arrays = store.read(file, expect)
    except ModelFileError:
        return
    store.write(file, header, arrays)  # what is let in is exactly what bayeskit would have written
    assert file.read_bytes() == hostile
    safetensors.numpy.load(hostile)


def test_fuzz_reaches_success(path, raw):
    changed = edited(raw, rb"\"smoothing\":0.5", rb"\"smoothing\":0.7")
    path.write_bytes(changed)
    assert store.read(path, expect)[0] == HEADER | {"smoothing": 0.7}


# saving


def leftovers(folder):
    return [file.name for file in folder.iterdir() if file.suffix == ".tmp"]


def test_replaces_and_keeps_the_mode(path):
    before = os.umask(0o027)
    try:
        store.write(path, HEADER, ARRAYS)
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        for mode in (0o600, 0o664, 0o755):
            path.chmod(mode)
            store.write(path, HEADER, ARRAYS)
            assert stat.S_IMODE(path.stat().st_mode) == mode
    finally:
        os.umask(before)
    assert os.listdir(path.parent) == [path.name]


def test_symlinks(tmp_path):
    there = tmp_path / "there"
    there.mkdir()
    link = tmp_path / "link.bayes"
    link.symlink_to("there/model.bayes")  # dangling at first
    for number in (1, 2):
        store.write(link, *saver_model(number))
        assert link.is_symlink()
        assert os.listdir(there) == ["model.bayes"]
        assert store.read(link, saver_expect)[0]["number"] == number
    loop = tmp_path / "loop.bayes"
    loop.symlink_to("loop.bayes")
    with pytest.raises(OSError, match=r"loop\.bayes") as caught:
        store.write(loop, HEADER, ARRAYS)
    assert caught.value.errno == errno.ELOOP
    assert loop.is_symlink()


def test_protected_file_and_directory():
    with tempfile.TemporaryDirectory() as name:  # tmp_path is closed to other users
        folder, path, user = Path(name), Path(name) / "model.bayes", os.geteuid()
        store.write(path, HEADER, ARRAYS)
        before = path.read_bytes()
        for folder_mode, mode in ((0o777, 0o444), (0o555, 0o666)):
            folder.chmod(folder_mode)
            path.chmod(mode)
            os.seteuid(user or 65534)  # root may write everywhere
            try:
                with pytest.raises(PermissionError, match=re.escape(str(path))) as caught:
                    store.write(path, {}, {})
            finally:
                os.seteuid(user)
            assert caught.value.errno == errno.EACCES
            assert path.read_bytes() == before
            assert os.listdir(folder) == [path.name]
        folder.chmod(0o777)


def test_long_name(tmp_path):
    path = tmp_path / ("x" * 249 + ".bayes")
    store.write(path, HEADER, ARRAYS)
    assert store.read(path, expect)[0] == HEADER


def test_missing_directory(tmp_path):
    path = tmp_path / "none" / "model.bayes"
    with pytest.raises(FileNotFoundError, match=re.escape(str(path))) as caught:
        store.write(path, HEADER, ARRAYS)
    assert caught.value.errno == errno.ENOENT
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_replaced(tmp_path):
    folder = tmp_path / "folder.bayes"
    folder.mkdir()
    pipe = tmp_path / "fifo"
    os.mkfifo(pipe)
    for odd in (folder, pipe, Path("/dev/null")):
        with pytest.raises(InputError, match="not a regular file; "):
            store.write(odd, HEADER, ARRAYS)
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    assert not leftovers(tmp_path)


@pytest.mark.parametrize("call", ["fsync", "replace", "fchmod", "fdopen"])
@pytest.mark.parametrize("error", [OSError(errno.EIO, "Input/output error"), KeyboardInterrupt()])
def test_failure_leaves_the_old_file(path, raw, monkeypatch, call, error):
    def fail(*_args, **_kwargs):
        raise error

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(type(error)) as caught:
        store.write(path, {}, {})
    monkeypatch.undo()
    if isinstance(error, OSError):
        assert caught.value.errno == errno.EIO
        assert str(path) in str(caught.value)
    assert path.read_bytes() == raw
    assert os.listdir(path.parent) == [path.name]


def test_all_is_written_before_it_is_synced_and_synced_before_it_is_seen(path, monkeypatch):
    events = []
    fsync, replace = os.fsync, os.replace

    def spy(descriptor):
        about = os.fstat(descriptor)
        events.append("folder" if stat.S_ISDIR(about.st_mode) else about.st_size)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", spy)
    monkeypatch.setattr(os, "replace", lambda *names: (events.append("replace"), replace(*names)))
    store.write(path, HEADER, ARRAYS)
    assert events == [path.stat().st_size, "replace", "folder"]


def test_directory_that_cannot_be_synced(path, monkeypatch):
    real, code = os.fsync, errno.EINVAL

    def fsync(descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(code, os.strerror(code))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    store.write(path, HEADER, ARRAYS)
    code = errno.EIO
    with pytest.raises(OSError, match="Input/output"):
        store.write(path, HEADER, ARRAYS)
    assert store.read(path, expect)[0] == HEADER


def test_full_and_read_only_disk(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    save = f"{sys.executable} {SAVER}"
    script = f"""set -e
        mount -t tmpfs -o size=2000k tmpfs {disk}
        {save} several {disk}/model.bayes 1
        cp {disk}/model.bayes {tmp_path}/first
        head -c 600000 /dev/zero > {disk}/filler
        {save} refused {disk}/model.bayes 2
        cmp {disk}/model.bayes {tmp_path}/first
        ls -A {disk}
        mount -o remount,ro {disk}
        {save} refused {disk}/model.bayes 3
        cmp {disk}/model.bayes {tmp_path}/first
        ls -A {disk}"""
    private = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--mount", "--map-root-user"]
    try:
        subprocess.run([*private, "mount", "-t", "tmpfs", "tmpfs", disk], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no private mounts here")
    done = subprocess.run([*private, "sh", "-c", script], env=ENV, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    full, *kept, read_only, kept2, kept3 = done.stdout.splitlines()
    assert full.startswith(f"{errno.ENOSPC} ")
    assert f"{disk}/model.bayes" in full
    assert read_only.startswith(f"{errno.EROFS} ")
    assert f"{disk}/model.bayes" in read_only
    assert kept == [kept2, kept3] == ["filler", "model.bayes"]


def test_file_size_limit(path, raw):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
        with pytest.raises(OSError, match=re.escape(str(path))) as caught:
            store.write(path, *saver_model(1))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.errno == errno.EFBIG
    assert path.read_bytes() == raw
    assert os.listdir(path.parent) == [path.name]


def whole(path):
    """The number of a model all of whose parts agree."""
    header, arrays = store.read(path, saver_expect)
    assert (arrays["counts"] == header["number"]).all()
    assert (arrays["sums"] == header["number"] / 7).all()
    return header["number"]


def test_kill(tmp_path):
    path = tmp_path / "model.bayes"
    store.write(path, *saver_model(0))
    rng = random.Random(5)
    for turn in range(12):
        with subprocess.Popen(
            [sys.executable, SAVER, "loop", path, str(turn * 1000)], env=ENV, stdout=subprocess.PIPE
        ) as child:
            child.stdout.readline()
            time.sleep(rng.uniform(0, 0.05))
            child.kill()
        whole(path)
    names = set(os.listdir(tmp_path)) - {"model.bayes"}
    assert all(re.fullmatch(r"\.bayeskit-[0-9a-f]{16}\.tmp", name) for name in names)


def test_concurrent_writers(path):
    store.write(path, *saver_model(0))
    run = [sys.executable, SAVER, "several", path]
    children = [subprocess.Popen([*run, str(number)], env=ENV) for number in (1, 2, 3)]
    while any(child.poll() is None for child in children):
        assert whole(path) in range(4)
    assert [child.wait() for child in children] == [0, 0, 0]
    assert os.listdir(path.parent) == [path.name]


# identity and names


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
