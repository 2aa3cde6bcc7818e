"""Cross-validation and leave-one-out beside one fit and one predict_proba, and beside scikit-learn."""

from __future__ import annotations

import argparse
import warnings

import numpy as np
import pyarrow as pa
from sklearn.model_selection import LeaveOneOut, StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB

import bayeskit as bk
from duel import duel, seconds

NUMBERS, TEXTS, LEVELS = 10, 10, 8
FEW = 2000


def mixed(rng: np.random.Generator, rows: int) -> tuple[pa.Table, np.ndarray]:
    """Ten columns of numbers and ten of texts that know a little of two classes."""
    y = rng.integers(0, 2, rows)
    columns = {f"x{j}": rng.normal(size=rows) + 0.2 * y for j in range(NUMBERS)}
    names = np.array([f"level {i}" for i in range(LEVELS)])
    for j in range(TEXTS):
        columns[f"t{j}"] = pa.array(names[(rng.integers(0, LEVELS, rows) + y * (rng.random(rows) < 0.2)) % LEVELS])
    return pa.table(columns), np.where(y, "yes", "no")


def main(rows: int = 1_000_000, turns: int = 5, n_jobs: int | None = None) -> None:
    rng = np.random.default_rng(0)
    X, y = mixed(rng, rows)
    model = bk.NaiveBayes(n_jobs=n_jobs)

    def once() -> None:
        model.fit(X, y).predict_proba(X)

    print(f"{rows} rows x {NUMBERS + TEXTS} mixed columns")
    print(f"{'':<58} {'evaluate':>12} {'fit + ask':>12}")
    crossed, left = bk.CrossValidation(10), bk.LeaveOneOut()
    duel(
        "10-fold cross-validation / fit + predict_proba",
        lambda: bk.evaluate(model, X, y, crossed),
        once,
        1 / 2.5,
        turns,
    )
    duel("leave-one-out / fit + predict_proba", lambda: bk.evaluate(model, X, y, left), once, 1 / 3, turns)

    numbers = np.column_stack([X[f"x{j}"].to_numpy() for j in range(NUMBERS)])
    folds = StratifiedKFold(10)
    ours = seconds(lambda: bk.evaluate(model, numbers, y, bk.CrossValidation(folds)))
    peer = seconds(lambda: cross_val_predict(GaussianNB(), numbers, y, cv=folds, method="predict_proba"))
    print(f"the {NUMBERS} numbers, 10 folds: {ours:.2f} s, scikit-learn's cross_val_predict of GaussianNB {peer:.2f} s")
    ours = seconds(lambda: bk.evaluate(model, numbers, y, bk.LeaveOneOut()))
    some = numbers[:FEW], y[:FEW]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer = seconds(lambda: cross_val_predict(GaussianNB(), *some, cv=LeaveOneOut(), method="predict_proba"))
    least = peer * rows / FEW / 3600
    print(
        f"the {NUMBERS} numbers, leave-one-out: {ours:.2f} s; scikit-learn {peer:.1f} s for {FEW} rows, extrapolated "
        f"(not measured) {least:.1f} hours for {rows} at least, if a fit to {rows} rows took no longer than to {FEW}"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=None)
    given = parser.parse_args()
    main(given.rows, given.turns, given.jobs)
