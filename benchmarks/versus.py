"""This checkout beside another one, taking turns: `python benchmarks/versus.py OTHER/.venv/bin/python [WORD]`.

Both interpreters stay alive and time the same cases by the public surface, one after the other, so that both meet the
same machine. Processor time, best of the turns; the ratio is other / this: below 1 this checkout has become slower.
A WORD takes the cases whose name has it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

TURNS = 7
LONGEST = 12.0  # seconds of one case; three turns at least
SHORTEST = 0.05  # seconds of one turn
MANY, FEW, MIXED = "numbers 1,000,000 x 20", "numbers 150 x 4", "mixed frame 20,000 x 20"
TEXT, WIDE = "text frame 100,000 x 20", "text frame 1,000 x 40"
SHAPES = {
    "naive": (MANY, FEW, WIDE, TEXT, MIXED),
    "full": (MANY, FEW, MIXED),
    "auto families": (FEW, MIXED),
    "fitted weights": (FEW, MIXED),
    "TAN": (WIDE, TEXT, MIXED),
    "KDB": (WIDE, TEXT),
    "AODE": (WIDE, MIXED),
    "kernel": (FEW, MIXED),
}
LEFT_OUT = [(kind, FEW) for kind in ("naive", "full", "kernel")] + [
    (kind, MIXED)
    for kind in ("naive", "kernel")  # of a tree it would be 20,000 fits
]


def cases() -> Iterator[tuple[str, Callable[[], Callable[[], object]]]]:
    """A name, and what prepares a case: it returns the function that is timed."""
    import numpy as np
    import pandas as pd

    import bayeskit as bk

    rng = np.random.default_rng(0)

    def numbers(rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
        y = rng.integers(0, 3, rows)
        return rng.normal(size=(rows, columns)) + y[:, None] * 0.3, y

    def levels(rows: int, columns: int) -> tuple[pd.DataFrame, np.ndarray]:
        y = rng.integers(0, 3, rows)
        codes = (rng.integers(0, 5, (rows, columns)) + y[:, None]) % 6
        return pd.DataFrame({f"c{j}": np.array(list("abcdef"), dtype=object)[codes[:, j]] for j in range(columns)}), y

    def mixed(rows: int, columns: int) -> tuple[pd.DataFrame, np.ndarray]:
        table, y = levels(rows, columns // 2)
        return table.assign(**{f"x{j}": rng.normal(size=rows) + y * 0.3 for j in range(columns - columns // 2)}), y

    tables = {
        MANY: lambda: numbers(1_000_000, 20),
        FEW: lambda: numbers(150, 4),
        WIDE: lambda: levels(1_000, 40),
        TEXT: lambda: levels(100_000, 20),
        MIXED: lambda: mixed(20_000, 20),
    }
    models = {
        "naive": lambda: bk.NaiveBayes(n_jobs=1),
        "full": lambda: bk.FullBayes(n_jobs=1),
        "auto families": lambda: bk.NaiveBayes(families="auto", n_jobs=1),
        "fitted weights": lambda: bk.NaiveBayes(weights="fitted", n_jobs=1),
        "TAN": lambda: bk.TAN(n_jobs=1),
        "KDB": lambda: bk.KDB(n_jobs=1),
        "AODE": lambda: bk.AODE(n_jobs=1),
        "kernel": lambda: bk.NaiveBayes(families=bk.families.Kernel(), n_jobs=1),
    }

    def prepared(kind: str, shape: str, missing: bool, task: str) -> Callable[[], object]:
        X, y = tables[shape]()
        X = X.mask(rng.random(X.shape) < 0.1) if missing else X
        model = models[kind]()
        if task == "fit":
            return lambda: model.fit(X, y)
        if task == "leave-one-out":
            return lambda: bk.evaluate(model, X, y, bk.LeaveOneOut()).proba
        model.fit(X, y)
        return lambda: model.predict_proba(X)

    for kind, shapes in SHAPES.items():
        for shape in shapes:
            for missing in (False, True) if shape in (WIDE, MIXED) and kind != "full" else (False,):
                for task in ("fit", "predict") + (("leave-one-out",) if (kind, shape) in LEFT_OUT else ()):
                    name = f"{kind}: {shape}{', 10 % missing' if missing else ''}: {task}"
                    yield name, lambda known=(kind, shape, missing, task): prepared(*known)
    for name, table in {"text frame": levels(1_000, 20), "numbers": numbers(1_000, 20)}.items():
        yield f"AutoBayes: {name} 1,000 x 20: fit", lambda table=table: lambda: bk.AutoBayes(n_jobs=1).fit(*table)


def serve() -> None:
    """Do what the parent asks for: a name prepares a case, an empty line times it once and answers with seconds."""
    warnings.simplefilter("ignore")
    known = dict(cases())
    print(json.dumps(list(known)), flush=True)
    run: Callable[[], object] = dict
    for line in sys.stdin:
        if line.strip():
            run = known[line.strip()]()
            run()  # caches, imports, page faults
            print(0, flush=True)
            continue
        turns, start = 0, time.process_time()
        while turns == 0 or time.process_time() - start < SHORTEST:
            run()
            turns += 1
        print((time.process_time() - start) / turns, flush=True)


class Checkout:
    """One interpreter that times what it is asked for."""

    def __init__(self, python: str) -> None:
        here = Path(__file__).resolve()
        self._process = subprocess.Popen(
            [python, here, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=here.anchor
        )
        self.cases: list[str] = json.loads(self._answer())

    def _answer(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline() or sys.exit("one of the two interpreters has ended")

    def ask(self, line: str = "") -> float:
        assert self._process.stdin is not None
        print(line, file=self._process.stdin, flush=True)
        return float(self._answer())


def main(other: str, word: str = "") -> None:
    both = [Checkout(sys.executable), Checkout(other)]
    for name in both[0].cases:
        if word not in name:
            continue
        for checkout in both:
            checkout.ask(name)
        start, turns = time.monotonic(), []
        while len(turns) < TURNS and (len(turns) < 3 or time.monotonic() - start < LONGEST):
            turns.append([checkout.ask() for checkout in both])
        mine, others = (min(column) for column in zip(*turns, strict=True))
        print(f"{name:<64} {mine * 1e3:9.2f} ms {others * 1e3:9.2f} ms  {others / mine:6.2f}x", flush=True)


if __name__ == "__main__":
    serve() if sys.argv[1:] == ["serve"] else main(*sys.argv[1:])
