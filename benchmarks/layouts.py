"""Types and layouts of a matrix: a million rows x 20 numbers, processor time of one thread, in turns.

python benchmarks/layouts.py [rows]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

import bayeskit as bk

COLUMNS, CLASSES, TURNS = 20, 5, 7


def main(rows: int = 1_000_000) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(rows, COLUMNS)), rng.integers(0, CLASSES, rows)
    whole = (X * 1000).astype(np.int64)
    wide, tall = np.empty((rows, 2 * COLUMNS)), np.empty((2 * rows, COLUMNS))
    wide[:, ::2], tall[::2] = X, X
    tables = {
        "float64": X,
        "float32": X.astype(np.float32),
        "int64": whole,
        "int32": whole.astype(np.int32),
        "Fortran's order": np.asfortranarray(X),
        "every second row": tall[::2],
        "every second column": wide[:, ::2],
    }
    model = bk.NaiveBayes(n_jobs=1, kinds="quantitative")
    fitted = {name: bk.NaiveBayes(n_jobs=1, kinds="quantitative").fit(table, y) for name, table in tables.items()}
    best = {name: [np.inf, np.inf] for name in tables}
    for _ in range(TURNS):
        for name, table in tables.items():
            runs: tuple[Callable[[], object], ...] = (
                lambda table=table: model.fit(table, y),
                lambda table=table, name=name: fitted[name].predict_proba(table),
            )
            for i, run in enumerate(runs):
                start = time.process_time()
                run()
                best[name][i] = min(best[name][i], (time.process_time() - start) * 1e3)
    fit, predict = best["float64"]
    for name, (one, two) in best.items():
        print(f"{name:<20} fit {one:6.1f} ms {one / fit:4.1f}x   predict_proba {two:6.1f} ms {two / predict:4.1f}x")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
