"""Arcs: which columns of a model depend on which, and their mutual information."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from bayeskit.arrays import Axes, Float, Frame
from bayeskit.data.frame import TableRepr, frame, shorten
from bayeskit.docstrings import document_frame
from bayeskit.errors import InputError
from bayeskit.model.model import Model
from bayeskit.networks.drawing import Drawing
from bayeskit.networks.graph import Graph
from bayeskit.numerics.special import LOG_2
from bayeskit.plots.style import Display
from bayeskit.statistics.rows import Distinct
from bayeskit.statistics.sliced import Sliced
from bayeskit.structures.augmented import times_log
from bayeskit.structures.averaged import AveragedDensity
from bayeskit.structures.hidden import NetworkedDensity
from bayeskit.structures.paired import PairedDensity

LINES = 20
Edge = tuple[str, str]


@dataclass(frozen=True, eq=False, repr=False)
class Arcs(TableRepr):
    """The arcs of a model as (parent, child), and the mutual information of the two in bits.

    That is I(parent; child | class) where the class is a parent of the child too, else I(parent; child), from the
    counts without smoothing.
    """

    edges: tuple[Edge, ...]
    bits: Float  # (edges,)
    nodes: tuple[str, ...]
    averaged: bool = False  # whether arcs are those of several models, so that they may point both ways

    _left = 2

    def __len__(self) -> int:
        return len(self.edges)

    @document_frame
    def frame(self, kind: str = "pyarrow") -> Frame:
        """A line for each arc: parent, child, bits."""
        parents, children = ([edge[i] for edge in self.edges] for i in (0, 1))
        return frame({"parent": parents, "child": children, "bits": self.bits}, kind)

    def plot(self, top: int | None = None, ax: Axes | None = None) -> Display:
        """The arcs between their columns, the wider the more bits.

        Parameters
        ----------
        top : int, optional
            Draw so many arcs, the strongest; all unless given, of averaged models as many as there are columns.
        ax : matplotlib axes, optional
            Where to draw; a new figure unless given.
        """
        from bayeskit.plots.network import ArcDisplay

        top = len(self.nodes) if top is None and self.averaged else top
        order = np.argsort(-self.bits, kind="stable").tolist()
        if self.averaged:  # each pair once, from the column that comes first
            place = {name: j for j, name in enumerate(self.nodes)}
            drawn = dict.fromkeys(tuple(sorted(self.edges[i], key=place.__getitem__)) for i in order)
            bits = {frozenset(self.edges[i]): float(self.bits[i]) for i in order}
            chosen = {(a, b): bits[frozenset((a, b))] for a, b in list(drawn)[:top]}
        else:
            chosen = {self.edges[i]: float(self.bits[i]) for i in sorted(order[:top])}
        nodes = self.nodes if top is None else dict.fromkeys(n for edge in chosen for n in edge)
        layers = Drawing(Graph.of(chosen, nodes)).layers
        return ArcDisplay.from_arcs(layers, chosen, not self.averaged).plot(ax)

    def _title(self) -> str:
        if not self.edges:
            return "no arcs: no column predicts another better than the class alone does"
        return f"{len(self)} arcs" + (f", the {LINES} strongest shown; .frame() has all" if len(self) > LINES else "")

    def _lines(self) -> list[list[str]]:
        order = np.argsort(-self.bits, kind="stable")[:LINES].tolist()
        return [
            ["parent", "child", "bits"],
            *([*map(shorten, self.edges[i]), f"{self.bits[i]:.3f}"] for i in order),
        ]


def arcs_of(model: Model, label: str | None = None) -> Arcs:
    """The arcs between columns; with a ``label``, those of the class too, which is called so."""
    ((family, whole),) = model.features.parts.items()
    counted = family.chosen(whole, model.context)[1] if isinstance(whole, Distinct) else whole
    (density,) = model.class_density.densities
    assert isinstance(counted, Sliced)
    each = list(_families(density))
    pairs = PairCounts.of(counted)
    levels = {names[0]: counted["levels"].table(t).to_float() for t, names in enumerate(counted["levels"].tables)}
    edges, bits = [], []
    for child, parents in each:
        for parent in parents:
            if parent is None or child is None:
                if label is None:
                    continue
                column = parent or child
                counts = levels[column][None] if column else np.zeros((1, 1, 1))
            else:
                counts = pairs.of_pair(parent, child)
                counts = counts if None in parents else counts.sum(axis=0, keepdims=True)
            edges.append((parent or str(label), child or str(label)))
            bits.append(_information(counts))
    nodes = density.columns if label is None else (label, *density.columns)
    averaged = not isinstance(density, NetworkedDensity)
    return Arcs(tuple(edges), np.array(bits, dtype=np.float64), tuple(nodes), averaged)


def _families(density: object) -> Iterator[tuple[str | None, tuple[str | None, ...]]]:
    """Each node and its parents; None is the class."""
    if isinstance(density, NetworkedDensity):
        yield from density.name_families()
        return
    single = density.single if isinstance(density, PairedDensity) else density
    if not isinstance(single, AveragedDensity):
        raise InputError(f"{type(density).__name__} has no arcs")
    parents = [single.columns[p] for p in single.parents]
    for name in single.columns:
        yield name, (None, *(p for p in parents if p != name))


@dataclass(frozen=True)
class PairCounts:
    """The counts of two columns, from any table that has both."""

    counted: Sliced
    place: Mapping[frozenset[str], tuple[str, int]]  # part and table

    @classmethod
    def of(cls, counted: Sliced) -> PairCounts:
        place: dict[frozenset[str], tuple[str, int]] = {}
        for part in counted.parts.parts:
            for t, names in enumerate(counted[part].tables):
                for pair in combinations(names, 2):
                    place.setdefault(frozenset(pair), (part, t))
        return cls(counted, place)

    def of_pair(self, parent: str, child: str) -> Float:
        """(K, m_parent, m_child)."""
        part, t = self.place[frozenset((parent, child))]
        names, counts = self.counted[part].tables[t], self.counted[part].table(t).to_float()
        out = np.moveaxis(counts, [1 + names.index(parent), 1 + names.index(child)], (-2, -1))
        summed: Float = out.sum(axis=tuple(range(1, out.ndim - 2)))
        return summed


def _information(counts: Float) -> float:
    """I(a; b | c) in bits of counts (K, a, b)."""
    whole = counts.sum()
    if not whole > 0:
        return 0.0
    share = counts / whole
    rows, columns, group = share.sum(axis=2), share.sum(axis=1), share.sum(axis=(1, 2))
    nats = times_log(share).sum() + times_log(group).sum() - times_log(rows).sum() - times_log(columns).sum()
    return max(0.0, float(nats) / LOG_2)
