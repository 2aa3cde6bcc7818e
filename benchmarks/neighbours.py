"""KNNBayes beside scikit-learn's KNeighborsClassifier, one thread each."""

from __future__ import annotations

import numpy as np
from sklearn.neighbors import KNeighborsClassifier
from threadpoolctl import threadpool_limits

import bayeskit as bk
from duel import duel

CLASSES = 3


def table(rng: np.random.Generator, rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    y = rng.integers(0, CLASSES, rows)
    return rng.normal(size=(rows, columns)) + 0.5 * y[:, None], y


def compared(rng: np.random.Generator, rows: int, columns: int, asked: int) -> None:
    X, y = table(rng, rows, columns)
    Q, _ = table(rng, asked, columns)
    ours, theirs = bk.KNNBayes(k=5), KNeighborsClassifier(5)
    name = f"{rows:,} x {columns}"
    duel(f"{name}: fit", lambda: ours.fit(X, y), lambda: theirs.fit(X, y), 1, 3)
    duel(f"{name}: predict_proba of {asked:,}", lambda: ours.predict_proba(Q), lambda: theirs.predict_proba(Q), 1, 3)
    both = f"{name}: fit and predict_proba of {asked:,}"
    duel(both, lambda: ours.fit(X, y).predict_proba(Q), lambda: theirs.fit(X, y).predict_proba(Q), 1, 2)
    assert np.abs(ours.predict_proba(Q[:2000]) - theirs.predict_proba(Q[:2000])).max() < 1e-12


def main() -> None:
    rng = np.random.default_rng(0)
    with threadpool_limits(1):
        compared(rng, 100_000, 8, 10_000)
        compared(rng, 20_000, 50, 20_000)
        compared(rng, 5_000, 3, 50_000)


if __name__ == "__main__":
    main()
