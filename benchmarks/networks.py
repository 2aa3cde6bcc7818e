"""Networks beside pyAgrum and pgmpy: the same answers on every BIF network, and the time per row on ALARM.

    python benchmarks/networks.py FOLDER [--only alarm child] [--rows 10000]

FOLDER holds bif/*.bif[.gz]. Peers get the tables bayeskit read: pyAgrum's own reader rounds them to 24 bits.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
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


def agreement(path: Path, questions: int) -> tuple[float, float, float, float]:
    """Largest difference from pyAgrum and pgmpy over some questions, and the seconds of bayeskit and pyAgrum."""
    net = bk.read_bif(path)
    rng = np.random.default_rng(0)
    rows = net.sample(questions, random_state=0)
    peer = to_pyagrum(net)
    small = sum(t.probabilities.size for t in net.network_.tables.values()) <= PGMPY_CELLS
    other = VariableElimination(to_pgmpy(net)) if small else None
    worst = worst_other = mine = theirs = 0.0
    for _, row in rows.iterrows():
        observed = [n for n in net.nodes if rng.random() < 0.3]
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

    ours = net.predict_proba(X, TARGET)
    for name, peer, rows, goal in (("pyAgrum LazyPropagation", pyagrum, 1000, 50), ("pgmpy", pgmpy, 40, 500)):
        some = evidence[:rows]
        gap = np.abs(peer(some) - ours[: len(some)]).max()
        times = [(per_row(lambda: net.predict_proba(X, TARGET), count), per_row(lambda: peer(some), len(some)))
                 for _ in range(5)]  # fmt: skip
        mine, theirs = (min(column) for column in zip(*times, strict=True))
        print(
            f"ALARM, {count} rows, 30 % missing, per row: bayeskit {mine * 1e6:.2f} us, {name} {theirs * 1e6:.1f} us, "
            f"{theirs / mine:.0f}x (goal {goal}x), largest difference {gap:.1e}",
            flush=True,
        )


def per_row(run: Callable[[], object], rows: int) -> float:
    return seconds(run) / rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--questions", type=int, default=5)
    asked = parser.parse_args()
    paths = {p.name.split(".")[0]: p for p in sorted((asked.folder / "bif").glob("*.bif*"))}
    speed(paths["alarm"], asked.rows)
    found = []
    for name in asked.only or paths:
        gap, other, mine, theirs = agreement(paths[name], asked.questions)
        found.append((name, gap, other, mine, theirs))
        print(f"{name:<12} pyAgrum {gap:.1e}  pgmpy {other:.1e}  one question: {mine * 1e3:9.2f} ms against {theirs * 1e3:9.2f} ms of pyAgrum", flush=True)  # fmt: skip
    frame = pd.DataFrame(found, columns=["network", "pyagrum", "pgmpy", "ours", "theirs"])
    print(f"largest difference over {len(frame)} networks: pyAgrum {frame.pyagrum.max():.1e}, pgmpy {frame.pgmpy.max():.1e}")


if __name__ == "__main__":
    main()
