"""Influence: how much of what is uncertain of a node comes through each of its arcs."""

from __future__ import annotations

import numpy as np
from scipy.special import xlogy

from bayeskit.arrays import Code, Float
from bayeskit.errors import NetworkError
from bayeskit.networks.hybrid import HybridInference

Arc = tuple[str, str]


def influences(inference: HybridInference) -> dict[Arc, float]:
    """A share for each arc (parent, child), 0 to 1, of the network without evidence.

    Of a level: I(child; parent | its other parents) / H(child). Of a number: the variance of its mean as the parent
    moves, over its own variance: for a parent that is a number the squared slope in units of both deviations. Arcs of
    numbers that depend on too many configurations are left out.

    >>> from bayeskit.networks.network import Network
    >>> copied = Network.of([("a", "b")], {"a": [0.5, 0.5], "b": [[1.0, 0.0], [0.0, 1.0]]})
    >>> influences(HybridInference(copied))
    {('a', 'b'): 1.0}
    """
    network = inference.network
    found: dict[Arc, float] = {}
    for node in network.nodes:
        parents = network.graph.parents[node]
        if not parents:
            continue
        try:
            shares = _of_number(inference, node) if node in network.normals else _of_level(inference, node)
        except NetworkError:  # the same question would be refused, by name, on the page
            continue
        found |= {(parent, node): float(np.clip(shares[parent], 0, 1)) for parent in parents}
    return found


def _of_level(inference: HybridInference, node: str) -> dict[str, float]:
    """The information that each parent adds to the others."""
    family = inference.network.graph.family(node)
    joint = inference.levels.joint(_nothing(inference), family)[0][0]
    whole = _entropy(joint.sum(axis=tuple(range(joint.ndim - 1))))
    left = _entropy(joint) - _entropy(joint.sum(axis=-1))  # H(child | parents)
    found = {}
    for axis, parent in enumerate(family[:-1]):
        without = joint.sum(axis=axis)
        more = _entropy(without) - _entropy(without.sum(axis=-1)) - left
        found[parent] = more / whole if whole > 0 else 0.0
    return found


def _of_number(inference: HybridInference, node: str) -> dict[str, float]:
    """How far the mean moves with each parent, in squared deviations of the node."""
    one = inference.network.normals[node]
    codes, blank = _nothing(inference), np.full((len(inference.network.numbers), 1), np.nan)
    mixtures = {n: inference.mixture(codes, blank, n) for n in (node, *one.numbers)}
    own = float(mixtures[node].deviation[0]) ** 2
    p = inference.levels.joint(codes, one.levels)[0][0] if one.levels else np.ones(())
    moving = [float(mixtures[n].deviation[0]) ** 2 for n in one.numbers]
    found = {n: float((p * one.slopes[..., j] ** 2).sum()) * moving[j] / own for j, n in enumerate(one.numbers)}
    middle = np.array([float(mixtures[n].mean[0]) for n in one.numbers])
    means = one.mean + one.slopes @ (middle - one.centre)  # where the numbers above are at their means
    for axis, level in enumerate(one.levels):
        weight = p.sum(axis=axis, keepdims=True)
        with np.errstate(invalid="ignore", divide="ignore"):
            centre = np.where(weight > 0, (p * means).sum(axis=axis, keepdims=True) / weight, 0.0)
        found[level] = float((p * (means - centre) ** 2).sum()) / own
    return found


def _nothing(inference: HybridInference) -> Code:
    """Codes of one row in which no level is observed."""
    return np.full((len(inference.levels.network.nodes), 1), -1, dtype=np.int32)


def _entropy(p: Float) -> float:
    return -float(xlogy(p, p).sum())
