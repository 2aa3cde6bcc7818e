"""Networks: nodes in layers with their probabilities and tables, or columns in layers with arcs alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.optimize import isotonic_regression

from bayeskit.arrays import Axes, Float, Json, Label
from bayeskit.data.frame import shorten
from bayeskit.errors import InputError
from bayeskit.plots.heat import CptDisplay
from bayeskit.plots.style import INK, PALETTE, Display, document

WIDE, ROW, HEAD, GAP, RISE = 2.1, 0.22, 0.3, 0.35, 0.55  # inches: of a box, a state, a title; between boxes, layers
CELL, WORD = 0.56, 0.075  # inches: of a number in a table, of a letter
STATES, NODES = 6, 60
LINES, SIDE = 8, 5  # of a table in a box
EDGE = 0.12  # around the picture
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


@document
@dataclass(eq=False, repr=False)
class NetworkDisplay(Display):
    """Parents above their children; a node that was observed is marked."""

    layers: list[list[str]]
    edges: list[tuple[str, str]]
    bars: dict[str, dict[Any, float]]  # probability by state of each node; empty without tables
    observed: dict[str, Any]
    tables: dict[str, CptDisplay] = field(default_factory=dict)  # of the nodes that show theirs

    @classmethod
    def from_layers(
        cls,
        layers: Sequence[Sequence[str]],
        edges: Sequence[tuple[str, str]],
        bars: Mapping[str, Mapping[Label, float]] | None = None,
        observed: Mapping[str, object] | None = None,
        tables: Mapping[str, CptDisplay] | None = None,
    ) -> NetworkDisplay:
        """From the nodes of every layer, left to right, P(state) of each node, and tables to show.

        Parameters
        ----------
        edges : sequence of pairs
            Arcs (parent, child).
        bars : mapping, optional
            P(state) by node.
        observed : mapping, optional
            States that were observed.
        tables : mapping, optional
            Tables to show beside nodes.
        """
        count = sum(map(len, layers))
        if not 0 < count <= NODES:
            raise InputError(f"{count} nodes cannot be drawn readably (1 to {NODES}); draw a part of the network")
        found = {node: dict(states) for node, states in (bars or {}).items()}
        return cls([list(layer) for layer in layers], list(edges), found, dict(observed or {}), dict(tables or {}))

    def _columns(self) -> Json:
        each = [(node, state, p) for node, states in self.bars.items() for state, p in states.items()]
        return {
            "node": [node for node, *_ in each],
            "state": [str(state) for _, state, _ in each],
            "probability": np.array([p for *_, p in each]),
            "observed": [node in self.observed for node, *_ in each],
        }

    @cached_property
    def layout(self) -> Layout:
        boxes = {node: self._box(node) for layer in self.layers for node in layer}
        return Layout.of(self.layers, self.edges, boxes, GAP, RISE)

    def _box(self, node: str) -> tuple[float, float]:
        """Width and height."""
        states = len(self.bars.get(node, {}))
        tall = HEAD + ROW * (min(states, STATES) + (states > STATES))
        if (table := self.tables.get(node)) is None:
            return WIDE, tall
        if not _fits(table):
            return WIDE, tall + ROW + 0.08
        return max(WIDE, sum(_widths(table)) + CELL * len(table.states) + 0.1), tall + ROW * (
            1 + len(table.table)
        ) + 0.1

    def _size(self) -> tuple[float, float]:
        wide, high = self.layout.size
        return min(40.0, wide + 2 * EDGE), min(40.0, high + 2 * EDGE)

    def _draw_arcs(self, ax: Axes) -> None:
        from matplotlib.patches import FancyArrowPatch
        from matplotlib.path import Path

        for points in self.layout.routes.values():
            path = Path(points, [Path.MOVETO, *[Path.CURVE4] * (len(points) - 1)])
            ax.add_patch(
                FancyArrowPatch(path=path, arrowstyle="-|>", mutation_scale=10, color="#555555", lw=1.2, zorder=1)
            )

    def _draw(self, ax: Axes) -> None:
        self._draw_arcs(ax)
        for node, (x, y) in self.layout.middle.items():
            wide, tall = self._box(node)
            self._draw_box(ax, node, x - wide / 2, y - tall / 2, wide, tall)
        wide, high = self.layout.size
        ax.set_xlim(-EDGE, wide + EDGE)
        ax.set_ylim(high + EDGE, -EDGE)
        ax.set_aspect("equal")
        ax.axis("off")

    def _draw_box(self, ax: Axes, node: str, x: float, y: float, wide: float, tall: float) -> None:
        from matplotlib.patches import FancyBboxPatch, Rectangle

        seen = node in self.observed
        box = FancyBboxPatch(
            (x + 0.03, y + 0.03),
            wide - 0.06,
            tall - 0.06,
            boxstyle="round,pad=0.03,rounding_size=0.08",
            fc="#FFF4E0" if seen else "white",
            ec=PALETTE[1] if seen else PALETTE[0],
            lw=1.3,
            zorder=2,
        )
        ax.add_patch(box)
        name = shorten(node, 24) + (" (observed)" if seen and len(node) < 14 else "")
        ax.text(x + wide / 2, y + HEAD / 2, name, ha="center", va="center", fontsize=9, weight="bold", zorder=4)
        states = list(self.bars.get(node, {}).items())
        shown = sorted(states, key=lambda s: -s[1])[:STATES] if len(states) > STATES else states
        track = wide - 1.46
        for i, (state, p) in enumerate(shown):
            middle = y + HEAD + ROW * (i + 0.45)
            ax.text(x + 0.08, middle, shorten(state, 11), va="center", fontsize=7.5, color=INK, zorder=4)
            ax.add_patch(Rectangle((x + 0.93, middle - 0.07), track, 0.14, fc="#EEEEEE", zorder=3))
            own = PALETTE[1] if seen else PALETTE[0]
            ax.add_patch(Rectangle((x + 0.93, middle - 0.07), track * p, 0.14, fc=own, zorder=4))
            ax.text(x + wide - 0.08, middle, f"{p:.1%}", ha="right", va="center", fontsize=7.5, color=INK, zorder=4)
        y += HEAD + ROW * len(shown)
        if len(states) > STATES:
            self._note(ax, f"... {len(states) - STATES} more states", x, y)
            y += ROW
        if (table := self.tables.get(node)) is None:
            return
        if _fits(table):
            _draw_table(ax, table, x, y + 0.08, wide)
        else:
            self._note(ax, f"table: {len(table.table)} × {len(table.states)} numbers", x, y + 0.08)

    @staticmethod
    def _note(ax: Axes, text: str, x: float, y: float) -> None:
        ax.text(x + 0.08, y + ROW * 0.45, text, va="center", fontsize=7.5, color="#555555", zorder=4)


def _fits(table: CptDisplay) -> bool:
    return len(table.table) <= LINES and len(table.states) <= SIDE and len(table.parents) <= SIDE


def _widths(table: CptDisplay) -> list[float]:
    """Of the columns of the parents."""
    each = ([shorten(p, 16), *(shorten(v, 11) for v in values)] for p, values in table.parents.items())
    return [0.12 + WORD * max(map(len, texts)) for texts in each]


def _draw_table(ax: Axes, table: CptDisplay, x: float, y: float, wide: float) -> None:
    """A line for each configuration of the parents; cells are the darker the more probable."""
    from matplotlib.patches import Rectangle

    ax.plot([x + 0.05, x + wide - 0.05], [y - 0.04, y - 0.04], color="#CCCCCC", lw=0.8, zorder=3)
    widths = _widths(table)
    starts = np.concatenate([[0.0], np.cumsum(widths)]) + x + 0.05
    cell = (x + wide - 0.05 - starts[-1]) / len(table.states)
    text: Json = {"va": "center", "fontsize": 7, "zorder": 5}
    for name, left in zip(table.parents, starts, strict=False):
        ax.text(left + 0.03, y + ROW / 2, shorten(name, 16), style="italic", color="#555555", **text)
    for k, state in enumerate(table.states):
        middle = starts[-1] + cell * (k + 0.5)
        ax.text(middle, y + ROW / 2, shorten(state, 9), ha="center", style="italic", color="#555555", **text)
    for i, (given, row) in enumerate(zip(table.given, table.table, strict=True)):
        down = y + ROW * (i + 1)
        for value, left in zip(given, starts, strict=False):
            ax.text(left + 0.03, down + ROW / 2, shorten(value, 11), color=INK, **text)
        for k, p in enumerate(row):
            place = (starts[-1] + cell * k + 0.01, down + 0.01)
            shade = 0.08 + 0.5 * float(p)
            ax.add_patch(Rectangle(place, cell - 0.02, ROW - 0.02, fc=PALETTE[0], alpha=shade, lw=0, zorder=4))
            ax.text(place[0] + cell / 2, down + ROW / 2, f"{p:.3g}", ha="center", color=INK, **text)


THIN, THICK = 0.8, 5.0  # points
ARC = "#8FB8D8"


@document
@dataclass(eq=False, repr=False)
class ArcDisplay(NetworkDisplay):
    """Parents above their children, with the bits of each arc beside it.

    >>> shown = ArcDisplay.from_arcs([["a"], ["b"]], {("a", "b"): 0.25})
    >>> shown.frame().to_pylist()
    [{'parent': 'a', 'child': 'b', 'bits': 0.25}]
    """

    bits: dict[tuple[str, str], float] = field(default_factory=dict)
    directed: bool = True

    @classmethod
    def from_arcs(
        cls, layers: Sequence[Sequence[str]], bits: Mapping[tuple[str, str], float], directed: bool = True
    ) -> ArcDisplay:
        """From the nodes of every layer, left to right, and the bits of each arc.

        Parameters
        ----------
        bits : mapping
            The mutual information of parent and child, by (parent, child).
        directed : bool, default True
            Whether arcs have heads.
        """
        plain = NetworkDisplay.from_layers(layers, list(bits))
        return cls(plain.layers, plain.edges, {}, {}, {}, dict(bits), directed)

    def _columns(self) -> Json:
        return {
            "parent": [parent for parent, _ in self.bits],
            "child": [child for _, child in self.bits],
            "bits": np.array(list(self.bits.values()), dtype=np.float64),
        }

    def _draw_arcs(self, ax: Axes) -> None:
        from matplotlib.patches import FancyArrowPatch
        from matplotlib.path import Path

        most = max(self.bits.values(), default=0.0) or 1.0
        for edge, points in self.layout.routes.items():
            path = Path(points, [Path.MOVETO, *[Path.CURVE4] * (len(points) - 1)])
            wide = THIN + (THICK - THIN) * self.bits[edge] / most
            head = "-|>" if self.directed else "-"
            ax.add_patch(FancyArrowPatch(path=path, arrowstyle=head, mutation_scale=8 + 2 * wide, color=ARC, lw=wide))
            middle = np.asarray(path.interpolated(8).vertices, dtype=np.float64)
            x, y = middle[len(middle) // 2].tolist()
            said = f"{self.bits[edge]:.2f}" + (" bits" if self.bits[edge] == most else "")
            text = ax.text(x, y, said, fontsize=7.5, color=INK, ha="center", va="center", zorder=3)
            text.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 0.8, "alpha": 0.8})
