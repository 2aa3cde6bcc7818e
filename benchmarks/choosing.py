"""families="auto" in units of a plain fit: columns of many shapes, and with a folder of real tables each of them.

``predict_proba`` of 10,000 rows x 12 columns in units of plain Gaussian columns, processor time of one thread.

python benchmarks/choosing.py [folder]
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import bayeskit as bk
from duel import seconds
from tables import read

ROWS, COLUMNS, GOAL = 500, 100, 6.0


def cost(X: Any, y: Any, weights: Any = None, turns: int = 7) -> tuple[float, float]:
    """Best of several turns, alternating: with families chosen, and plain; milliseconds."""
    fits = [lambda s=s: bk.NaiveBayes(**s).fit(X, y, sample_weight=weights) for s in ({"families": "auto"}, {})]
    times = [[seconds(fit) for fit in fits] for _ in range(turns)]
    chosen, plain = (1e3 * min(column) for column in zip(*times, strict=True))
    return chosen, plain


def shapes(rng: np.random.Generator) -> dict[str, tuple[Any, ...]]:
    """Columns a table may have."""
    normal, y = rng.normal(size=(ROWS, COLUMNS)), np.arange(ROWS) % 2
    return {
        "normal": (normal, y),
        "normal, 20 classes": (normal, np.arange(ROWS) % 20),
        "normal, 100 classes": (normal, np.arange(ROWS) % 100),
        "a class of three rows": (normal, np.arange(ROWS) < 3),
        "weights that are fractions": (normal, y, 3 * rng.random(ROWS)),
        "a class without values": (np.where(y[:, None] == 1, np.nan, normal), y),
        "beyond 1e100": (normal * 1e150, y),
        "in (0, 1)": (rng.random((ROWS, COLUMNS)), y),
        "many zeros": (np.where(rng.random((ROWS, COLUMNS)) < 0.6, 0.0, np.exp(normal)), y),
        "rounded": (normal.round(1), y),
        "zeros and ones": ((normal > 0.5).astype(float), y),
        "one value": (np.ones((ROWS, COLUMNS)), y),
    }


def asking(rng: np.random.Generator, rows: int = 10_000, columns: int = 12, turns: int = 5) -> None:
    """What the answers of chosen families cost, beside plain normal ones, in turns."""
    y = rng.integers(0, 3, rows)
    c, size = y[:, None], (rows, columns)
    normal = rng.normal(size=size) + 0.5 * c
    waves = np.where(rng.random(size) < 0.5, normal - 4, normal + 4)
    tables = {
        "normal": normal,
        "log-normal": np.exp(normal),
        "gamma": rng.gamma(2.0 + c, 1.0, size),
        "exponential": rng.exponential(1.0 + c, size),
        "beta": rng.beta(2.0 + c, 2.0, size),
        "Poisson": rng.poisson(2 + c, size).astype(float),
        "negative binomial": rng.negative_binomial(2 + c, 0.3, size).astype(float),
        "two waves": waves,
        "uniform": rng.random(size) * (1 + c),
    }
    plain = bk.NaiveBayes(n_jobs=1).fit(normal, y)
    for name, X in tables.items():
        model = bk.NaiveBayes(families="auto", n_jobs=1).fit(X, y)
        families = sorted({str(column.family) for column in model.schema_.columns})
        least = [np.inf, np.inf]
        for _ in range(turns):
            for i, (asked, values) in enumerate(((model, X), (plain, normal))):
                start = time.process_time()
                for _ in range(5):
                    asked.predict_proba(values)
                least[i] = min(least[i], (time.process_time() - start) / 5 * 1e3)
        ratio = least[0] / least[1]
        print(
            f"predict_proba, {name:<18} {least[0]:6.2f} ms / {least[1]:5.2f} ms = {ratio:5.1f}x  {', '.join(families)}"
        )


def main(arguments: list[str]) -> None:
    warnings.simplefilter("ignore")
    asking(np.random.default_rng(0))
    for name, table in shapes(np.random.default_rng(0)).items():
        chosen, plain = cost(*table, turns=3)
        print(f"{ROWS} x {COLUMNS}, {name:<28} {chosen:8.1f} ms / {plain:6.1f} ms = {chosen / plain:6.1f}x", flush=True)
    if not arguments:
        return
    folder, found = Path(arguments[0]), {}
    types = json.loads((folder / "TYPES.json").read_text())
    for name in (n for n in types if not n.startswith("text_")):
        found[name] = cost(*read(folder, name, types[name]))
    ratios = {name: chosen / plain for name, (chosen, plain) in found.items()}
    for name in sorted(ratios, key=ratios.__getitem__)[-10:]:
        print(f"{name:<24} {found[name][0]:8.1f} ms / {found[name][1]:6.1f} ms = {ratios[name]:6.1f}x")
    whole = np.array(list(found.values())).sum(axis=0)
    above = sum(ratio > GOAL for ratio in ratios.values())
    print(
        f"{len(found)} tables: median {np.median(list(ratios.values())):.1f}x, all together {whole[0] / whole[1]:.1f}x"
    )
    print(f"above {GOAL:g}x: {above}")


if __name__ == "__main__":
    main(sys.argv[1:])
