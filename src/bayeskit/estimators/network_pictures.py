"""NetworkPictures: how a network is shown; its graph, its beliefs as bars, its tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import bayeskit
from bayeskit.arrays import Axes, Label
from bayeskit.data.frame import html_table
from bayeskit.data.levels import Levels
from bayeskit.estimators.docstrings import document
from bayeskit.estimators.network_queries import NODES, Questions
from bayeskit.networks.drawing import Drawing
from bayeskit.networks.fitted import Fitted
from bayeskit.plots.heat import CptDisplay
from bayeskit.plots.style import Display

MOST_DRAWN = 60
WITH_TABLES = 12  # nodes that show their tables unasked


@document(NODES)
class NetworkPictures(Questions):
    """Pictures of a network, with tables or without."""

    _declared: dict[str, Levels]
    _fit: Fitted | None

    def svg(self) -> str:
        """The graph as an SVG picture, parents above their children."""
        return Drawing(self.graph).svg

    def panel(self, *, height: int = 720) -> Any:
        """A panel in a notebook: choose states, move sliders of numbers, and the beliefs of all nodes follow, exactly.

        ``html`` of it is the whole page, which needs nothing else; ``bk.report(network, path)`` writes it with the
        tables.

        Parameters
        ----------
        height : int, default 720
            Pixels of the frame in the notebook.

        Examples
        --------
        >>> from bayeskit import Network
        >>> Network([], {"coin": {"heads": 0.5, "tails": 0.5}}).panel().html[:15]
        '<!doctype html>'
        """
        return bayeskit.panel(self, height=height)

    def plot(
        self, evidence: Mapping[str, object] | None = None, tables: bool | None = None, ax: Axes | None = None
    ) -> Display:
        """The graph with P(state | evidence) of every node as bars, and its table below them.

        Tables are left out where there are many nodes unless ``tables=True``; one of many lines is drawn by
        ``plot_table``.

        Parameters
        ----------
        tables : bool or sequence
            Which nodes show their table.
        """
        from bayeskit.plots.network import NetworkDisplay

        given = dict(evidence or {})
        layers = Drawing(self.graph).layers
        NetworkDisplay.from_layers(layers, self.graph.edges)  # refuses too many
        bars, shown = {}, {}
        if self._fit is not None:
            bars = {node: self._bars(node, given) for node in self.graph.nodes}
            if tables or (tables is None and len(self.graph.nodes) <= WITH_TABLES):
                shown = {node: self._table(node) for node in self.fitted.network.coded}
        return NetworkDisplay.from_layers(layers, self.graph.edges, bars, given, shown).plot(ax)

    def _bars(self, node: str, given: Mapping[str, object]) -> dict[Label, float]:
        """P(state | evidence); of a number, between its quantiles of tenths and quarters without evidence."""
        if node not in self.fitted.network.normals:
            return dict(self.query(node, given))
        alone, now = self.query(node), self.query(node, given)
        ends = sorted({alone.quantile(p) for p in (0.1, 0.25, 0.5, 0.75, 0.9)})
        below = [0.0, *(now.cdf(end) for end in ends), 1.0]
        shown = next(t for d in (3, 6, 9, 17) if len(set(t := [f"{end:.{d}g}" for end in ends])) == len(ends))
        names = [f"≤ {shown[0]}", *(f"{a} – {b}" for a, b in pairwise(shown)), f"> {shown[-1]}"]
        return {name: b - a for name, (a, b) in zip(names, pairwise(below), strict=True)}

    def plot_table(self, node: str, ax: Axes | None = None) -> Display:
        """P(node | its parents), a line for each configuration of the parents."""
        self.fitted.network.check_coded(node)
        return self._table(self.graph.check(node)).plot(ax)

    def _table(self, node: str) -> CptDisplay:
        parents = {parent: self.states(parent) for parent in self.parents(node)}
        return CptDisplay.from_table(node, parents, self.states(node), self.fitted.network.potentials[node])

    def _repr_html_(self) -> str:
        lines = [("node", "parents", "states")]
        for node in self.graph.nodes:
            states: Sequence[Any] = self._declared.get(node, Levels()).values
            if self._fit:
                states = ("a number",) if node in self.fitted.network.normals else self.states(node)
            lines.append((node, ", ".join(self.parents(node)), ", ".join(map(str, states[:12]))))
        picture = self.svg() if len(self.graph.nodes) <= MOST_DRAWN else ""
        return picture + html_table(lines, left=3, caption=repr(self))
