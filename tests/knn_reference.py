"""Nearest neighbours written out row by row, and tables to compare with them."""

import math
from collections import defaultdict

import numpy as np
import pandas as pd

METRICS = ["euclidean", "manhattan", "mahalanobis", "gower"]


def numbers(rows=90, columns=3, classes=3, seed=0, digits=1):
    """Rounded numbers, so that ties and duplicates abound."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, rows)
    return np.round(rng.normal(y[:, None], 1.0, (rows, columns)), digits), y


def mixed(rows=120, seed=3, holes=0.15):
    rng = np.random.default_rng(seed)
    y = rng.choice(["a", "b", "c"], rows, p=[0.5, 0.3, 0.2])
    table = pd.DataFrame(
        {
            "x": np.round(rng.normal((y == "a") * 2.0, 1.0), 1),
            "n": np.round(rng.gamma(2.0, 3.0, rows), 1),
            "town": rng.choice(["A", "B", "C"], rows),
            "grade": pd.Categorical(rng.choice(["low", "mid", "high"], rows), ["low", "mid", "high"], ordered=True),
            "flag": rng.random(rows) < 0.4,
        }
    )
    table["flag"] = table["flag"].astype(object)
    for name in table:
        table.loc[rng.random(rows) < holes, name] = None
    return table, y


def gap(metric, table, root=None):
    """The distance of two rows as the documentation says it."""
    if metric != "gower":
        power = 1 if metric == "manhattan" else 2

        def numeric(x, z):
            if root is not None:
                x, z = np.asarray(x) @ root, np.asarray(z) @ root
            there = [(a, b) for a, b in zip(x, z, strict=True) if a == a and b == b]
            asked = sum(a == a for a in x)
            if not there:
                return math.inf
            return (sum(abs(a - b) ** power for a, b in there) * asked / len(there)) ** (1 / power)

        return numeric
    rank = {"low": 0.0, "mid": 0.5, "high": 1.0}
    span = {n: table[n].max() - table[n].min() for n in ("x", "n")}

    def gower(x, z):
        total = count = 0
        for name, a, b in zip(table.columns, x, z, strict=True):
            if pd.isna(a) or pd.isna(b):
                continue
            count += 1
            if name == "grade":
                total += abs(rank[a] - rank[b])
            elif name in span:
                total += abs(a - b) / span[name]
            else:
                total += a != b
        return total / count if count else math.inf

    return gower


def counted(distance, rows, labels, weights, x, k):
    """Weights by class of all rows as far as the k-th, and its distance."""
    found = sorted((distance(x, row), label, w) for row, label, w in zip(rows, labels, weights, strict=True) if w > 0)
    found = [f for f in found if f[0] < math.inf]
    below, radius = 0.0, math.nan
    for d, _, w in found:
        radius = d
        below += w
        if below >= k * (1 - 1e-9):
            break
    near = defaultdict(float)
    for d, label, w in found:
        if d <= radius * (1 + 1e-9):
            near[label] += w
    return near, radius


def rows_of(table):
    return [tuple(row) for row in (table.itertuples(index=False) if isinstance(table, pd.DataFrame) else table)]


def pooled_root(X, y):
    scatter = sum(np.cov(X[y == c].T, ddof=0) * (y == c).sum() for c in np.unique(y)) / len(y)
    return np.linalg.cholesky(np.linalg.inv(scatter))


def weighted_root(X, y, w):
    scatter = np.zeros((X.shape[1], X.shape[1]))
    for c in np.unique(y):
        mine = y == c
        apart = X[mine] - np.average(X[mine], axis=0, weights=w[mine])
        scatter += (apart * w[mine, None]).T @ apart
    return np.linalg.cholesky(np.linalg.inv(scatter / w.sum()))
