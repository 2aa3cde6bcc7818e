"""families="auto" where columns are weak, useless or counts: accuracy and log-loss, and families chosen.

python benchmarks/weak.py [draws]
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Callable

import numpy as np

import bayeskit as bk

FRESH = 4000  # rows a model is judged by
DESIGNS = {  # columns, of which so many tell, effect in deviations, rows
    "100 columns of effect 0.25, 200 rows": (100, 100, 0.25, 200),
    "30 columns of effect 0.15, 1,000 rows": (30, 30, 0.15, 1000),
    "100 columns of noise, 200 rows": (100, 0, 0.0, 200),
    "5 of 100 columns of effect 0.8, 200 rows": (100, 5, 0.8, 200),
}


def judged(families: str | None, design: tuple[int, int, float, int], seed: int) -> tuple[float, float]:
    """Accuracy and log-loss on fresh rows of two normal classes."""
    columns, telling, effect, rows = design
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, rows + FRESH)
    apart = np.where(np.arange(columns) < telling, effect, 0.0)
    X = rng.normal(size=(len(y), columns)) + np.outer(y - 0.5, apart)
    proba = bk.NaiveBayes(families=families).fit(X[:rows], y[:rows]).predict_proba(X[rows:])
    truth = y[rows:]
    likely = np.clip(proba[np.arange(FRESH), truth], 1e-15, 1)
    return float((proba.argmax(axis=1) == truth).mean()), float(-np.log(likely).mean())


def chosen(draw: Callable[[np.random.Generator, tuple[int, int]], np.ndarray], rows: int, draws: int) -> str:
    """Families of so many columns in which the classes do not differ."""
    X = draw(np.random.default_rng(rows), (rows, draws)).astype(float)
    schema = bk.NaiveBayes(families="auto").fit(X, np.arange(rows) % 2).schema_
    found = Counter(column.family.split("(")[0] for column in schema.columns)
    return ", ".join(f"{name} {count / draws:.0%}" for name, count in found.most_common())


def main(draws: int) -> None:
    warnings.simplefilter("ignore")
    for name, design in DESIGNS.items():
        auto, plain = (np.mean([judged(f, design, s) for s in range(draws)], axis=0) for f in ("auto", None))
        print(f"{name:<42} auto {auto[0]:.3f} / {auto[1]:.3f}, plain {plain[0]:.3f} / {plain[1]:.3f}", flush=True)
    for mean in (0.5, 1, 2, 4, 8, 15, 40):
        for rows in (50, 200, 1000):
            found = chosen(lambda rng, shape, mean=mean: rng.poisson(mean, shape), rows, 10 * draws)
            print(f"Poisson, mean {mean:g}, {rows} rows: {found}", flush=True)
    for rows in (15, 30, 60):
        print(f"normal, {rows} rows: {chosen(lambda rng, shape: rng.normal(size=shape), rows, 10 * draws)}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
