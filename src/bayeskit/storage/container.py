"""The ``.bayes`` container: a safetensors file with one metadata key and a digest over every byte.

The file is ``length (8 bytes) | JSON | spaces to 8 | tensors``. The header and the dtypes and shapes of the tensors
determine its JSON to the byte, so ``read`` derives it anew and compares: no offset or size in a file is believed.
"""

from __future__ import annotations

import hashlib
import json
import math
import operator
import os
import re
import reprlib
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from io import BufferedReader
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from bayeskit.data.levels import BOOL, MARK, NUMBER, TEXT, Domain, Key, Levels
from bayeskit.data.schema import CODED, KINDS, MISSING_POLICIES, UNDETERMINED, Alike, Column, Schema
from bayeskit.data.source import labels
from bayeskit.errors import InputError, ModelFileError, ModelFileUnreadable
from bayeskit.model.codec import (
    CODES,
    DEPTH,
    canonical,
    check_header,
    parse_fields,
    raw_bytes,
    to_stored_array,
    to_stored_dtype,
)
from bayeskit.replacement import replace_file
from bayeskit.storage import format1
from bayeskit.structures.naive import Naive
from bayeskit.structures.wrapped import title

Array: TypeAlias = npt.NDArray[Any]
Path: TypeAlias = str | os.PathLike[str]
Spec: TypeAlias = Mapping[str, tuple[np.dtype[Any] | str, tuple[int, ...]]]  # tensor name -> dtype and shape
Shapes: TypeAlias = Mapping[str, tuple[int, ...]]  # of the tensors in a file, as many bytes as there are
Expect: TypeAlias = Callable[[Mapping[str, object], Shapes], Spec]
Content: TypeAlias = tuple[dict[str, object], dict[str, Array]]  # header and arrays

FORMAT = 2  # that is written; 1 is read too
HEAD_BYTES = 2**24  # the longest JSON


_BLANK = b"0" * 64  # the digest field while the digest is taken
_DAMAGED = "restore a copy or save the model again"
_FOREIGN = "give a file written by bayeskit's save"
_MARKS = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL)  # possessive, so linear in time
TYPES: dict[int, tuple[type, ...]] = {BOOL: (bool,), NUMBER: (int, float), TEXT: (str,), MARK: (str,)}


def without_titles(schema: Schema) -> Schema:
    """The schema without what its families are called, which follows from the components."""
    if isinstance(schema.columns, Alike):
        return replace(schema, columns=replace(schema.columns, like=replace(schema.columns.like, family="")))
    return replace(schema, columns=tuple(replace(column, family="") for column in schema.columns))


def with_titles(schema: Schema, structure: Naive) -> Schema:
    """The schema with them."""
    parts = [(title(family), set(family.kinds), names) for family, names in structure.components]
    if isinstance(schema.columns, Alike) and all(names == schema.names for _, _, names in parts):
        like = schema.columns.like
        family = next((text for text, kinds, _ in parts if like.kind in kinds), "")
        return replace(schema, columns=replace(schema.columns, like=replace(like, family=family)))
    called = {(name, kind): text for text, kinds, names in parts for name in names for kind in kinds}
    named = (replace(column, family=called.get((column.name, column.kind), "")) for column in schema.columns)
    return replace(schema, columns=tuple(named))


def check_label(label: str, classes: list[Key]) -> None:
    """Refuse a type of labels that the classes cannot have."""
    kind = label if label in ("O", "U") else np.dtype(label).kind
    families = {"O": (BOOL, NUMBER, TEXT), "U": (TEXT,), "b": (BOOL,), **dict.fromkeys("iuf", (NUMBER,))}
    if not all(family in families.get(kind, ()) for family, _ in classes):
        raise ModelFileError(f"its classes cannot be labels of type {label!r}")
    values = labels([value for _, value in classes], label).tolist()
    if len(set(values)) < len(values):
        raise ModelFileError(f"two of its classes are one as labels of type {label!r}")


def read_domain(schema: Schema, classes: list[str], levels: list[str], sizes: list[int]) -> Domain:
    """Classes and levels from their texts; the sizes say how many levels each column has."""
    if len(sizes) != len(schema.coded) or any(size < 0 for size in sizes) or sum(sizes) != len(levels):
        raise ModelFileError("its levels do not fit its columns")
    keys = [key_of(line) for line in levels]
    begin = np.cumsum([0, *sizes]).tolist()
    by_column = {n: Levels(tuple(keys[begin[j] : begin[j + 1]])) for j, n in enumerate(schema.coded)}
    domain = Domain(Levels(tuple(map(key_of, classes))), by_column)
    for values in (domain.classes, *domain.levels.values()):
        if len(values.index) < len(values):
            raise ModelFileError("a level occurs twice")
    return domain


def key_of(line: str) -> Key:
    """The level of a text that ``keys_of`` made."""
    family, value = loads(line, digits=4300)
    if type(family) is not int or family not in TYPES or type(value) not in TYPES[family]:
        raise ModelFileError(f"{line} is not a level")
    return (family, value)


def read_columns(lines: list[str], sizes: list[int], names: list[str]) -> Sequence[Column]:
    """The columns from what neighbours that differ only in name have in common."""
    if len(lines) != len(sizes) or sum(sizes) != len(names) or any(size < 1 for size in sizes):
        raise ModelFileError("its columns do not fit their names")
    begin = np.cumsum([0, *sizes]).tolist()
    likes = [_column(loads(line, digits=4300)) for line in lines]
    runs = [Alike(like, tuple(names[begin[i] : begin[i + 1]])) for i, like in enumerate(likes)]
    if any(like.name for like in likes) or any(a == b for a, b in pairwise(likes)):
        raise ModelFileError("its columns are not kept apart as they should be")
    return runs[0] if len(runs) == 1 else tuple(column for run in runs for column in run)


def _column(record: object) -> Column:
    column = parse_fields(Column, record)
    if column.kind not in (*KINDS, UNDETERMINED):
        raise ModelFileError(f"a column has the unknown kind {column.kind!r}")
    if column.missing not in MISSING_POLICIES or (column.declared and column.kind not in CODED):
        raise ModelFileError("a column is described in a way that cannot be")
    return column


def write(path: Path, header: Mapping[str, object], arrays: Mapping[str, Array]) -> None:
    """Write header and arrays to ``path``, whole or not at all; equal input gives equal bytes."""
    plain = {name: to_stored_array(name, array) for name, array in arrays.items()}
    head = _head(header, {name: (array.dtype, array.shape) for name, array in plain.items()})
    parts = [raw_bytes(plain[name]) for name in head.tensors]
    digest = hashlib.sha256(head.blank)
    for part in parts:
        digest.update(part)
    replace_file(os.fspath(path), [head.seal(digest.hexdigest().encode()), *parts])


def read(path: Path, expect: Expect) -> Content:
    """Read back header and read-only arrays of a file that holds exactly the tensors of ``expect(header, shapes)``."""
    with _open(path) as file:
        return _read(file, os.fstat(file.fileno()).st_size, expect)


def peek(path: Path) -> dict[str, object]:
    """The header of a file as it stands there, unchecked: enough to choose who is to read it."""
    with _open(path) as file:
        number, header, tensors = _parse(_read_head(file, os.fstat(file.fileno()).st_size)[8:].decode())
        return header if number == FORMAT else format1.upgrade(header, tensors)[0]


@contextmanager
def _open(path: Path) -> Iterator[BufferedReader]:
    """A regular file; whatever goes wrong while it is read is reported with its name."""
    name = os.fspath(path)
    try:
        if not stat.S_ISREG(os.stat(name).st_mode):  # before opening: a FIFO would block
            raise ModelFileError(f"not a regular file; {_FOREIGN}")
        with open(name, "rb") as file:
            yield file
    except ModelFileError as error:
        raise ModelFileError(f"{name}: {error}") from error
    except OSError as error:
        raise ModelFileUnreadable(f"{name}: {error.strerror}; check the path and its permissions") from error
    except MemoryError as error:
        raise ModelFileError(f"{name}: does not fit in memory; free some, or {_DAMAGED}") from error
    except (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError) as error:
        # whatever a header trips, here or in ``expect``, is the file's fault
        reason = f"{type(error).__name__}: {error}"[:200]
        raise ModelFileError(f"{name}: unusable header ({reason}); {_DAMAGED}") from error


def pack(texts: Sequence[str]) -> tuple[Array, Array]:
    """Texts as two tensors: the UTF-8 bytes of all, and the n + 1 offsets between them.

    >>> [part.tolist() for part in pack(["a", "", "bc"])]
    [[97, 98, 99], [0, 1, 1, 3]]
    """
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    offsets = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(text) for text in encoded], out=offsets[1:])
    return np.frombuffer(b"".join(encoded), np.uint8), offsets


def unpack(data: Array, offsets: Array) -> list[str]:
    """The texts that ``pack`` made into tensors.

    >>> unpack(*pack(["a", "", "bc"]))
    ['a', '', 'bc']
    """
    if data.dtype != np.uint8 or offsets.dtype != np.int64 or data.ndim != 1 or offsets.ndim != 1:
        raise ModelFileError(f"names are not uint8 bytes with int64 offsets; {_DAMAGED}")
    ends = offsets.tolist()
    if not ends or ends[0] != 0 or ends[-1] != data.size or (offsets[1:] < offsets[:-1]).any():
        raise ModelFileError(f"offsets of names do not ascend from 0 to {data.size}; {_DAMAGED}")
    raw = data.tobytes()
    try:
        return [raw[start:end].decode("utf-8", "surrogatepass") for start, end in pairwise(ends)]
    except UnicodeDecodeError as error:
        raise ModelFileError(f"a name is not UTF-8 ({error}); {_DAMAGED}") from error


@dataclass(frozen=True)
class _Head:
    """All that precedes the data."""

    blank: bytes  # with the digest field blank
    field: int  # where the digest field starts
    tensors: dict[str, dict[str, Any]]  # the entries of the JSON, in the order of the data
    data_bytes: int

    def seal(self, digest: bytes) -> bytes:
        """The bytes with ``digest`` in its field."""
        return self.blank[: self.field] + digest + self.blank[self.field + len(_BLANK) :]


def _head(header: Mapping[str, object], spec: Spec, number: int = FORMAT) -> _Head:
    """The only head that a file with this header and these tensors can have."""
    found = []
    for name, (dtype, shape) in spec.items():
        if name == "__metadata__" or not name.isprintable():
            raise InputError(f"a tensor cannot be named {name!r}; use other, printable characters")
        kind, sizes = to_stored_dtype(name, np.dtype(dtype)), [operator.index(size) for size in shape]
        # a size of 0 counts as 1: numpy and safetensors multiply the others all the same
        if len(sizes) > 32 or min(sizes, default=0) < 0 or math.prod(size or 1 for size in sizes) >= 2**59:
            raise InputError(f"tensor {name!r} cannot have shape {reprlib.repr(sizes)}; use a smaller one")
        found.append((-kind.itemsize, name, CODES[kind.str], sizes))
    tensors: dict[str, dict[str, Any]] = {}
    end = 0
    for width, name, code, sizes in sorted(found):  # wide ones first: every tensor is aligned
        start, end = end, end - width * math.prod(sizes)
        tensors[name] = {"dtype": code, "shape": sizes, "data_offsets": [start, end]}
    inner = canonical({"format": number, "header": check_header(dict(header)), "sha256": _BLANK.decode()})
    metadata = {"__metadata__": {"bayeskit": inner}}
    text = json.dumps(metadata | tensors, separators=(",", ":"))
    text += " " * (-len(text) % 8)
    if len(text) > HEAD_BYTES:
        raise InputError(f"the header takes {len(text)} bytes of {HEAD_BYTES}; move long lists to tensors")
    field = 8 + len(canonical(metadata)) - len(r'\"}"}}') - len(_BLANK)  # sha256 sorts last
    return _Head(len(text).to_bytes(8, "little") + text.encode(), field, tensors, end)


def _read(file: BufferedReader, size: int, expect: Expect) -> Content:
    """Header and arrays of an open file of ``size`` bytes."""
    head_bytes = _read_head(file, size)
    number, header, tensors = _parse(head_bytes[8:].decode())
    shapes = _shapes(tensors, size, size - len(head_bytes))
    new, names = (header, {name: name for name in tensors}) if number == FORMAT else format1.upgrade(header, tensors)
    spec = expect(new, {names[name]: shape for name, shape in shapes.items()})
    back = {name: old for old, name in names.items()}
    head = _head(header, {back.get(name, name): what for name, what in spec.items()}, number)
    if odd := sorted(tensors.keys() ^ head.tensors.keys()):
        raise ModelFileError(f"tensors {reprlib.repr(odd)} are missing or unknown; {_DAMAGED}")
    for name, entry in head.tensors.items():
        if tensors[name] != entry:
            raise ModelFileError(f"tensor {name!r} is {reprlib.repr(tensors[name])}, not {entry}; {_DAMAGED}")
    digest = head_bytes[head.field : head.field + len(_BLANK)]
    if head_bytes != head.seal(digest):
        raise ModelFileError(f"the header is not as bayeskit writes it; {_DAMAGED}")
    if size != len(head_bytes) + head.data_bytes:
        raise ModelFileError(f"{size} bytes where {len(head_bytes) + head.data_bytes} belong; {_DAMAGED}")
    data = np.empty(head.data_bytes, np.uint8)
    if file.readinto(data.data) != data.size or file.read(1):
        raise ModelFileError("changed while it was read; read it again")
    actual = hashlib.sha256(head.blank)
    actual.update(data.data)
    if actual.hexdigest().encode() != digest:
        raise ModelFileError(f"the SHA-256 does not match, some byte has changed; {_DAMAGED}")
    data.flags.writeable = False
    kinds = {code: kind for kind, code in CODES.items()}
    return new, {
        names[name]: data[slice(*entry["data_offsets"])].view(kinds[entry["dtype"]]).reshape(entry["shape"])
        for name, entry in head.tensors.items()
    }


def _shapes(tensors: Mapping[str, object], longest: int, room: int) -> dict[str, tuple[int, ...]]:
    """The shapes that a file gives its tensors, which must take the bytes that are there: before any is believed."""
    found, taken = {}, 0
    for name, entry in tensors.items():
        record = entry if isinstance(entry, dict) else {}
        width = next((np.dtype(kind).itemsize for kind, code in CODES.items() if code == record.get("dtype")), None)
        sizes = record["shape"] if isinstance(record.get("shape"), list) else [None]
        if width is None or len(sizes) > 32 or not all(type(size) is int and 0 <= size <= longest for size in sizes):
            raise ModelFileError(f"tensor {name!r} is {reprlib.repr(entry)}, which this file cannot hold; {_DAMAGED}")
        found[name] = tuple(sizes)
        taken += width * math.prod(sizes)
    if taken != room:
        raise ModelFileError(f"{longest} bytes where {longest - room + taken} belong; {_DAMAGED}")
    return found


def _read_head(file: BufferedReader, size: int) -> bytes:
    """All that precedes the data, as the file has it."""
    prefix = file.read(8)
    length = int.from_bytes(prefix, "little")
    if len(prefix) < 8 or length > min(size - 8, HEAD_BYTES):
        raise ModelFileError(f"no model file, or cut short ({size} bytes, the first {prefix!r}); {_FOREIGN}")
    return prefix + file.read(length)


def _parse(text: str) -> tuple[int, dict[str, object], dict[str, object]]:
    """Format, header and the tensors' entries, as a file has them."""
    tensors = loads(text)
    metadata = tensors.pop("__metadata__", None) if isinstance(tensors, dict) else None
    if not isinstance(metadata, dict) or metadata.keys() != {"bayeskit"}:
        raise ModelFileError(f"the metadata is not of bayeskit alone; {_FOREIGN}")
    inner = loads(metadata["bayeskit"])
    if type(inner["format"]) is not int or not 1 <= inner["format"] <= FORMAT:
        unknown = reprlib.repr(inner["format"])
        raise ModelFileError(f"format {unknown} is unknown, this bayeskit reads up to {FORMAT}; install a newer one")
    if inner.keys() != {"format", "header", "sha256"} or not isinstance(inner["header"], dict):
        raise ModelFileError(f"the metadata is not format, header and sha256; {_DAMAGED}")
    return inner["format"], inner["header"], tensors


def loads(text: str, digits: int = 20) -> Any:
    """JSON without duplicate keys, integers of more digits, NaN, infinity or deep nesting."""
    depth = 0
    for mark in _MARKS.finditer(text):  # first, for json recurses
        depth += (mark[0] in "[{") - (mark[0] in "]}")
        if depth > DEPTH + 1:
            raise ValueError("nested too deep")
    whole = partial(_integer, digits=digits)
    return json.loads(text, object_pairs_hook=_unique, parse_int=whole, parse_float=_finite, parse_constant=_finite)


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """A JSON object whose keys differ."""
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a key occurs twice")
    return result


def _integer(text: str, digits: int) -> int:
    """An integer that takes no quadratic time."""
    if len(text) > digits:
        raise ValueError(
            "an integer of more than 64 bits" if digits == 20 else f"an integer of more than {digits} digits"
        )
    return int(text)


def _finite(text: str) -> float:
    """A number; NaN and infinity are none."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:20]} is not a finite number")
    return value
