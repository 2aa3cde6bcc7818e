"""Drawing: a graph as an SVG picture, parents above their children."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from html import escape

from bayeskit.networks.graph import Graph

LETTER, HEIGHT, GAP, RISE = 8, 26, 22, 74  # pixels: of a letter, of a box, between boxes, between layers
SWEEPS = 4
STYLE = "font:13px sans-serif;background:white"


@dataclass(frozen=True)
class Drawing:
    """Nodes in layers: each below all its parents, near the middle of its neighbours.

    >>> Drawing(Graph.of([("rain", "wet"), ("wet", "slippery")])).layers
    [['rain'], ['wet'], ['slippery']]
    """

    graph: Graph

    @cached_property
    def layers(self) -> list[list[str]]:
        """The nodes from top to bottom and from left to right."""
        depth: dict[str, int] = {}
        for node in self.graph.order:
            depth[node] = max((depth[p] + 1 for p in self.graph.parents[node]), default=0)
        found: list[list[str]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
        for node, level in depth.items():
            found[level].append(node)
        for sweep in range(SWEEPS):  # each node to the mean of its parents, then of its children, and so on
            near = self.graph.children if sweep % 2 else self.graph.parents
            place = {n: (i + 0.5) / len(layer) for layer in found for i, n in enumerate(layer)}
            for layer in found:
                layer.sort(key=lambda n: sum(place[m] for m in near[n]) / len(near[n]) if near[n] else place[n])
        return found

    @cached_property
    def places(self) -> dict[str, tuple[float, float]]:
        """The middle of every node's box, in pixels."""
        rows = [(sum(map(self._width, layer)) + GAP * (len(layer) + 1), layer) for layer in self.layers]
        widest = max((width for width, _ in rows), default=0.0)
        found = {}
        for level, (width, layer) in enumerate(rows):
            x = (widest - width) / 2 + GAP
            for node in layer:
                found[node] = (x + self._width(node) / 2, GAP + HEIGHT / 2 + RISE * level)
                x += self._width(node) + GAP
        return found

    @property
    def svg(self) -> str:
        """The picture as text."""
        across = max((x + self._width(n) / 2 for n, (x, _) in self.places.items()), default=0) + GAP
        down = max((y for _, y in self.places.values()), default=0) + HEIGHT / 2 + GAP
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {across:g} {down:g}" width="{across:g}" '
            f'height="{down:g}" style="{STYLE}"><defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" '
            f'markerWidth="8" markerHeight="8" orient="auto"><path d="M0,0L8,4L0,8z" fill="#555"/></marker></defs>'
        ]
        for parent, child in self.graph.edges:
            (x1, y1), (x2, y2) = self.places[parent], self.places[child]
            ends = f'x1="{x1:g}" y1="{y1 + HEIGHT / 2:g}" x2="{x2:g}" y2="{y2 - HEIGHT / 2:g}"'
            parts.append(f'<line {ends} stroke="#555" marker-end="url(#tip)"/>')
        for node, (x, y) in self.places.items():
            width = self._width(node)
            parts.append(
                f'<rect x="{x - width / 2:g}" y="{y - HEIGHT / 2:g}" width="{width:g}" height="{HEIGHT}" rx="8" '
                f'fill="#eef3fb" stroke="#3b6ea8"/>'
                f'<text x="{x:g}" y="{y + 4.5:g}" text-anchor="middle">{escape(node)}</text>'
            )
        return "".join(parts) + "</svg>"

    @staticmethod
    def _width(node: str) -> float:
        return LETTER * len(node) + 18.0
