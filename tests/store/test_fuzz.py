"""The container: whatever is done to its bytes, a file is read as it was written or refused."""

import safetensors
import safetensors.numpy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bayeskit.errors import ModelFileError
from bayeskit.storage import container

from .container import ARRAYS, HEADER, edited, expect, join, reseal, split

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
    container.write(file, HEADER, ARRAYS)
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
        header, arrays = container.read(file, expect)
    except ModelFileError:
        return
    container.write(file, header, arrays)  # what is let in is exactly what bayeskit would have written
    assert file.read_bytes() == hostile
    safetensors.numpy.load(hostile)


def test_fuzz_reaches_success(path, raw):
    changed = edited(raw, rb"\"smoothing\":0.5", rb"\"smoothing\":0.7")
    path.write_bytes(changed)
    assert container.read(path, expect)[0] == HEADER | {"smoothing": 0.7}
