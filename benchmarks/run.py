"""All benchmarks, one after the other."""

from __future__ import annotations

import core
import discretizing
import evaluation
import full
import memory
import naive
import neighbours
import selecting
import start
import text

if __name__ == "__main__":
    for benchmark in (start, naive, full, text, neighbours, discretizing, selecting, memory, evaluation, core):
        print(f"\n== {benchmark.__name__}: {(benchmark.__doc__ or '').splitlines()[0]}")
        benchmark.main()
