"""Spark: where the processor time of a fit goes, one core beside two, and the driver under many partitions.

    python benchmarks/cluster.py FILE.parquet      the parts of a fit to a file of benchmarks/engines.py
    python benchmarks/cluster.py --merge 10000     so many states of partitions merged as the driver does, without Spark

Every run of parts is a process of its own; its processor time holds Java and the Python workers.
"""

from __future__ import annotations

import argparse
import ctypes
import resource
import time

import numpy as np
import pyarrow as pa

import bayeskit as bk
from engines import Run, python

SESSION = """
import os, sys, warnings
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
warnings.simplefilter("ignore")
from pyspark.sql import SparkSession
spark = (SparkSession.builder.master(f"local[{sys.argv[2]}]").config("spark.ui.enabled", "false")
         .config("spark.driver.memory", "3g").config("spark.sql.execution.arrow.maxRecordsPerBatch", "65536")
         .config("spark.log.level", "OFF").config("spark.ui.showConsoleProgress", "false").getOrCreate())
frame = spark.read.parquet(sys.argv[1])
"""
PARTS = {
    "Java, Python and a count of the rows": "frame.count()",
    "and every column read by Java": "frame.write.format('noop').mode('overwrite').save()",
    "and sent to Python as Arrow batches": """
def rows(batches):
    import pyarrow as pa
    yield pa.RecordBatch.from_pydict({"rows": [sum(batch.num_rows for batch in batches)]})
frame.mapInArrow(rows, "rows long").toArrow()
""",
    "and counted: NaiveBayes().fit": "import bayeskit as bk; bk.NaiveBayes().fit(frame, 'y')",
}
MODELS = {
    "NaiveBayes()": bk.NaiveBayes,
    "NaiveBayes(families='Kernel')": lambda: bk.NaiveBayes(families="Kernel"),
    "TAN()": bk.TAN,
}


def parts(path: str) -> None:
    for cores in ("1", "2"):
        for name, step in PARTS.items():
            run = min((Run.of(python(SESSION + step + "\nspark.stop()", path, cores)) for _ in range(2)), key=spent)
            print(f"local[{cores}]  {name:<40} {run}", flush=True)


def spent(run: Run) -> float:
    return run.processor


def table(rows: int, rng: np.random.Generator) -> pa.Table:
    """Eight columns of numbers, a truth value, three of fifty texts, three classes."""
    y = rng.integers(0, 3, rows)
    towns = np.array([f"town{i}" for i in range(50)])
    columns: dict[str, object] = {f"n{j}": rng.normal(size=rows) + 0.1 * y for j in range(8)}
    columns |= {"flag": rng.random(rows) < 0.3, **{f"c{j}": towns[rng.integers(0, 50, rows)] for j in range(3)}}
    return pa.table(columns | {"y": np.array(["a", "b", "c"])[y]})


def merge(partitions: int) -> None:
    """What the driver does with the states of partitions: all are there as bytes, and are merged one by one."""
    rng = np.random.default_rng(0)
    for name, make in MODELS.items():
        empty = make().fit(table(20_000, rng), "y").model_.counted.without_counts()
        some = [empty.update(batch).to_bytes() for batch in table(320_000, rng).to_batches(10_000)]
        states = pa.array([some[i % len(some)] for i in range(partitions)], pa.large_binary())
        before, whole = time.process_time(), empty
        for state in states:
            whole = whole.merge(empty.with_bytes(state.as_py()))
        took = time.process_time() - before
        assert whole.rows == 10_000 * partitions
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"{name:<30} {partitions:,} states of {len(some[0]) / 1e3:.0f} kB, {states.nbytes / 1e6:,.0f} MB: merged "
            f"in {took:.1f} s of processor time, peak {peak:,.0f} MB",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file", nargs="?")
    parser.add_argument("--merge", type=int)
    given = parser.parse_args()
    ctypes.CDLL(None).prctl(36, 1)  # orphans come to us, to be counted (PR_SET_CHILD_SUBREAPER, Linux)
    if given.merge:
        merge(given.merge)
    if given.file:
        parts(given.file)


if __name__ == "__main__":
    main()
