"""Many: level codes of many columns, those of text and of integers looked up for all of them at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from bayeskit import _core
from bayeskit._core import TextField
from bayeskit.arrays import Code
from bayeskit.data.coding import SAMPLE, codes_of, integer_codes, joined
from bayeskit.data.levels import TEXT, Levels
from bayeskit.data.schema import Column

STRING, INT64 = pa.string().id, pa.int64().id
TEXTS = (STRING, pa.large_string().id)  # Arrow's two plain layouts
FEW = 64  # levels for which a table is made however few the rows are


def any_codes(
    values: Sequence[pa.Array], columns: Sequence[Column], levels: Sequence[Levels], grow: bool, out: Code
) -> list[Levels]:
    """Codes (columns, rows) of columns in any of Arrow's types, and their levels, which ``grow`` if told so."""
    known = list(levels)
    together: list[int] = []
    whole: list[int] = []
    for j, some in enumerate(values):
        kind = some.type.id if isinstance(some, pa.Array) else None
        if kind in TEXTS and _suits(some, columns[j], known[j], grow):
            together.append(j)
        elif kind == INT64 and not some.null_count:
            whole.append(j)
        else:
            out[j], known[j] = codes_of(some, known[j], grow, columns[j])
    if whole:
        numbers = tuple(values[j].to_numpy() for j in whole)
        codes = out if len(whole) == len(out) else np.empty((len(whole), out.shape[1]), dtype=np.int32)
        found = integer_codes(numbers, [columns[j] for j in whole], [known[j] for j in whole], grow, codes)
        for place, (j, grown) in enumerate(zip(whole, found, strict=True)):
            out[j], known[j] = codes[place], grown
    if together:
        places = [_layout(values[j]) for j in together]
        if grow and out.shape[1] > 4 * SAMPLE and not any(known[j] for j in together):
            # most levels show in a few rows, and come in order then
            _look_up(together, places, values, columns, known, grow, np.empty((len(values), SAMPLE), dtype=np.int32))
        _look_up(together, places, values, columns, known, grow, out)
    return known


def _suits(texts: pa.Array, column: Column, levels: Levels, grow: bool) -> bool:
    """Whether a table of the levels is worth making."""
    if column.missing == "level" and texts.null_count:
        return False
    return len(levels) <= max(len(texts), FEW) and (grow or len(levels.texts[2]) > 0)


def _look_up(
    which: Sequence[int],
    places: Sequence[dict[TextField, int]],
    values: Sequence[pa.Array],
    columns: Sequence[Column],
    known: list[Levels],
    grow: bool,
    out: Code,
) -> None:
    """Fill in the codes of the first rows of some columns, and put their new levels with the known ones."""
    texts = [known[j].texts for j in which]
    new = [len(known[j]) if grow else -2 for j in which]
    about = np.empty((len(which), len(TextField)), dtype=np.int64)
    for row, j, place, n in zip(about, which, places, new, strict=True):
        fields = {**place, TextField.MISSING_CODE: -1, TextField.NEXT_CODE: n, TextField.OUT_ROW: j}
        row[:] = [fields[field] for field in TextField]
    first = np.cumsum([0, *(len(codes) for _, _, codes in texts)], dtype=np.int64)
    begin = np.cumsum([0, *(len(whole) for whole, _, _ in texts)], dtype=np.int64)
    start = np.concatenate([*(b + some for b, (_, some, _) in zip(begin, texts, strict=False)), begin[-1:]])
    whole, codes = b"".join(some for some, _, _ in texts), np.concatenate([some for _, _, some in texts])
    for j, added in zip(which, _core.text_codes(about, out.shape[1], whole, start, codes, first, out), strict=True):
        if added:
            more = [(TEXT, text) for text in added]
            if out.shape[1] < len(values[j]):  # codes of some rows are not what is asked for
                more.sort()
            known[j], moved = joined(known[j], Levels.shared(tuple(more)), columns[j])
            if moved is not None:
                out[j] = moved[out[j]]


def _layout(values: pa.Array) -> dict[TextField, int]:
    """Where a column lies in memory."""
    valid, offsets, data = values.buffers()
    width, start = 4 if values.type.id == STRING else 8, values.offset
    return {
        TextField.OFFSETS: 0 if offsets is None else offsets.address + width * start,
        TextField.DATA: 0 if data is None else data.address,
        TextField.VALID: 0 if valid is None else valid.address,
        TextField.OFFSET_WIDTH: width,
        TextField.DATA_LENGTH: 0 if data is None else data.size,
        TextField.FIRST_ROW: start,
    }
