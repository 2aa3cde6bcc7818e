"""The frames people bring, in units of an integer matrix: 1 million rows x 20 columns of ten levels, one thread.

    python benchmarks/frames.py [--rows 1000000]

Processor time, best of the turns. All frames hold the same values and take turns, with scikit-learn on the integers.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from sklearn.naive_bayes import CategoricalNB

import bayeskit as bk

COLUMNS, LEVELS, CLASSES, TURNS = 20, 10, 5, 5
GOALS = {"pandas category": 1.3, "Arrow dictionary": 1.3, "Polars enum": 1.3, "Polars string": 3, "Arrow string": 3}


def frames(codes: np.ndarray) -> dict[str, Any]:
    """The same table as each kind of frame."""
    levels = np.array([f"level{i}" for i in range(LEVELS)])
    texts = {f"c{j}": levels[column] for j, column in enumerate(codes.T)}
    polars = pl.DataFrame({name: values.tolist() for name, values in texts.items()})
    category = {f"c{j}": pd.Categorical.from_codes(column, levels) for j, column in enumerate(codes.T)}
    return {
        "pandas category": pd.DataFrame(category),
        "pandas string": pd.DataFrame({name: pd.Series(values, dtype="str") for name, values in texts.items()}),
        "Arrow dictionary": pa.table({name: pa.array(values).dictionary_encode() for name, values in texts.items()}),
        "Arrow string": pa.table({name: pa.array(values) for name, values in texts.items()}),
        "Polars enum": polars.with_columns(pl.all().cast(pl.Enum(levels.tolist()))),
        "Polars categorical": polars.with_columns(pl.all().cast(pl.Categorical)),
        "Polars string": polars,
    }


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    given.add_argument("--rows", type=int, default=1_000_000)
    rng = np.random.default_rng(0)
    codes = rng.integers(0, LEVELS, (given.parse_args().rows, COLUMNS))
    y = rng.integers(0, CLASSES, len(codes))
    runs: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {"integer matrix": asked(codes, y, "nominal")}
    runs |= {name: asked(frame, y, None) for name, frame in frames(codes).items()}
    peer = CategoricalNB().fit(codes, y)
    runs["scikit-learn, integers"] = (lambda: CategoricalNB().fit(codes, y), lambda: peer.predict_proba(codes))
    best = {name: [np.inf, np.inf] for name in runs}
    for _ in range(TURNS):
        for name, both in runs.items():
            best[name] = [min(before, seconds(run)) for before, run in zip(best[name], both, strict=True)]
    fit, predict = best["integer matrix"]
    print(f"{'':<24} {'fit':>18} {'predict_proba':>20}")
    for name, (mine, answer) in best.items():
        goal = f"  (goal {GOALS[name]:g}x)" if name in GOALS else ""
        print(
            f"{name:<24} {mine * 1e3:8.1f} ms {mine / fit:5.1f}x {answer * 1e3:10.1f} ms {answer / predict:5.1f}x{goal}"
        )


def asked(table: Any, y: np.ndarray, kinds: Any) -> tuple[Callable[[], object], Callable[[], object]]:
    model = bk.NaiveBayes(n_jobs=1, kinds=kinds).fit(table, y)
    return (lambda: bk.NaiveBayes(n_jobs=1, kinds=kinds).fit(table, y)), (lambda: model.predict_proba(table))


def seconds(run: Callable[[], object]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


if __name__ == "__main__":
    main()
