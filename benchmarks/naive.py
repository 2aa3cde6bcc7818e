"""Naive Bayes beside scikit-learn: 2 million rows, 20 columns, 5 classes, two threads."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.naive_bayes import CategoricalNB, GaussianNB

import bayeskit as bk
from duel import duel, seconds

ROWS, COLUMNS, CLASSES, LEVELS = 2_000_000, 20, 5, 10


def numbers(rng: np.random.Generator, y: np.ndarray) -> None:
    X = rng.normal(size=(ROWS, COLUMNS)) + 0.3 * y[:, None]
    every = np.arange(CLASSES)
    ours = bk.NaiveBayes(n_jobs=2)
    duel("numbers: fit / GaussianNB.fit", lambda: ours.fit(X, y), lambda: GaussianNB().fit(X, y), 12)
    duel(
        "numbers: fit / GaussianNB.partial_fit",
        lambda: bk.NaiveBayes(n_jobs=2).partial_fit(X, y),
        lambda: GaussianNB().partial_fit(X, y, classes=every),
        6,
    )
    theirs = GaussianNB(var_smoothing=0).fit(X, y)
    duel("numbers: predict_proba", lambda: ours.predict_proba(X), lambda: theirs.predict_proba(X), 20)
    assert np.abs(ours.predict_proba(X[:1000]) - theirs.predict_proba(X[:1000])).max() < 1e-10
    read, whole, ask = (best(run) for run in (X.sum, lambda: ours.fit(X, y), lambda: ours.predict_proba(X)))
    print(f"fit runs at {read / whole:.0%} of the speed at which one thread sums its input ({read * 1e3:.1f} ms)")
    X[rng.random(X.shape) < 0.1] = np.nan
    gaps, ask_gaps = best(lambda: ours.fit(X, y)), best(lambda: ours.predict_proba(X))
    print(f"10 % missing cells: fit costs {gaps / whole:.2f}x, predict_proba {ask_gaps / ask:.2f}x (goal at most 1.5x)")


def categories(rng: np.random.Generator, y: np.ndarray) -> None:
    X = rng.integers(0, LEVELS, (ROWS, COLUMNS))
    ours = bk.NaiveBayes(n_jobs=2, kinds="nominal").fit(X, y)
    theirs = CategoricalNB().fit(X, y)
    duel("categories: fit / CategoricalNB.fit", lambda: ours.fit(X, y), lambda: CategoricalNB().fit(X, y), 50)
    duel("categories: predict_proba", lambda: ours.predict_proba(X), lambda: theirs.predict_proba(X), 8)
    assert np.abs(ours.predict_proba(X[:1000]) - theirs.predict_proba(X[:1000])).max() < 1e-10


def best(run: Callable[[], object]) -> float:
    return min(seconds(run) for _ in range(5))


def main() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, CLASSES, ROWS)
    print(f"{'':<58} {'bayeskit':>12} {'peer':>12}")
    numbers(rng, y)
    categories(rng, y)


if __name__ == "__main__":
    main()
