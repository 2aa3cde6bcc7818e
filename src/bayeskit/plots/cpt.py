"""CptDisplay: the table of a node of a network, shaded by probability."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from bayeskit.arrays import Axes, Float, Json, Label
from bayeskit.data.frame import shorten
from bayeskit.errors import InputError
from bayeskit.plots.heat import heat
from bayeskit.plots.style import Display, labels_of, tidy

ROWS, STATES = 24, 24  # drawn
WRITTEN = 12  # states up to which every cell holds its number


@dataclass(eq=False, repr=False)
class CptDisplay(Display):
    """P(node | parents): a line for each configuration of the parents, a column for each state.

    >>> shown = CptDisplay.from_table("wet", {"rain": ["no", "yes"]}, ["no", "yes"], [[0.9, 0.1], [0.2, 0.8]])
    >>> shown.frame().to_pydict()["probability"]
    [0.9, 0.1, 0.2, 0.8]
    """

    node: str
    parents: dict[str, list[Any]]  # with their states
    states: list[Any]
    table: Float  # (configurations, states), the last parent moving fastest

    @classmethod
    def from_table(
        cls, node: str, parents: Mapping[str, Sequence[Label]], states: Sequence[Label], table: Any
    ) -> CptDisplay:
        """From probabilities with an axis for each parent and the last for the node.

        Parameters
        ----------
        node : str
            The node.
        parents : mapping
            Its parents with their states.
        states : sequence
            Its states.
        table : array
            Probabilities, or cells, as the method says.
        """
        known = {parent: list(values) for parent, values in parents.items()}
        shape = (*(len(values) for values in known.values()), len(states))
        found = np.asarray(table, dtype=np.float64)
        if found.shape != shape:
            raise InputError(f"the table of {node!r} has the shape {found.shape}; its states call for {shape}")
        return cls(str(node), known, list(states), found.reshape(-1, len(states)))

    @property
    def given(self) -> list[tuple[Label, ...]]:
        """The states of the parents in each line."""
        return list(product(*self.parents.values()))

    def _columns(self) -> Json:
        each = [(given, state) for given in self.given for state in self.states]
        named = {name: [str(given[i]) for given, _ in each] for i, name in enumerate(self.parents)}
        return {**named, self.node: [str(state) for _, state in each], "probability": self.table.ravel()}

    def _size(self) -> tuple[float, float]:
        longest = max((len(name) for name in self._names()), default=0)
        across = 0.85 * min(len(self.states), STATES) + 0.085 * longest + 1.2
        return float(np.clip(across, 3.4, 14.0)), 1.3 + 0.34 * min(len(self.table), ROWS)

    def _names(self) -> list[str]:
        most = 44 // max(1, len(self.parents))
        return [", ".join(shorten(value, most) for value in given) for given in self.given[:ROWS]]

    def _draw(self, ax: Axes) -> None:
        shown = self.table[:ROWS, :STATES]
        texts = [[f"{p:.3g}" for p in row] for row in shown] if len(self.states) <= WRITTEN else None
        names = self._names() if self.parents else [""]
        heat(ax, shown, texts, names, labels_of(self.states[:STATES]))
        more = [f"{len(self.table) - ROWS} more lines"] if len(self.table) > ROWS else []
        more += [f"{len(self.states) - STATES} more states"] if len(self.states) > STATES else []
        given = f" | {', '.join(shorten(parent, 16) for parent in self.parents)}" if self.parents else ""
        rest = f" ({', '.join(more)} in frame())" if more else ""
        tidy(ax, f"P({shorten(self.node, 24)}{given}){rest}", self.node)
        if self.parents:
            ax.set_ylabel(shorten(", ".join(self.parents), 48))
