"""Growth: processor time of fit and predict against rows, columns, classes and levels, with slopes and a picture.

    python benchmarks/growth.py [--most SECONDS] [--axis rows ...] [--model TAN ...]

Writes benchmarks/_build/growth.svg. A line is walked until one step takes longer than `--most`; the slope is of
the logarithms over the last decade. "stream" learns rows batch by batch, so its memory stays flat: the peak is printed.
"""

from __future__ import annotations

import argparse
import resource
import time
import warnings
from collections.abc import Callable
from math import log
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from threadpoolctl import threadpool_limits

import bayeskit as bk
from bayeskit.errors import InputError

MODELS: dict[str, Callable[[], Any]] = {
    "naive": lambda: bk.NaiveBayes(n_jobs=1),
    "full": lambda: bk.FullBayes(n_jobs=1),
    "TAN": lambda: bk.TAN(n_jobs=1),
    "AutoBayes": lambda: bk.AutoBayes(n_jobs=1),
    "stream": lambda: bk.NaiveBayes(n_jobs=1),
}
SIZES = {
    "rows": (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000, 100_000_000),
    "columns": (10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000, 100_000),
    "classes": (2, 5, 10, 30, 100, 300, 1_000, 3_000, 10_000),
    "levels": (2, 10, 100, 1_000, 10_000, 100_000, 1_000_000),
}
BATCH = 1_000_000
Line = list[tuple[int, float, float]]  # size, seconds of fit, of predict_proba


def table(axis: str, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Numbers, or whole numbers as levels; the other sizes stay, but that classes and levels need rows."""
    rows = {"rows": size, "columns": 1_000, "classes": 20_000, "levels": 100_000}[axis]
    classes = size if axis == "classes" else 3
    y = rng.permutation(np.arange(rows) % classes)
    if axis == "levels":
        return rng.integers(0, size, (rows, 4)), y
    return rng.normal(size=(rows, size if axis == "columns" else 10)) + 0.3 * (y % 7)[:, None], y


def once(model: Any, axis: str, size: int) -> tuple[float, float]:
    """Processor seconds of fit and of predict_proba."""
    X, y = table(axis, size, np.random.default_rng(0))
    if axis == "levels":
        model.set_params(kinds="nominal")
    start = time.process_time()
    model.fit(X, y)
    middle = time.process_time()
    asked = X if axis == "columns" else X[:: max(1, len(X) // 10_000)] if axis != "rows" else X
    model.predict_proba(asked)
    return middle - start, time.process_time() - middle


def streamed(model: Any, size: int) -> tuple[float, float]:
    """The same batch over and over: what counts is what each costs."""
    X, y = table("rows", min(size, BATCH), np.random.default_rng(0))
    batches = max(1, size // BATCH)
    start = time.process_time()
    for _ in range(batches):
        model.partial_fit(X, y)
    middle = time.process_time()
    for _ in range(batches):
        model.predict_proba(X)
    return middle - start, time.process_time() - middle


def walk(name: str, axis: str, most: float) -> Line:
    line: Line = []
    for size in SIZES[axis]:
        if name != "stream" and size > 10_000_000:
            break
        try:
            found = streamed(MODELS[name](), size) if name == "stream" else once(MODELS[name](), axis, size)
        except (InputError, MemoryError) as refused:
            print(f"{axis:<8} {name:<10} {size:>11,}  refused: {str(refused)[:90]}", flush=True)
            break
        line.append((size, *found))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        slopes = "  ".join(f"{slope(line, i):+.2f}" if len(line) > 1 else "     " for i in (1, 2))
        print(
            f"{axis:<8} {name:<10} {size:>11,} {found[0]:9.4f} s {found[1]:9.4f} s  {slopes}  {peak:6.0f} MB",
            flush=True,
        )
        if max(found) > most:
            break
    return line


def slope(line: Line, which: int) -> float:
    """Of the logarithms, from the last size at most a tenth of the largest."""
    last = line[-1]
    before = next((point for point in reversed(line[:-1]) if point[0] * 10 <= last[0]), line[0])
    return log(last[which] / before[which]) / log(last[0] / before[0])


def drawn(found: dict[tuple[str, str], Line], path: Path) -> None:
    """A panel for each axis and question; the grey line is linear growth."""
    axes = sorted({axis for axis, _ in found})
    figure = Figure(figsize=(3.4 * len(axes), 6.4), layout="constrained")
    panels = figure.subplots(2, len(axes), squeeze=False)
    for column, axis in enumerate(axes):
        for row, title in enumerate(("fit", "predict_proba")):
            panel = panels[row, column]
            for colour, name in enumerate(MODELS):
                line = found.get((axis, name))
                if line:
                    sizes, seconds = [p[0] for p in line], [p[1 + row] for p in line]
                    label = f"{name} {slope(line, 1 + row):.2f}" if len(line) > 1 else name
                    panel.loglog(sizes, seconds, "o-", color=f"C{colour}", markersize=3, label=label)
            sizes = SIZES[axis][0], SIZES[axis][-1]
            panel.loglog(sizes, [1e-3, 1e-3 * sizes[1] / sizes[0]], color="0.8", zorder=0)
            panel.set(title=f"{title} against {axis}", ylabel="processor seconds" if not column else "")
            panel.legend(fontsize=7, title="slope at the end", title_fontsize=7)
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path)
    print(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--most", type=float, default=8.0)
    parser.add_argument("--axis", action="append", choices=SIZES)
    parser.add_argument("--model", action="append", choices=MODELS)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    found: dict[tuple[str, str], Line] = {}
    for axis in given.axis or SIZES:
        for name in given.model or MODELS:
            if name != "stream" or axis == "rows":
                with threadpool_limits(1):
                    found[axis, name] = walk(name, axis, given.most)
    drawn(found, Path(__file__).parent / "_build" / "growth.svg")


if __name__ == "__main__":
    main()
