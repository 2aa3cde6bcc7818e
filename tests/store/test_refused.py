"""The container: nothing else is let in."""

import json
import os
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import safetensors
import safetensors.numpy

from bayeskit.errors import ModelFileError
from bayeskit.storage import container

from .container import dumped, edited, expect, join, like, refused, reseal, split, tree_of


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
            container.read(odd, expect)
        assert str(caught.value).startswith(f"{odd}: ")


def test_duplicate_keys(path, raw):
    again = b'"n":{"dtype":"I64","shape":[2],"data_offsets":[0,16]}'
    refused(path, edited(raw, again, again + b"," + again), "twice")
    refused(path, edited(raw, rb"\"k\":2", rb"\"k\":2,\"k\":2"), "twice")
    refused(path, edited(raw, rb"{\"format\":2", rb"{\"format\":2,\"format\":2"), "twice")
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
    match = "which this file cannot hold|bytes where"
    refused(path, dumped(tree, data), match, expect=lambda header, shapes: {"x": ("f8", shape)})


def _bytes_of(path, header, arrays):
    container.write(path, header, arrays)
    return path.read_bytes()


def test_format_and_metadata(path, raw):
    refused(path, edited(raw, rb"\"format\":2", rb"\"format\":3"), "format 3 is unknown.*newer")
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
        ("NaN", "finite"),
        ("Infinity", "finite"),
        ("-Infinity", "finite"),
        ("9" * 25, "64 bits|20 digits"),
        ("9" * 100_000, "64 bits|20 digits"),
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


def test_hostile_strings_are_refused(path):
    """In quadratic time this would not end."""
    for text in (b'"' + b'\\"' * 10**6, b'"' * (10**6 + 1), b'{"' + b"\\" * (10**6 + 1), b"[]" * 10**6):
        refused(path, join(text, b""))


def test_giant_header_is_not_read(path):
    for length in (2**24 + 8, 5 * 2**30):
        with path.open("wb") as file:
            file.write(length.to_bytes(8, "little") + b'{"')
            file.truncate(10 * 2**30)  # sparse
        tracemalloc.start()
        with pytest.raises(ModelFileError, match="no model file"):
            container.read(path, expect)
        assert tracemalloc.get_traced_memory()[1] < 10**6
        tracemalloc.stop()


def test_giant_data_is_not_read(path, raw):
    path.write_bytes(raw)
    os.truncate(path, 10 * 2**30)
    with pytest.raises(ModelFileError, match="bytes where"):
        container.read(path, expect)


def test_memory_of_reading(path):
    arrays = {"x": np.arange(2**22), "y": np.ones(2**22)}
    container.write(path, {}, arrays)
    tracemalloc.start()
    container.read(path, like(arrays))
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
    refused(path, raw, expect=lambda header, shapes: {"n": ("f4", (2,))})
    refused(path, raw, expect=lambda header, shapes: None)
    with pytest.raises(KeyboardInterrupt):
        container.read(path, _raiser(KeyboardInterrupt()))


def _raiser(error):
    def expect(header, shapes):
        raise error

    return expect
