"""How often sets of classes hold the true one: the coverage that theorems promise, on real tables.

A table is dealt anew each time, so learned and asked rows are exchangeable and the theorem holds of the draw; with
p-values randomised, full and split conformal prediction cover just what is promised. CV+ promises 1 - 2 (1 - coverage).

    python benchmarks/guarantees.py FOLDER [--repeats 40] [--learned 60] [--asked 5]

FOLDER as for tables.py. A figure is marked where it lies more than 3.3 standard errors below its promise, or, where
coverage is exact, off it.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import bayeskit as bk
from tables import read

TABLES = ("iris_uci", "wine", "wdbc", "heart_c", "credit_a", "vote", "glass", "pima")
COVERAGE, FAR = 0.8, 3.3
MODELS: dict[str, tuple[Callable[[], Any], str]] = {
    "naive, full": (lambda: bk.NaiveBayes(), "full"),
    "histogram, full": (lambda: bk.NaiveBayes(families=bk.families.Histogram()), "full"),
    "full Bayes, full": (lambda: bk.FullBayes(covariance="tied"), "full"),
    "neighbours, full": (lambda: bk.KNNBayes(k=5, metric="gower"), "full"),
    "TAN, split": (lambda: bk.TAN(), "split"),
    "AODE, CV+": (lambda: bk.AODE(), "cv+"),
}


def shares(make: Callable[[], Any], method: str, X: Any, y: Any, given: argparse.Namespace) -> np.ndarray:
    """The share of the asked rows whose set holds their class, by draw: (repeats,)."""
    found = []
    for seed in range(given.repeats):
        order = np.random.default_rng(seed).permutation(len(y))[: given.learned + given.asked]
        old, new = order[: given.learned], order[given.learned :]
        model = bk.Conformal(make(), COVERAGE, method, folds=5, randomised=True, random_state=seed)
        model.fit(X.iloc[old], y.iloc[old])
        place = {label: k for k, label in enumerate(model.classes_.tolist())}
        codes = np.array([place.get(label, -1) for label in y.iloc[new]])  # a class without a learned row is in no set
        sets = model.predict_set(X.iloc[new])
        found.append(np.mean(np.where(codes >= 0, sets[np.arange(len(codes)), codes], False)))
    return np.array(found)


def main(given: argparse.Namespace) -> None:
    """A line for each table, a column for each model."""
    types = json.loads((given.folder / "TYPES.json").read_text())
    print("| table | " + " | ".join(MODELS) + " |\n" + "|---" * (len(MODELS) + 1) + "|")
    begin, every = time.process_time(), []
    for name in TABLES:
        X, y = read(given.folder, name, types[name])
        numbers = X.select_dtypes("number").iloc[:, :8]
        cells = []
        for model, (make, method) in MODELS.items():
            if numbers.empty and model == "histogram, full":  # nothing to cut
                cells.append("")
                continue
            few = X.iloc[:, :3] if numbers.empty else numbers  # a row with a level of its own is refitted
            found = shares(make, method, few if model == "full Bayes, full" else X, y, given)
            error = max(float(found.std(ddof=1)) / np.sqrt(len(found)), 1e-9)
            promise = 2 * COVERAGE - 1 if method == "cv+" else COVERAGE
            low, high = promise - FAR * error, 1.0 if method == "cv+" else promise + FAR * error
            cells.append(f"{100 * found.mean():.1f} ± {100 * error:.1f}{'' if low <= found.mean() <= high else ' *'}")
            every.append((method, found.mean()))
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
    exact = [share for method, share in every if method != "cv+"]
    print(f"\nmean of what is exact {100 * np.mean(exact):.2f} %, promised {100 * COVERAGE:.0f} %; ", end="")
    print(f"{time.process_time() - begin:.0f} s of processor time")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--repeats", type=int, default=40)
    parser.add_argument("--learned", type=int, default=60)
    parser.add_argument("--asked", type=int, default=5)
    warnings.simplefilter("ignore")
    main(parser.parse_args())
