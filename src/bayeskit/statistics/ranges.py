"""Ranges: the least and the greatest value that were seen of every numeric column, and how finely they are written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bayeskit.arrays import Array, Bool, Float, Int
from bayeskit.data.block import Block, Columns
from bayeskit.data.matrix import Sparse

PLACES = 12  # decimals at most; a double that needs more was computed, not written down
DIGITS = 1e15  # decimal numbers of so many digits are doubles of their own
HEAD, CELLS = 32, 1 << 16  # rows that show that a column of computed numbers has no step; cells looked at together
FIRST, LATER = 1024, 128  # rows of the first block, and of later ones, that are looked at
TENS = 10.0 ** np.arange(PLACES + 1)
STEPS = np.concatenate([np.arange(PLACES + 1.0), [np.inf, -np.inf]])  # what the decimals of a column can be


@dataclass(frozen=True, eq=False)
class Ranges:
    """[min x_j, max x_j] over the rows with a class and a weight; beside the counts, and no part of a model's identity.

    ``decimals`` is the least k with which every value is a decimal number of k places, 0 for whole numbers, as far as
    some rows of each block show: to look at all would cost as much as to count them. An end, or a number of places,
    that a forgotten row may have held is unknown from then on: no trace of the row stays.

    >>> first, second = (Ranges(*map(np.array, ends)) for ends in (([1.0], [5.0], [0.0]), ([2.0], [9.5], [1.0])))
    >>> both = first.merge(second)
    >>> both.low.tolist(), both.high.tolist(), both.decimals.tolist()
    ([1.0], [9.5], [1.0])
    >>> left = both.subtract(second)
    >>> left.low.tolist(), left.high.tolist(), left.decimals.tolist()
    ([1.0], [nan], [nan])
    """

    low: Float  # (numeric columns,) NaN where it is not known, inf where no value was seen
    high: Float  # (numeric columns,) NaN, -inf likewise
    decimals: Float  # (numeric columns,) NaN, -inf likewise; inf where a value needs more than 12

    @classmethod
    def empty(cls, columns: int) -> Ranges:
        """No value was seen."""
        return cls(np.full(columns, np.inf), np.full(columns, -np.inf), np.full(columns, -np.inf))

    @classmethod
    def unknown(cls, columns: int) -> Ranges:
        """Nothing is known."""
        return cls(np.full(columns, np.nan), np.full(columns, np.nan), np.full(columns, np.nan))

    @property
    def known(self) -> bool:
        """Whether anything is."""
        return not (np.isnan(self.low) & np.isnan(self.high) & np.isnan(self.decimals)).all()

    @property
    def doubtful(self) -> bool:
        """Whether something is not."""
        return bool((np.isnan(self.low) | np.isnan(self.high) | np.isnan(self.decimals)).any())

    def update(self, block: Block) -> Ranges:
        """With the rows of a block that count."""
        counted = np.ones(block.rows, dtype=bool) if block.groups is None else block.groups >= 0
        if block.weights is not None:
            counted = counted & (block.weights > 0)
        columns = block.numeric if counted.all() else block.numeric.at(np.flatnonzero(counted))
        low, high = columns.ends
        return self.merge(Ranges(low, high, _decimals(columns, self.decimals)))

    def merge(self, other: Ranges) -> Ranges:
        """Of both tables."""
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        return Ranges(low, high, np.maximum(self.decimals, other.decimals))

    def subtract(self, other: Ranges) -> Ranges:
        """Without the rows of another table, which is a part of this one."""
        nothing = other.low > other.high
        low = np.where(nothing | (other.low > self.low), self.low, np.nan)
        high = np.where(nothing | (other.high < self.high), self.high, np.nan)
        fewer = nothing | (other.decimals < self.decimals) | (self.decimals == 0)
        return Ranges(low, high, np.where(fewer, self.decimals, np.nan))

    def over_columns(self, mine: Sequence[str], names: Sequence[str]) -> Ranges:
        """Over other columns, of which those that are not among ``mine`` had no value so far."""
        wide, place = Ranges.empty(len(names)), {name: j for j, name in enumerate(names)}
        there = [place[name] for name in mine]
        wide.low[there], wide.high[there], wide.decimals[there] = self.low, self.high, self.decimals
        return wide

    def known_from(self, other: Ranges, there: Sequence[int]) -> Ranges:
        """With what is not known of the columns ``there`` from ranges of these columns."""
        wide = Ranges(self.low.copy(), self.high.copy(), self.decimals.copy())
        for mine, theirs in ((wide.low, other.low), (wide.high, other.high), (wide.decimals, other.decimals)):
            mine[there] = np.where(np.isnan(mine[there]), theirs, mine[there])
        return wide

    def of(self, place: int) -> tuple[float, float]:
        """The ends of one column, NaN where they are not known."""
        low, high = float(self.low[place]), float(self.high[place])
        return (np.nan, np.nan) if low > high else (low, high)


def decimals_of(values: Float) -> float:
    """The decimals that numbers, (n,), are written with; -inf without one.

    >>> decimals_of(np.array([1.0, 2.5, np.nan])), decimals_of(np.array([0.1 + 0.2]))
    (1.0, inf)
    """
    return float(_decimals(Columns((values,), len(values)), np.full(1, -np.inf))[0])


def _decimals(columns: Columns, known: Float) -> Float:
    """The decimals of every column, of which so many are known: (d,)."""
    if isinstance(columns.arrays, Sparse):
        return _decimals_of_stored(columns.sparse, known)
    if not (known < np.inf).any():
        return known
    largest, most = np.abs(columns.ends).max(axis=0), LATER if np.isfinite(known).any() else FIRST
    if not isinstance(columns.arrays, np.ndarray) or columns.pick is not None:
        found, left = known.copy(), np.flatnonzero(known < np.inf)
        values = np.column_stack([_thin(columns.column(j), most) for j in left.tolist()])
        found[left] = _raise_decimals(values, known[left], largest[left])
        return found
    return _raise_decimals(_thin(columns.arrays, most), known, largest)


def _thin(rows: Array, most: int) -> Array:
    """So many of the rows at most, evenly spaced."""
    return rows[:: -(-len(rows) // most) or 1]


def _raise_decimals(x: Float, known: Float, largest: Float) -> Float:
    """The same of a matrix, (n, d), as far as they are not known to be without limit."""
    found, start = known.copy(), 0
    while start < len(x) and len(limited := np.flatnonzero(found < np.inf)):
        end = start + (max(CELLS // len(limited), 1) if start else HEAD)
        piece = x[start:end] if len(limited) == len(found) else x[start:end, limited]
        tried = np.maximum(found[limited], 0.0).astype(np.int64)
        enough = _enough(piece, tried, largest[limited])
        found[limited] = np.maximum(found[limited], 0.0 if enough else _count_needed(piece, tried))
        start = end
    return found


def _enough(x: Float, tried: Int, largest: Float) -> bool:
    """Whether so many decimals do for all values, without a missing one: quickly, as is done for every row."""
    if not tried.any():
        return bool((np.rint(x) == x).all())
    tens = TENS[tried] if (tried != tried[0]).any() else TENS[tried[0]]
    if not (largest < DIGITS / tens).all():
        return False
    back = x * tens
    np.divide(np.rint(back, out=back), tens, out=back)
    return bool((back == x).all())


def _count_needed(x: Float, tried: Int) -> Float:
    """The most decimals that values of each column need, if so many are not enough, else 0; -inf without a value."""
    found, there = np.zeros(x.shape[1]), x == x
    with np.errstate(over="ignore"):
        off = there & ~_written(x, tried if tried.any() else 0)
    found[~there.any(axis=0)] = -np.inf
    if off.any():
        np.maximum.at(found, np.nonzero(off)[1], _places(x[off]))
    return found


def _written(x: Float, places: Int | int) -> Bool:
    """Whether each value is the double nearest to a decimal number with so many places."""
    if np.ndim(places) == 0 and places == 0:
        return np.asarray(np.rint(x) == x)
    scaled = x * TENS[places]
    return np.asarray((np.rint(scaled) / TENS[places] == x) & (np.abs(scaled) < DIGITS))


def _places(x: Float) -> Float:
    """The decimals that each value needs: (n,)."""
    with np.errstate(over="ignore"):  # what most places do not tell, fewer do not either
        most = np.maximum((np.abs(x)[:, None] * TENS < DIGITS).sum(axis=1) - 1, 0)
        left = np.flatnonzero(_written(x, most) | (np.rint(x) == x))
    found = np.full(len(x), np.inf)
    for k in range(PLACES + 1 if len(left) else 0):
        with np.errstate(over="ignore"):
            written = _written(x[left], k)
        found[left[written]], left = k, left[~written]
    return found


def _decimals_of_stored(rows: Sparse, known: Float) -> Float:
    """The same of a matrix by its stored values; any other is zero, which needs none."""
    found = np.maximum(known, 0.0) if len(rows) else known
    if rows.hidden is not None:
        found = np.where(rows.hidden, known, found)
    _, _, whole, missing, negative = rows.bounds
    if whole and not missing and not negative:
        return found
    values, columns = (_thin(stored, CELLS) for stored in (np.asarray(rows.values), np.asarray(rows.indices)))
    values = values.astype(np.float64)
    off = np.flatnonzero((np.rint(values) != values) & (values == values))
    if len(off):
        np.maximum.at(found, columns[off], _places(values[off]))
    return found
