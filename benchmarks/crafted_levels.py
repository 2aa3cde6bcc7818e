"""Levels that fall on one place of a hash table, against ordinary ones: ``python benchmarks/crafted_levels.py``.

The texts of 8 letters are those whose product with 2^64 / phi begins with the same 12 bits: neighbours in a table
that is addressed by the leading bits of this product, as tables without a seed often are.
"""

from __future__ import annotations

import time

import numpy as np
import pyarrow as pa

import bayeskit as bk

MIX, LETTERS, BITS = np.uint64(0x9E3779B97F4A7C15), 8, 12


def texts(count: int, crafted: bool, rng: np.random.Generator) -> list[str]:
    found: set[bytes] = set()
    while len(found) < count:
        words = rng.integers(ord("a"), ord("z") + 1, (1 << 20, LETTERS), dtype=np.uint8)
        with np.errstate(over="ignore"):
            places = (words.view("<u8")[:, 0] ^ np.uint64(LETTERS)) * MIX >> np.uint64(64 - BITS)
        some = words[places == 1] if crafted else words[: count - len(found)]
        found.update(row.tobytes() for row in some)
    return [word.decode() for word in sorted(found)[:count]]


def fitted(column: pa.Array) -> float:
    table = pa.table({"x": column, "y": np.arange(len(column)) % 2})
    begin = time.process_time()
    bk.NaiveBayes().fit(table, "y")
    return time.process_time() - begin


def main() -> None:
    for count in (20_000, 60_000):
        rng, times = np.random.default_rng(1), {}
        for crafted in (False, True):
            column = pa.array(texts(count, crafted, rng)).take(pa.array(rng.permutation(count)))
            times[crafted] = min(fitted(column) for _ in range(3))
        print(f"{count:,} levels: ordinary {times[False]:.2f} s, crafted {times[True]:.2f} s", flush=True)


if __name__ == "__main__":
    main()
