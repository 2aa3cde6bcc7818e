"""ArcDisplay: columns in layers and the arcs between them, the wider the more two columns tell of each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from bayeskit.arrays import Axes, Json
from bayeskit.plots.network import NetworkDisplay
from bayeskit.plots.style import INK, document

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
            What parent and child tell of each other, by (parent, child).
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
