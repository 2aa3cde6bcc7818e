"""NomogramDisplay: scales of points to be read with a ruler."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from bayeskit.arrays import Axes, Float, Json, Label
from bayeskit.data.frame import shorten
from bayeskit.plots.style import INK, PALETTE, Display

CHANCES = (0.001, 0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999)
TIERS = {"above": 0.12, "below": -0.12, "higher": 0.3, "lower": -0.3}  # how far a mark reaches to its label
NARROW = 2.0  # points: a stretch too short to be read is left on the line of its neighbour
APART = 0.045  # of the width, between two labels on one side of a line


@dataclass(eq=False, repr=False)
class NomogramDisplay(Display):
    """One line for the points, one for each column, one for the total, one for the probability."""

    scales: list[Any]  # with name, values, points, missing, numeric, joined
    probability: Callable[[Float], Float]  # of a total of points
    total: Callable[[Float], Float]  # that gives a probability, not finite where none does
    says: str
    left_out: int = 0

    @classmethod
    def from_scales(
        cls,
        scales: Sequence[Label],
        probability: Callable[[Float], Float],
        total: Callable[[Float], Float],
        says: str,
        left_out: int = 0,
    ) -> NomogramDisplay:
        """From the scales of ``model.nomogram(...)``.

        Parameters
        ----------
        scales : sequence
            The scale of each column.
        probability : callable
            Probability of a total of points.
        total : callable
            Points that give a probability.
        says : str
            What the probability is of, for the axis.
        left_out : int, default 0
            Columns that are not shown.
        """
        return cls(list(scales), probability, total, says, left_out)

    def _columns(self) -> Json:
        each = [(s.name, v, p) for s in self.scales for v, p in zip(s.values, s.points, strict=True)]
        return {"column": [n for n, *_ in each], "value": [str(v) for _, v, _ in each], "points": [p for *_, p in each]}

    @property
    def totals(self) -> tuple[float, float]:
        """The least and the most points all columns together can give."""
        return 0.0, float(sum(np.max(s.points) for s in self.scales))

    @property
    def shown(self) -> tuple[float, float]:
        """The totals that are drawn: where the probability is not as good as certain."""
        low, high = self.totals
        ends = self.total(np.array([CHANCES[0], CHANCES[-1]]))
        inner = float(np.fmax(low, ends[0])), float(np.fmin(high, ends[1]))
        return inner if inner[0] < inner[1] else (low, high)

    def _size(self) -> tuple[float, float]:
        return 8.4, 1.4 + 0.78 * (sum(len(list(stretches(s))) for s in self.scales) + 3)

    def _draw(self, ax: Axes) -> None:
        names: list[str] = []
        y, lost = 0.0, 0
        top = max(100.0, max(float(np.max(s.points)) for s in self.scales))
        _line(ax, y, 0, top, [(p, f"{p:g}") for p in np.arange(0, top + 1, 10)], top)
        names.append("points")
        for scale in self.scales:
            pieces = list(stretches(scale))
            inside = [p.min() - 1e-9 <= scale.missing <= p.max() + 1e-9 for _, p in pieces]
            where = inside.index(True) if True in inside else len(pieces) - 1
            for number, (values, points) in enumerate(pieces):
                y -= 1
                names.append(shorten(scale.name, 22) if number == 0 else "")
                ticks = number_ticks(values, points, scale.joined) if scale.numeric else level_ticks(values, points)
                lost += _line(ax, y, float(points.min()), float(points.max()), ticks, top)
                if number == where and 0 <= scale.missing <= top:
                    ax.plot([scale.missing], [y], "o", mfc="white", mec=PALETTE[0], ms=5, zorder=4)
        low, high = self.shown
        y -= 1
        names.append("total points")
        across = top / max(high - low, 1e-300)
        step = round_step((high - low) / 10)
        marks = np.arange(np.ceil(low / step), np.floor(high / step) + 0.5) * step
        _line(ax, y, 0, top, [((t - low) * across, f"{t:g}") for t in marks.tolist()], top)
        y -= 1
        names.append(self.says)
        chances = zip(CHANCES, self.total(np.array(CHANCES)).tolist(), strict=True)
        slack = 1e-9 * (high - low)
        inside = [((t - low) * across, f"{p:g}") for p, t in chances if low - slack <= t <= high + slack]
        if inside:
            _line(ax, y, inside[0][0], inside[-1][0], inside, top)
        else:
            ends = self.probability(np.array([low, high])).tolist()
            _line(ax, y, 0, top, [(0, f"{ends[0]:.3g}"), (top, f"{ends[1]:.3g}")], top)
        ax.set_yticks(-np.arange(len(names), dtype=float), names)
        ax.set_ylim(y - 0.75, 0.75)
        ax.set_xlim(-0.02 * top, 1.02 * top)
        ax.set_xticks([])
        ax.tick_params(axis="y", length=0)
        for side in ("top", "right", "bottom", "left"):
            ax.spines[side].set_visible(False)
        rest = [f"{self.left_out} columns with fewer points count as missing"] if self.left_out else []
        rest += [f"{lost} values without room for a label are in frame()"] if lost else []
        title = "Add the points of each column (○ if it is missing)" + ("\n" + "; ".join(rest) if rest else "")
        ax.set_title(title, fontsize=10, color=INK, loc="left")


def stretches(scale: Any) -> Iterator[tuple[list[Any], Float]]:
    """A scale in pieces along which points only rise or only fall, so that each can be a line of its own."""
    points = np.asarray(scale.points, dtype=np.float64)
    values = list(scale.values)
    if not scale.numeric or len(points) < 3:
        yield values, points
        return
    steps = np.diff(points)
    rising = np.sign(steps[np.flatnonzero(steps)])
    turns = np.flatnonzero(steps)[1:][np.diff(rising) != 0].tolist()
    pieces = list(pairwise([0, *turns, len(points) - 1]))
    wide = max(0.02 * float(np.ptp(points)), NARROW)
    while len(pieces) > 1:
        narrow = min(range(len(pieces)), key=lambda i: np.ptp(points[pieces[i][0] : pieces[i][1] + 1]))
        if np.ptp(points[pieces[narrow][0] : pieces[narrow][1] + 1]) > wide:
            break
        first = max(0, narrow - 1)
        pieces[first : first + 2] = [(pieces[first][0], pieces[first + 1][1])]
    for start, end in pieces:
        yield values[start : end + 1], points[start : end + 1]


def number_ticks(values: Sequence[Label], points: Float, joined: bool) -> list[tuple[float, str]]:
    """Round numbers along an axis, at their points: as many as its length on paper has room for.

    Between values that are not joined there are none.
    """
    numbers = np.asarray(values, dtype=np.float64)
    step = round_step(float(np.ptp(numbers)) / float(np.clip(np.ptp(points) / 5, 1, 8)))
    if not joined and len(numbers) > 1:
        least = float(np.diff(numbers).min())
        step = least * max(1.0, np.ceil(step / least - 1e-9))
    ticks = np.arange(np.ceil(numbers[0] / step), np.floor(numbers[-1] / step) + 0.5) * step
    return [(float(np.interp(t, numbers, points)), f"{round(t, 12) + 0.0:.6g}") for t in ticks]


def level_ticks(values: Sequence[Label], points: Float) -> list[tuple[float, str]]:
    order = np.argsort(points, kind="stable").tolist()
    return [(float(points[i]), shorten("missing" if values[i] is None else values[i], 14)) for i in order]


def _line(ax: Axes, y: float, low: float, high: float, ticks: Sequence[tuple[float, str]], top: float) -> int:
    """A line with its marks; labels that would touch go elsewhere; how many found no room."""
    ax.plot([low, high], [y, y], color=INK, lw=1.2, solid_capstyle="butt", zorder=2)
    ends = dict.fromkeys(TIERS, -np.inf)  # where the last label of each tier ends
    lost = 0
    for x, text in sorted(ticks):
        half = max(APART, 0.0085 * len(text)) * top / 2
        tier = next((t for t in TIERS if x - half > ends[t]), None)
        reach = TIERS[tier or "above"]
        ax.plot([x, x], [y, y + reach], color=INK, lw=1 if abs(reach) < 0.2 else 0.6, zorder=2)
        if tier is not None:
            off, where = (0.05, "bottom") if reach > 0 else (-0.05, "top")
            ax.text(x, y + reach + off, text, ha="center", va=where, fontsize=8, color=INK)
            ends[tier] = x + half
        lost += tier is None
    return lost


def round_step(step: float) -> float:
    """The next larger of 1, 2, 2.5, 5 times a power of ten."""
    if not step > 0:
        return 1.0
    power = 10.0 ** np.floor(np.log10(step))
    return float(power * next((m for m in (1.0, 2.0, 2.5, 5.0) if m * power >= step * (1 - 1e-9)), 10.0))
