"""`make bench`: bayeskit beside its peers in turns, and a page of it in benchmarks/_build/index.html."""

from __future__ import annotations

import time
from importlib.util import find_spec
from pathlib import Path

import discretizing
import evaluation
import full
import naive
import neighbours
import page
import selecting
import text
from duel import FOUGHT

TOPICS = {
    "Naive Bayes": naive,
    "Full Bayes": full,
    "Sparse text": text,
    "Neighbours": neighbours,
    "Cuts": discretizing,
    "Selection": selecting,
    "Evaluation": evaluation,
}

if __name__ == "__main__":
    if find_spec("pyagrum"):
        import trees

        TOPICS["Trees"] = trees
    began, found = time.perf_counter(), {}
    for topic, benchmark in TOPICS.items():
        print(f"\n== {topic}: {(benchmark.__doc__ or '').splitlines()[0]}")
        before = len(FOUGHT)
        benchmark.main()
        found[topic] = FOUGHT[before:]
    written = page.write(found, time.perf_counter() - began, Path(__file__).parent / "_build" / "index.html")
    print(f"\n{written}")
