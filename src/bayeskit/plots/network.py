"""NetworkDisplay: nodes in layers, each with the probabilities of its states as bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskit.errors import InputError
from bayeskit.frame import shortened
from bayeskit.plots.style import INK, PALETTE, Display

WIDE, ROW, HEAD, GAP, RISE = 2.1, 0.22, 0.3, 0.35, 0.6  # inches: of a box, a state, a title; between boxes, layers
STATES, NODES = 6, 60


@dataclass(eq=False)
class NetworkDisplay(Display):
    """Parents above their children; a node that was observed is marked."""

    layers: list[list[str]]
    edges: list[tuple[str, str]]
    bars: dict[str, dict[Any, float]]  # probability by state of each node; empty without tables
    observed: dict[str, Any]

    @classmethod
    def from_layers(
        cls,
        layers: Sequence[Sequence[str]],
        edges: Sequence[tuple[str, str]],
        bars: Mapping[str, Mapping[Any, float]] | None = None,
        observed: Mapping[str, Any] | None = None,
    ) -> NetworkDisplay:
        """From the nodes of every layer, left to right, and P(state) of each node."""
        count = sum(map(len, layers))
        if not 0 < count <= NODES:
            raise InputError(f"{count} nodes cannot be drawn readably (1 to {NODES}); draw a part of the network")
        found = {node: dict(states) for node, states in (bars or {}).items()}
        return cls([list(layer) for layer in layers], list(edges), found, dict(observed or {}))

    def _columns(self) -> dict[str, Any]:
        each = [(node, state, p) for node, states in self.bars.items() for state, p in states.items()]
        return {
            "node": [node for node, *_ in each],
            "state": [str(state) for _, state, _ in each],
            "probability": np.array([p for *_, p in each]),
            "observed": [node in self.observed for node, *_ in each],
        }

    def _tall(self, node: str) -> float:
        states = len(self.bars.get(node, {}))
        return HEAD + ROW * (min(states, STATES) + (states > STATES))

    @property
    def places(self) -> dict[str, tuple[float, float]]:
        """The top left corner of every box, in inches from the top left."""
        wide = max(len(layer) for layer in self.layers) * (WIDE + GAP)
        found, y = {}, 0.0
        for layer in self.layers:
            left = (wide - len(layer) * (WIDE + GAP)) / 2 + GAP / 2
            for i, node in enumerate(layer):
                found[node] = (left + i * (WIDE + GAP), y)
            y += max(map(self._tall, layer)) + RISE
        return found

    def _size(self) -> tuple[float, float]:
        wide = max(len(layer) for layer in self.layers) * (WIDE + GAP)
        high = sum(max(map(self._tall, layer)) + RISE for layer in self.layers)
        return min(40.0, wide + 0.3), min(40.0, high)

    def _draw(self, ax: Any) -> None:
        places = self.places
        for parent, child in self.edges:
            (x1, y1), (x2, y2) = places[parent], places[child]
            ax.annotate(
                "",
                (x2 + WIDE / 2, y2 - 0.02),
                xytext=(x1 + WIDE / 2, y1 + self._tall(parent) + 0.02),
                arrowprops={"arrowstyle": "-|>", "color": "#555555", "lw": 1.2, "shrinkA": 0, "shrinkB": 0},
                zorder=1,
            )
        for node, (x, y) in places.items():
            self._box(ax, node, x, y)
        across, down = self._size()
        ax.set_xlim(-0.15, across - 0.15)
        ax.set_ylim(down - RISE + 0.1, -0.1)
        ax.set_aspect("equal")
        ax.axis("off")

    def _box(self, ax: Any, node: str, x: float, y: float) -> None:
        from matplotlib.patches import FancyBboxPatch, Rectangle

        seen = node in self.observed
        box = FancyBboxPatch(
            (x, y),
            WIDE,
            self._tall(node),
            boxstyle="round,pad=0.03,rounding_size=0.08",
            fc="#FFF4E0" if seen else "white",
            ec=PALETTE[1] if seen else PALETTE[0],
            lw=1.3,
            zorder=2,
        )
        ax.add_patch(box)
        name = shortened(node, 24) + (" (observed)" if seen and len(node) < 14 else "")
        ax.text(x + WIDE / 2, y + HEAD / 2, name, ha="center", va="center", fontsize=9, weight="bold", zorder=4)
        states = list(self.bars.get(node, {}).items())
        shown = sorted(states, key=lambda s: -s[1])[:STATES] if len(states) > STATES else states
        for i, (state, p) in enumerate(shown):
            middle = y + HEAD + ROW * (i + 0.45)
            ax.text(x + 0.05, middle, shortened(state, 11), va="center", fontsize=7.5, color=INK, zorder=4)
            ax.add_patch(Rectangle((x + 0.95, middle - 0.07), 0.64, 0.14, fc="#EEEEEE", zorder=3))
            ax.add_patch(
                Rectangle((x + 0.95, middle - 0.07), 0.64 * p, 0.14, fc=PALETTE[1] if seen else PALETTE[0], zorder=4)
            )
            ax.text(x + WIDE - 0.02, middle, f"{p:.1%}", ha="right", va="center", fontsize=7.5, color=INK, zorder=4)
        if len(states) > STATES:
            more = f"... {len(states) - STATES} more states"
            ax.text(x + 0.05, y + HEAD + ROW * (STATES + 0.45), more, va="center", fontsize=7.5, zorder=4)
