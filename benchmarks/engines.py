"""Engines: files of millions of mixed rows through the command line, beside scikit-learn, Spark's own, and a copy.

Every run is a process of its own, so that its peak memory and its processor time are its own; peers take turns with us.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

WRITE = """
import numpy as np, pyarrow as pa, pyarrow.parquet as pq, sys
rng = np.random.default_rng(1)
towns = np.array([f"town{i}" for i in range(50)])
with pq.ParquetWriter(sys.argv[1], pa.schema(
    [(f"n{j}", pa.float64()) for j in range(7)] + [("i", pa.int64()), ("flag", pa.bool_())]
    + [(f"c{j}", pa.string()) for j in range(3)] + [("y", pa.string())])) as out:
    for _ in range(int(sys.argv[2]) // 250_000):
        n = 250_000
        y = rng.integers(0, 3, n)
        cols = {f"n{j}": rng.normal(size=n) + 0.1 * y for j in range(7)}
        cols |= {"i": rng.integers(0, 1000, n), "flag": rng.random(n) < 0.3}
        cols |= {f"c{j}": pa.array(towns[rng.integers(0, 50, n)], mask=rng.random(n) < 0.05) for j in range(3)}
        cols["y"] = np.array(["a", "b", "c"])[y]
        out.write_table(pa.table(cols, schema=out.schema))
"""
PARTIAL_FIT = """
import numpy as np, pyarrow as pa, pyarrow.compute as pc, pyarrow.parquet as pq, sys
from sklearn.naive_bayes import CategoricalNB, GaussianNB
towns = pa.array([f"town{i}" for i in range(50)])
gaussian, categorical = GaussianNB(), CategoricalNB(min_categories=[2] + [51] * 3)
for batch in pq.ParquetFile(sys.argv[1]).iter_batches(65536):
    y = batch["y"].to_numpy(zero_copy_only=False)
    numbers = np.column_stack([batch[name].to_numpy() for name in [*(f"n{j}" for j in range(7)), "i"]])
    codes = [pc.fill_null(pc.index_in(batch[f"c{j}"], towns), 50).to_numpy() for j in range(3)]
    flag = batch["flag"].to_numpy(zero_copy_only=False).astype(int)
    gaussian.partial_fit(numbers, y, classes=["a", "b", "c"])
    categorical.partial_fit(np.column_stack([flag, *codes]), y, classes=["a", "b", "c"])
"""
MLLIB = """
import sys, warnings
warnings.simplefilter("ignore")
from pyspark.ml.classification import NaiveBayes
from pyspark.ml.feature import StringIndexer, VectorAssembler
from pyspark.sql import SparkSession, functions as F
spark = (SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.driver.memory", "3g")
         .config("spark.log.level", "OFF").config("spark.ui.showConsoleProgress", "false").getOrCreate())
frame = spark.read.parquet(sys.argv[1])
frame = frame.withColumn("label", F.when(F.col("y") == "a", 0.0).when(F.col("y") == "b", 1.0).otherwise(2.0))
numbers = [*(f"n{j}" for j in range(7)), "i"]
gaussian = VectorAssembler(inputCols=numbers, outputCol="features").transform(frame)
NaiveBayes(modelType="gaussian").fit(gaussian)
from pyspark.ml import Pipeline
from pyspark.ml.feature import OneHotEncoder
words, codes, hot = ([f"{kind}{j}" for j in range(3)] for kind in "cko")
counted = frame.withColumn("f", F.col("flag").cast("double")).withColumn("g", 1 - F.col("f"))
NaiveBayes(modelType="multinomial").fit(Pipeline(stages=[
    StringIndexer(inputCols=words, outputCols=codes, handleInvalid="keep"),
    OneHotEncoder(inputCols=codes, outputCols=hot, dropLast=False),
    VectorAssembler(inputCols=["f", "g", *hot], outputCol="features"),
]).fit(counted).transform(counted))
spark.stop()
"""
SPARK = """
import os, sys, warnings
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
warnings.simplefilter("ignore")
from pyspark.sql import SparkSession
import bayeskit as bk
spark = (SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.driver.memory", "3g")
         .config("spark.sql.execution.arrow.maxRecordsPerBatch", "65536")
         .config("spark.log.level", "OFF").config("spark.ui.showConsoleProgress", "false").getOrCreate())
print(bk.NaiveBayes().fit(spark.read.parquet(sys.argv[1]), "y").model_.digest)
spark.stop()
"""
COPY = """
import pyarrow as pa, pyarrow.parquet as pq, sys
file = pq.ParquetFile(sys.argv[1])
repeating = [f.name for f in file.schema_arrow if not pa.types.is_floating(f.type)]
with pq.ParquetWriter(sys.argv[2], file.schema_arrow, use_dictionary=repeating if sys.argv[3:] else True) as out:
    for batch in file.iter_batches(131072):
        out.write_batch(batch)
"""
DEFAULTS = """
import pyarrow.parquet as pq, sys
writer = pq.ParquetWriter
kept = lambda schema: [name for name in schema.names if not name.startswith("P(")]
pq.ParquetWriter = lambda file, schema, use_dictionary: writer(file, schema, use_dictionary=kept(schema))
from bayeskit.cli.app import main
main()
"""


@dataclass(frozen=True)
class Run:
    """What a process took."""

    seconds: float
    processor: float
    peak: float  # MB

    @classmethod
    def of(cls, command: Sequence[str]) -> Run:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        if status:
            raise RuntimeError(f"{' '.join(command[:6])} ended with {status}")
        processor = used.ru_utime + used.ru_stime
        with suppress(ChildProcessError):  # what it has left behind, Spark's Java for instance
            while True:
                _, _, left = os.wait4(-1, 0)
                processor += left.ru_utime + left.ru_stime
        return cls(seconds, processor, used.ru_maxrss / 1024)

    def __str__(self) -> str:
        return f"{self.seconds:7.1f} s  {self.processor:7.1f} CPU-s  peak {self.peak:6.0f} MB"


def python(script: str, *words: str) -> list[str]:
    return [sys.executable, "-c", script, *words]


def bayeskit(*words: str) -> list[str]:
    return [sys.executable, "-m", "bayeskit.cli", *words, "--quiet", "--memory", "1GB", "--jobs", "2"]


def told(name: str, run: Run, rows: int) -> None:
    print(f"{name:<52} {run}  {rows / run.seconds / 1e6:6.2f} M rows/s", flush=True)


def measure(folder: Path, rows: int, more: int) -> None:
    small, large, model = (str(folder / name) for name in ("small.parquet", "large.parquet", "m.bayes"))
    for path, count in ((small, rows), (large, more)):
        Run.of(python(WRITE, path, str(count)))
    fit, partial = [], []
    for _ in range(2):  # taking turns
        fit.append(Run.of(bayeskit("fit", small, "-t", "y", "-o", model)))
        partial.append(Run.of(python(PARTIAL_FIT, small)))
    ours, theirs = (min(runs, key=lambda run: run.processor) for runs in (fit, partial))
    told(f"bayeskit fit, {rows / 1e6:g} M rows", ours, rows)
    told("scikit-learn partial_fit of the same batches", theirs, rows)
    big = Run.of(bayeskit("fit", large, "-t", "y", "-o", model))
    told(f"bayeskit fit, {more / 1e6:g} M rows", big, more)
    peak, growth = big.peak, big.peak / max(run.peak for run in fit) - 1
    print(f"peak memory {peak:.0f} MB (goal 700), {growth:+.1%} for {more / rows:g}x the rows (goal +10 %)")
    print(f"scikit-learn takes {times(theirs, ours)} of ours")
    out = str(folder / "out.parquet")
    all_kept = bayeskit("predict", model, small, "--keep", "all", "--force", "-o", out)
    ways = {
        "reading and rewriting the rows, pyarrow's defaults": python(COPY, small, out),
        "the same, floats without dictionaries": python(COPY, small, out, "plain"),
        "bayeskit predict to Parquet": bayeskit("predict", model, small, "--force", "-o", out),
        "bayeskit predict --keep all": all_kept,
        "the same, pyarrow's defaults for what is kept": python(DEFAULTS, *all_kept[3:]),
    }
    found: dict[str, list[Run]] = {name: [] for name in ways}
    for _ in range(3):
        for name, command in ways.items():
            found[name].append(Run.of(command))
    best = [min(runs, key=lambda run: run.processor) for runs in found.values()]
    for name, run in zip(ways, best, strict=True):
        told(name, run, rows)
    copy, plain_copy, answers, kept, kept_alike = best
    print(f"predict takes {times(answers, copy)} of a copy (goal 1.5x CPU)")
    print(f"keeping all columns takes {times(kept, copy)} of a copy")
    print(f"  with pyarrow's defaults for what is kept, as in the copy, {times(kept_alike, copy)}")
    print(f"  without dictionaries of floats on both sides {times(kept, plain_copy)}")
    if find_spec("pyspark") is None or not shutil.which("java"):
        print("Spark is not here: left out")
        return
    spark, mllib = Run.of(python(SPARK, small)), Run.of(python(MLLIB, small))
    told("bayeskit fit on Spark local[2]", spark, rows)
    told("Spark MLlib NaiveBayes, gaussian and multinomial", mllib, rows)
    print(f"MLlib takes {times(mllib, ours)} of ours without Spark, {times(mllib, spark)} of ours on Spark")
    print(f"Spark takes {times(spark, ours)} of the same fit without it")


def times(one: Run, other: Run) -> str:
    return f"{one.seconds / other.seconds:.2f}x the time and {one.processor / other.processor:.2f}x the CPU"


def main(words: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--more", type=int, default=20_000_000)
    given = parser.parse_args(words)
    ctypes.CDLL(None).prctl(36, 1)  # orphans come to us, to be counted (PR_SET_CHILD_SUBREAPER, Linux)
    with tempfile.TemporaryDirectory() as folder:
        measure(Path(folder), given.rows, given.more)


if __name__ == "__main__":
    main(sys.argv[1:])
