"""Bars: a tornado of how far an answer moves, a waterfall of evidence, folds and comparisons with their spread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bayeskit.arrays import ArrayLike, Axes, Float, Json
from bayeskit.data.frame import shorten
from bayeskit.errors import InputError
from bayeskit.plots.style import AGAINST, FAINT, FOR, INK, PALETTE, Display, document, labels_of, tidy

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


CERTAIN = 1e3  # beyond this a bar would hide all others


@document
@dataclass(eq=False, repr=False)
class WaterfallDisplay(Display):
    """Bars that start where the last one ended; the axis on top shows the probability.

    >>> shown = WaterfallDisplay.from_steps(["prior", "test = +"], [-2.0, 3.0], "bits", "ill against the rest", 1.4427)
    >>> shown.frame().to_pydict()["to"]
    [-2.0, 1.0]
    """

    names: list[str]
    steps: Float  # (parts,) in the unit
    unit: str
    title: str
    per_nat: float

    @classmethod
    def from_steps(
        cls, names: Sequence[str], steps: object, unit: str, title: str, per_nat: float, most: int = 12
    ) -> WaterfallDisplay:
        """The prior first; beyond ``most`` parts those with the least evidence are summed into one.

        Parameters
        ----------
        steps : sequence of float
            The evidence of each part, the prior first.
        unit : str
            The unit of the steps.
        title : str
            The heading.
        per_nat : float
            Units of a nat.
        most : int
            Parts to show; the others are summed into one.
        """
        weights = np.asarray(steps, dtype=np.float64)
        if len(names) > most + 1:
            kept = np.sort(1 + np.argsort(-np.abs(weights[1:]), kind="stable")[:most])
            rest = float(np.delete(weights, [0, *kept.tolist()]).sum())
            names = [names[0], *(names[j] for j in kept.tolist()), f"{len(names) - 1 - most} others"]
            weights = np.concatenate([weights[:1], weights[kept], [rest]])
        return cls(list(names), weights, unit, title, per_nat)

    def _columns(self) -> Json:
        ends = np.cumsum(self.steps)
        return {"part": self.names, "from": ends - self.steps, "to": ends, "step": self.steps}

    def _size(self) -> tuple[float, float]:
        return 6.4, 1.6 + 0.3 * (len(self.names) + 1)

    def _draw(self, ax: Axes) -> None:
        ends = np.cumsum(np.clip(self.steps, -CERTAIN, CERTAIN))
        starts = np.append(0.0, ends[:-1])
        last = len(ends)
        ax.set_xlim(*_limits(starts, ends))
        for i, (a, b, step) in enumerate(zip(starts, ends, self.steps, strict=True)):
            ax.barh(i, b - a, left=a, height=0.62, color=FOR if step >= 0 else AGAINST)
            ax.plot([b, b], [i - 0.31, i + 1.31 if i + 1 < last else i + 0.9], color=FAINT, lw=0.8, zorder=0)
            right = step >= 0
            ax.annotate(
                f"{step:+.3g}" if np.isfinite(step) else ("certain" if step > 0 else "ruled out"),
                (b, i),
                xytext=(4 if right else -4, 0),
                textcoords="offset points",
                ha="left" if right else "right",
                va="center",
                fontsize=8,
                color=INK,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6},
            )
        ax.plot([ends[-1]], [last], "D", color=INK, ms=6)
        odds = float(np.clip(self.steps.sum(), -CERTAIN, CERTAIN)) / self.per_nat
        ax.annotate(f"P = {_chance(odds)}", (ends[-1], last), xytext=(8, 0), textcoords="offset points", va="center")
        ax.axvline(0, color=INK, lw=0.8)
        ax.set_yticks(range(last + 1), [*self.names, "posterior"])
        ax.set_ylim(last + 0.6, -0.6)
        tidy(ax, self.title, f"log odds, {self.unit}  (left: against, right: for)")
        ax.spines["left"].set_visible(False)
        ax.tick_params(axis="y", length=0)


def _limits(starts: Float, ends: Float) -> tuple[float, float]:
    low, high = min(0.0, float(np.min(ends))), max(0.0, float(np.max(ends)))
    room = 0.16 * max(high - low, 1e-9)
    return low - room, high + room


def _chance(log_odds: float) -> str:
    p = 1 / (1 + np.exp(-np.clip(log_odds, -700, 700)))
    if 1e-4 <= p <= 1 - 1e-4:
        return f"{p:.4f}"
    return f"{p:.2g}" if p < 0.5 else f"1 - {np.exp(-np.clip(log_odds, -700, 700)):.2g}"


@document
@dataclass(eq=False, repr=False)
class FoldDisplay(Display):
    """A measure in every fold, a line of dots for each model, with its mean.

    >>> FoldDisplay.from_values({"naive": [0.9, 0.94], "full": [0.95, 0.97]}, "accuracy").frame().num_rows
    4
    """

    values: dict[str, Float]  # by model, (folds,)
    measure: str

    @classmethod
    def from_values(cls, values: Mapping[str, object], measure: str) -> FoldDisplay:
        """From the values of every fold.

        Parameters
        ----------
        values : mapping
            Values of every fold, by name of the model.
        """
        found = {str(name): np.asarray(v, dtype=np.float64) for name, v in values.items()}
        if not any(np.isfinite(v).any() for v in found.values()):
            raise InputError(f"no fold has a value of {measure!r}; evaluate by folds to see how it varies")
        return cls(found, measure)

    def _columns(self) -> Json:
        return {
            "model": [name for name, v in self.values.items() for _ in v],
            "fold": np.concatenate([np.arange(len(v)) for v in self.values.values()]),
            self.measure: np.concatenate(list(self.values.values())),
        }

    def _size(self) -> tuple[float, float]:
        return 6.0, 1.5 + 0.45 * len(self.values)

    def _draw(self, ax: Axes) -> None:
        for i, v in enumerate(self.values.values()):
            known = v[np.isfinite(v)]
            if not len(known):
                continue
            beside = i + 0.22 * np.sin(2.4 * np.arange(len(known)))  # apart, and the same each time
            ax.plot([known.min(), known.max()], [i, i], color=FAINT, lw=1, zorder=1)
            ax.plot(known, beside, "o", color=PALETTE[0], alpha=0.6, ms=5, mec="none")
            ax.plot([known.mean()] * 2, [i - 0.32, i + 0.32], color=INK, lw=2)
        ax.set_yticks(range(len(self.values)), labels_of(list(self.values)))
        ax.set_ylim(len(self.values) - 0.4, -0.6)
        tidy(ax, f"{_words(self.measure)} by fold, and the mean", _words(self.measure))
        ax.tick_params(axis="y", length=0)


@document
@dataclass(eq=False, repr=False)
class ComparisonDisplay(Display):
    """A measure of several models with its intervals, the best on top."""

    names: list[str]
    value: Float  # (models,)
    low: Float  # (models,)
    high: Float  # (models,)
    measure: str
    note: list[str]  # (models) what is said beside each

    @classmethod
    def from_values(
        cls,
        names: Sequence[str],
        value: object,
        low: ArrayLike,
        high: ArrayLike,
        measure: str,
        note: Sequence[str] = (),
    ) -> ComparisonDisplay:
        """In the order to be shown.

        Parameters
        ----------
        value : sequence of float
            The values.
        low : sequence of float
            Lower ends of the intervals.
        high : sequence of float
            Upper ends.
        note : str
            A remark below.
        """
        middle, first, last = (np.asarray(v, dtype=np.float64) for v in (value, low, high))
        return cls(list(map(str, names)), middle, first, last, measure, list(note) or [""] * len(names))

    def _columns(self) -> Json:
        return {"model": self.names, self.measure: self.value, "low": self.low, "high": self.high}

    def _size(self) -> tuple[float, float]:
        return 6.4, 1.5 + 0.36 * len(self.names)

    def _draw(self, ax: Axes) -> None:
        y = np.arange(len(self.names))
        ends = np.nan_to_num(np.maximum([self.value - self.low, self.high - self.value], 0.0))
        ax.errorbar(self.value, y, xerr=ends, fmt="none", ecolor=PALETTE[0], lw=2)
        ax.plot(self.value, y, "o", color=PALETTE[0], mec="white", ms=8)
        if len(y) and np.isfinite(self.value[0]):
            ax.axvline(self.value[0], color=FAINT, lw=1, zorder=0)
        for i, text in enumerate(self.note):
            ax.annotate(text, (1.01, i), xycoords=("axes fraction", "data"), va="center", fontsize=8, color=INK)
        ax.set_yticks(y, labels_of(self.names))
        ax.set_ylim(len(y) - 0.4, -0.6)
        tidy(ax, f"{_words(self.measure)} with 95 % intervals", _words(self.measure))
        ax.tick_params(axis="y", length=0)


def _words(name: str) -> str:
    return name.replace("_", " ")
