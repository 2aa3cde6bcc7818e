"""TAN, KDB and AODE beside pyAgrum: fitting, asking, and all pair tables of a long table.

    python benchmarks/trees.py [--rows 10000] [--columns 40]

pyAgrum is in the extra ``peers``.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
import pandas as pd

import bayeskit as bk
from duel import duel


def table(rows: int, columns: int, levels: int = 4, classes: int = 3) -> tuple[pd.DataFrame, np.ndarray]:
    """A chain of columns given the class."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, classes, rows)
    codes = np.empty((rows, columns), dtype=np.int64)
    codes[:, 0] = rng.integers(0, levels, rows)
    for j in range(1, columns):
        kept = rng.random(rows) < 0.6
        codes[:, j] = np.where(kept, (codes[:, j - 1] + y) % levels, rng.integers(0, levels, rows))
    return pd.DataFrame(codes, columns=[f"c{j}" for j in range(columns)]).astype(str), y


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--columns", type=int, default=40)
    parser.add_argument("--long", type=int, default=1_000_000)
    asked = parser.parse_args()
    import pyagrum.skbn as skbn

    X, y = table(asked.rows, asked.columns)
    labels = y.astype(str)

    whole = X.astype(int)

    def theirs(table: pd.DataFrame) -> Any:
        model = skbn.createBNClassifier(learningMethod="TAN", prior="Smoothing", priorWeight=1)
        model.fit(table, labels)
        return model

    size = f"{asked.rows:,} x {asked.columns}"
    duel(f"TAN fit, text, {size}, and pyAgrum", lambda: bk.TAN().fit(X, y), lambda: theirs(X), 50, turns=3)
    nominal = bk.TAN(kinds="nominal")
    duel(f"TAN fit, integers, {size}", lambda: nominal.fit(whole, y), lambda: theirs(whole), 50, turns=3)
    mine, peer = bk.TAN().fit(X, y), theirs(X)
    for rows in (500, 5000):
        few = X[:rows]
        name = f"TAN predict_proba, {rows} rows"
        duel(name, lambda few=few: mine.predict_proba(few), lambda few=few: peer.predict_proba(few), 100, turns=2)
    right = np.mean(peer.predict(few) == labels[: len(few)])
    print(f"accuracy on rows learned: {mine.score(few, y[: len(few)]):.4f}, theirs {right:.4f}")
    for model in (bk.NaiveBayes(), bk.TAN(), bk.KDB(), bk.KDB(k=3), bk.AODE()):
        start = time.process_time()
        model.fit(X, y)
        fitted = time.process_time()
        model.predict_proba(X)
        done = time.process_time()
        times = f"fit {1e3 * (fitted - start):8.1f} ms CPU   predict_proba {1e3 * (done - fitted):8.1f} ms CPU"
        print(f"{model!r:<20} {times}")
        rng = np.random.default_rng(1)
        for share in (0.02, 0.1, 0.3):  # every row has missing values of its own, which are summed out
            holes = X.mask(rng.random(X.shape) < share, None)
            start = time.process_time()
            model.predict_proba(holes)
            print(f"{'':<20} {share:.0%} missing: predict_proba {1e3 * (time.process_time() - start):8.1f} ms CPU")
    X, y = table(asked.long, asked.columns)
    codes = X.astype(int).to_numpy()
    model = bk.TAN(kinds="nominal")
    start = time.process_time()
    model.fit(codes, y)
    took = time.process_time() - start
    print(f"TAN of integers, {asked.long:,} x {asked.columns}: {took:.2f} s CPU (goal for its pair tables 0.5 s)")


if __name__ == "__main__":
    main()
