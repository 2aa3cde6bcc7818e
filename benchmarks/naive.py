"""Naive Bayes beside scikit-learn: 2 million rows, 20 columns, 5 classes; arrays and frames of pandas."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

import bayeskit as bk
from duel import duel, seconds

ROWS, COLUMNS, CLASSES, LEVELS = 2_000_000, 20, 5, 10


def numbers(rng: np.random.Generator, y: np.ndarray) -> None:
    X = rng.normal(size=(ROWS, COLUMNS)) + 0.3 * y[:, None]
    every = np.arange(CLASSES)
    ours = bk.NaiveBayes()
    duel("numbers: fit / GaussianNB.fit", lambda: ours.fit(X, y), lambda: GaussianNB().fit(X, y), 20)
    duel(
        "numbers: fit / GaussianNB.partial_fit",
        lambda: bk.NaiveBayes().partial_fit(X, y),
        lambda: GaussianNB().partial_fit(X, y, classes=every),
        6,
    )
    theirs = GaussianNB(var_smoothing=0).fit(X, y)
    duel("numbers: predict_proba", lambda: ours.predict_proba(X), lambda: theirs.predict_proba(X), 30)
    assert np.abs(ours.predict_proba(X[:1000]) - theirs.predict_proba(X[:1000])).max() < 1e-10
    read, whole, ask = (best(run) for run in (X.sum, lambda: ours.fit(X, y), lambda: ours.predict_proba(X)))
    print(f"fit runs at {read / whole:.0%} of the speed at which one thread sums its input ({read * 1e3:.1f} ms)")
    X[rng.random(X.shape) < 0.1] = np.nan
    gaps, ask_gaps = best(lambda: ours.fit(X, y)), best(lambda: ours.predict_proba(X))
    print(f"10 % missing cells: fit costs {gaps / whole:.2f}x, predict_proba {ask_gaps / ask:.2f}x (goal at most 1.5x)")


def numbers_in_a_frame(rng: np.random.Generator, y: np.ndarray) -> None:
    frame = pd.DataFrame({f"x{j}": rng.normal(size=ROWS) + 0.3 * y for j in range(COLUMNS)})
    ours, theirs = bk.NaiveBayes().fit(frame, y), GaussianNB().fit(frame, y)
    duel("numbers in a frame: fit", lambda: ours.fit(frame, y), lambda: theirs.fit(frame, y), 20, 3)
    asked = lambda: theirs.predict_proba(frame)  # noqa: E731
    duel("numbers in a frame: predict_proba", lambda: ours.predict_proba(frame), asked, 30, 3)


def categories(rng: np.random.Generator, y: np.ndarray) -> None:
    X = rng.integers(0, LEVELS, (ROWS, COLUMNS))
    ours = bk.NaiveBayes(kinds="nominal").fit(X, y)
    theirs = CategoricalNB().fit(X, y)
    duel("categories: fit / CategoricalNB.fit", lambda: ours.fit(X, y), lambda: CategoricalNB().fit(X, y), 50)
    duel("categories: predict_proba", lambda: ours.predict_proba(X), lambda: theirs.predict_proba(X), 25)
    assert np.abs(ours.predict_proba(X[:1000]) - theirs.predict_proba(X[:1000])).max() < 1e-10


def framed(rng: np.random.Generator, y: np.ndarray) -> None:
    """Frames of levels, as pandas' categories and as strings; the peer is given codes, or makes them of the strings."""
    codes = rng.integers(0, LEVELS, (ROWS, COLUMNS))
    levels = [f"level {i}" for i in range(LEVELS)]
    frame = pd.DataFrame({f"c{j}": pd.Categorical.from_codes(column, levels) for j, column in enumerate(codes.T)})
    ours, theirs = bk.NaiveBayes().fit(frame, y), CategoricalNB().fit(codes, y)
    peer = "CategoricalNB on codes"
    duel(f"pandas categories: fit / {peer}", lambda: ours.fit(frame, y), lambda: CategoricalNB().fit(codes, y), 50, 3)
    asked = lambda: theirs.predict_proba(codes)  # noqa: E731
    duel(f"pandas categories: predict_proba / {peer}", lambda: ours.predict_proba(frame), asked, 25, 3)
    texts, some = frame[: ROWS // 10].astype("str"), y[: ROWS // 10]
    both = make_pipeline(OrdinalEncoder(), CategoricalNB())
    duel(
        "200,000 rows of strings: fit / with OrdinalEncoder",
        lambda: ours.fit(texts, some),
        lambda: both.fit(texts, some),
        50,
        3,
    )
    asked = lambda: both.predict_proba(texts)  # noqa: E731
    duel("200,000 rows of strings: predict_proba", lambda: ours.predict_proba(texts), asked, 25, 3)
    assert np.abs(ours.predict_proba(texts[:1000]) - both.predict_proba(texts[:1000])).max() < 1e-10


def one_row(rng: np.random.Generator) -> None:
    X, y = rng.normal(size=(2000, 12)), rng.integers(0, 3, 2000)
    ours, theirs, row = bk.NaiveBayes().fit(X, y), GaussianNB().fit(X, y), X[:1]
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(12)])
    framed, peer, line = bk.NaiveBayes().fit(frame, y), GaussianNB().fit(frame, y), frame[:1]

    def often(asked: Callable[[], object]) -> Callable[[], object]:
        return lambda: [asked() for _ in range(100)]

    name = "one row of 12 numbers, 100 times: predict_proba"
    duel(name, often(lambda: ours.predict_proba(row)), often(lambda: theirs.predict_proba(row)), 5)
    name = "one row of a frame, 100 times: predict_proba"
    duel(name, often(lambda: framed.predict_proba(line)), often(lambda: peer.predict_proba(line)), 1)


def best(run: Callable[[], object]) -> float:
    return min(seconds(run) for _ in range(5))


def main() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, CLASSES, ROWS)
    print(f"{'':<58} {'bayeskit':>12} {'peer':>12}")
    numbers(rng, y)
    numbers_in_a_frame(rng, y)
    categories(rng, y)
    framed(rng, y)
    one_row(rng)


if __name__ == "__main__":
    main()
