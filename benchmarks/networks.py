"""Networks beside pyAgrum and pgmpy: the same answers on every BIF network, and the time per row on ALARM.

    python benchmarks/networks.py FOLDER [--only alarm child] [--rows 10000]

FOLDER holds bif/*.bif[.gz]. Peers get the tables bayeskit read: pyAgrum's own reader rounds them to 24 bits.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyagrum as gum
from pgmpy.factors.discrete import TabularCPD
from pgmpy.inference import VariableElimination
from pgmpy.models import DiscreteBayesianNetwork

import bayeskit as bk
from duel import seconds

PGMPY_CELLS = 1 << 12  # networks with more are left to pyAgrum alone
TARGET = "HRBP"
WIDE = "munin", "pigs", "link", "diabetes", "barley"


def to_pyagrum(net: bk.Network) -> Any:
    value = net.network_
    peer = gum.BayesNet()
    for node in net.nodes:
        peer.add(gum.LabelizedVariable(node, node, [str(s) for s in net.states(node)]))
    for parent, child in net.edges:
        peer.addArc(parent, child)
    for node in net.nodes:
        family, axes = value.graph.family(node), list(reversed(peer.cpt(node).names))
        peer.cpt(node)[:] = np.ascontiguousarray(value.potentials[node].transpose([family.index(n) for n in axes]))
    return peer


def to_pgmpy(net: bk.Network) -> Any:
    value = net.network_
    peer = DiscreteBayesianNetwork(list(net.edges))
    peer.add_nodes_from(net.nodes)
    for node in net.nodes:
        parents = list(net.parents(node))
        sizes = [value.sizes[p] for p in parents]
        table = value.potentials[node].reshape(-1, value.sizes[node]).T
        names = {n: [str(s) for s in net.states(n)] for n in (*parents, node)}
        peer.add_cpds(TabularCPD(node, value.sizes[node], table, parents or None, sizes or None, state_names=names))
    return peer


def agreement(path: Path, questions: int, share: float) -> tuple[float, float, float, float]:
    """Largest difference from pyAgrum and pgmpy over some questions, and the seconds of bayeskit and pyAgrum."""
    net = bk.read_bif(path)
    rng = np.random.default_rng(0)
    rows = net.sample(questions, random_state=0)
    peer = to_pyagrum(net)
    small = sum(t.probabilities.size for t in net.network_.tables.values()) <= PGMPY_CELLS
    other = VariableElimination(to_pgmpy(net)) if small else None
    worst = worst_other = mine = theirs = 0.0
    for _, row in rows.iterrows():
        observed = [n for n in net.nodes if rng.random() < share]
        target = net.nodes[int(rng.integers(len(net.nodes)))]
        evidence = {n: row[n] for n in observed if n != target}
        start = time.perf_counter()
        ours = np.array(list(net.query(target, evidence).values()))
        mine += time.perf_counter() - start
        start = time.perf_counter()
        lazy = gum.LazyPropagation(peer)
        lazy.setEvidence(evidence)
        lazy.addTarget(target)
        lazy.makeInference()
        found = lazy.posterior(target).toarray()
        theirs += time.perf_counter() - start
        worst = max(worst, np.abs(ours - found).max())
        if other is not None:
            asked = other.query([target], evidence=evidence, show_progress=False)
            values = [asked.get_value(**{target: str(s)}) for s in net.states(target)]
            worst_other = max(worst_other, np.abs(ours - values).max())
    return worst, worst_other if other is not None else np.nan, mine / questions, theirs / questions


def speed(path: Path, count: int) -> None:
    net = bk.read_bif(path)
    X = net.sample(count, random_state=1)
    X = X.mask(np.random.default_rng(2).random(X.shape) < 0.3).drop(columns=TARGET)
    lazy = gum.LazyPropagation(to_pyagrum(net))
    lazy.addTarget(TARGET)
    eliminate = VariableElimination(to_pgmpy(net))
    evidence = [row.dropna().to_dict() for _, row in X.iterrows()]

    def pyagrum(some: list[dict[str, Any]]) -> np.ndarray:
        out = []
        for known in some:
            lazy.setEvidence(known)
            lazy.makeInference()
            out.append(lazy.posterior(TARGET).toarray())
        return np.array(out)

    def pgmpy(some: list[dict[str, Any]]) -> np.ndarray:
        out = []
        for known in some:
            asked = eliminate.query([TARGET], evidence=known, show_progress=False)
            out.append([asked.get_value(**{TARGET: s}) for s in net.states(TARGET)])
        return np.array(out)

    ours_run = partial(net.predict_proba, X, TARGET)
    ours = ours_run()
    for name, peer, rows, goal in (("pyAgrum LazyPropagation", pyagrum, 1000, 50), ("pgmpy", pgmpy, 40, 500)):
        some = evidence[:rows]
        gap = np.abs(peer(some) - ours[: len(some)]).max()
        times = [alternate(ours_run, count, partial(peer, some), len(some)) for _ in range(5)]
        mine, theirs = (min(column) for column in zip(*times, strict=True))
        print(
            f"ALARM, {count} rows, 30 % missing, per row: bayeskit {mine * 1e6:.2f} us, {name} {theirs * 1e6:.1f} us, "
            f"{theirs / mine:.0f}x (goal {goal}x), largest difference {gap:.1e}",
            flush=True,
        )


def wide(path: Path, count: int, asked: int) -> None:
    """Rows with 30 % missing of a large network, the node in the middle: processor time per row, and the agreement."""
    net = bk.read_bif(path)
    target = net.nodes[len(net.nodes) // 2]
    X = pd.DataFrame(net.sample(count, random_state=1))
    X = X.mask(np.random.default_rng(2).random(X.shape) < 0.3).drop(columns=target)
    evidence = [row.dropna().to_dict() for _, row in X.head(asked).iterrows()]
    lazy = gum.LazyPropagation(to_pyagrum(net))
    lazy.setNumberOfThreads(1)
    lazy.addTarget(target)
    mine, theirs, found = [], [], np.empty((0, 0))
    for _ in range(3):
        start, out = time.process_time(), []
        for known in evidence:
            lazy.setEvidence(known)
            lazy.makeInference()
            out.append(lazy.posterior(target).toarray())
        theirs.append((time.process_time() - start) / asked)
        start = time.process_time()
        found = net.predict_proba(X, target)
        mine.append((time.process_time() - start) / count)
    gap = np.abs(np.array(out) - found[:asked]).max()
    print(
        f"{path.name}, {len(net.nodes)} nodes, {count} rows, 30 % missing, per row: bayeskit {min(mine) * 1e6:.0f} us, "
        f"pyAgrum {min(theirs) * 1e6:.0f} us, {min(theirs) / min(mine):.0f}x, largest difference {gap:.1e}",
        flush=True,
    )


def alternate(mine: Callable[[], Any], rows: int, theirs: Callable[[], Any], their_rows: int) -> tuple[float, float]:
    """Seconds per row of each, one after the other."""
    return seconds(mine) / rows, seconds(theirs) / their_rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--questions", type=int, default=5)
    parser.add_argument("--share", type=float, default=0.3, help="of the nodes that are observed")
    asked = parser.parse_args()
    paths = {p.name.split(".")[0]: p for p in sorted((asked.folder / "bif").glob("*.bif*"))}
    speed(paths["alarm"], asked.rows)
    for name in WIDE:
        wide(paths[name], asked.rows // 2, 40)
    found = []
    for name in asked.only or paths:
        gap, other, mine, theirs = agreement(paths[name], asked.questions, asked.share)
        found.append((gap, other))
        line = f"{name:<12} pyAgrum {gap:.1e}  pgmpy {other:.1e}  one question: {mine * 1e3:9.2f} ms"
        print(f"{line} against {theirs * 1e3:9.2f} ms of pyAgrum", flush=True)
    worst = pd.DataFrame(found, columns=["pyAgrum", "pgmpy"]).max().to_dict()
    print(f"largest differences over {len(found)} networks: {worst}")


if __name__ == "__main__":
    main()
