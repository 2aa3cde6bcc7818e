"""Structures learned from samples of known networks, beside pyAgrum and pgmpy: score, time, distance to the truth.

    python benchmarks/structure.py FOLDER [--networks alarm insurance] [--rows 10000 100000]

FOLDER holds NAME.bif files. pyAgrum and pgmpy are in the extra ``peers``. It takes twenty samples unless told which,
and ends with the table of README.md; every method has one processor, seconds of it are the least of ``--times`` runs
(pgmpy: of one).
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before pyAgrum asks

import argparse
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

import bayeskit as bk
from bayeskit.networks.score import Scores, score_rule, total

Arcs = set[tuple[str, str]]


def peers(table: pd.DataFrame, slow: bool) -> dict[str, Callable[[], Arcs]]:
    import pyagrum as gum

    def agrum(tabu: bool) -> Arcs:
        learner = gum.BNLearner(table)
        learner.useScoreBIC()
        learner.useNoPrior()
        if tabu:
            learner.useLocalSearchWithTabuList(100, 2)
        else:
            learner.useGreedyHillClimbing()
        return {(learner.nameFromId(a), learner.nameFromId(b)) for a, b in learner.learnDAG().arcs()}

    def pgm() -> Arcs:
        from pgmpy.estimators import HillClimbSearch

        found = HillClimbSearch(table).estimate(scoring_method="bic-d", show_progress=False)
        return set(found.edges())

    known = {"pyAgrum hill-climb": lambda: agrum(False), "pyAgrum tabu": lambda: agrum(True)}
    return {**known, "pgmpy hill-climb": pgm} if slow else known


def exact(folder: Path, names: list[str], rows: list[int], columns: list[int]) -> None:
    """The best graph of the first columns of a sample, beside that of the search by orders."""
    for name, n, width in product(names, rows, columns):
        truth = bk.read_bif(folder / f"{name}.bif")
        table = pd.DataFrame(truth.sample(n, random_state=1)).astype("category")
        if width > len(table.columns):
            continue
        found = []
        for search in ("order", "exact"):
            start = time.process_time()
            net = bk.learn_network(table.iloc[:, :width], search=search, n_jobs=1)
            found.append((net.search_.score, time.process_time() - start))
        (ordered, _), (best, took) = found
        print(f"{name}, {width} columns, {n:,} rows: exact {best:.1f} in {took:.1f} s, order {ordered - best:+.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--networks", nargs="*", default=["alarm", "insurance", "child", "hailfinder", "hepar2"])
    parser.add_argument("--rows", nargs="*", type=int, default=[1_000, 5_000, 20_000, 100_000])
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--without-pgmpy", action="store_true")
    parser.add_argument("--exact", nargs="*", type=int, default=[], help="numbers of columns for exact search alone")
    asked = parser.parse_args()
    if asked.exact:
        exact(asked.folder, asked.networks, asked.rows, asked.exact)
        return
    lines = []
    for name in asked.networks:
        truth = bk.read_bif(asked.folder / f"{name}.bif")
        for rows in asked.rows:
            table = pd.DataFrame(truth.sample(rows, random_state=1)).astype("category")
            codes = np.array([table[c].cat.codes for c in table], dtype=np.int32)
            scores = Scores(codes, tuple(len(table[c].cat.categories) for c in table), score_rule("bic", 1.0))
            place = {n: j for j, n in enumerate(table.columns)}

            def ours(search: str, table: pd.DataFrame = table) -> Callable[[], Arcs]:
                return lambda: set(bk.learn_network(table, search=search, n_jobs=1).edges)

            mine = {search: ours(search) for search in ("hill-climb", "tabu", "order")}
            print(f"{name}, {rows:,} rows", flush=True)
            line = [f"{name}, {rows:,}"]
            for who, run in {**mine, **peers(table, not asked.without_pgmpy)}.items():
                took = []
                for _ in range(1 if who.startswith("pgmpy") else asked.times):
                    start = time.process_time()
                    arcs = run()
                    took.append(time.process_time() - start)
                bic = total(scores, {j: [place[a] for a, b in arcs if b == n] for n, j in place.items()})
                far = bk.Network(arcs, nodes=list(place)).structural_distance(truth)
                line.append(f"{min(took):.2f} s, {bic:,.1f}, {far}")
                print(f"  {who:<20} BIC {bic:14.1f}  SHD {far:3d}  {min(took):7.2f} s", flush=True)
            lines.append(line)
    print(*(f"| {' | '.join(line)} |" for line in lines), sep="\n")


if __name__ == "__main__":
    main()
