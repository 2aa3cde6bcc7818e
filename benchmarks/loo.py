"""Leave-one-out beside one fit and one predict_proba of the same model, and families="auto" beside a plain fit.

python benchmarks/loo.py [rows]
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

import bayeskit as bk
from bayeskit.data.encode import Roles
from duel import seconds

BLOCK = 32_768
GOAL, AUTO_GOAL = 3.0, 6.0


def mixed(rng: np.random.Generator, rows: int) -> tuple[pa.Table, np.ndarray]:
    """Ten columns of numbers, ten of categories, five classes."""
    y = rng.integers(0, 5, rows)
    numbers = {f"x{j}": rng.normal(size=rows) + 0.3 * y for j in range(10)}
    letters = np.array(list("abcdefghij"))
    texts = {f"c{j}": pa.array(letters[(rng.integers(0, 10, rows) + y) % 10]).dictionary_encode() for j in range(10)}
    return pa.table({**numbers, **texts}), y


def left_out(model: bk.NaiveBayes, table: pa.Table) -> np.ndarray:
    """Posteriors of every row from all others."""
    state, roles = model.model_, Roles("class", None)
    blocks = (state.counted.block_with_classes(batch, roles) for batch in table.to_batches(max_chunksize=BLOCK))
    return np.concatenate([state.posterior(block, left_out=True) for block in blocks])


def compare(name: str, ours: Callable[[], object], parts: list[Callable[[], object]], goal: float, turns: int) -> None:
    """Best of several turns, alternating; prints how many times as long ours takes as its parts together."""
    ours(), *(part() for part in parts)
    times = [[seconds(run) for run in (ours, *parts)] for _ in range(turns)]
    mine, *others = (min(column) for column in zip(*times, strict=True))
    shown = " + ".join(f"{other * 1e3:.1f}" for other in others)
    print(f"{name:<44} {mine * 1e3:9.1f} ms / ({shown}) ms = {mine / sum(others):5.2f}x  (goal {goal:g}x)", flush=True)


def leave_one_out(rng: np.random.Generator, rows: int) -> None:
    table, y = mixed(rng, rows)
    known = table.append_column("class", pa.array(y))

    def run(name: str, rows_of: pa.Table, turns: int = 5, **settings: Any) -> None:
        columns = known.select([*rows_of.column_names, "class"])
        model = bk.NaiveBayes(**settings).fit(rows_of, y)
        parts = [lambda: bk.NaiveBayes(**settings).fit(rows_of, y), lambda: model.predict_proba(rows_of)]
        compare(f"leave-one-out, {name}", lambda: left_out(model, columns), parts, GOAL, turns)

    numbers, texts = table.select(range(10)), table.select(range(10, 20))
    run(f"{rows:,} x 20 mixed", table)
    run(f"{rows:,} x 10 numbers", numbers)
    run(f"{rows:,} x 10 categories", texts)
    fewer = min(rows, 200_000)
    known, y, numbers = known.slice(0, fewer), y[:fewer], numbers.slice(0, fewer)
    for family in ("Kernel", "Histogram", "LogNormal"):
        positive = pa.table({n: np.exp(c.to_numpy()) for n, c in zip(numbers.column_names, numbers, strict=True)})
        known = positive.append_column("class", pa.array(y))
        run(f"{fewer:,} x 10, {family}", positive, 3, families=family)


def auto(rng: np.random.Generator) -> None:
    """Numbers of two shapes, and ten columns of them beside ten of categories."""
    for rows in (1_000, 10_000, 100_000, 1_000_000):
        y = rng.integers(0, 3, rows)
        X = rng.normal(size=(rows, 20)) + 0.5 * y[:, None]
        X[:, 10:] = np.exp(X[:, 10:] / 2)
        for name, table, classes in (("20 numbers", X, y), ("20 mixed", *mixed(rng, rows))):
            plain = [lambda X=table, y=classes: bk.NaiveBayes().fit(X, y)]
            chosen = lambda X=table, y=classes: bk.NaiveBayes(families="auto").fit(X, y)  # noqa: E731
            compare(f"fit with families='auto', {rows:,} x {name}", chosen, plain, AUTO_GOAL, 7)


def main(arguments: list[str]) -> None:
    rng = np.random.default_rng(0)
    leave_one_out(rng, int(arguments[0]) if arguments else 1_000_000)
    auto(rng)


if __name__ == "__main__":
    main(sys.argv[1:])
