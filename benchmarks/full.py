"""Full Bayes beside scikit-learn's quadratic discriminant analysis: 500,000 rows x 50, 5 classes, two threads."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis

import bayeskit as bk
from bayeskit.data.encode import Roles
from duel import duel, seconds

ROWS, COLUMNS, CLASSES = 500_000, 50, 5


def table(rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Classes that differ in mean and covariance."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, CLASSES, rows)
    X = rng.normal(size=(rows, columns))
    for k in range(CLASSES):
        X[y == k] = X[y == k] @ (np.eye(columns) + 0.1 * rng.normal(size=(columns, columns))) + 0.2 * k
    return X, y


def beside_a_peer() -> None:
    X, y = table(ROWS, COLUMNS)
    ours, theirs = bk.FullBayes(shrinkage=None, n_jobs=2), QuadraticDiscriminantAnalysis()
    duel("fit / QuadraticDiscriminantAnalysis.fit", lambda: ours.fit(X, y), lambda: theirs.fit(X, y), 5, turns=3)
    duel("predict_proba", lambda: ours.predict_proba(X), lambda: theirs.predict_proba(X), 4, turns=3)
    apart = np.abs(ours.predict_proba(X[:20_000]) - theirs.predict_proba(X[:20_000])).max()
    print(f"posteriors differ by {apart:.1e} at most (goal 1e-9)")
    one = bk.FullBayes(shrinkage=None)
    duel("fit, one thread", lambda: one.fit(X, y), lambda: theirs.fit(X, y), 5, turns=2)
    duel("predict_proba, one thread", lambda: one.predict_proba(X), lambda: theirs.predict_proba(X), 4, turns=2)


def leave_one_out() -> None:
    X, y = table(100_000, 20)
    model = bk.FullBayes()
    once = min(seconds(lambda: model.fit(X, y)) + seconds(lambda: model.predict_proba(X)) for _ in range(5))
    fitted = model.model_
    rows = pa.RecordBatch.from_arrays([*map(pa.array, X.T), pa.array(y)], [*fitted.schema.names, "class"])
    block = fitted.counted.block_with_classes(rows, Roles("class"))
    whole = min(seconds(lambda: fitted.posterior(block, left_out=True)) for _ in range(5))
    print(f"leave-one-out of 100,000 x 20: {whole:.3f} s, {whole / once:.1f}x one fit + predict (goal at most 10x)")


def main() -> None:
    print(f"{'':<58} {'bayeskit':>12} {'peer':>12}")
    beside_a_peer()
    leave_one_out()


if __name__ == "__main__":
    main()
