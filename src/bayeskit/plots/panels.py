"""Panels: several displays side by side in one figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bayeskit.plots.style import Display


@dataclass(eq=False, repr=False)
class Panels:
    """Displays in rows of two; ``displays`` keep their frames and axes."""

    displays: list[Display]
    figure_: Any = None

    def __repr__(self) -> str:
        return f"<Panels: {', '.join(type(display).__name__ for display in self.displays)}>"

    @classmethod
    def of(cls, displays: Sequence[Display], across: int = 2) -> Panels:
        """Displays side by side.

        Parameters
        ----------
        displays : sequence of displays
            What to draw.
        across : int, default 2
            Displays in a row.
        """
        import matplotlib.pyplot as plt

        made = cls(list(displays))
        down = -(-len(made.displays) // across)
        figure, axes = plt.subplots(
            down, across, figsize=(5.4 * across, 4.4 * down), layout="constrained", squeeze=False
        )
        for ax in axes.ravel()[len(made.displays) :]:
            ax.remove()
        for display, ax in zip(made.displays, axes.ravel(), strict=False):
            display.plot(ax)
        made.figure_ = figure
        return made
