"""Structures learned from samples of known networks, beside pyAgrum and pgmpy: score, time, distance to the truth.

    python benchmarks/structure.py FOLDER [--networks alarm insurance] [--rows 10000 100000]

FOLDER holds NAME.bif files. pyAgrum and pgmpy are in the extra ``peers``.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pandas as pd

import bayeskit as bk
from bayeskit.networks.score import Scores, score_rule, total

Arcs = set[tuple[str, str]]


def essential(nodes: Iterable[str], arcs: Arcs) -> Arcs:
    """The arcs of the equivalence class: (a, b) alone where all its graphs have it, both ways where they differ."""
    parents = {n: {a for a, b in arcs if b == n} for n in nodes}
    joined = {frozenset(arc) for arc in arcs}
    fixed = {
        (a, c)
        for c, some in parents.items()
        for a in some
        if any(frozenset((a, b)) not in joined for b in some if b != a)
    }
    while True:  # Meek's rules
        new = set()
        for a, b in {tuple(e) for e in joined} | {tuple(e)[::-1] for e in joined}:
            if (a, b) in fixed or (b, a) in fixed:
                continue
            into_a = {x for x, y in fixed if y == a}
            onward = any(frozenset((x, b)) not in joined for x in into_a)
            if onward or any((a, x) in fixed and (x, b) in fixed for x in parents):
                new.add((a, b))
            else:
                loose = [x for x in parents if frozenset((a, x)) in joined and (x, b) in fixed]
                loose = [x for x in loose if (a, x) not in fixed and (x, a) not in fixed]
                if any(frozenset((x, y)) not in joined for x in loose for y in loose if x != y):
                    new.add((a, b))
        if not new:
            break
        fixed |= new
    return fixed | {(a, b) for e in joined for a, b in (tuple(e), tuple(e)[::-1]) if (b, a) not in fixed}


def distance(nodes: list[str], one: Arcs, other: Arcs) -> int:
    """Structural Hamming distance of the equivalence classes: pairs of nodes joined differently."""
    a, b = essential(nodes, one), essential(nodes, other)
    pairs = {frozenset(arc) for arc in a | b}
    return sum({arc for arc in a if frozenset(arc) == p} != {arc for arc in b if frozenset(arc) == p} for p in pairs)


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--networks", nargs="*", default=["alarm", "insurance"])
    parser.add_argument("--rows", nargs="*", type=int, default=[10_000, 100_000])
    parser.add_argument("--without-pgmpy", action="store_true")
    asked = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    for name in asked.networks:
        truth = bk.read_bif(asked.folder / f"{name}.bif")
        for rows in asked.rows:
            table = pd.DataFrame(truth.sample(rows, random_state=1)).astype("category")
            codes = np.array([table[c].cat.codes for c in table], dtype=np.int32)
            scores = Scores(codes, tuple(len(table[c].cat.categories) for c in table), score_rule("bic", 1.0))
            place = {n: j for j, n in enumerate(table.columns)}

            def bic(arcs: Arcs, scores: Scores = scores, place: dict[str, int] = place) -> float:
                return total(scores, {j: [place[a] for a, b in arcs if b == n] for n, j in place.items()})

            ours = {s: lambda s=s, t=table: set(bk.learn_network(t, search=s).edges) for s in ("hill-climb", "tabu")}
            print(f"{name}, {rows:,} rows; the truth has BIC {bic(set(truth.edges)):.1f}")
            for who, run in {**ours, **peers(table, not asked.without_pgmpy)}.items():
                start, cpu = time.perf_counter(), time.process_time()
                arcs = run()
                took, used = time.perf_counter() - start, time.process_time() - cpu
                far = distance(list(place), arcs, set(truth.edges))
                print(f"  {who:<20} BIC {bic(arcs):14.1f}  SHD {far:3d}  {took:7.2f} s  {used:7.2f} s CPU", flush=True)


if __name__ == "__main__":
    main()
