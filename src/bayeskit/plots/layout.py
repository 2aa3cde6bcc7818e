"""Layout: boxes in layers and the arcs between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.optimize import isotonic_regression

from bayeskit.arrays import Float

SWEEPS = 8  # down and up, to put boxes near what they are joined with
BEND = 0.45  # of the way between layers that an arc goes straight down before it turns
PORT = 0.7  # of the width of a box over which its arcs are spread

Edge = tuple[str, str]
Key = Any  # a node, or (edge, layer) where a long arc passes a layer


@dataclass(frozen=True)
class Layout:
    """Where boxes and arcs lie, from the top left, in the unit of the boxes."""

    middle: dict[str, tuple[float, float]]  # of each box
    routes: dict[Edge, Float]  # Bezier points (3m + 1, 2), from the lower edge of the parent to the upper of the child
    size: tuple[float, float]

    @classmethod
    def of(
        cls,
        layers: Sequence[Sequence[str]],
        edges: Sequence[Edge],
        boxes: Mapping[str, tuple[float, float]],
        gap: float,
        rise: float,
    ) -> Layout:
        """Layers in the order given, each box near the middle of those it is joined with; long arcs pass between.

        Boxes have a given width and height, a ``gap`` between them and a ``rise`` between layers.

        >>> boxes = dict.fromkeys("abc", (2.0, 1.0))
        >>> Layout.of([["a"], ["b", "c"]], [("a", "b"), ("a", "c")], boxes, 1, 1).middle
        {'a': (2.5, 0.5), 'b': (1.0, 2.5), 'c': (4.0, 2.5)}
        """
        level = {node: i for i, layer in enumerate(layers) for node in layer}
        chains: list[list[Key]] = [
            [edge[0], *((edge, i) for i in range(level[edge[0]] + 1, level[edge[1]])), edge[1]] for edge in edges
        ]
        rows: list[list[Key]] = [[*layer] for layer in layers]
        for chain in chains:
            for key in chain[1:-1]:
                rows[key[1]].append(key)
        above, below = _predecessors(chains), _predecessors([chain[::-1] for chain in chains])
        wide = {key: boxes[key][0] if key in boxes else 0.0 for row in rows for key in row}
        across = _across(rows, above, below, wide, gap)
        tall = [max((boxes[key][1] for key in row if key in boxes), default=0.0) for row in rows]
        top = np.concatenate([[0.0], np.cumsum(np.array(tall) + rise)])
        middle = {n: (across[n], float(top[i] + tall[i] / 2)) for n, i in level.items()}
        ends = {n: (middle[n][1] - boxes[n][1] / 2, middle[n][1] + boxes[n][1] / 2) for n in level}
        routes = {}
        for edge, chain in zip(edges, chains, strict=True):
            points = [(_port(edge[0], chain[1], below, across, wide), ends[edge[0]][1])]
            for key in chain[1:-1]:
                points += [(across[key], top[key[1]]), (across[key], top[key[1]] + tall[key[1]])]
            points.append((_port(edge[1], chain[-2], above, across, wide), ends[edge[1]][0]))
            routes[edge] = _smooth(np.array(points))
        size = max((across[n] + w / 2 for n, w in wide.items()), default=0.0), max(0.0, float(top[-1] - rise))
        return cls(middle, routes, size)


def _predecessors(chains: Sequence[Sequence[Key]]) -> dict[Key, list[Key]]:
    """For each key what stands before it."""
    found: dict[Key, list[Key]] = {}
    for chain in chains:
        for before, key in pairwise(chain):
            found.setdefault(key, []).append(before)
    return found


def _across(
    rows: list[list[Key]],
    above: Mapping[Key, list[Key]],
    below: Mapping[Key, list[Key]],
    wide: Mapping[Key, float],
    gap: float,
) -> dict[Key, float]:
    """The middle of each key: sorted and then moved toward its neighbours, sweep by sweep, without touching others."""
    across: dict[Key, float] = {}
    for row in rows:
        for key, x in zip(row, _apart(np.zeros(len(row)), row, wide, gap), strict=True):
            across[key] = float(x)
    for sweep in range(2 * SWEEPS):
        near = below if sweep % 2 else above
        if sweep == 2 * SWEEPS - 1:  # the last word is that of all neighbours
            near = {key: above.get(key, []) + below.get(key, []) for row in rows for key in row}
        for row in rows[:: -1 if sweep % 2 else 1]:
            wanted = {
                k: float(np.mean([across[n] for n in near.get(k, [])])) if near.get(k) else across[k] for k in row
            }
            if sweep < SWEEPS:
                row.sort(key=lambda key: wanted[key])
            for key, x in zip(row, _apart(np.array([wanted[k] for k in row]), row, wide, gap), strict=True):
                across[key] = float(x)
    left = min((across[key] - w / 2 for key, w in wide.items()), default=0.0)
    return {key: x - left for key, x in across.items()}


def _apart(wanted: Float, row: Sequence[Key], wide: Mapping[Key, float], gap: float) -> Float:
    """The places nearest to those wanted, by least squares, at which nothing touches."""
    if not row:
        return wanted
    half = np.array([wide[key] for key in row]) / 2
    room = np.concatenate([[0.0], np.cumsum(half[:-1] + half[1:] + gap)])
    out: Float = isotonic_regression(wanted - room).x + room
    return out


def _port(
    node: str, to: Key, joined: Mapping[Key, list[Key]], across: Mapping[Key, float], wide: Mapping[Key, float]
) -> float:
    """Where on the edge of a box an arc begins or ends: side by side, in the order of where they lead."""
    others = sorted(dict.fromkeys(joined[node]), key=lambda key: across[key])
    step = min(0.22 * wide[node], PORT * wide[node] / len(others))
    return across[node] + (others.index(to) - (len(others) - 1) / 2) * step


def _smooth(points: Float) -> Float:
    """Bezier points through some points, leaving and reaching each straight down."""
    out = [points[0]]
    for a, b in pairwise(points):
        down = np.array([0.0, BEND * (b[1] - a[1])])
        out += [a + down, b - down, b]
    return np.array(out)
