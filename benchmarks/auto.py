"""AutoBayes on 100,000 rows x 30 mixed columns, beside one fit and one prediction of naive Bayes on the same rows.

With ``--small`` processor time of one thread instead, on a table of 1,000 x 20, with ``--wide`` of 4,600 x 217: fit,
fast fit, prediction of 1,000 rows, explanation of 20.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
import pandas as pd

import bayeskit as bk
from duel import duel

ROWS, NUMBERS, TEXTS = 100_000, 15, 15
GOAL = 1 / 60


def table(
    rng: np.random.Generator, rows: int = ROWS, numbers: int = NUMBERS, texts: int = TEXTS
) -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers of which every fifth depends on the one before, and texts of six levels; three classes."""
    code = rng.integers(0, 3, rows)
    columns: dict[str, np.ndarray] = {}
    for j in range(numbers):
        columns[f"n{j}"] = rng.normal(size=rows) * (1 + j % 3) + 0.3 * code * (j % 4)
        if j % 5 == 4:
            columns[f"n{j}"] += 0.5 * columns[f"n{j - 1}"]
    levels = np.array([f"l{k}" for k in range(6)])
    for j in range(texts):
        moved = code if j % 3 == 0 else 0
        columns[f"c{j}"] = levels[np.minimum(rng.integers(0, 6, rows) + moved, 5)]
    return pd.DataFrame(columns), np.array(["a", "b", "c"])[code]


def main() -> None:
    X, y = table(np.random.default_rng(0))
    auto = bk.AutoBayes()
    ratio = duel("AutoBayes.fit / NaiveBayes fit + predict_proba", lambda: auto.fit(X, y), lambda: naive(X, y), GOAL, 3)
    print(f"AutoBayes.fit takes {1 / ratio:.1f} fits and predictions of NaiveBayes (goal {1 / GOAL:.0f})")
    parts = 0.0
    auto.predict_proba(X)  # what is made at the first call
    start = time.perf_counter()
    auto.predict_proba(X)
    whole = time.perf_counter() - start
    for member in auto.members_:
        start = time.perf_counter()
        asked = X if member.view is None else member.view.matrix(auto.reader_, X)
        member.classifier.predict_proba(asked)
        parts += time.perf_counter() - start
    print(f"predict_proba {whole:.2f} s; its {len(auto.members_)} members one by one {parts:.2f} s")


def spent(work: Callable[[], object], turns: int) -> float:
    """Processor seconds, the least of some turns."""
    found = []
    for _ in range(turns):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)


def small(rows: int, numbers: int, texts: int, turns: int) -> None:
    """One line of what the pool of a table costs."""
    X, y = table(np.random.default_rng(0), rows, numbers, texts)
    auto, fast = bk.AutoBayes(n_jobs=1), bk.AutoBayes(n_jobs=1, fast=True)
    whole, quick = spent(lambda: auto.fit(X, y), turns), spent(lambda: fast.fit(X, y), turns)
    asked = spent(lambda: auto.predict_proba(X[:1000]), turns + 2)
    told = spent(lambda: auto.explain(X[:20]), turns + 2)
    print(
        f"{rows:,} x {numbers + texts}: fit {whole:.2f} s, fast {quick:.3f} s ({quick / whole:.0%}); per row: "
        f"predict_proba {asked * 1e3:.1f} us, explain {told / 20 * 1e3:.2f} ms\n{auto.summary()}"
    )


def naive(X: pd.DataFrame, y: np.ndarray) -> np.ndarray:
    return bk.NaiveBayes().fit(X, y).predict_proba(X)


if __name__ == "__main__":
    if "--small" in sys.argv:
        small(1_000, 10, 10, 3)
    if "--wide" in sys.argv:
        small(4_600, 110, 107, 1)
    if not sys.argv[1:]:
        main()
