"""State order: the states of hidden nodes in an order that does not depend on where a climb began."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from bayeskit.arrays import Code
from bayeskit.networks.hybrid import HybridInference
from bayeskit.networks.network import Network


def hidden_nodes(network: Network, codes: Code) -> tuple[str, ...]:
    """The levels that no row has observed; codes are (levels, rows), -1 where not observed."""
    seen = np.asarray((codes >= 0).any(axis=1)).tolist()
    return tuple(node for node, observed in zip(network.coded, seen, strict=True) if not observed)


def order_states(network: Network, hidden: Collection[str]) -> Network:
    """The same distribution of all other nodes, with the states of hidden ones from the most to the least probable.

    >>> turned = Network.of([("h", "x")], {"h": [0.2, 0.8], "x": [[0.9, 0.1], [0.3, 0.7]]})
    >>> order_states(turned, ["h"]).potentials["x"].tolist()
    [[0.3, 0.7], [0.9, 0.1]]
    """
    inference = HybridInference(network).levels
    nothing = np.full((len(network.coded), 1), -1, dtype=np.int32)
    tables, normals = dict(network.tables), dict(network.normals)
    for node in hidden:
        p = inference.joint(nothing, [node])[0][0]
        order = np.argsort(-p, kind="stable")
        for name, table in tables.items():
            family = (*table.parents, name)
            if node in family:
                moved = np.take(table.probabilities, order, axis=family.index(node))
                tables[name] = replace(table, probabilities=moved)
        for name, one in normals.items():
            if node in one.levels:
                axis = one.levels.index(node)
                mean, slopes, deviation = (
                    np.take(values, order, axis=axis) for values in (one.mean, one.slopes, one.deviation)
                )
                normals[name] = replace(one, mean=mean, slopes=slopes, deviation=deviation)
    return replace(network, tables=tables, normals=normals)
