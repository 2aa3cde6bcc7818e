"""Memory: predicting 10 million rows in blocks, and fitting a Parquet file larger than the memory it may use."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

PREDICT = """
import numpy as np, resource, bayeskit as bk
rng = np.random.default_rng(0)
y = rng.integers(0, 5, 100_000)
X = np.empty((10_000_000, 20))
for start in range(0, len(X), 1_000_000):
    X[start:start + 1_000_000] = rng.normal(size=(1_000_000, 20))
model = bk.NaiveBayes(n_jobs=2).fit(X[:100_000], y)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
out = model.predict_proba(X)
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
extra = (after - before) / 1024 - out.nbytes / 2**20
print(f"predict_proba of 10M x 20: {extra:.0f} MB beyond input and output (goal 300)")
"""

WRITE = """
import numpy as np, pyarrow as pa, pyarrow.parquet as pq, sys
rng = np.random.default_rng(1)
towns = np.array([f"town{i}" for i in range(50)])
with pq.ParquetWriter(sys.argv[1], pa.schema(
    [(f"n{j}", pa.float64()) for j in range(7)] + [("i", pa.int64()), ("flag", pa.bool_())]
    + [(f"c{j}", pa.string()) for j in range(3)] + [("y", pa.string())])) as out:
    for _ in range(20):
        n = 250_000
        cols = {f"n{j}": rng.normal(size=n) for j in range(7)}
        cols |= {"i": rng.integers(0, 1000, n), "flag": rng.random(n) < 0.3}
        cols |= {f"c{j}": pa.array(towns[rng.integers(0, 50, n)], mask=rng.random(n) < 0.05) for j in range(3)}
        cols["y"] = np.array(["a", "b", "c"])[rng.integers(0, 3, n)]
        out.write_table(pa.table(cols, schema=out.schema))
"""

FIT = """
import resource, sys, time, bayeskit as bk
start = time.perf_counter()
model = bk.NaiveBayes(n_jobs=2).fit(sys.argv[1], "y")
took = time.perf_counter() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(f"DuckDB fit of 5M x 12 mixed Parquet: peak RSS {peak:.0f} MB (goal 700), {took:.1f} s, {5 / took:.2f} M rows/s")
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "mixed.parquet"))
        for script, arguments in ((PREDICT, []), (WRITE, [path]), (FIT, [path])):
            subprocess.run([sys.executable, "-c", script, *arguments], check=True)


if __name__ == "__main__":
    main()
