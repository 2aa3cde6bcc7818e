"""Tornado: how far an answer moves when one number after the other does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bayeskit.arrays import Axes, Float, Json
from bayeskit.data.frame import shorten
from bayeskit.errors import InputError
from bayeskit.plots.style import AGAINST, FOR, INK, Display, document, tidy

WIDE = 60  # letters of a name


@document
@dataclass(eq=False, repr=False)
class TornadoDisplay(Display):
    """A bar for each number, from the answer where it is small to the answer where it is large, the longest on top.

    >>> TornadoDisplay.from_ranges(["a", "b"], [0.2, 0.1], [0.4, 0.6], 0.3, "P").frame().column("name").to_pylist()
    ['b', 'a']
    """

    names: list[str]
    low: Float  # (names,)
    high: Float  # (names,)
    now: float
    title: str
    measure: str = "answer"

    @classmethod
    def from_ranges(
        cls,
        names: Sequence[str],
        low: Sequence[float] | Float,
        high: Sequence[float] | Float,
        now: float,
        title: str,
        measure: str = "answer",
    ) -> TornadoDisplay:
        """From the answers at both ends.

        Parameters
        ----------
        low : array
            The answer where each number is small.
        high : array
            The answer where it is large.
        now : float
            The answer as it is.
        title : str
            What the answer is.
        """
        one, other = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
        if not len(names) or len(names) != len(one) or len(names) != len(other):
            raise InputError("give as many names as answers, and at least one")
        order = np.argsort(-np.abs(other - one), kind="stable")
        return cls([str(names[i]) for i in order], one[order], other[order], float(now), title, measure)

    def _columns(self) -> Json:
        return {"name": self.names, "low": self.low, "high": self.high}

    def _size(self) -> tuple[float, float]:
        return 8.5, 1.4 + 0.33 * len(self.names)

    def _draw(self, ax: Axes) -> None:
        place = np.arange(len(self.names))
        ax.barh(place, self.low - self.now, left=self.now, height=0.62, color=AGAINST, label="smaller")
        ax.barh(place, self.high - self.now, left=self.now, height=0.62, color=FOR, label="larger")
        ax.axvline(self.now, color=INK, lw=1)
        ax.set_yticks(place, [shorten(name, WIDE) for name in self.names])
        ax.set_ylim(len(place) - 0.4, -0.6)
        tidy(ax, self.title, self.measure)
        ax.tick_params(axis="y", length=0)
        ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize="small")
