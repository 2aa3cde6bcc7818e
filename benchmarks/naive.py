"""Naive Bayes beside scikit-learn: 2 million rows, 20 columns, 5 classes, two threads."""

from __future__ import annotations

import numpy as np
from duel import duel, seconds
from sklearn.naive_bayes import CategoricalNB, GaussianNB

import bayeskit as bk

ROWS, COLUMNS, CLASSES, LEVELS = 2_000_000, 20, 5, 10


def main() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, CLASSES, ROWS)
    X = rng.normal(size=(ROWS, COLUMNS)) + 0.3 * y[:, None]
    every = np.arange(CLASSES)
    ours = bk.NaiveBayes(n_jobs=2)
    print(f"{'':<58} {'bayeskit':>12} {'peer':>12}")
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

    read = min(seconds(X.sum) for _ in range(5))
    whole = min(seconds(lambda: ours.fit(X, y)) for _ in range(5))
    print(
        f"fit reads its input at {read / whole:.0%} of the speed at which one thread can sum it ({read * 1e3:.1f} ms)"
    )

    holes = X.copy()
    holes[rng.random(X.shape) < 0.1] = np.nan
    full = min(seconds(lambda: ours.fit(X, y)) for _ in range(5))
    gaps = min(seconds(lambda: ours.fit(holes, y)) for _ in range(5))
    ask, ask_gaps = (min(seconds(lambda x=x: ours.predict_proba(x)) for _ in range(5)) for x in (X, holes))
    print(f"10 % missing cells: fit costs {gaps / full:.2f}x, predict_proba {ask_gaps / ask:.2f}x (goal at most 1.5x)")
    del holes, X

    C = rng.integers(0, LEVELS, (ROWS, COLUMNS))
    ours = bk.NaiveBayes(n_jobs=2, kinds="nominal").fit(C, y)
    theirs = CategoricalNB().fit(C, y)
    duel("categories: fit / CategoricalNB.fit", lambda: ours.fit(C, y), lambda: CategoricalNB().fit(C, y), 50)
    duel("categories: predict_proba", lambda: ours.predict_proba(C), lambda: theirs.predict_proba(C), 8)
    assert np.abs(ours.predict_proba(C[:1000]) - theirs.predict_proba(C[:1000])).max() < 1e-10


if __name__ == "__main__":
    main()
