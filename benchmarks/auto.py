"""AutoBayes on 100,000 rows x 30 mixed columns, beside one fit and one prediction of naive Bayes on the same rows."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd

import bayeskit as bk
from duel import duel

ROWS, NUMBERS, TEXTS = 100_000, 15, 15
GOAL = 1 / 60


def table(rng: np.random.Generator) -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers of which every fifth depends on the one before, and texts of six levels; three classes."""
    code = rng.integers(0, 3, ROWS)
    columns: dict[str, np.ndarray] = {}
    for j in range(NUMBERS):
        columns[f"n{j}"] = rng.normal(size=ROWS) * (1 + j % 3) + 0.3 * code * (j % 4)
        if j % 5 == 4:
            columns[f"n{j}"] += 0.5 * columns[f"n{j - 1}"]
    levels = np.array([f"l{k}" for k in range(6)])
    for j in range(TEXTS):
        moved = code if j % 3 == 0 else 0
        columns[f"c{j}"] = levels[np.minimum(rng.integers(0, 6, ROWS) + moved, 5)]
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


def naive(X: pd.DataFrame, y: np.ndarray) -> np.ndarray:
    return bk.NaiveBayes().fit(X, y).predict_proba(X)


if __name__ == "__main__":
    main()
