"""How often ``drift`` marks a column where nothing drifts: at most as often as its level says, 0.05, 0.01 or 0.001.

Tables of ten columns: normal, uniform, exponential, t with five degrees of freedom, log-normal, a constant, a balanced
category, one of fifty levels of which most are rare, an identifier, and one with 3 % missing values. Old rows and new
ones come from the same distribution.

    python benchmarks/drift.py [--repeats 1000] [--rows 50 200 2000] [--models naive auto tan full knn]
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

import bayeskit as bk
from bayeskit.arrays import Float

LEVELS = (0.05, 0.01, 0.001)

MODELS: dict[str, Callable[[], Any]] = {
    "naive": lambda: bk.NaiveBayes(),
    "auto": lambda: bk.NaiveBayes(families={"heavy": "Kernel", "skew": "Histogram", "normal": "Kernel"}),
    "tan": lambda: bk.TAN(),
    "full": lambda: bk.FullBayes(missing="skip"),
    "knn": lambda: bk.KNNBayes(metric="gower"),
}


def table(rows: int, rng: np.random.Generator, moved: bool = False) -> dict[str, Any]:
    """Rows of one distribution; with ``moved`` one column has another mean and one another spread."""
    rare = np.minimum(rng.zipf(1.6, rows), 50)
    holes = rng.normal(size=rows)
    holes[rng.random(rows) < 0.03] = np.nan
    return {
        "normal": rng.normal(0.5 * moved, 1, rows),
        "uniform": rng.random(rows),
        "skew": rng.exponential(size=rows),
        "heavy": rng.standard_t(5, rows) * (1 + 0.5 * moved),
        "wide": rng.lognormal(size=rows),
        "constant": np.zeros(rows),
        "town": rng.choice(list("abcd"), rows),
        "rare": np.array([f"level {level}" for level in rare]),
        "id": np.array([f"row {word}" for word in rng.integers(0, 1 << 62, rows)]),
        "holes": holes,
    }


def alarms(make: Callable[[], Any], old: int, new: int, repeats: int, seed: int = 0, weights: bool = False) -> Float:
    """By level the share of tables without a drift in which something is marked."""
    rng, least = np.random.default_rng(seed), np.ones(repeats)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for i in range(repeats):
            model = make().fit(table(old, rng), rng.integers(0, 2, old))
            weight = rng.choice([1.0, 4.0], new) if weights else None
            found = bk.drift(model, table(new, rng), sample_weight=weight)
            least[i] = np.nanmin([p for c in found.columns for p in (c.p, c.missing_p)])  # adjusted for all tests
    return np.array([(least <= level).mean() for level in LEVELS])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=1000)
    parser.add_argument("--rows", type=int, nargs="+", default=[50, 200, 2000])
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    given = parser.parse_args()
    print(f"share of tables without a drift in which something is marked, {given.repeats} tables each; levels {LEVELS}")
    means = []
    for name, old, new in product(given.models, given.rows, given.rows):
        both = [alarms(MODELS[name], old, new, given.repeats, weights=weights) for weights in (False, True)]
        told = ("  ".join(f"{share:.4f}" for share in shares) for shares in both)
        print(f"{name:6} {old:6} old rows, {new:6} new: {', weighted '.join(told)}", flush=True)
        means.append(both)
    plain, weighted = np.mean(means, axis=0).round(5).tolist()
    print(f"mean of {len(means)} designs: {plain}, weighted {weighted}")


if __name__ == "__main__":
    main()
