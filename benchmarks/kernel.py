"""Kernel naive Bayes beside KDEpy's FFTKDE with interpolation and scikit-learn's KernelDensity, 200,000 x 10."""

from __future__ import annotations

import numpy as np
from KDEpy import FFTKDE
from sklearn.neighbors import KernelDensity

import bayeskit as bk
from bayeskit.families import Kernel
from duel import duel, seconds

ROWS, COLUMNS, CLASSES, GRID = 200_000, 10, 5, 1024
QUERIES = 200


class Peer:
    """A density per column and class on a grid, interpolated: what one would write with KDEpy."""

    def fit(self, X: np.ndarray, y: np.ndarray, widths: np.ndarray | None = None) -> Peer:
        self.prior = np.log(np.bincount(y) / len(y))
        parts = [[np.ascontiguousarray(X[y == c, j]) for c in range(CLASSES)] for j in range(X.shape[1])]
        bw = [["silverman"] * CLASSES] * len(parts) if widths is None else widths
        self.curves = [
            [FFTKDE(bw=bw[j][c]).fit(x).evaluate(GRID) for c, x in enumerate(columns)]
            for j, columns in enumerate(parts)
        ]
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        out = np.tile(self.prior, (len(X), 1))
        for j, columns in enumerate(self.curves):
            for c, (grid, density) in enumerate(columns):
                out[:, c] += np.log(np.maximum(np.interp(X[:, j], grid, density), 1e-300))
        out -= out.max(axis=1, keepdims=True)
        out = np.exp(out)
        return out / out.sum(axis=1, keepdims=True)


def main() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, CLASSES, ROWS)
    X = rng.normal(size=(ROWS, COLUMNS)) + 0.3 * y[:, None]
    ours, theirs = bk.NaiveBayes(families=Kernel()), Peer()

    def fit() -> None:
        """With the tables, which are made when first asked for."""
        ours.fit(X, y).predict_proba(X[:1])

    print(f"{'':<58} {'bayeskit':>12} {'peer':>12}")
    duel("kernel: fit / KDEpy FFTKDE", fit, lambda: theirs.fit(X, y), 2)
    duel("kernel: predict_proba / interpolation", lambda: ours.predict_proba(X), lambda: theirs.predict_proba(X), 8)
    made = ours.model_.density.densities[0].kernels  # KDEpy's "silverman" is another constant: compare at one bandwidth
    theirs.fit(X, y, np.array([k.bandwidth * 2.0**-k.shift for k in made]))
    apart = np.abs(ours.predict_proba(X) - theirs.predict_proba(X)).max(axis=1)
    print(f"posteriors at equal bandwidths differ by {np.median(apart):.1e} (median), {apart.max():.1e} (most)")
    part = np.ascontiguousarray(X[y == 0, :1])
    tree = KernelDensity(bandwidth=0.1).fit(part)
    slow = min(seconds(lambda: tree.score_samples(part[:QUERIES])) for _ in range(3)) / QUERIES
    quick = min(seconds(lambda: ours.predict_proba(X)) for _ in range(3)) / (ROWS * COLUMNS * CLASSES)
    print(f"one density: {quick * 1e9:.1f} ns, KernelDensity {slow * 1e9:.0f} ns: {slow / quick:.0f}x (goal 1000x)")


if __name__ == "__main__":
    main()
