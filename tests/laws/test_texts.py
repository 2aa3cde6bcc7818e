"""Texts to codes: what a dictionary of Python gives, for every layout Arrow has for text."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit import _core
from bayeskit.data.coding import any_codes
from bayeskit.data.levels import Levels
from bayeskit.data.schema import Column
from bayeskit.engines.fields import check_sound
from bayeskit.errors import InputError

words = st.one_of(
    st.none(), st.text(max_size=3), st.sampled_from(["", "ab", "abcdefgh", "abcdefghi", "ü" * 9, "x" * 40])
)
columns = st.lists(st.lists(words, min_size=1, max_size=60), min_size=1, max_size=3)
PLACES = [pa.int8(), pa.uint16(), pa.int32(), pa.uint32(), pa.int64()]
LAYOUTS = [pa.string(), pa.large_string(), pa.string_view(), *(pa.dictionary(place, pa.string()) for place in PLACES)]


def make(some: list[str | None], kind: pa.DataType) -> pa.Array:
    """An Arrow array; of dictionaries one that lists a level no row has, and a missing one."""
    if not pa.types.is_dictionary(kind):
        return pa.array(some, kind)
    listed = [*dict.fromkeys(v for v in some if v is not None), None, "no row has it"][::-1]
    places = pa.array([None if v is None else listed.index(v) for v in some], kind.index_type)
    return pa.DictionaryArray.from_arrays(places, pa.array(listed))


def coded(rows: list[list[str | None]], kind: pa.DataType, known: list[Levels], grow: bool, cut: int = 0):
    values = [make(([None, "zz"])[:cut] + some, kind).slice(cut) for some in rows]
    out = np.empty((len(rows), len(rows[0])), dtype=np.int32)
    about = [Column(f"c{j}", "nominal", str(kind), "") for j in range(len(rows))]
    return out, any_codes(values, about, known, grow, out)


def equal_lengths(rows: list[list[str | None]]) -> list[list[str | None]]:
    most = max(map(len, rows))
    return [(some * most)[:most] for some in rows]


@settings(max_examples=60, deadline=None)
@given(columns, st.sampled_from(LAYOUTS), st.integers(0, 2))
def test_codes_stand_for_the_values(rows: list[list[str | None]], kind: pa.DataType, cut: int) -> None:
    rows = equal_lengths(rows)
    out, levels = coded(rows, kind, [Levels()] * len(rows), True, cut)
    for codes, some, known in zip(out.tolist(), rows, levels, strict=True):
        assert [None if c < 0 else known.values[c] for c in codes] == some
        assert known.values == sorted({v for v in some if v is not None})


@settings(max_examples=60, deadline=None)
@given(columns, st.lists(st.text(max_size=3), unique=True, max_size=5), st.booleans(), st.sampled_from(LAYOUTS))
def test_known_levels_keep_their_codes(
    rows: list[list[str | None]], before: list[str], grow: bool, kind: pa.DataType
) -> None:
    rows = equal_lengths(rows)
    first = Levels.of(before)
    out, levels = coded(rows, kind, [first] * len(rows), grow)
    for codes, some, known in zip(out.tolist(), rows, levels, strict=True):
        assert grow or known == first
        assert known.keys[: len(before)] == first.keys or not before
        place = {v: c for c, v in enumerate(known.values)}
        assert codes == [-1 if v is None else place.get(v, -2) for v in some]


@pytest.mark.parametrize("kind", LAYOUTS, ids=str)
def test_many_rows_find_levels_after_the_first_ones(kind: pa.DataType) -> None:
    some = [f"level {i % 7}" for i in range(5000)] + ["late", None]
    out, (levels,) = coded([some], kind, [Levels()], True)
    assert [None if c < 0 else levels.values[c] for c in out[0].tolist()] == some
    assert levels.values[:7] == [f"level {i}" for i in range(7)]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
@pytest.mark.parametrize("odd", [None, "", "ü", "xy"])
def test_texts_of_one_byte_among_others(kind: pa.DataType, odd: str | None) -> None:
    some: list[str | None] = list("banana" * 600)
    some[2900] = odd
    some[2901:] = "z" * (len(some) - 2901)
    out, (levels,) = coded([some[3:]], kind, [Levels()], True)
    assert [None if c < 0 else levels.values[c] for c in out[0].tolist()] == some[3:]


def test_offsets_that_leave_the_texts_are_refused() -> None:
    offsets = np.array([0, 2, 99], dtype=np.int32)
    text = np.frombuffer(b"abcd", dtype=np.uint8)
    column = np.array([[offsets.ctypes.data, text.ctypes.data, 0, 4, 4, 0, -1, 0, 0]], dtype=np.int64)
    nothing = np.zeros(1, dtype=np.int64)
    with pytest.raises(ValueError, match="leaves the texts"):
        _core.text_codes(
            column, 2, b"", nothing, np.zeros(0, np.int32), np.zeros(2, np.int64), np.zeros((1, 2), np.int32)
        )


@pytest.mark.parametrize("seed", range(40))
def test_views_and_places_that_lead_nowhere_are_refused(seed: int) -> None:
    """Buffers whose bytes were changed give codes or a ValueError; nothing beyond them is read."""
    rng = np.random.default_rng(seed)
    some = [None if i % 7 == 0 else "x" * int(rng.integers(0, 30)) for i in range(50)]
    kind = [pa.string_view(), pa.dictionary(pa.int32(), pa.string())][seed % 2]
    values = make(some, kind)
    held = values.indices if seed % 2 else values
    valid, first, *rest = held.buffers()
    changed = bytearray(first.to_pybytes())
    for _ in range(3):
        changed[int(rng.integers(len(changed)))] ^= int(rng.integers(1, 256))
    broken = pa.Array.from_buffers(held.type, len(held), [valid, pa.py_buffer(bytes(changed)), *rest])
    if seed % 2:
        broken = pa.DictionaryArray.from_arrays(broken, values.dictionary, safe=False)
    out = np.empty((1, 50), dtype=np.int32)
    known = Levels.of({v for v in some if v is not None})
    try:
        any_codes([broken], [Column("c", "nominal", str(kind), "")], [known], False, out)
    except ValueError as error:
        assert "leaves" in str(error)  # noqa: PT017
    else:
        assert (out[0] < len(known)).all()
        assert (out[0] >= -2).all()


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()], ids=str)
@pytest.mark.parametrize("holes", [False, True])
def test_whole_tiles_of_texts_of_all_lengths(kind: pa.DataType, holes: bool) -> None:
    """Texts that differ in one byte, in length or in trailing NULs alone, in runs of one length and mixed."""
    stem = "abcdefghijklmnopqrst"
    listed = [stem[:n] + end for n in (0, 1, 7, 8, 9, 15, 16, 17, 20) for end in ("", "\0", "\0\0")]
    rng = np.random.default_rng(0)
    some: list[str | None] = [listed[i // 130] for i in range(130 * len(listed))]
    some += [listed[i] for i in rng.integers(0, len(listed), 1000)]
    some += [listed[i] for i in rng.integers(0, 6, 1000)]
    if holes:
        some = [None if i % 9 == 4 else v for i, v in enumerate(some)]
    values = make([None, "zz", *some], kind).slice(2)
    known = Levels.of({v for v in listed if len(v) != 16})  # of one length none is known
    place = {v: c for c, v in enumerate(known.values)}
    out = np.empty((1, len(some)), dtype=np.int32)
    any_codes([values], [Column("c", "nominal", str(kind), "")], [known], False, out)
    assert out[0].tolist() == [-1 if v is None else place.get(v, -2) for v in some]


MANY = [f"level {i % 7}" for i in range(9000)]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()], ids=str)
@pytest.mark.parametrize("wrong", ["goes back", "too far", "no UTF-8"])
def test_damaged_texts_of_many_rows_are_refused(kind: pa.DataType, wrong: str) -> None:
    _, offsets, texts = pa.array(MANY, kind).buffers()
    ends, data = np.frombuffer(offsets, "i4" if kind == pa.string() else "i8").copy(), bytearray(texts)
    if wrong == "no UTF-8":
        data[30_000] = 0xFF
    else:
        ends[5000] += 40 if wrong == "goes back" else 10**6
    broken = pa.Array.from_buffers(kind, 9000, [None, pa.py_buffer(ends), pa.py_buffer(bytes(data))])
    with pytest.raises(InputError, match="damaged"):
        check_sound(pa.table({"sound": MANY, "c": broken}), "the table")


@pytest.mark.parametrize("place", [-1, 7, 200])
def test_places_beyond_a_dictionary_of_many_rows_are_refused(place: int) -> None:
    places = np.arange(9000, dtype=np.int16) % 7
    places[8000] = place
    column = pa.DictionaryArray.from_arrays(pa.array(places), pa.array(MANY[:7]), safe=False)
    with pytest.raises(InputError, match="damaged"):
        check_sound(pa.table({"c": column}), "the table")


def test_sound_texts_and_places_of_many_rows_are_taken() -> None:
    """Letters beyond ASCII, holes whose places lie beyond the dictionary, and rows in the middle of a longer table."""
    hidden = pa.array(np.where(np.arange(9000) % 3, 2, 99).astype(np.int8), mask=np.arange(9000) % 3 == 0)
    held = pa.DictionaryArray.from_arrays(hidden, pa.array(["a", "ü", "c"]), safe=False)
    table = pa.table({"p": held, "t": [*MANY[:8999], "ü"], "n": [*MANY[:8999], None]}).slice(100, 8000)
    assert check_sound(table, "the table") is table
