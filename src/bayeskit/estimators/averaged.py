"""average_network: the arcs that networks of resampled rows agree on."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral

import numpy as np
import pyarrow as pa

from bayeskit.arrays import TableLike
from bayeskit.errors import InputError
from bayeskit.estimators.network import Network
from bayeskit.estimators.structure import learn_network
from bayeskit.model.open_table import OpenTable
from bayeskit.networks.graph import Graph

FIT = ("kinds", "cuts", "label", "smoothing", "n_jobs")  # settings that the tables are learned with, too


@dataclass(frozen=True)
class Strengths:
    """How often arcs were found in resampled rows.

    Attributes
    ----------
    arcs : dict
        The share of the samples that have each arc (parent, child), strongest first.
    edges : dict
        The share that have an arc between two nodes, whichever way.
    """

    arcs: dict[tuple[str, str], float]
    edges: dict[frozenset[str], float]
    samples: int
    threshold: float


def average_network(
    X: TableLike, samples: int = 100, threshold: float = 0.5, random_state: int = 0, **settings: object
) -> Network:
    """A network of the arcs that networks of resampled rows agree on; the tables are those of all rows.

    Rows are drawn with replacement, as many as there are, and a network is learned from each sample. Two columns are
    joined if more than ``threshold`` of the samples join them, the way more of them do; the strongest first, and none
    that would close a cycle (Friedman, Goldszmidt and Wyner 1999).

    Parameters
    ----------
    X : table
        Rows, in memory.
    samples : int, default 100
        How many samples.
    threshold : float, default 0.5
        The share of the samples above which two columns are joined.
    random_state : int, default 0
        Seed of the samples.
    **settings
        As in ``learn_network``.

    Returns
    -------
    Network
        The network; ``search_`` has the strengths of all arcs.

    Examples
    --------
    >>> rows = [{"a": a, "b": a, "c": c} for a in "xy" for c in "uvw" for _ in range(9)]
    >>> net = average_network(rows, samples=20)
    >>> len(net.edges), max(net.search_.edges.values())
    (1, 1.0)
    """
    if isinstance(samples, bool) or not isinstance(samples, Integral) or samples < 1:
        raise InputError(f"samples={samples!r}: give a whole number of at least 1")
    if not 0 <= threshold < 1:
        raise InputError(f"threshold={threshold!r}: give a share from 0 up to, not including, 1")
    if "sample_weight" in settings:
        raise InputError("average_network draws rows, and takes no sample_weight; repeat rows instead")
    table = OpenTable.of(X, None, None, settings.get("n_jobs")).source.rows
    if not isinstance(table, pa.Table):
        raise InputError("average_network draws rows again and again; read them into memory first")
    rng = np.random.default_rng(random_state)
    counts: dict[tuple[str, str], int] = {}
    for _ in range(int(samples)):
        drawn = table.take(pa.array(np.sort(rng.integers(0, table.num_rows, table.num_rows))))
        for arc in learn_network(drawn, **settings).edges:
            counts[arc] = counts.get(arc, 0) + 1
    arcs = {arc: counts[arc] / samples for arc in sorted(counts, key=lambda a: (-counts[a], a))}
    edges: dict[frozenset[str], float] = {}
    for arc, share in arcs.items():
        edges[frozenset(arc)] = edges.get(frozenset(arc), 0.0) + share
    network = Network(_agreed(arcs, edges, threshold), nodes=table.column_names)
    network.fit(table, **{name: value for name, value in settings.items() if name in FIT and name != "n_jobs"})
    network.n_jobs = settings.get("n_jobs")
    network.search_ = Strengths(arcs, edges, int(samples), threshold)
    return network


def _agreed(
    arcs: dict[tuple[str, str], float], edges: dict[frozenset[str], float], threshold: float
) -> list[tuple[str, str]]:
    """The arcs above the threshold, the strongest edges first, without a cycle."""
    kept: list[tuple[str, str]] = []
    for edge in sorted(edges, key=lambda e: (-edges[e], sorted(e))):
        if edges[edge] > threshold:
            one, other = sorted(edge)
            ways = sorted([(one, other), (other, one)], key=lambda a: -arcs.get(a, 0.0))
            for parent, child in ways:
                if child not in Graph.of(kept, (one, other)).ancestors([parent]) and (parent, child) in arcs:
                    kept.append((parent, child))
                    break
    return kept
