"""Forward selection of 40 columns by exact leave-one-out, beside one fit and one prediction."""

from __future__ import annotations

import numpy as np

import bayeskit as bk
from duel import duel

ROWS, COLUMNS, CLASSES = 100_000, 40, 3


def main() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, CLASSES, ROWS)
    X = rng.normal(size=(ROWS, COLUMNS)) + y[:, None] * rng.choice([0.0, 0.3], COLUMNS)
    model = bk.NaiveBayes()
    for method, goal in (("forward", 0.1), ("backward", 0.1), ("information", 1.0)):
        chosen = bk.FeatureSelector(method=method)
        duel(
            f"{method}: selection / fit + predict_proba",
            lambda chosen=chosen: chosen.fit(X, y),
            lambda: model.fit(X, y).predict_proba(X),
            goal,
            3,
        )


if __name__ == "__main__":
    main()
