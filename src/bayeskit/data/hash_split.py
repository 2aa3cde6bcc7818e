"""HashSplit: the fold of a row of a stream, from a hash of its key or its number, the same in every pass."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from numpy.typing import NDArray

from bayeskit.arrays import Float, Int
from bayeskit.errors import InputError

Word = NDArray[np.uint64]
ODD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio


def splitmix(words: Word) -> Word:
    """Numbers scattered over 64 bits (SplitMix64; Steele, Lea and Flood, OOPSLA 2014).

    >>> [f"{word:x}" for word in splitmix(np.arange(2, dtype=np.uint64))]
    ['e220a8397b1dcdaf', '6e789e6aa1b965f4']
    """
    with np.errstate(over="ignore"):
        return finalise((words + np.uint64(1)) * ODD)


def finalise(z: Word) -> Word:
    """The last step of it."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    out: Word = z ^ (z >> np.uint64(31))
    return out


@dataclass(frozen=True)
class HashSplit:
    """Rows fall into folds by the shares given; rows of one key fall into the same."""

    ends: tuple[float, ...]  # of the folds, in (0, 1]; the last is 1
    seed: int = 0
    key: str | None = None  # a column; the number of the row without it

    @property
    def folds(self) -> int:
        return len(self.ends)

    def fold(self, batch: pa.RecordBatch, start: int) -> Int:
        """The fold of each row of a batch, given the number of its first: (n,)."""
        numbers = np.arange(start, start + batch.num_rows, dtype=np.uint64)
        words = numbers if self.key is None else _words(batch.column(self.key), self.key)
        scattered = splitmix(splitmix(words) ^ np.uint64(self.seed)) >> np.uint64(11)
        share: Float = scattered.astype(np.float64) * 2.0**-53
        found: Int = np.searchsorted(self.ends, share, side="right")
        return np.minimum(found, self.folds - 1)


def _words(values: pa.Array, name: str) -> Word:
    """A number for each value, equal for equal values, whatever the batch."""
    if values.null_count or (pt.is_floating(values.type) and pc.any(pc.is_nan(values)).as_py()):
        raise InputError(f"the key {name!r} is missing in some row; every row needs one to fall into a fold")
    if pt.is_integer(values.type):
        return np.asarray(values.to_numpy(zero_copy_only=False)).astype(np.uint64)
    encoded = values if pt.is_dictionary(values.type) else values.dictionary_encode()
    words = np.array([_word(value) for value in encoded.dictionary.to_pylist()], dtype=np.uint64)
    found: Word = words[encoded.indices.to_numpy(zero_copy_only=False)]
    return found


def _word(value: object) -> int:
    return int.from_bytes(blake2b(str(value).encode(), digest_size=8).digest(), "little")
