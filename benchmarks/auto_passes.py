"""AutoBayes from a Parquet file that need not fit in memory: processor time and peak memory of one fit.

python benchmarks/auto_passes.py 20_000_000: 12 columns, six normal, two of counts, four of eight levels, of which the
class depends on two together.
"""

from __future__ import annotations

import resource
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import bayeskit as bk

ROWS = 500_000  # written at a time
LEVELS = np.array(list("abcdefgh"))


def rows(n: int, rng: np.random.Generator) -> pa.Table:
    """Some of the rows."""
    codes = rng.integers(0, 8, (4, n))
    y = ((codes[0] ^ codes[1]) & 1) ^ (rng.random(n) < 0.2)
    columns = {f"x{j}": rng.normal(0.1 * j * y, 1.0) for j in range(6)}
    columns |= {"events": rng.poisson(3.0 + y), "any": rng.integers(0, 100, n)}
    columns |= {f"c{j}": LEVELS[code] for j, code in enumerate(codes)}
    return pa.table({**columns, "y": np.where(y, "yes", "no")})


def main(n: int) -> None:
    rng = np.random.default_rng(0)
    with TemporaryDirectory() as folder:
        place = Path(folder) / "rows.parquet"
        with pq.ParquetWriter(place, rows(1, rng).schema) as writer:
            for start in range(0, n, ROWS):
                writer.write_table(rows(min(ROWS, n - start), rng))
        before, begin = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, time.process_time()
        model = bk.AutoBayes().fit(str(place), "y")
        took, peak = time.process_time() - begin, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{n:,} rows: {took:.1f} s of processor time, peak {peak:.0f} MB ({before:.0f} MB before)\n{model.summary()}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
