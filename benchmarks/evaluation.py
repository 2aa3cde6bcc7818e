"""Cross-validation and leave-one-out beside one fit and one predict_proba, and beside scikit-learn.

``--measures``: all measures of 300,000 x 12, processor time of one thread, in units of one fit and one predict_proba.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable

import numpy as np
import pyarrow as pa
from sklearn.model_selection import LeaveOneOut, StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB

import bayeskit as bk
from bayeskit.evaluation.algebra import Algebra
from bayeskit.model.labelled_table import LabelledTable
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


def measures(rows: int = 300_000, columns: int = 12, turns: int = 9) -> None:
    """What all measures with their intervals cost, and what comes before any score."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, rows)
    X = rng.normal(size=(rows, columns)) + 0.2 * y[:, None]
    names = np.array([f"level {i}" for i in range(LEVELS)])
    half: dict[str, object] = {f"x{j}": X[:, j].copy() for j in range(columns // 2)}
    for j in range(columns // 2):
        half[f"t{j}"] = pa.array(names[(rng.integers(0, LEVELS, rows) + y * (rng.random(rows) < 0.2)) % LEVELS])
    model = bk.NaiveBayes(n_jobs=1)
    for what, table in (("numbers", X), ("half numbers, half texts", pa.table(half))):
        for method in (bk.CrossValidation(10), bk.LeaveOneOut()):

            def predicted(table: object = table, method: bk.CrossValidation | bk.LeaveOneOut = method) -> None:
                sample = LabelledTable.of(table, y)
                spec = model.fold_spec()
                assert spec is not None
                way = Algebra(spec, sample)
                if isinstance(method, bk.LeaveOneOut):
                    way.left_out()
                else:
                    way.out_of_fold(next(method.splits(sample.rows, np.random.default_rng(0))))

            steps: list[Callable[[], object]] = [
                lambda table=table: model.fit(table, y).predict_proba(table),
                predicted,
                lambda table=table, method=method: bk.evaluate(model, table, y, method, n_jobs=1),
                lambda table=table, method=method: bk.evaluate(model, table, y, method, n_jobs=1).frame(),
            ]
            best = [np.inf] * len(steps)
            for _ in range(turns):
                for i, step in enumerate(steps):
                    start = time.process_time()
                    step()
                    best[i] = min(best[i], (time.process_time() - start) * 1e3)
            ratios = ", ".join(f"{b / best[0]:.1f}x" for b in best[1:])
            print(f"{what}, {method}: {best[0]:.1f} ms; predicted, evaluate(), all measures: {ratios}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=None)
    parser.add_argument("--measures", action="store_true")
    given = parser.parse_args()
    if given.measures:
        measures()
    else:
        main(given.rows, given.turns, given.jobs)
