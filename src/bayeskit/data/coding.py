"""Coding: the levels of columns as small integers private to a domain, many columns at a time where possible."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from bayeskit import _core
from bayeskit._core import PlaceField, TextField
from bayeskit.arrays import Array, Code
from bayeskit.data.block import Columns
from bayeskit.data.levels import BOOL, MARK, MISSING, NAMES, NUMBER, PRESENT, TEXT, Key, Levels, key, show
from bayeskit.data.schema import Column
from bayeskit.errors import InputError, KindError

SAMPLE = 512
STRING, INT64, DICTIONARY = pa.string().id, pa.int64().id, pa.dictionary(pa.int8(), pa.string()).id
VIEWS = pa.string_view().id
TEXTS = (STRING, pa.large_string().id, VIEWS)  # Arrow's layouts
FEW = 64  # levels for which a table is made however few the rows are
REMEMBERED, SHORT = 256, 1024  # dictionaries of which the keys are kept, and how long these may be
LAYOUT = (
    TextField.OFFSETS,
    TextField.DATA,
    TextField.VALID,
    TextField.OFFSET_WIDTH,
    TextField.DATA_LENGTH,
    TextField.FIRST_ROW,
)  # what is asked of a column's place in memory, in this order
_remembered: OrderedDict[tuple[int, ...], tuple[pa.Array, list[Key | None]]] = OrderedDict()


def codes_of(values: object, levels: Levels, grow: bool, column: Column) -> tuple[Code, Levels]:
    """Codes of one column: Arrow values, or 0 / 1 for present / missing."""
    if isinstance(values, pa.Array) and pt.is_int64(values.type) and not values.null_count:
        out = np.empty((1, len(values)), dtype=np.int32)
        (levels,) = integer_codes((values.to_numpy(),), [column], [levels], grow, out)
        return out[0], levels
    return _codes(values, levels, grow, column)


def _codes(values: object, levels: Levels, grow: bool, column: Column) -> tuple[Code, Levels]:
    keys: list[Key | None]
    if isinstance(values, np.ndarray):
        keys, index = [PRESENT, MISSING], values
    else:
        keys, index = _dictionary(values, column.name)
    if column.missing == "level":
        keys = [MISSING if k is None else k for k in keys]
    if grow:  # a dictionary may list levels no row has
        occurs = np.bincount(index, minlength=len(keys)) > 0
        wanted = tuple(k for k, here in zip(keys, occurs.tolist(), strict=True) if here and k is not None)
        levels, _ = join_levels(levels, Levels.intern(wanted), column)
    elif levels.keys:
        _same_type(keys, levels, column)
    table = np.array([-1 if k is None else levels.index.get(k, -2) for k in keys], dtype=np.int32)
    return table[index], levels


def _same_type(keys: Sequence[Key | None], levels: Levels, column: Column) -> None:
    """Refuse a column whose values are of a type none of its levels has: all of them would be unseen."""
    given = {k[0] for k in keys if k is not None} - {MARK}
    known = {k[0] for k in levels.keys} - {MARK}
    if given and known and not given & known:
        was, now = (" and ".join(NAMES[f] for f in sorted(families)) for families in (known, given))
        raise KindError(f"column {column.name!r} held {was} when the model was fitted and now has {now}; convert it")


def _dictionary(values: pa.Array, name: str) -> tuple[list[Key | None], Code]:
    """Distinct keys of an Arrow column, the last one missing, and each row's place among them."""
    if pt.is_null(values.type):
        return [None], np.zeros(len(values), dtype=np.int32)
    if not pt.is_dictionary(values.type):
        try:
            values = pc.dictionary_encode(values)
        except pa.ArrowNotImplementedError as error:
            raise KindError(f"column {name!r} of type {values.type} cannot be a category") from error
    keys = _keys(values.dictionary, name)
    place = values.indices
    if place.null_count:
        place = pc.fill_null(pc.cast(place, pa.int64()), len(keys))
    return [*keys, None], place.to_numpy(zero_copy_only=False)


def _keys(dictionary: pa.Array, name: str) -> list[Key | None]:
    """The keys of a dictionary; those of a short one of texts are kept, since all batches of a table have the same."""
    if len(dictionary) > SHORT or dictionary.type.id not in TEXTS:
        return _read_keys(dictionary, name)
    at = (-1 if buffer is None else buffer.address for buffer in dictionary.buffers())
    lies = (dictionary.type.id, dictionary.offset, len(dictionary), *at)
    known = _remembered.get(lies)
    if known is None:  # the dictionary is kept as well: nothing else can come to lie where it does
        known = _remembered[lies] = dictionary, _read_keys(dictionary, name)
        while len(_remembered) > REMEMBERED:
            _remembered.popitem(last=False)
    return known[1]


def _read_keys(dictionary: pa.Array, name: str) -> list[Key | None]:
    try:
        return [key(value) for value in dictionary.to_pylist()]
    except TypeError as error:
        raise KindError(f"column {name!r} of type {dictionary.type} cannot be a category: {error}") from error
    except InputError as error:
        raise InputError(f"column {name!r}: {error}") from error


def join_levels(levels: Levels, new: Levels, column: Column) -> tuple[Levels, Code | None]:
    """Levels with new ones after them, and for each code of these, -1 the last, what it is now; None if it is the same.

    The first come in order: whole numbers without gaps then are their own codes but for a constant.
    """
    _check_declared(new, column)
    if len(levels):
        return levels.union(new), None
    ordered = new.ordered
    return ordered, None if ordered is new else np.append(new.codes_in(ordered), -1).astype(np.int32)


def _check_declared(wanted: Levels, column: Column) -> None:
    """Refuse levels a declared order does not have."""
    if column.order is not None:
        known = {*column.declared, MISSING}
        for k in wanted.keys:
            if k not in known:
                raise InputError(
                    f"column {column.name!r} has level {show(k)!r}, which its declared levels lack "
                    f"({', '.join(map(str, column.order))}); add it to kinds[{column.name!r}]"
                )


def _first_levels(
    x: Array | tuple[Array, ...], family: int, columns: Sequence[Column], levels: Sequence[Levels]
) -> list[Levels]:
    """The levels, those of columns without any as the first rows show them."""
    first_rows = x[:SAMPLE].T if isinstance(x, np.ndarray) else [values[:SAMPLE] for values in x]
    ordered = np.sort(np.array(first_rows), axis=1)
    first = np.hstack([np.ones((len(ordered), 1), dtype=bool), ordered[:, 1:] != ordered[:, :-1]])
    out, known = list(levels), dict[bytes, Levels]()  # many columns show the same
    for j, column in enumerate(columns):
        if not out[j]:
            values = ordered[j, first[j]]
            found = known.get(values.tobytes())
            if found is None:
                shared = Levels.intern(tuple((family, value) for value in values.tolist()))
                found = known[values.tobytes()] = join_levels(Levels(), shared, column)[0]
            elif column.order is not None:
                _check_declared(found, column)
            out[j] = found
    return out


def integer_codes(
    x: Array | tuple[Array, ...], columns: Sequence[Column], levels: Sequence[Levels], grow: bool, out: Code
) -> list[Levels]:
    """Codes of the columns of an integer or boolean matrix, or of some of 64 bits each by itself, by table look-up.

    What no table has goes the long way.
    """
    family = NUMBER
    if isinstance(x, np.ndarray):
        if x.dtype == np.uint64 and x.size and x.max() > np.iinfo(np.int64).max:  # would wrap onto negative numbers
            coded = [_codes(pa.array(x[:, j]), levels[j], grow, column) for j, column in enumerate(columns)]
            out[:] = [codes for codes, _ in coded]
            return [found for _, found in coded]
        family = BOOL if x.dtype.kind == "b" else NUMBER
    if grow and out.shape[1] > 4 * SAMPLE and not all(levels):  # most levels show in a few rows; others are looked up
        levels = _first_levels(x, family, columns, levels)
    if isinstance(x, np.ndarray):
        x = np.require(x, dtype=np.int64, requirements="A")
    held = Columns(x, out.shape[1])
    known = [each.dense[family] for each in levels]
    base = np.array([low for low, _ in known], dtype=np.int64)
    begin = np.cumsum([0, *(len(table) for _, table in known)], dtype=np.int64)
    lookup = np.concatenate([table for _, table in known])
    if not _core.integer_codes(held.address, held.stride, held.rows, base, begin, lookup, out):
        return list(levels)
    grown = list(levels)
    for j, column in enumerate(columns):
        lost = out[j] == -2
        if lost.any():
            values = held.column(j)[lost]
            given = pa.array(values.astype(bool) if family == BOOL else values)
            out[j, lost], grown[j] = _codes(given, levels[j], grow, column)
    return grown


def any_codes(
    values: Sequence[pa.Array], columns: Sequence[Column], levels: Sequence[Levels], grow: bool, out: Code
) -> list[Levels]:
    """Codes (columns, rows) of columns in any of Arrow's types, and their levels, which ``grow`` if asked to."""
    known = list(levels)
    together: list[int] = []
    whole: list[int] = []
    placed: list[int] = []
    for j, given in enumerate(values):
        kind = given.type.id if isinstance(given, pa.Array) else None
        if kind in TEXTS and _suits(given, columns[j], known[j], grow):
            together.append(j)
        elif kind == INT64 and not given.null_count:
            whole.append(j)
        elif kind == DICTIONARY and not (given.null_count and columns[j].missing == "level"):
            placed.append(j)
        else:
            out[j], known[j] = codes_of(given, known[j], grow, columns[j])
    if placed:
        _follow_places({j: values[j] for j in placed}, columns, known, grow, out)
    if whole:
        numbers = tuple(values[j].to_numpy() for j in whole)
        codes = out if len(whole) == len(out) else np.empty((len(whole), out.shape[1]), dtype=np.int32)
        found = integer_codes(numbers, [columns[j] for j in whole], [known[j] for j in whole], grow, codes)
        for place, (j, grown) in enumerate(zip(whole, found, strict=True)):
            out[j], known[j] = codes[place], grown
    if together:
        held: list[Array] = []  # where the buffers of views lie, until they are read
        layouts = {j: _layout(values[j], held) for j in together}
        if grow and out.shape[1] > 4 * SAMPLE and not any(known[j] for j in together):
            # most levels show in a few rows, and come in order then
            few = np.empty((len(values), SAMPLE), dtype=np.int32)
            _look_up(layouts, columns, known, grow, few, few_rows=True)
        _look_up(layouts, columns, known, grow, out)
    return known


def _follow_places(
    values: Mapping[int, pa.DictionaryArray], columns: Sequence[Column], known: list[Levels], grow: bool, out: Code
) -> None:
    """Fill in the codes of columns of places in dictionaries, and put levels that are new with the known ones."""
    about = np.empty((len(values), len(PlaceField)), dtype=np.int64)
    tables: list[Code] = []
    for row, (j, given) in zip(about, values.items(), strict=True):
        if grow and not known[j] and len(given) > 4 * SAMPLE:  # most levels show in a few rows
            known[j] = _codes(given.slice(0, SAMPLE), known[j], grow, columns[j])[1]
        keys, index = _keys(given.dictionary, columns[j].name), known[j].index
        if not grow and known[j].keys:
            _same_type(keys, known[j], columns[j])
        tables.append(np.array([-1 if k is None else index.get(k, -2) for k in keys], dtype=np.int32))
        row[:] = _place_fields(given.indices, j)
    first = np.cumsum([0, *map(len, tables)], dtype=np.int64)
    unseen = _core.dictionary_codes(about, out.shape[1], np.concatenate(tables), first, out)
    for (j, given), left in zip(values.items(), unseen, strict=True):
        if left and grow:
            out[j], known[j] = _codes(given, known[j], grow, columns[j])


def _place_fields(places: pa.Array, row: int) -> list[int]:
    """Where the places of a column lie in memory, in the order of PlaceField."""
    valid, data = places.buffers()
    width, start = places.type.bit_width // 8, places.offset
    fields = {
        PlaceField.PLACES: data.address + width * start,
        PlaceField.VALID: valid.address if valid is not None and places.null_count else 0,
        PlaceField.WIDTH: width,
        PlaceField.FIRST_ROW: start,
        PlaceField.OUT_ROW: row,
    }
    return [fields[field] for field in PlaceField]


def _suits(texts: pa.Array, column: Column, levels: Levels, grow: bool) -> bool:
    """Whether a table of the levels is worth making."""
    if column.missing == "level" and texts.null_count:
        return False
    return len(levels) <= max(len(texts), FEW) and (grow or len(levels.texts[2]) > 0)


def _look_up(
    layouts: Mapping[int, tuple[int, ...]],
    columns: Sequence[Column],
    known: list[Levels],
    grow: bool,
    out: Code,
    few_rows: bool = False,
) -> None:
    """Fill in the codes of the first rows of some columns, and put their new levels with the known ones.

    Of ``few_rows`` the levels are wanted, not the codes: they are put in order.
    """
    which = list(layouts)
    texts = [known[j].texts for j in which]
    new = [len(known[j]) if grow else -2 for j in which]
    about = np.empty((len(TextField), len(which)), dtype=np.int64)
    about[list(LAYOUT)] = np.array([*layouts.values()], dtype=np.int64).T
    about[TextField.MISSING_CODE], about[TextField.NEXT_CODE], about[TextField.OUT_ROW] = -1, new, which
    first = np.cumsum([0, *(len(codes) for _, _, codes in texts)], dtype=np.int64)
    begin = np.cumsum([0, *(len(whole) for whole, _, _ in texts)], dtype=np.int64)
    start = np.concatenate([*(b + part for b, (_, part, _) in zip(begin, texts, strict=False)), begin[-1:]])
    whole, codes = b"".join(part for part, _, _ in texts), np.concatenate([part for _, _, part in texts])
    unseen = _core.text_codes(about.T.copy(), out.shape[1], whole, start, codes, first, out)
    for j, added in zip(which, unseen, strict=True):
        if added:
            more = [(TEXT, text) for text in added]
            if few_rows:
                more.sort()
            known[j], moved = join_levels(known[j], Levels.intern(tuple(more)), columns[j])
            if moved is not None:
                out[j] = moved[out[j]]


def _layout(values: pa.Array, held: list[Array]) -> tuple[int, ...]:
    """Where a column lies in memory, by LAYOUT; a list of its buffers, if it has one, is put with what is ``held``."""
    valid, offsets, *data = values.buffers()
    kind, start = values.type.id, values.offset
    width = 4 if kind == STRING else 16 if kind == VIEWS else 8
    place, length = (data[0].address, data[0].size) if data and data[0] is not None else (0, 0)
    if width == 16:
        held.append(np.array([(buffer.address, buffer.size) for buffer in data], dtype=np.int64))
        place, length = held[-1].ctypes.data, len(data)
    return (
        0 if offsets is None else offsets.address + width * start,
        place,
        valid.address if valid is not None and values.null_count else 0,
        width,
        length,
        start,
    )
