"""Cuts of a million rows by 20 columns, beside scikit-learn's KBinsDiscretizer."""

from __future__ import annotations

import time

import numpy as np
from sklearn.preprocessing import KBinsDiscretizer

import bayeskit as bk
from duel import duel

ROWS, COLUMNS, CLASSES = 1_000_000, 20, 3


def main() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, CLASSES, ROWS)
    X = rng.normal(size=(ROWS, COLUMNS)) + 0.3 * y[:, None]
    start = time.process_time()
    found = bk.Discretizer(method="mdlp").fit(X, y)
    fitted = time.process_time()
    found.transform(X)
    cut = sum(map(len, found.cuts_.values()))
    print(
        f"mdlp: {cut} cuts, fit {fitted - start:.2f} s CPU, transform {time.process_time() - fitted:.2f} s (goal 2 s)"
    )
    ours = bk.Discretizer(method="frequency", bins=10)
    theirs = KBinsDiscretizer(10, encode="ordinal", quantile_method="averaged_inverted_cdf", subsample=None)
    duel("equal frequency: fit", lambda: ours.fit(X), lambda: theirs.fit(X), 1)
    duel("equal frequency: transform", lambda: ours.transform(X), lambda: theirs.transform(X), 1)


if __name__ == "__main__":
    main()
