"""Drawing: a graph as an SVG picture, parents above their children."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from html import escape

from bayeskit.networks.graph import Graph
from bayeskit.plots.network import Layout

LETTER, HEIGHT, GAP, RISE = 8, 26, 22, 74  # pixels: of a letter, of a box, between boxes, between layers
INCH = 72
LONG = 40  # letters of a name
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
        for node, children in self.graph.children.items():  # what has no parents stands right above a child
            if children and not self.graph.parents[node]:
                depth[node] = min(depth[child] for child in children) - 1
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
    def layout(self) -> Layout:
        """Where boxes and arcs lie, in inches of 72 pixels."""
        boxes = {node: (self._width(node) / INCH, HEIGHT / INCH) for layer in self.layers for node in layer}
        return Layout.of(self.layers, self.graph.edges, boxes, GAP / INCH, (RISE - HEIGHT) / INCH)

    @cached_property
    def places(self) -> dict[str, tuple[float, float]]:
        """The middle of every node's box, in pixels."""
        return {node: (GAP + INCH * x, GAP + INCH * y) for node, (x, y) in self.layout.middle.items()}

    @property
    def svg(self) -> str:
        """The picture as text."""
        across, down = (INCH * side + 2 * GAP for side in self.layout.size)
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {across:g} {down:g}" width="{across:g}" '
            f'height="{down:g}" style="{STYLE}"><defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" '
            f'markerWidth="8" markerHeight="8" orient="auto"><path d="M0,0L8,4L0,8z" fill="#555"/></marker></defs>'
        ]
        for points in self.layout.routes.values():
            first, *others = (f"{GAP + INCH * x:.1f},{GAP + INCH * y:.1f}" for x, y in points.tolist())
            path = f"M{first}C{' '.join(others)}"
            parts.append(f'<path class="arc" d="{path}" fill="none" stroke="#555" marker-end="url(#tip)"/>')
        for node, (x, y) in self.places.items():
            width = self._width(node)
            parts.append(
                f'<rect x="{x - width / 2:g}" y="{y - HEIGHT / 2:g}" width="{width:g}" height="{HEIGHT}" rx="8" '
                f'fill="#eef3fb" stroke="#3b6ea8"/>'
                f'<text x="{x:g}" y="{y + 4.5:g}" text-anchor="middle">{escape(_short(node))}</text>'
            )
        return "".join(parts) + "</svg>"

    @staticmethod
    def _width(node: str) -> float:
        return LETTER * len(_short(node)) + 18.0


def _short(node: str) -> str:
    return node if len(node) <= LONG else node[: LONG - 1] + "…"
