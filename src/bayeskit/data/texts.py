"""Texts: level codes of columns of text, looked up for all of them at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from bayeskit import _core
from bayeskit.arrays import Code
from bayeskit.data.coding import SAMPLE, codes_of
from bayeskit.data.levels import MISSING, Levels
from bayeskit.data.schema import Column

FEW = 64  # levels for which a table is made however few the rows are


def text_codes(values: Sequence[Any], columns: Sequence[Column], levels: Sequence[Levels], out: Code) -> list[int]:
    """Fill in the codes (columns, rows) of the columns of text whose levels are known.

    Returns how many values of each column are still to be coded, marked by -2: all where it is no text.
    """
    rows = out.shape[1]
    left = [rows] * len(values)
    asked = [
        j for j, (v, some) in enumerate(zip(values, levels, strict=True)) if is_text(v) and _worth(len(some), rows)
    ]
    if not asked:
        return left
    known = [levels[j].texts for j in asked]
    about = np.array([_layout(values[j], columns[j], levels[j], j) for j in asked], dtype=np.int64)
    first = np.cumsum([0, *(len(codes) for _, _, codes in known)], dtype=np.int64)
    begin = np.cumsum([0, *(len(whole) for whole, _, _ in known[:-1])], dtype=np.int64)
    start = np.concatenate([*(b + ends[:-1] for b, (_, ends, _) in zip(begin, known, strict=True)), [0]])
    start[-1] = begin[-1] + len(known[-1][0])
    whole, codes = b"".join(k[0] for k in known), np.concatenate([k[2] for k in known])
    for j, lost in zip(asked, _core.texts(about, rows, whole, start, codes, first, out), strict=True):
        left[j] = lost
    return left


def is_text(values: Any) -> bool:
    """Whether these are texts in one of Arrow's two plain layouts."""
    return isinstance(values, pa.Array) and (pt.is_string(values.type) or pt.is_large_string(values.type))


def _worth(levels: int, rows: int) -> bool:
    return 0 < levels <= max(rows, FEW)


def _layout(values: pa.Array, column: Column, levels: Levels, place: int) -> tuple[int, ...]:
    """Where a column lies in memory, the code of its holes, and its place among the codes."""
    valid, offsets, data = values.buffers()
    width = 4 if pt.is_string(values.type) else 8
    hole = levels.index.get(MISSING, -2) if column.missing == "level" else -1
    return (
        0 if offsets is None else offsets.address + width * values.offset,
        0 if data is None else data.address,
        0 if valid is None else valid.address,
        width,
        0 if data is None else data.size,
        values.offset,
        hole,
        place,
    )


def any_codes(
    values: Sequence[Any], columns: Sequence[Column], levels: Sequence[Levels], grow: bool, out: Code
) -> list[Levels]:
    """Codes (columns, rows) of columns in any of Arrow's types, and their levels, which ``grow`` if told so.

    Most levels of a text show in a few rows; the others are looked up, and what is not found goes the long way.
    """
    known = list(levels)
    if grow and out.shape[1] > 4 * SAMPLE:
        for j, (v, column) in enumerate(zip(values, columns, strict=True)):
            if is_text(v) and not known[j]:
                known[j] = codes_of(v.slice(0, SAMPLE), known[j], grow, column)[1]
    for j, left in enumerate(text_codes(values, columns, known, out)):
        if left == out.shape[1]:
            out[j], known[j] = codes_of(values[j], known[j], grow, columns[j])
        elif left and grow:
            lost = np.flatnonzero(out[j] == -2)
            out[j, lost], known[j] = codes_of(values[j].take(pa.array(lost)), known[j], grow, columns[j])
    return known
